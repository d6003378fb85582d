"""How long a diagnosis takes, as a multiple of one fit: times of one run on one machine compare, others do not."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import get_args

from sklearn.base import clone

import psidebug
from psidebug.datasets import Learner, linear
from psidebug.datasets.benchmark import Sizes
from psidebug.graybox.choose import graybox_for
from psidebug.task.task import Task

SIZES, QUICK_SIZES = (1_000, 10_000, 50_000), (1_000, 5_000)
TEST_ROWS = 100


@dataclass(frozen=True)
class Timing:
    """One fit of the learner, the same with its profile, and the whole diagnosis, in seconds."""

    learner: str
    rows: int
    test_rows: int
    fit_seconds: float
    profile_in_fits: float
    debug_in_fits: float
    fits: int
    rows_per_second: float


def timings(*, quick: bool = False) -> Iterator[Timing]:
    """Twenty columns, 10% of the labels wrong at random, 100 test points; each part timed once, warm."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for rows in QUICK_SIZES if quick else SIZES:
            for learner in get_args(Learner):
                yield _timing(rows, learner)


def _timing(rows: int, learner: Learner) -> Timing:
    sizes = Sizes(train=rows, test=TEST_ROWS, validation=1000)
    data = replace(linear, name=f"linear_{rows}", sizes=sizes)(0, noise="random")
    model = data.learner(learner)
    task = (model, data.X_train, data.given, data.X_test, data.y_test)
    clone(model).fit(data.X_train, data.given)  # what is loaded once is not timed
    started = time.perf_counter()
    clone(model).fit(data.X_train, data.given)
    fitted = time.perf_counter()
    graybox_for(Task.of(*task))
    profiled = time.perf_counter()
    found = psidebug.debug(*task)
    done = time.perf_counter()
    fit = fitted - started
    return Timing(
        learner=learner,
        rows=rows,
        test_rows=TEST_ROWS,
        fit_seconds=fit,
        profile_in_fits=(profiled - fitted) / fit,
        debug_in_fits=(done - profiled) / fit,
        fits=int(found.settings.get("fits", 1)),
        rows_per_second=rows / (done - profiled),
    )
