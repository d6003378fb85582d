"""What is done in a single fit, here or in another process, with the same answer to the last digit.

Every fit has one thread for linear algebra, and one for the loops of trees if its rows are few, wherever it is made. A
learner that cannot be fitted is an answer, too, and raised by whoever asked.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from psidebug.changes import Change
from psidebug.errors import LearnerFailed
from psidebug.task import learner as learners
from psidebug.task.data import Data
from psidebug.task.tables import Table
from psidebug.task.task import Task
from psidebug.threads import few_threads, one_blas_thread

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Trained:
    """What the learner says after a change: margins (points, K-1) on the test rows, and on the validation rows."""

    test: Floats
    validation: Floats | None


class Fit(NamedTuple):
    """What an estimator is fitted on."""

    features: Table
    labels: npt.NDArray[Any]
    weights: Floats | None = None


@dataclass(frozen=True, eq=False)
class Fitting:
    """Fits copies of any estimator."""

    estimator: Any
    seed: int
    one_thread: bool
    """Whether a fit to many rows has one, too."""

    def __call__(self, fit: Fit) -> Any:
        """A fitted copy."""
        with _threads_of(len(fit.labels), one=self.one_thread):
            try:
                return learners.refit(
                    self.estimator, fit.features, fit.labels, sample_weight=fit.weights, seed=self.seed
                )
            except LearnerFailed as error:
                return error

    @property
    def kind(self) -> Hashable:
        """Whose fits take about as long as each other."""
        return Fitting, type(learners.final_step(self.estimator))

    def __getstate__(self) -> dict[str, Any]:
        """It travels without what was learned, which may be large, and which no fit looks at."""
        return {**vars(self), "estimator": learners.fresh(self.estimator)}


@dataclass(frozen=True, eq=False)
class Training:
    """Trains the learner of a task after a change."""

    task: Task
    one_thread: bool

    def __call__(self, change: Change) -> Trained | LearnerFailed:
        """What it then says."""
        data = change.applied(self.task.data)
        with _threads_of(len(data.train), one=self.one_thread):
            try:
                return said(self.task, self._fitted(change, data), data)
            except LearnerFailed as error:
                return error

    def model(self, change: Change) -> learners.Classifier:
        """The learner itself."""
        data = change.applied(self.task.data)
        with _threads_of(len(data.train), one=self.one_thread):
            return self._fitted(change, data)

    @property
    def kind(self) -> Hashable:
        """Whose fits take about as long as each other."""
        return Training, type(learners.final_step(self.task.learner))

    def __getstate__(self) -> dict[str, Any]:
        """It travels without what the learner has learned."""
        return {**vars(self), "task": self.task.unfitted}

    def _fitted(self, change: Change, data: Data) -> learners.Classifier:
        """Steps blind to labels are not fitted again where the features are the same."""
        task, labels, weights = self.task, data.encoding.native[data.train.codes], data.sample_weight
        if change.keeps_features and (seen := task.seen_in_every_world) is not None:
            final = learners.final_step(task.learner)
            return seen.with_final(learners.refit(final, seen.train, labels, sample_weight=weights, seed=task.seed))
        return learners.refit(task.learner, data.train.features, labels, sample_weight=weights, seed=task.seed)


def said(task: Task, model: learners.Classifier, data: Data) -> Trained:
    """What a model says of the rows that a task is tested with."""
    validation = None if data.validation is None else task.margins(model, data.validation)
    return Trained(task.margins(model, data.test), validation)


@contextmanager
def _threads_of(rows: int, *, one: bool) -> Iterator[None]:
    """Those that a fit to so many rows has, in whatever process it is made; ``one`` if that is all it may have."""
    with one_blas_thread(), few_threads(0 if one else rows):
        yield
