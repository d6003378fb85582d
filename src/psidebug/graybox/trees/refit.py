"""Gray boxes "leaf_refit" and "leaf_refits": regions kept, residuals and leaf values recomputed for the new labels.

The leaf refit has the scale of real retraining, since later trees answer to what earlier ones have changed; what it
leaves out is that new labels may move the splits. "leaf_refits" is the mean of leaf refits in the regions of several
fits, each on slightly other labels:

    m(w) = m + 1/S Σ_s (m_s(w) - m_s(y)),   m_s the leaf refit in the regions of the learner trained on y_s,

y_s the given labels y with a random 5% moved. One fit's regions are partly chance, which the mean takes out; and they
were grown on the given labels, noise included, so that its own leaf refit takes a given label more seriously than one
that has moved. The regions of other labels treat both alike, which is why the learner's own are left out.

It costs S fits, and S times as much per world as "leaf_refit": docs/decisions/0012-tree-structure.md has the figures.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from psidebug.changes import Relabel
from psidebug.errors import UnknownOption
from psidebug.graybox.protocol import Floats, Worlds
from psidebug.graybox.trees.adapters import profile_of
from psidebug.graybox.trees.ensemble import SOFTNESS, Ensemble, OfEnsemble, Points, trace_at
from psidebug.graybox.trees.passes import walk, weighed
from psidebug.graybox.trees.weighting import one_hot
from psidebug.task.labels import Codes
from psidebug.task.task import Task
from psidebug.training.trainer import Trainer

STRUCTURES = 2


class LeafRefit(OfEnsemble):
    """Margins in each world with every leaf value anew; exactly the learner's own for the given labels."""

    name = "leaf_refit"

    def _margins(self, worlds: Worlds, points: Points) -> Floats:
        """Walk over the trees with the labels of every world."""
        profile = self.ensemble.profile
        scores, _, _ = walk(profile, weighed(profile, one_hot(worlds, profile.classes)), points)
        return self.ensemble.margins(scores, points)


class LeafRefits:
    """Margins in each world, averaged over ``structures``; exactly the learner's own for the given labels."""

    name = "leaf_refits"

    def __init__(self, task: Task, ensemble: Ensemble | None = None, *, structures: int = STRUCTURES) -> None:
        if structures < 1:
            raise UnknownOption(f"structures takes a number of fits from 1, not {structures!r}.")
        own, rng = Ensemble.of(task) if ensemble is None else ensemble, np.random.default_rng(task.seed)
        self.notes = own.profile.notes
        self._boxes = [LeafRefit(task, regrown(own, task, nearby(task, rng))) for _ in range(structures)]

    def margins(self, worlds: Worlds, points: npt.NDArray[np.intp] | None = None) -> Floats:
        """The mean over the structures."""
        return np.asarray(sum(box.margins(worlds, points) for box in self._boxes) / len(self._boxes))


def nearby(task: Task, rng: np.random.Generator) -> Codes:
    """The given labels with a random 5% moved; the first row of each class stays, so that no class dies out."""
    codes, size = task.train.codes.copy(), task.encoding.size
    movable = np.setdiff1d(np.arange(len(codes)), np.unique(codes, return_index=True)[1])
    moved = rng.choice(movable, min(round(SOFTNESS * len(codes)), len(movable)), replace=False)
    codes[moved] = (codes[moved] + rng.integers(1, size, len(moved))) % size
    return codes


def regrown(ensemble: Ensemble, task: Task, codes: Codes) -> Ensemble:
    """The ensemble of the task's labels and margins in the regions of the learner trained on these labels."""
    other = Trainer(task).after(Relabel.of(task.data, codes))
    profile = replace(profile_of(other), given=task.train.codes)
    return replace(ensemble, profile=profile, traced=trace_at(profile, profile.labels))
