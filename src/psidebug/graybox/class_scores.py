"""Gray boxes that know how labels move the scores of the classes; margins and effects follow from that.

A box says two things of the class scores f_tk of the test points:

    gains(v)[i, k]          Σ_tl v_tl ∂f_tl, what label k of row i adds to them (up to a constant for each row)
    scores(worlds, points)  f_tk in each world

and :class:`OfClassScores` makes of them m_tr(w) = m_tr + (f_{y_t} - f_r)(w) - (f_{y_t} - f_r) and the effects (N, K).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from psidebug.errors import LearnerMismatch
from psidebug.graybox.protocol import Floats, Worlds, solved_once
from psidebug.margins import by_class, margins_of
from psidebug.task import learner as learners
from psidebug.task.labels import Codes
from psidebug.task.task import Task

NUMBERS_AT_ONCE = 4_000_000
SAME = 1e-6
"""Largest gap between two margins that are the same, beside the largest margin: libraries add in another order."""


def class_of(model: Any, known: dict[str, Any]) -> Any:
    """What is known of scikit-learn's class of this name, or of the first that the model's inherits from; or None."""
    own = (kind.__name__ for kind in type(model).__mro__ if kind.__module__.startswith("sklearn."))
    return next((known[name] for name in own if name in known), None)


class OfClassScores(ABC):
    """A gray box by the scores of the classes."""

    name: str

    def __init__(self, task: Task) -> None:
        self._given, self._right, self._classes = task.train.codes, task.test.codes, task.encoding.size
        self.actual: Floats = task.margins(task.learner, task.test)
        self.notes: tuple[str, ...] = task.seen.notes

    @solved_once
    def effects(self, weights: Floats) -> Floats:
        """gains(v)[i, k] - gains(v)[i, y_i], shape (N, K), v the weights (points, K) of the class scores."""
        gains = self._gains(by_class(weights, self._right))
        return np.asarray(gains - np.take_along_axis(gains, self._given[:, None], axis=1))

    def margins(self, worlds: Worlds, points: npt.NDArray[np.intp] | None = None) -> Floats:
        """Margins (worlds, points, K-1), as many worlds at a time as memory has room for."""
        chosen = np.arange(len(self._right)) if points is None else np.asarray(points, dtype=np.intp)
        result = np.empty((len(worlds), len(chosen), self._classes - 1))
        if len(chosen) == 0 or len(worlds) == 0:
            return result
        given = margins_of(self._scores(self._given[None], chosen), self._right[chosen])
        at_once = max(1, NUMBERS_AT_ONCE // (len(chosen) * self._classes))
        for start in range(0, len(worlds), at_once):
            scores = self._scores(np.asarray(worlds[start : start + at_once]), chosen)
            moved = margins_of(scores, self._right[chosen]) - given
            result[start : start + at_once] = self.actual[chosen] + moved
        return result

    @abstractmethod
    def _gains(self, pulls: Floats) -> Floats:
        """(N, K) of pulls (points, K)."""

    @abstractmethod
    def _scores(self, worlds: Worlds, points: npt.NDArray[np.intp]) -> Floats:
        """(worlds, points, K)."""

    def _check_reproduced(self, task: Task) -> None:
        """Raise :class:`LearnerMismatch` unless the given labels make the learner's own margins."""
        made = margins_of(self._scores(self._given[None], np.arange(len(self._right))), self._right)[0]
        if not np.abs(made - self.actual).max(initial=0.0) <= SAME * max(1.0, float(np.abs(self.actual).max())):
            raise other_data(task)


def other_data(task: Task) -> LearnerMismatch:
    """The refusal of a model that is not the fit of the task's rows, labels and weights."""
    return LearnerMismatch(
        f"this {type(learners.final_step(task.learner)).__name__} was not fitted on the rows, labels and weights "
        f"given. Give exactly the data it was fitted on, or give the model unfitted."
    )


def sums_moved(worlds: Worlds, given: Codes, weights: Floats, classes: int) -> Any:
    """S (worlds · K, N), sparse: S X is what moved labels add to Σ_{i: w_i = k} s_i x_i, world by world."""
    world, row = np.nonzero(worlds != given)
    lines = np.concatenate([world * classes + worlds[world, row], world * classes + given[row]])
    values = np.concatenate([weights[row], -weights[row]])
    return sp.csr_array((values, (lines, np.tile(row, 2))), shape=(len(worlds) * classes, len(given)))
