"""Three ways to be asked about rows without having seen their labels.

Any learner can be asked *in folds*: about each row by a model that was trained without its fold. A logistic regression
can do better in one fit: what it would say *with the row left out* follows from its Hessian. So can a forest, whose
trees each leave a third of the rows *out of the bag*. Both know nearly all other rows where a fold's model lacks a
third of them.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.special import log_softmax
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression

from psidebug.errors import UnsupportedLearner
from psidebug.graybox.logistic.design import Design
from psidebug.graybox.logistic.left_out import left_out_scores, possible
from psidebug.graybox.logistic.reading import objective_of
from psidebug.margins import log_shares
from psidebug.task import learner as learners
from psidebug.task.data import LabelledSet
from psidebug.task.labels import Codes
from psidebug.task.task import Task

Floats = npt.NDArray[np.float64]
Rows = npt.NDArray[np.intp]
Mask = npt.NDArray[np.bool_]

FOLDS = 3
LEAST = float(np.log(1e-4))
"""No opinion is surer than this: log probabilities are kept above it."""
MOST_ROWS = 8_000
"""A second opinion is formed on so many training rows, and test rows, at most."""


@dataclass(frozen=True, eq=False)
class Opinion:
    """What one learner says about every row, as log probabilities."""

    name: str
    train: Floats
    """(N, K)."""
    test: Floats
    """(M, K)."""


class Speaker(Protocol):
    """Somebody who can be asked for an opinion."""

    @property
    def name(self) -> str:
        """Who it is."""
        ...

    @property
    def of_training_rows(self) -> bool:
        """Whether it learns from training labels; if not its opinion never changes."""
        ...

    def opinion(self, excluded: Mask) -> Opinion:
        """What it says, formed without the labels of the excluded training rows (N,)."""
        ...


@dataclass(frozen=True, eq=False)
class InFolds:
    """A training row is spoken of by the model without its fold, an excluded one by all models.

    A test row is spoken of by one model too, chosen by its fold: an average of several would be better informed than
    what is said of the training rows, and make these look wrong beside it.
    """

    name: str
    trained: Callable[[Mask, Mask], Any]
    """A model from the training rows and the test rows that it may see."""
    asked: Callable[[Any, bool, Rows], Floats]
    """Its scores (rows, K) of some training rows (True) or test rows (False)."""
    folds: Rows
    test_folds: Rows
    size: int
    of_training_rows: bool = True

    def opinion(self, excluded: Mask) -> Opinion:
        """Fold by fold."""
        apart = np.flatnonzero(excluded)
        train, test = np.zeros((len(self.folds), self.size)), np.zeros((len(self.test_folds), self.size))
        for fold in range(FOLDS):
            model = self.trained((self.folds != fold) & ~excluded, self.test_folds != fold)
            if self.of_training_rows:
                own = np.flatnonzero((self.folds == fold) & ~excluded)
                train[own] = log_probabilities(self.asked(model, True, own))
                if len(apart):
                    train[apart] += log_probabilities(self.asked(model, True, apart)) / FOLDS
            else:
                train += log_probabilities(self.asked(model, True, np.arange(len(train)))) / FOLDS
            held = np.flatnonzero(self.test_folds == fold)
            test[held] = log_probabilities(self.asked(model, False, held))
        return Opinion(self.name, train, test)


@dataclass(frozen=True, eq=False)
class AtOnce:
    """One fit on the rows it may learn from; of those each is spoken of without its own label, of others plainly."""

    name: str
    task: Task
    fitted: Callable[[Any, Any, Floats | None], Any]
    """A model from features, labels and weights."""
    train: Any
    test: Any
    """Features (N, D) and (M, D) as the estimator takes them."""
    order: Rows
    """Training rows in the order of their ids."""
    without_own: Callable[[Any, Task], Floats]
    """Scores (n, K) of the rows of a task that a model was fitted on, each as if its own label were unknown."""
    of_training_rows: bool = True
    of_test_rows: bool = True
    whole: bool = False
    """Whether it learns from all rows, with their weights; others from ``MOST_ROWS`` of each set at most, unweighed."""

    def learns_from(self, excluded: Mask) -> tuple[Rows, Rows]:
        """Training rows and test rows of the fit."""
        rows = self.order[~excluded[self.order]] if self.of_training_rows else np.empty(0, dtype=np.intp)
        held = np.arange(len(self.task.test)) if self.of_test_rows else np.empty(0, dtype=np.intp)
        return (rows, held) if self.whole else (few(rows, self.task.seed), few(held, self.task.seed))

    def opinion(self, excluded: Mask) -> Opinion:
        """Asked about all rows; then about those of the fit once more, without their labels."""
        task, size = self.task, self.task.encoding.size
        rows, held = self.learns_from(excluded)
        features = stacked(self.train[rows], self.test[held])
        codes = np.concatenate([task.train.codes[rows], task.test.codes[held]])
        weights = self._weights(rows)
        model = self.fitted(features, task.encoding.native[codes], weights)
        data = replace(task.data, train=LabelledSet(features, codes), sample_weight=weights)
        own = self.without_own(model, replace(task, data=data))
        names = task.encoding.native_codes
        said, said_of_test = (learners.scores(model, table, names, size) for table in (self.train, self.test))
        said[rows], said_of_test[held] = own[: len(rows)], own[len(rows) :]
        return Opinion(self.name, log_probabilities(said), log_probabilities(said_of_test))

    def _weights(self, rows: Rows) -> Floats | None:
        """Those of training rows; the test set has none."""
        weights = self.task.sample_weight if self.whole and self.of_training_rows else None
        return None if weights is None else weights[rows]


@dataclass(frozen=True, eq=False)
class LeftOut:
    """A logistic regression at once; in folds where it lacks a class, or its Hessian is too large or not known."""

    at_once: AtOnce
    in_folds: InFolds

    @property
    def name(self) -> str:
        """Who it is."""
        return self.at_once.name

    @property
    def of_training_rows(self) -> bool:
        """Whether it learns from training labels."""
        return self.at_once.of_training_rows

    def opinion(self, excluded: Mask) -> Opinion:
        """By whichever way is open."""
        task = self.at_once.task
        rows, held = self.at_once.learns_from(excluded)
        counts = np.bincount(
            np.concatenate([task.train.codes[rows], task.test.codes[held]]), minlength=task.encoding.size
        )
        if counts.min() >= FOLDS and possible(int(counts.sum()), self.at_once.train.shape[1], len(counts)):
            with suppress(UnsupportedLearner):
                return self.at_once.opinion(excluded)
        return self.in_folds.opinion(excluded)


def leaves_out(estimator: Any) -> bool:
    """Whether this is a learner whose scores without a row are known: scikit-learn's own, with a penalty on squares."""
    if type(estimator) is not LogisticRegression or not np.isfinite(estimator.C):
        return False
    penalty = getattr(estimator, "penalty", "deprecated")
    return penalty in ("l2", "deprecated") and not estimator.l1_ratio


def left_out(model: LogisticRegression, task: Task) -> Floats:
    """Scores (n, K) by the Hessian: see :mod:`psidebug.graybox.logistic.left_out`."""
    design = Design(task.train.features, intercept=bool(model.fit_intercept))
    scores = left_out_scores(objective_of(model, task), design, task.train.codes)
    return np.column_stack([np.zeros(len(scores)), scores]) if scores.shape[1] == 1 else scores


def out_of_bag(model: ExtraTreesClassifier, task: Task) -> Floats:
    """Scores (n, K) by the trees that did not see a row; nothing is known of one that all have seen."""
    shares = np.asarray(model.oob_decision_function_)
    full = np.full((len(shares), task.encoding.size), -np.inf)
    known = [task.encoding.native_codes[value] for value in model.classes_.tolist()]
    full[:, known] = log_shares(np.where(np.isfinite(shares), shares, 1.0 / len(known)))
    return full


def log_probabilities(scores: Floats) -> Floats:
    """Logarithms of the softmax, none below ``LEAST``."""
    return np.asarray(np.maximum(log_softmax(scores, axis=1), LEAST))


def folds_of(codes: Codes, rng: np.random.Generator) -> Rows:
    """A fold for each row, of every class as many in each as can be."""
    folds = np.empty(len(codes), dtype=np.intp)
    start = 0
    for code in np.unique(codes):
        rows = rng.permutation(np.flatnonzero(codes == code))
        folds[rows] = (start + np.arange(len(rows))) % FOLDS
        start += len(rows)
    return folds


def few(rows: Rows, seed: int) -> Rows:
    """``MOST_ROWS`` of them at most, drawn."""
    return rows if len(rows) <= MOST_ROWS else np.random.default_rng(seed).choice(rows, MOST_ROWS, replace=False)


def stacked(first: Any, second: Any) -> Any:
    """One table above the other."""
    return sp.vstack([first, second], format="csr") if sp.issparse(first) else np.concatenate([first, second])
