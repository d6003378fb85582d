"""Three ways to predict a row without having seen its label.

*Out of fold*: any learner, by a model that was trained without the row's fold. *Leave one out*: a logistic regression,
in one fit; what it would say without the row follows from its Hessian. *Out of bag*: a forest, in one fit, by the trees
that did not draw the row. The last two know nearly all other rows, where a fold's model lacks a third of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import log_softmax
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression

from psidebug import policy
from psidebug.graybox.logistic.design import DesignMatrix
from psidebug.graybox.logistic.left_out import left_out_scores, possible
from psidebug.graybox.logistic.reading import objective_of
from psidebug.margins import log_shares
from psidebug.task import learner as learners
from psidebug.task.data import LabelledSet
from psidebug.task.labels import Codes
from psidebug.task.tables import Table, stacked, take
from psidebug.task.task import Task
from psidebug.training.trainer import Trainer

Floats = npt.NDArray[np.float64]
Rows = npt.NDArray[np.intp]
Mask = npt.NDArray[np.bool_]

MOST_ROWS = 8_000
"""Predictors other than the user's learner are trained on so many training rows, and test rows, at most."""


@dataclass(frozen=True, eq=False)
class LabelPredictions:
    """Log probabilities of the true label of every row, by one predictor that did not see the row's own label."""

    name: str
    train: Floats
    """(N, K)."""
    test: Floats
    """(M, K)."""


@dataclass(frozen=True, eq=False)
class Folds:
    """The fold of every training row and test row, of every class as many in each as can be."""

    train: Rows
    test: Rows

    @classmethod
    def of(cls, task: Task) -> Folds:
        """By chance, but the same whatever order the rows came in."""
        rng, order = np.random.default_rng(task.seed), task.data.in_order_of_ids
        train = np.empty(len(order), dtype=np.intp)
        train[order] = _folds(task.train.codes[order], rng)
        return cls(train, _folds(task.test.codes, rng))


class Lesson(NamedTuple):
    """What a model is trained on."""

    train: Rows
    test: Rows
    """Positions of the training rows and test rows."""
    features: Any
    codes: Codes
    weights: Floats | None


@dataclass(frozen=True, eq=False)
class Recipe:
    """An estimator, all rows as it takes them, and the labels that it learns from."""

    task: Task
    estimator: Any
    train: Table
    test: Table
    learns_from: Literal["training", "test", "both"]
    all_rows: bool = False
    """Whether it learns from all of these rows, not from ``MOST_ROWS`` of each set."""
    repaired: Floats | None = None
    """W (N, K): then it learns the likeliest training labels, each with the confidence in it as its weight."""

    def lesson(self, train: Mask, test: Mask) -> Lesson:
        """From the rows that it may see; only training rows have weights, and only the user's learner takes them."""
        task, order = self.task, self.task.data.in_order_of_ids
        rows = order[train[order] & (self.learns_from != "test")]
        held = np.flatnonzero(test & (self.learns_from != "training"))
        if not self.all_rows:
            rows, held = few(rows, task.seed), few(held, task.seed)
        labels, weights = task.train.codes, None
        if self.repaired is not None:
            labels, confidence = self.repaired.argmax(axis=1), self.repaired.max(axis=1)
            own = confidence if task.data.sample_weight is None else task.data.sample_weight * confidence
            weights = np.append(own[rows], np.ones(len(held)))
        codes = np.concatenate([labels[rows], task.test.codes[held]])
        if self.learns_from == "both":
            return Lesson(rows, held, stacked(take(self.train, rows), take(self.test, held)), codes, weights)
        if self.learns_from == "test":
            return Lesson(rows, held, take(self.test, held), codes, None)
        weights = None if task.data.sample_weight is None else task.data.sample_weight[rows]
        return Lesson(rows, held, take(self.train, rows), codes, weights)

    def fitted(self, trainer: Trainer, lesson: Lesson) -> Any:
        """A model."""
        labels = self.task.encoding.native[lesson.codes]
        return trainer.fit(self.estimator, lesson.features, labels, lesson.weights)

    def predicted(self, model: Any, table: Table) -> Floats:
        """Log probabilities (n, K) of the rows of a table, by a fitted model."""
        encoding = self.task.encoding
        return log_probabilities(learners.scores(model, table, encoding.native_codes, encoding.size))


def out_of_fold(recipe: Recipe, trainer: Trainer, folds: Folds, excluded: Mask) -> tuple[Floats, Floats]:
    """Of every row by the model without its fold; of a row that nobody learned from, by the mean of all models.

    A test row is always predicted by one model: a mean of several would be better informed than what is said of the
    training rows, and make these look wrong beside it.
    """
    size, on_test = recipe.task.encoding.size, recipe.learns_from == "test"
    unseen = np.ones_like(excluded) if on_test else excluded
    train, test = np.zeros((len(folds.train), size)), np.zeros((len(folds.test), size))
    for fold in range(policy.FOLDS):
        model = recipe.fitted(trainer, recipe.lesson((folds.train != fold) & ~excluded, folds.test != fold))
        own, apart, held = map(np.flatnonzero, ((folds.train == fold) & ~unseen, unseen, folds.test == fold))
        if not on_test:
            train[own] = recipe.predicted(model, take(recipe.train, own))
        if len(apart):
            train[apart] += recipe.predicted(model, take(recipe.train, apart)) / policy.FOLDS
        test[held] = recipe.predicted(model, take(recipe.test, held))
    return train, test


HeldOut = Callable[[Any, Lesson, Task], Floats]
"""Scores (n, K) of the rows that a model was fitted on, each as if its own label were unseen."""


def in_one_fit(recipe: Recipe, trainer: Trainer, lesson: Lesson, held_out: HeldOut) -> tuple[Floats, Floats]:
    """Of the rows that it learned from as if their own label were unseen, of all others plainly."""
    model = recipe.fitted(trainer, lesson)
    own = log_probabilities(held_out(model, lesson, recipe.task))
    train, test = recipe.predicted(model, recipe.train), recipe.predicted(model, recipe.test)
    train[lesson.train], test[lesson.test] = own[: len(lesson.train)], own[len(lesson.train) :]
    return train, test


def can_leave_one_out(estimator: Any) -> bool:
    """Whether its scores without a row are known: scikit-learn's own logistic regression, with a penalty on squares."""
    if type(estimator) is not LogisticRegression or not np.isfinite(estimator.C):
        return False
    penalty = getattr(estimator, "penalty", "deprecated")
    return penalty in ("l2", "deprecated") and not estimator.l1_ratio


def soon_left_out(lesson: Lesson, classes: int) -> bool:
    """Whether there are three rows of every class, and the Hessian is not too large."""
    counts = np.bincount(lesson.codes, minlength=classes)
    return bool(counts.min() >= policy.FOLDS and possible(len(lesson.codes), lesson.features.shape[1], classes))


def leave_one_out(model: LogisticRegression, lesson: Lesson, task: Task) -> Floats:
    """By the Hessian: see :mod:`psidebug.graybox.logistic.left_out`."""
    # The objective is read from a whole task, of which it takes labels, weights and encoding.
    data = replace(task.data, train=LabelledSet(lesson.features, lesson.codes), sample_weight=lesson.weights)
    trained = replace(task, data=data)
    design = DesignMatrix(lesson.features, intercept=bool(model.fit_intercept))
    scores = left_out_scores(objective_of(model, trained), design, lesson.codes)
    return np.column_stack([np.zeros(len(scores)), scores]) if scores.shape[1] == 1 else scores


def out_of_bag(model: ExtraTreesClassifier, lesson: Lesson, task: Task) -> Floats:
    """By the trees that did not draw a row; uniform for one that all have drawn."""
    shares = np.asarray(model.oob_decision_function_)
    full = np.full((len(shares), task.encoding.size), -np.inf)
    learned = [task.encoding.native_codes[value] for value in model.classes_.tolist()]
    full[:, learned] = log_shares(np.where(np.isfinite(shares), shares, 1.0 / len(learned)))
    return full


def log_probabilities(scores: Floats) -> Floats:
    """Logarithms of the softmax, none below that of ``LEAST_PROBABILITY``."""
    return np.asarray(np.maximum(log_softmax(scores, axis=1), float(np.log(policy.LEAST_PROBABILITY))))


def few(rows: Rows, seed: int) -> Rows:
    """``MOST_ROWS`` of them at most, drawn."""
    return rows if len(rows) <= MOST_ROWS else np.random.default_rng(seed).choice(rows, MOST_ROWS, replace=False)


def _folds(codes: Codes, rng: np.random.Generator) -> Rows:
    folds = np.empty(len(codes), dtype=np.intp)
    start = 0
    for code in np.unique(codes):
        rows = rng.permutation(np.flatnonzero(codes == code))
        folds[rows] = (start + np.arange(len(rows))) % policy.FOLDS
        start += len(rows)
    return folds
