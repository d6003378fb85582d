"""What every peer is given and what it gives back: a ``Contest``, and a ``Finding`` about its training labels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.preprocessing import StandardScaler

from psidebug.datasets import Benchmark, Learner
from psidebug.task import learner as learners
from psidebug.task.labels import Codes
from psidebug.task.tables import Table, row_count
from psidebug.task.task import Task

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Contest:
    """One task as every peer sees it; classes are 0 … K-1.

    ``X_…`` are numbers, as they reach the final estimator of the user's pipeline; ``train`` and ``test`` are the same
    rows as the user has them. No peer is told which labels are wrong, or sees the validation rows.
    """

    kind: Learner
    model: learners.Classifier
    """The user's whole pipeline, unfitted."""
    train: Table
    test: Table
    X_train: Any
    X_test: Any
    near_train: Floats
    """Dense and of one scale, for methods of nearest neighbours: the encoding of the logistic learner, standardised."""
    near_test: Floats
    given: Codes
    y_test: Codes
    size: int
    """K, the number of classes."""
    seed: int

    @classmethod
    def of(cls, data: Benchmark, kind: Learner, *, seed: int, y_test: Codes | None = None) -> Contest:
        """The contest of a benchmark and a learner; ``y_test`` are test labels instead of the right ones."""
        model = data.learner(kind)
        seen = fitted_encoder(data, kind)
        near_train, near_test = _near(data)
        return cls(
            kind=kind,
            model=model,
            train=data.X_train,
            test=data.X_test,
            X_train=seen(data.X_train),
            X_test=seen(data.X_test),
            near_train=near_train,
            near_test=near_test,
            given=data.given,
            y_test=data.y_test if y_test is None else y_test,
            size=len(data.classes),
            seed=seed,
        )

    def __len__(self) -> int:
        return len(self.given)

    @property
    def points(self) -> int:
        """Number of test points."""
        return len(self.y_test)

    @property
    def estimator(self) -> learners.Classifier:
        """The final estimator alone, unfitted: it takes ``X_train``."""
        return learners.final_step(self.model)

    @cached_property
    def rng(self) -> np.random.Generator:
        """Chance for those that need it."""
        return np.random.default_rng(self.seed)

    def fit(self, labels: Codes | None = None, rows: Any = slice(None)) -> learners.Classifier:
        """The estimator trained on these labels (N,), the given ones if left out, of these rows."""
        chosen = self.given if labels is None else labels
        return learners.refit(self.estimator, self.X_train[rows], chosen[rows], seed=self.seed)

    def belief(self, model: learners.Classifier, X: Any, labels: Codes) -> Floats:
        """Probability that a fitted model gives to each of these labels, at least 1e-15."""
        return np.asarray(np.clip(self.probabilities(model, X)[np.arange(len(labels)), labels], 1e-15, 1.0))

    def probabilities(self, model: learners.Classifier, X: Any) -> Floats:
        """Probabilities of all K classes, (rows, K): 0 for a class that the model has not seen."""
        full = np.zeros((row_count(X), self.size))
        full[:, np.asarray(model.classes_, dtype=np.intp)] = model.predict_proba(X)
        return full

    def task(self, model: learners.Classifier, rows: Any = slice(None)) -> Task:
        """A fitted estimator and the rows it was fitted on, as gray boxes take them."""
        return Task.of(model, self.X_train[rows], self.given[rows], self.X_test, self.y_test, seed=self.seed)


@dataclass(frozen=True, eq=False)
class Finding:
    """What a method says: a score of every training row, and, if it has one, its own automatic choice."""

    scores: Floats
    """(N,), higher is more suspicious."""
    labels: Codes | None = None
    """Labels (N,) it would train on instead of the given ones."""
    kept: Mask | None = None
    """Rows (N,) it would train on."""

    @property
    def automatic(self) -> bool:
        """Whether the method chooses by itself what to change."""
        return self.labels is not None or self.kept is not None


def _always(contest: Contest, one_fit: float) -> float:
    return 0.0


@dataclass(frozen=True)
class Peer:
    """A method to compare: what it is called, what it needs, and the function that ranks."""

    name: str
    rank: Callable[[Contest], Finding]
    about: str
    """What it does, in a few words for the table."""
    learners: tuple[Learner, ...] = ("logistic", "boosting")
    uses_test: bool = True
    """Whether the answer depends on the test points."""
    most_classes: int | None = None
    most_rows: int | None = None
    chooses: bool = False
    """Whether it has an automatic choice; only then is there anything to measure where no label is wrong."""
    package: str | None = None
    """The module it needs; absent where that cannot be imported."""
    seconds: Callable[[Contest, float], float] = _always
    """What it will take, from the time of one fit: only those who may be slow say so."""


def fitted_encoder(data: Benchmark, kind: Learner) -> Callable[[Table], Any]:
    """What turns the rows of a benchmark into the numbers that its final estimator sees."""
    encoder = data.encoders.get(kind)
    return (lambda table: table) if encoder is None else learners.fresh(encoder).fit(data.X_train).transform


def _near(data: Benchmark) -> tuple[Floats, Floats]:
    seen = fitted_encoder(data, "logistic")
    train, test = seen(data.X_train), seen(data.X_test)
    if sp.issparse(train):  # words and one-hot columns are of one scale already
        return train.toarray(), test.toarray()
    scaler = StandardScaler().fit(train)
    return scaler.transform(train), scaler.transform(test)
