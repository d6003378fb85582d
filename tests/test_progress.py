"""Progress is shown where somebody looks, and nowhere else."""

from __future__ import annotations

import io
import sys
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
from rich.console import Console
from rich.progress import Progress as Bars

from psidebug import progress
from psidebug.progress import NotebookBar, terminal_bar, watched
from tests.conftest import Planted
from tests.store.conftest import debugged


class Cell:
    """The output of a notebook's cell: what is shown in it, one after the other."""

    def __init__(self) -> None:
        self.shown: list[str] = []

    def update(self, what: Any) -> None:
        repr(what)  # Jupyter asks for the text, too
        self.shown.append(what._repr_html_())

    def display(self, what: Any, *, display_id: bool) -> Cell:
        assert display_id
        self.update(what)
        return self


@pytest.fixture
def cell(monkeypatch: pytest.MonkeyPatch) -> Cell:
    """A notebook, as far as the bar can tell."""
    found = Cell()
    shell = SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=found.display))
    return found


def test_debug_shows_a_live_bar_in_a_notebook_and_the_first_suspects(planted: Planted, cell: Cell) -> None:
    debugged(planted)
    bars = [each for each in cell.shown if "<progress" in each]
    assert any("of" in each and 'max="' in each for each in bars), "fits are counted"
    assert any("First suspects" in each and "<td>" in each for each in bars)
    assert cell.shown[-1] == "", "it goes away"


def test_it_goes_away_after_a_failure_and_is_silent_if_asked(cell: Cell) -> None:
    def failing() -> None:
        with watched(None) as tick:
            tick("stage", 1, 4)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        failing()
    assert 'value="1" max="4"' in cell.shown[-2]
    assert cell.shown[-1] == ""
    cell.shown.clear()
    with watched(False) as tick:
        tick("stage", 1, 4)
    assert cell.shown == []


def test_what_data_say_is_no_markup(cell: Cell) -> None:
    bar = NotebookBar()
    bar.first_suspects(pd.DataFrame({"row": ["<b>1"], "given": ["<i>"], "proposed": ["x"], "ps": [0.25]}))
    assert "<td>&lt;b&gt;1</td><td>&lt;i&gt;</td><td>x</td><td>0.25</td>" in cell.shown[-1]


def test_ones_own_callback_is_asked_alone(cell: Cell) -> None:
    def own(stage: str, done: int, total: int) -> None: ...

    with watched(own) as tick:
        assert tick is own
    assert cell.shown == []


def test_a_terminal_has_a_bar_and_a_file_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal, file = (Console(file=io.StringIO(), force_terminal=each, width=80) for each in (True, False))
    for console in (terminal, file):
        with terminal_bar(console) as tick:
            tick("evidence", 3, 10)
    written = [console.file.getvalue() for console in (terminal, file)]  # type: ignore[attr-defined]
    assert "3 of 10 fits" in written[0]
    assert written[1] == ""
    monkeypatch.setattr(sys, "stderr", SimpleNamespace(isatty=lambda: False))
    with watched(None) as tick:
        assert tick is progress.silent


def test_a_bar_of_the_user_goes_on() -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=80)
    with Bars(console=console) as own, terminal_bar(console) as tick:
        own.add_task("mine")
        tick("evidence", 3, 10)
