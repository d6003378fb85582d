"""Gray boxes "leaf" and "leaf_residual": the paper's linear form, each tree taken by itself.

Moving label i from y to k moves the gradient of column y by +a_i and of column k by -a_i, whatever the score, and the
Hessian not at all. With every tree's residuals held, a test score moves by

    Δf_c(t) = Σ_{trees n of column c} [leaf_n(t) = leaf_n(i)] b_ni ρ_n a_i r_ni (1[c=k] - 1[c=y]) / (H_nl + λ_nl),

r_ni = 1 for "leaf" (the paper's 2yσ) and r_ni = 2(1 - p_ni), p_ni the probability of the given label before tree n,
for "leaf_residual": the sigmoid held at its profiled value. Both ignore that later trees compensate: they order rows
well and overstate the effect; "leaf_derivative" has the scale.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from psidebug.graybox.protocol import Floats, Worlds, solved_once
from psidebug.graybox.trees.ensemble import Ensemble, OfEnsemble
from psidebug.graybox.trees.passes import added, blocks, sum_by_leaf
from psidebug.graybox.trees.profile import Tree
from psidebug.task.labels import Codes
from psidebug.task.task import Task

Rows = npt.NDArray[np.intp] | slice


class Leaf(OfEnsemble):
    """The paper's coefficient: what a flip does to the leaves it falls in."""

    name = "leaf"
    residual = False

    def __init__(self, task: Task, ensemble: Ensemble | None = None) -> None:
        super().__init__(task, ensemble)
        first = (steps[0] for made in self.ensemble.traced.steps for steps in made)
        self._gain: list[Floats] = [  # ρ / (H + λ) by leaf, 0 where no label moves the value
            np.where(step.live & (not tree.fixed), tree.rate / step.divisor, 0.0)[:, 0]
            for tree, step in zip(self.ensemble.profile.trees, first, strict=True)
        ]

    @solved_once
    def effects(self, weights: Floats) -> Floats:
        """A sum over trees of one number per leaf, gathered by the rows of that leaf."""
        profile, u = self.ensemble.profile, self.ensemble.gathered(weights)
        price = [
            gain * np.bincount(tree.test, u[tree.column], len(tree.values))
            for tree, gain in zip(profile.trees, self._gain, strict=True)
        ]
        pull = np.zeros((profile.classes, len(profile.given)))
        first = profile.classes - profile.columns
        for block in blocks(len(profile.given), 1):
            for number, tree, share in self._stages(block):
                gathered = np.take(price[number], tree.train[block])
                pull[first + tree.column, block] += gathered if share is None else gathered * share
        pull *= self.ensemble.traced.labels.weight[:, 0]
        return np.asarray((pull - np.take_along_axis(pull, profile.given[None, :], axis=0)).T)

    def _margins(self, worlds: Worlds, points: Rows) -> Floats:
        """Actual margins plus the effects of the labels that differ."""
        profile = self.ensemble.profile
        moved = np.flatnonzero((worlds != profile.given).any(axis=0))
        watched = np.arange(profile.test_size)[points]
        change = np.zeros((profile.columns, len(watched), len(worlds)))
        pulls = [self._label_change(worlds[:, moved], moved, column) for column in range(profile.columns)]
        for number, tree, share in self._stages(moved):
            pull = pulls[tree.column] if share is None else pulls[tree.column] * share[:, None]
            s = sum_by_leaf(tree.train[moved], pull, len(tree.values)) * self._gain[number][:, None]
            change[tree.column] += np.take(s, tree.test[watched], axis=0)
        return self.ensemble.moved(change, points)

    def _label_change(self, labels: Worlds, rows: npt.NDArray[np.intp], column: int) -> Floats:
        """a_i (1[c = w_i] - 1[c = y_i]) for a score column, shape (rows, worlds)."""
        profile = self.ensemble.profile
        k = column + profile.classes - profile.columns
        given: Codes = profile.given[rows]
        difference = (labels == k).astype(np.float64) - (given == k)
        return np.asarray(difference.T * self.ensemble.traced.labels.weight[rows])

    def _stages(self, rows: Rows) -> Iterator[tuple[int, Tree, Floats | None]]:
        """Every tree with the share r·b of each of these rows in it; None where all are 1."""
        profile, number = self.ensemble.profile, 0
        loss = profile.loss
        x = np.repeat(loss.carried(self.ensemble.traced.labels.start), len(profile.given[rows]), axis=1)[:, :, None]
        for trees, made in zip(profile.rounds, self.ensemble.traced.steps, strict=True):
            r = self._residual(x[:, :, 0], rows) if self.residual else None
            for tree, steps in zip(trees, made, strict=True):
                share = r if tree.bag is None else tree.bag[rows] if r is None else tree.bag[rows] * r
                yield number, tree, share
                number += 1
                if self.residual:
                    loss.add(x[tree.column], loss.step(added(tree, steps)), tree.train[rows])

    def _residual(self, x: Floats, rows: Rows) -> Floats:
        """2(1 - p) for the given label, p before the round (forests: of the whole forest)."""
        profile = self.ensemble.profile
        p = self.ensemble.traced.train[:, rows] if profile.averaged else profile.loss.probability(x)
        by_class = p if profile.columns > 1 else np.concatenate([1.0 - p, p])
        return np.asarray(2.0 * (1.0 - np.take_along_axis(by_class, profile.given[rows][None, :], axis=0)[0]))


class LeafResidual(Leaf):
    """The same with the sigmoid held: a label the ensemble already agrees with weighs little."""

    name = "leaf_residual"
    residual = True
