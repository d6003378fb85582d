"""The walk for the given labels: the leaf values of the rule beside those of the model.

They agree when model, rows, labels and weights belong together. If they do not, every gray box made from them would be
about another model than the user's, so this is where such a pair is refused.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from psidebug.errors import LearnerMismatch
from psidebug.graybox.protocol import Floats
from psidebug.graybox.trees.passes import Labels, Step, added, walk, weighed
from psidebug.graybox.trees.profile import Profile
from psidebug.graybox.trees.weighting import one_hot

AGREEMENT = 1e-3
"""Largest gap allowed between a leaf value and the rule's, as a share of the largest leaf value of that tree."""
AGREEMENT_OF_SEVERAL_STEPS = 1e-2
"""The same for trees of several Newton steps: a library may shorten the last of them where the loss no longer falls."""


@dataclass(frozen=True, eq=False)
class Trace:
    """The given labels as the trees saw them, every Newton step, and the scores at the end."""

    profile: Profile
    labels: Labels
    steps: list[list[list[Step]]]
    train: Floats
    """Final training scores, shape (columns, N)."""
    test: Floats
    """Final test scores, shape (columns, points)."""


def trace(profile: Profile, name: str) -> Trace:
    """Walk over the trees with the given labels; refuse a model whose leaf values are not those of these labels."""
    traced = trace_at(profile, one_hot(profile.given[None, :], profile.classes))
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
