"""The paper's two figures, as data: what correcting more labels does, and what combining more bugs does."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from sklearn.base import clone
from threadpoolctl import threadpool_limits

import psidebug
from benchmarks.measures import order_of, precision_at_n
from benchmarks.paper.cells import Cell
from benchmarks.paper.evaluation import error_after, flipped
from benchmarks.paper.steps import OURS, PRINTED, RATE, order_by, task_of
from psidebug.datasets import BENCHMARKS
from psidebug.errors import InferenceError
from psidebug.graybox.choose import graybox_for
from psidebug.priors import noise
from psidebug.sufficiency import sufficiency
from psidebug.symptoms import log_loss_above_boundary, misclassified

CORRECTED = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.35, 1.5, 1.75, 2.0, 2.5, 3.0)
"""How many labels are corrected, in multiples of the number that is wrong."""
QUESTIONS = {"conjunction": PRINTED, "log loss": OURS}
COMBINED = (1, 2, 4, 8, 18, 32, 64)
"""How many bugs are combined; then all."""


@dataclass(frozen=True)
class Corrected:
    """A point of the first figure: the first labels corrected, the PS of the last of them, the error that is left."""

    data: str
    learner: str
    seed: int
    order: str
    """"ps": by PS alone, as in the paper; "psi": by Psi's own order."""
    corrected: int
    tau: float
    error: float


@dataclass(frozen=True)
class Combined:
    """A point of the second figure: precision among the first n suspects when so many bugs are asked about."""

    data: str
    learner: str
    seed: int
    question: str
    """"conjunction" (the paper's, with its gray box), "log loss" (their loss as one symptom, with ours), "psi"."""
    bugs: int
    precision: float | None
    note: str


def corrections(cell: Cell, seed: int) -> Iterator[Corrected]:
    """Validation error and PS threshold τ against the number of labels corrected."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        data = BENCHMARKS[cell.data](seed, noise=cell.noise)
        model = data.learner(cell.learner)
        found = psidebug.debug(model, data.X_train, data.given, data.X_test, data.y_test)
        ps = np.zeros(len(data.given)) if found.estimates is None else np.nan_to_num(found.estimates.ps)
        for name, order in (("ps", order_of(ps)), ("psi", found.order)):
            for share in CORRECTED:
                k = min(round(share * int(data.wrong.sum())), len(order))
                error = error_after(model, data, flipped(data, order[:k]))
                tau = float(ps[order[:k]].min()) if k else 1.0
                yield Corrected(cell.data, cell.learner, seed, name, k, tau, error)


def combinations(cell: Cell, seed: int) -> Iterator[Combined]:
    """Precision against the number of bugs combined, from one to all of the new ones, in the order of the test set."""
    with warnings.catch_warnings(), threadpool_limits(limits=1, user_api="blas"):
        warnings.simplefilter("ignore")
        data = BENCHMARKS[cell.data](seed, noise=cell.noise)
        model = data.learner(cell.learner)
        before = clone(model).fit(data.X_train, data.clean).predict(data.X_test) == data.y_test
        task = task_of(data, cell.learner, None)
        bugs = task.bugs[before[task.bugs]]
        boxes = {name: graybox_for(task, forms[cell.learner]) for name, forms in QUESTIONS.items()}
        prior = noise(task.train.codes, task.encoding.size, RATE)
        margins = task.margins(task.learner, task.test)
        chance = np.random.default_rng(seed)
        for count in [*(each for each in COMBINED if each < len(bugs)), len(bugs)]:
            asked = bugs[:count]
            questions = {
                "conjunction": (misclassified(*asked.tolist()), "tilting" if count > 1 else "closed_form"),
                "log loss": (log_loss_above_boundary(margins, asked), "closed_form"),
            }
            for question, (symptom, engine) in questions.items():
                precision, note = None, ""
                try:
                    ps = sufficiency(boxes[question], prior, symptom, engine=engine, rng=chance).ps
                    precision = precision_at_n(order_by(ps, chance), data.wrong)
                except InferenceError as error:
                    note = str(error).split(".")[0]
                yield Combined(cell.data, cell.learner, seed, question, count, precision, note)
            found = psidebug.debug(model, data.X_train, data.given, data.X_test, data.y_test, bugs=asked)
            precision = precision_at_n(found.order, data.wrong)
            yield Combined(cell.data, cell.learner, seed, "psi", count, precision, "")
