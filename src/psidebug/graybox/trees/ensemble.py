"""An ensemble with its trace and its test rows: from scores of columns to margins, and back.

A margin is m_tr = F_{y_t} - F_r over the class scores F: the column scores f themselves (two classes: 0 and f), or,
for a forest, the logarithm of its mean probabilities smoothed by a (``margins.log_shares``). The linear forms need
the slope of F: 1, or 1/(f + a) for a forest. It is taken where labels are a little uncertain, as the leaf derivative
is: with each given label at weight 1 - ``SOFTNESS``, a mean p of labels is (1 - softness) p + softness (1 - p)/(K - 1).

The trace is the walk for the given labels: the leaf values of the rule beside those of the model. They agree when
model, rows, labels and weights belong together. If they do not, every gray box made from them would be about another
model than the user's, so this is where such a pair is refused.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from psidebug.errors import LearnerMismatch
from psidebug.graybox.protocol import Floats, Worlds
from psidebug.graybox.trees.adapters import profile_of
from psidebug.graybox.trees.passes import Step, WeighedLabels, added, walk, weighed
from psidebug.graybox.trees.profile import Profile
from psidebug.margins import SMOOTHING, by_class, log_shares, margins_of
from psidebug.task import learner as learners
from psidebug.task.labels import Codes
from psidebug.task.task import Task

SOFTNESS = 0.05
NUMBERS_AT_ONCE = 4_000_000  # classes × rows × worlds held in memory at a time
AGREEMENT = 1e-3
"""Largest gap allowed between a leaf value and the rule's, as a share of the largest leaf value of that tree."""
AGREEMENT_OF_SEVERAL_STEPS = 1e-2
"""The same for trees of several Newton steps: a library may shorten the last of them where the loss no longer falls."""
Points = npt.NDArray[np.intp] | slice


@dataclass(frozen=True, eq=False)
class Trace:
    """The given labels as the trees saw them, every Newton step, and the scores at the end."""

    profile: Profile
    labels: WeighedLabels
    steps: list[list[list[Step]]]
    train: Floats
    """Final training scores, shape (columns, N)."""
    test: Floats
    """Final test scores, shape (columns, points)."""


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


class OfEnsemble(ABC):
    """A gray box of an ensemble; ``_margins`` says what other labels do to it."""

    def __init__(self, task: Task, ensemble: Ensemble | None = None) -> None:
        self.ensemble = Ensemble.of(task) if ensemble is None else ensemble
        self.notes = self.ensemble.profile.notes
        self.actual = self.ensemble.actual

    def margins(self, worlds: Worlds, points: npt.NDArray[np.intp] | None = None) -> Floats:
        """Margins (worlds, points, K-1) of all worlds, as many at a time as memory has room for."""
        watched = slice(None) if points is None else points
        at_once = max(NUMBERS_AT_ONCE // max(worlds.shape[1] * self.ensemble.profile.classes, 1), 1)
        parts = [self._margins(worlds[begin : begin + at_once], watched) for begin in range(0, len(worlds), at_once)]
        return np.concatenate(parts) if parts else self.actual[watched][None][:0]

    @abstractmethod
    def _margins(self, worlds: Worlds, points: Points) -> Floats: ...


def trace(profile: Profile, name: str) -> Trace:
    """Walk over the trees with the given labels; refuse a model whose leaf values are not those of these labels."""
    traced = trace_at(profile, profile.labels)
    _check(profile, traced.labels.start, traced.steps, name)
    return traced


def trace_at(profile: Profile, labels: Floats) -> Trace:
    """The walk for these labels (K, N, 1), fractions allowed."""
    seen = weighed(profile, labels)
    test, steps, train = walk(profile, seen, slice(None))
    return Trace(profile, seen, steps, train[:, :, 0], test[:, :, 0])


def _check(profile: Profile, start: Floats, steps: list[list[list[Step]]], name: str) -> None:
    if not np.allclose(start[:, 0], profile.start.value, rtol=AGREEMENT, atol=AGREEMENT):
        raise LearnerMismatch(_refusal(name, "its first score is not theirs"))
    for number, (trees, made) in enumerate(zip(profile.rounds, steps, strict=True)):
        for tree, taken in zip(trees, made, strict=True):
            if tree.fixed:
                continue
            s = added(tree, taken)[:, 0]
            used = np.bincount(tree.train, minlength=len(s)) > 0
            gap = np.abs(s - tree.values)[used].max(initial=0.0)
            share = AGREEMENT if tree.steps == 1 else AGREEMENT_OF_SEVERAL_STEPS
            # A tree late in a separable task has leaf values of rounding size: an absolute floor for those.
            if not gap <= share * np.abs(tree.values[used]).max(initial=0.0) + 1e-6:
                raise LearnerMismatch(
                    _refusal(name, f"in round {number} a leaf value differs from theirs by {gap:.2g}")
                )


def _refusal(name: str, finding: str) -> str:
    return (
        f"this {name} was not fitted on the rows, labels and weights given: {finding}. Give exactly the data it was "
        f"fitted on (with its sample_weight, and without an init_score or base margin), or give the model unfitted."
    )


def _slope(profile: Profile, traced: Trace) -> Floats:
    if not profile.averaged:
        return np.ones((profile.test_size, profile.classes))
    p = traced.test.T
    soft = (1.0 - SOFTNESS) * p + SOFTNESS * (1.0 - p) / (profile.classes - 1)
    return np.asarray(1.0 / (soft + SMOOTHING))
