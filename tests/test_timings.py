"""The stopwatch: stages one after the other and one inside the other, fits where they are made, memory if known."""

from __future__ import annotations

import math
import sys

import pytest

from psidebug import timings
from psidebug.timings import Stopwatch


def test_fits_belong_to_the_stage_that_is_under_way() -> None:
    watch = Stopwatch()
    timings.count_fit()  # nobody watches
    with watch.watching("one"):
        timings.count_fit()
        with watch.watching("inside"):
            timings.count_fit()
            timings.begin("after that")
            timings.count_fit()
        timings.count_fit()
    timings.count_fit()
    assert [(each.stage, each.fits) for each in watch.timings] == [
        ("one", 2), ("inside", 1), ("after that", 1), ("total", 4),
    ]  # fmt: skip


def test_who_watches_is_joined() -> None:
    with Stopwatch().watching("one") as watch:
        assert timings.stopwatch() is watch
    assert timings.stopwatch() is not watch


def test_it_ends_where_the_work_is_stopped() -> None:
    watch = Stopwatch()
    with pytest.raises(KeyError), watch.watching("one"):
        raise KeyError
    timings.count_fit()
    assert watch.fits == 0


def test_ticks_begin_stages_in_plain_words_and_go_on() -> None:
    told: list[str] = []
    with Stopwatch().watching("first") as watch:
        tick = timings.staged(lambda stage, done, total: told.append(stage))
        tick("profiling", 0, 1)
        tick("fit", 0, 0)
        tick("threshold", 1, 2)
    assert told == ["profiling", "fit", "threshold"]
    assert [each.stage for each in watch.timings] == ["first", "gray box", "curve", "total"]


def test_memory_is_not_known_on_every_platform(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "resource", None)
    with Stopwatch().watching("one") as watch:
        pass
    assert all(math.isnan(each.peak_memory_mb) for each in watch.timings)
