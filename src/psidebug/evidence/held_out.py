"""Ways to predict a row without having seen its label.

*Out of fold*: any learner, by a model that was trained without the row's fold. *Leave one out*: a logistic regression,
in one fit; what it would say without the row follows from its Hessian, and it knows nearly all other rows, where a
fold's model lacks a third of them. How a forest does it says :mod:`psidebug.evidence.forest`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.linear_model import LogisticRegression

from psidebug import policy
from psidebug.graybox.logistic.design import DesignMatrix
from psidebug.graybox.logistic.left_out import left_out_scores, possible
from psidebug.graybox.logistic.reading import objective_of
from psidebug.margins import largest_of_rows, sums_of_rows
from psidebug.task import learner as learners
from psidebug.task.data import LabelledSet
from psidebug.task.labels import Codes
from psidebug.task.nets import Head
from psidebug.task.tables import Table, stacked, take
from psidebug.task.task import Task
from psidebug.training.backends import Lazily, Several
from psidebug.training.fits import Fit
from psidebug.training.trainer import Trainer

Floats = npt.NDArray[np.float64]
Rows = npt.NDArray[np.intp]
Mask = npt.NDArray[np.bool_]
Elsewhere = Callable[[Task, Rows], Floats]
"""Log probabilities (n, K) of these training rows of a larger task."""
Prepared = Callable[[Task, Rows], Table]
"""These training rows of a larger task, as an estimator takes them."""

MOST_ROWS = 5_000
"""Predictors other than the user's learner are trained on so many training rows, and test rows, at most."""


@dataclass(frozen=True, eq=False)
class LabelPredictions:
    """Log probabilities of the true label of every row, by one predictor that did not see the row's own label."""

    name: str
    train: Floats
    """(N, K)."""
    test: Floats
    """(M, K)."""
    elsewhere: Elsewhere | None = field(default=None, repr=False)
    """The same of training rows that the task was drawn from, and that nobody has seen; None if that is not known."""
    train_by_one: Floats | None = field(default=None, repr=False)
    """(N, K): by one model for each row, where ``train`` is the mean of several."""

    @property
    def exchanged(self) -> LabelPredictions:
        """The same of training rows that are tested with, and test rows that are trained on."""
        return LabelPredictions(self.name, self.test, self.train if self.train_by_one is None else self.train_by_one)


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

    @property
    def exchanged(self) -> Folds:
        """Those of the sets in each other's place."""
        return Folds(self.test, self.train)


class Without(NamedTuple):
    """Rows whose labels nobody may learn from."""

    train: Mask
    test: Mask

    @property
    def exchanged(self) -> Without:
        """Those of the sets in each other's place."""
        return Without(self.test, self.train)


def without_none(task: Task) -> Without:
    """All may be learned from."""
    return Without(np.zeros(len(task.train), dtype=bool), np.zeros(len(task.test), dtype=bool))


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
    prepared: Prepared | None = None
    """How it takes rows that the task was drawn from; None if it does not."""

    def concerned(self, without: Without) -> bool:
        """Whether it would learn from one of these."""
        train, test = without
        return bool((self.learns_from != "test" and train.any()) or (self.learns_from != "training" and test.any()))

    def lesson(self, without: Without) -> Lesson:
        """From the other rows; only training rows have weights, and only the user's learner takes them."""
        task, order = self.task, self.task.data.in_order_of_ids
        rows = order[~without.train[order] & (self.learns_from != "test")]
        held = np.flatnonzero(~without.test & (self.learns_from != "training"))
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
        return next(self.fitted_each(trainer, [lesson]))

    def fitted_each(self, trainer: Trainer, lessons: Several[Lesson]) -> Iterator[Any]:
        """A model for each lesson."""
        native = self.task.encoding.native
        fits = Lazily(lambda each: Fit(each.features, native[each.codes], each.weights), lessons)
        return trainer.fit_each(self.estimator, fits, counted=self.all_rows)

    def predicted(self, model: Any, table: Table) -> Floats:
        """Log probabilities (n, K) of the rows of a table, by a fitted model."""
        encoding = self.task.encoding
        return log_probabilities(learners.scores(model, table, encoding.native_codes, encoding.size))

    def elsewhere(self, model: Any) -> Elsewhere | None:
        """The predictions of a fitted model for rows that the task was drawn from."""
        if (prepared := self.prepared) is None:
            return None
        return lambda task, rows: self.predicted(model, prepared(task, rows))


def out_of_fold(recipe: Recipe, trainer: Trainer, folds: Folds, without: Without, name: str) -> LabelPredictions:
    """Of every row by the model without its fold; of training rows that none learns from, by the mean of all models.

    A test row is always predicted by one model: a mean of several would be better informed than what is said of the
    training rows, and make these look wrong beside it.
    """
    size = recipe.task.encoding.size
    train, test = np.empty((len(folds.train), size)), np.empty((len(folds.test), size))
    mean = np.zeros_like(train) if recipe.learns_from == "test" else None
    elsewhere: Elsewhere | None = None
    parts = [Without(folds.train == fold, folds.test == fold) for fold in range(policy.FOLDS)]
    lessons = Lazily(lambda each: recipe.lesson(Without(without.train | each.train, without.test | each.test)), parts)
    for apart, model in zip(parts, recipe.fitted_each(trainer, lessons), strict=True):
        own, held = map(np.flatnonzero, apart)
        if mean is None:
            train[own] = recipe.predicted(model, take(recipe.train, own))
        else:
            said = recipe.predicted(model, recipe.train)
            train[own], mean = said[own], mean + said / policy.FOLDS
        test[held] = recipe.predicted(model, take(recipe.test, held))
        elsewhere = elsewhere or recipe.elsewhere(model)
    return LabelPredictions(name, train if mean is None else mean, test, elsewhere, None if mean is None else train)


def in_one_fit(recipe: Recipe, trainer: Trainer, lesson: Lesson, name: str) -> LabelPredictions:
    """Of the rows that it learned from as if their own label were unseen, of all others plainly."""
    model = recipe.fitted(trainer, lesson)
    own = log_probabilities(leave_one_out(model, lesson, recipe.task))
    train, test = recipe.predicted(model, recipe.train), recipe.predicted(model, recipe.test)
    train[lesson.train], test[lesson.test] = own[: len(lesson.train)], own[len(lesson.train) :]
    return LabelPredictions(name, train, test, recipe.elsewhere(model))


def can_leave_one_out(estimator: Any) -> bool:
    """Whether its scores without a row are known: scikit-learn's own logistic regression, with a penalty on squares."""
    if type(estimator) not in (LogisticRegression, Head) or not np.isfinite(estimator.C):
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


def log_probabilities(scores: Floats) -> Floats:
    """Logarithms of the softmax, none below that of ``LEAST_PROBABILITY``."""
    least = scores - largest_of_rows(scores)[:, None]
    least -= np.log(sums_of_rows(np.exp(least)))[:, None]
    return np.asarray(np.maximum(least, float(np.log(policy.LEAST_PROBABILITY)), out=least))


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
