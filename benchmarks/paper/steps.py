"""From the paper's method, exactly as printed, to Psi: one change at a time, so that each shows what it is worth.

Every step is a ranking of the training labels. The first four rank by PS(i) under an even noise rate,

    PS(i) = P( φ(Â(w[Y_i ← y_i])) | ¬φ(Â(w)), Y_i ≠ y_i ),

and differ in the gray box Â, the symptom φ and the engine; the last is :func:`psidebug.debug` with its defaults.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

import psidebug
from benchmarks.measures import Order
from psidebug.datasets import Benchmark, Learner
from psidebug.errors import InferenceError
from psidebug.graybox.choose import graybox_for
from psidebug.priors import noise
from psidebug.sufficiency import sufficiency
from psidebug.symptoms import Symptom, log_loss_above_boundary, misclassified
from psidebug.task.task import Task

RATE = 0.05
"""ε of the steps: the paper says "a low noise level" and no number."""
MOST_COMBINED = 18
"""The paper combined up to 18 bugs; the conjunction of many more is gone in nearly every world, and all PS are 0."""

Rows = npt.NDArray[np.intp]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Ranking:
    """Training rows, the first suspect first; ``repaired`` are the labels of a method that decides by itself."""

    order: Order
    seconds: float
    note: str = ""
    repaired: npt.NDArray[np.intp] | None = None
    fits: int = 1


@dataclass(frozen=True)
class Step:
    """A method by name, what it changes, and how it ranks the rows of a benchmark for some bugs."""

    name: str
    change: str
    rank: Callable[[Benchmark, Learner, Rows | None], Ranking]
    bugs: tuple[str, ...] = ("new", "all")
    """Which bugs it is asked about."""


def conjunction(bugs: Rows) -> Symptom:
    """φ₁ ∧ … ∧ φ_k: all of these test points are misclassified; of more than 18, the first of the test set."""
    return misclassified(*bugs[:MOST_COMBINED].tolist())


def by_sufficiency(forms: dict[Learner, str], symptom: str, engine: str) -> Callable[..., Ranking]:
    """A ranking by PS alone, of one gray box, one symptom and one engine."""

    def rank(benchmark: Benchmark, learner: Learner, bugs: Rows | None) -> Ranking:
        start = time.perf_counter()
        with threadpool_limits(limits=1, user_api="blas"):
            task = task_of(benchmark, learner, bugs)
            box = graybox_for(task, forms[learner])
            prior = noise(task.train.codes, task.encoding.size, RATE)
            margins = task.margins(task.learner, task.test)
            asked = conjunction(task.bugs) if symptom == "conjunction" else log_loss_above_boundary(margins, task.bugs)
            chance = np.random.default_rng(task.seed)
            try:
                found = sufficiency(box, prior, asked, engine=engine, rng=chance)
            except InferenceError as error:
                unranked = chance.permutation(len(task.train))
                return Ranking(unranked, time.perf_counter() - start, note=str(error).split(".")[0])
        return Ranking(order_by(found.ps, chance), time.perf_counter() - start)

    return rank


def order_by(ps: Floats, chance: np.random.Generator) -> Order:
    """Rows by PS; those that tie, and many PS are 0, by chance: the order of the file would be a hint."""
    shuffled = chance.permutation(len(ps))
    return np.asarray(shuffled[np.argsort(-np.nan_to_num(ps[shuffled]), kind="stable")])


def by_psi(benchmark: Benchmark, learner: Learner, bugs: Rows | None) -> Ranking:
    """:func:`psidebug.debug` as a user calls it."""
    start = time.perf_counter()
    model = benchmark.learner(learner)
    found = psidebug.debug(model, benchmark.X_train, benchmark.given, benchmark.X_test, benchmark.y_test, bugs=bugs)
    return Ranking(
        found.order,
        time.perf_counter() - start,
        repaired=np.asarray(found.repaired_labels),
        fits=int(found.settings.get("fits", 1)),
    )


def task_of(benchmark: Benchmark, learner: Learner, bugs: Rows | None) -> Task:
    """The benchmark as a task with these bugs; None: all that are misclassified."""
    model = benchmark.learner(learner)
    return Task.of(model, benchmark.X_train, benchmark.given, benchmark.X_test, benchmark.y_test, bugs=bugs)


PRINTED: dict[Learner, str] = {"logistic": "gradient_residual", "boosting": "leaf"}
OURS: dict[Learner, str] = {"logistic": "newton", "boosting": "leaf_derivative"}

STEPS: tuple[Step, ...] = (
    Step(
        "paper",
        "the paper's method as printed: gradient step or linear leaves, a conjunction of bugs, sampled worlds",
        by_sufficiency(PRINTED, "conjunction", "sampling"),
        bugs=("new",),
    ),
    Step(
        "tilted",
        "the same program, its rare event tilted and every label marginalised, instead of forward sampling",
        by_sufficiency(PRINTED, "conjunction", "tilting"),
        bugs=("new",),
    ),
    Step(
        "log loss",
        "the log loss of the test set as the symptom, in closed form: correct points are evidence too",
        by_sufficiency(PRINTED, "log_loss", "closed_form"),
    ),
    Step(
        "gray box",
        "a Newton step, or the derivative of the leaf refit, as the gray box",
        by_sufficiency(OURS, "log_loss", "closed_form"),
    ),
    Step("psi", "explanations compete, retraining judges: `psidebug.debug` with its defaults", by_psi),
)
