"""An ensemble with its trace and its test rows: from scores of columns to margins, and back.

A margin is m_tr = F_{y_t} - F_r over the class scores F: the column scores f themselves (two classes: 0 and f), or,
for a forest, the logarithm of its mean probabilities smoothed by a (``margins.log_shares``). The linear forms need
the slope of F: 1, or 1/(f + a) for a forest. It is taken where labels are a little uncertain, as the leaf derivative
is: with each given label at weight 1 - ``SOFTNESS``, a mean p of labels is (1 - softness) p + softness (1 - p)/(K - 1).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from psidebug.graybox.adapters import profile_of
from psidebug.graybox.protocol import Floats
from psidebug.graybox.trees.profile import Profile
from psidebug.graybox.trees.trace import Trace, trace
from psidebug.margins import SMOOTHING, by_class, log_shares, margins_of
from psidebug.task import learner as learners
from psidebug.task.labels import Codes
from psidebug.task.task import Task

SOFTNESS = 0.05
Points = npt.NDArray[np.intp] | slice


@dataclass(frozen=True, eq=False)
class Ensemble:
    """A profiled ensemble, traced over the given labels, with the test rows' right classes and actual margins."""

    profile: Profile
    traced: Trace
    right: Codes
    actual: Floats
    """Margins (points, K-1) of the learner as it is."""
    slope: Floats
    """∂F_k/∂f_k (points, K)."""

    @classmethod
    def of(cls, task: Task) -> Ensemble:
        """Profile the task's learner and check that it belongs to the task's data."""
        profile = profile_of(task)
        traced = trace(profile, type(learners.final_step(task.learner)).__name__)
        actual = task.margins(task.learner, task.test)
        return cls(profile, traced, task.test.codes, actual, _slope(profile, traced))

    def margins(self, scores: Floats, points: Points = slice(None)) -> Floats:
        """Margins (worlds, points, K-1) of column scores (columns, points, worlds).

        They are shifted so that the given labels have exactly the learner's own margins, rounding and ties included.
        """
        own = self._margins(self.traced.test[:, points, None], points)
        return np.asarray(self._margins(scores, points) - own + self.actual[points])

    def moved(self, change: Floats, points: Points = slice(None)) -> Floats:
        """Actual margins plus those of a small change of the column scores (columns, points, worlds)."""
        classes = np.moveaxis(self._classes(change), (2, 1, 0), (0, 1, 2)) * self.slope[points]
        return np.asarray(self.actual[points] + margins_of(classes, self.right[points]))

    def gathered(self, weights: Floats) -> Floats:
        """u with Σ_tr weights_tr ∂m_tr = Σ_ct u_ct ∂f_ct, shape (columns, points)."""
        pull = by_class(weights, self.right) * self.slope
        return np.ascontiguousarray(pull.T[self.profile.classes - self.profile.columns :])

    def _margins(self, scores: Floats, points: Points) -> Floats:
        classes = np.moveaxis(self._classes(scores), (2, 1, 0), (0, 1, 2))
        return margins_of(log_shares(classes) if self.profile.averaged else classes, self.right[points])

    def _classes(self, scores: Floats) -> Floats:
        return scores if self.profile.columns > 1 else np.concatenate([np.zeros_like(scores), scores])


def _slope(profile: Profile, traced: Trace) -> Floats:
    if not profile.averaged:
        return np.ones((profile.test_size, profile.classes))
    p = traced.test.T
    soft = (1.0 - SOFTNESS) * p + SOFTNESS * (1.0 - p) / (profile.classes - 1)
    return np.asarray(1.0 / (soft + SMOOTHING))
