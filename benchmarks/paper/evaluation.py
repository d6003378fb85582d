"""The workflow of the paper's evaluation: train clean, add noise, train again, explain what is newly wrong, repair.

Bugs are the *new* misclassifications, as in the paper, and then *all* of them: a user does not know which are new.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from benchmarks.measures import average_precision, precision_at_n
from benchmarks.paper.cells import Cell
from benchmarks.paper.steps import STEPS, Ranking, Step
from psidebug.datasets import BENCHMARKS, Benchmark
from psidebug.task.learner import Classifier

Labels = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Line:
    """What one method made of one cell, one seed and one choice of bugs."""

    data: str
    learner: str
    seed: int
    step: str
    bugs: str
    """"new" or "all"."""
    bug_count: int
    n: int
    """Number of wrong labels that were planted."""
    p_at_n: float | None
    average_precision: float | None
    returned: int | None
    """Labels that the method changes by itself; None where it only ranks."""
    precision: float | None
    recall: float | None
    error_clean: float
    error_noisy: float
    error_first_n: float | None
    """Validation error after flipping the first n suspects."""
    error_repaired: float | None
    """Validation error after what the method changes by itself."""
    fits: int
    seconds: float
    note: str


def measure(cell: Cell, seed: int, *, steps: tuple[Step, ...] = STEPS) -> Iterator[Line]:
    """All steps on one cell and seed, one line at a time."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        benchmark = BENCHMARKS[cell.data](seed, noise=cell.noise)
        model = benchmark.learner(cell.learner)
        clean = clone(model).fit(benchmark.X_train, benchmark.clean)
        noisy = clone(model).fit(benchmark.X_train, benchmark.given)
        wrong_then = clean.predict(benchmark.X_test) != benchmark.y_test
        wrong_now = noisy.predict(benchmark.X_test) != benchmark.y_test
        errors = (_validation_error(clean, benchmark), _validation_error(noisy, benchmark))
        for kind, bugs in (("new", np.flatnonzero(wrong_now & ~wrong_then)), ("all", np.flatnonzero(wrong_now))):
            for step in (each for each in steps if kind in each.bugs):
                ranking = None
                if len(bugs):
                    ranking = step.rank(benchmark, cell.learner, bugs if kind == "new" else None)
                yield _line(cell, seed, step, kind, len(bugs), benchmark, model, errors, ranking)


def _line(
    cell: Cell,
    seed: int,
    step: Step,
    kind: str,
    bug_count: int,
    benchmark: Benchmark,
    model: Classifier,
    errors: tuple[float, float],
    ranking: Ranking | None,
) -> Line:
    wrong, n = benchmark.wrong, int(benchmark.wrong.sum())
    order = None if ranking is None or ranking.note else ranking.order
    repaired = None if ranking is None else ranking.repaired
    changed = None if repaired is None else repaired != benchmark.given
    return Line(
        data=cell.data,
        learner=cell.learner,
        seed=seed,
        step=step.name,
        bugs=kind,
        bug_count=bug_count,
        n=n,
        p_at_n=None if order is None else precision_at_n(order, wrong),
        average_precision=None if order is None else average_precision(order, wrong),
        returned=None if changed is None else int(changed.sum()),
        precision=None if changed is None or not changed.any() else float(wrong[changed].mean()),
        recall=None if changed is None else float(changed[wrong].mean()),
        error_clean=errors[0],
        error_noisy=errors[1],
        error_first_n=None if order is None else error_after(model, benchmark, flipped(benchmark, order[:n])),
        error_repaired=None if repaired is None else error_after(model, benchmark, repaired),
        fits=0 if ranking is None else ranking.fits,
        seconds=0.0 if ranking is None else ranking.seconds,
        note="no test point is misclassified" if ranking is None else ranking.note,
    )


def flipped(benchmark: Benchmark, rows: npt.NDArray[np.intp]) -> Labels:
    """The given labels with those of these rows turned over; the paper's data have two classes."""
    labels = benchmark.given.copy()
    labels[rows] = 1 - labels[rows]
    return labels


def error_after(model: Classifier, benchmark: Benchmark, labels: Labels) -> float:
    """Validation error of the learner trained on these labels instead of the given ones."""
    return _validation_error(clone(model).fit(benchmark.X_train, labels), benchmark)


def _validation_error(fitted: Classifier, benchmark: Benchmark) -> float:
    return float(np.mean(fitted.predict(benchmark.X_validation) != benchmark.y_validation))
