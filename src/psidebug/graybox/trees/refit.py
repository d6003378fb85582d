"""Gray box "leaf_refit": regions kept, residuals and leaf values recomputed tree by tree for the new labels.

It has the scale of real retraining, since later trees answer to what earlier ones have changed; what it leaves out is
that new labels may move the splits.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from psidebug.graybox.protocol import Floats, Worlds
from psidebug.graybox.trees.ensemble import Ensemble
from psidebug.graybox.trees.passes import walk, weighed
from psidebug.graybox.trees.weighting import one_hot
from psidebug.task.task import Task

NUMBERS_AT_ONCE = 4_000_000  # classes × rows × worlds held in memory at a time


class LeafRefit:
    """Margins in each world with every leaf value anew; exactly the learner's own for the given labels."""

    name = "leaf_refit"

    def __init__(self, task: Task, ensemble: Ensemble | None = None) -> None:
        self.ensemble = Ensemble.of(task) if ensemble is None else ensemble
        self.notes = self.ensemble.profile.notes

    def margins(self, worlds: Worlds, points: npt.NDArray[np.intp] | None = None) -> Floats:
        """Walk over the trees with the labels of every world, as many worlds at once as memory allows."""
        watched = slice(None) if points is None else points
        profile = self.ensemble.profile
        parts = [
            self.ensemble.margins(walk(profile, weighed(profile, one_hot(some, profile.classes)), watched)[0], watched)
            for some in in_memory(worlds, profile.classes)
        ]
        return np.concatenate(parts) if parts else self.ensemble.actual[watched][None][:0]


def in_memory(worlds: Worlds, classes: int) -> list[Worlds]:
    """The worlds in groups whose labels fit in memory."""
    at_once = max(NUMBERS_AT_ONCE // max(worlds.shape[1] * classes, 1), 1)
    return [worlds[begin : begin + at_once] for begin in range(0, len(worlds), at_once)]
