"""The walk's derivative, backwards: pulls on test scores to pulls on every weighted label. See ``derivative``."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from psidebug.graybox.protocol import Floats
from psidebug.graybox.trees.passes import Step, added, blocks, shifted
from psidebug.graybox.trees.profile import Tree
from psidebug.graybox.trees.trace import Trace


class Reverse:
    """The state of one pass backwards: scores of the current round (carried as x), pulls φ on them, ā and W̄ so far."""

    def __init__(self, traced: Trace, u: Floats) -> None:
        """``u`` (columns, points) are the pulls on the test scores."""
        self._traced, self._u = traced, u
        self._x = traced.profile.loss.carried(traced.train[:, :, None])
        self._phi = np.zeros_like(traced.train)
        self._on_weight = np.zeros(traced.train.shape[1])
        self._on_target = np.zeros_like(traced.train)

    def run(self) -> tuple[Floats, Floats]:
        """Pulls on W (K, N), those on a included, and on the first score (columns,)."""
        profile = self._traced.profile
        on_value: list[Floats] | None = None
        earlier = [*reversed(profile.rounds[:-1]), ()]
        for trees, made, before in zip(reversed(profile.rounds), reversed(self._traced.steps), earlier, strict=True):
            on_value = self._round(trees, made, on_value, before)
        on_weights = np.repeat(self._on_weight[None, :], profile.classes, axis=0)
        on_weights[profile.classes - profile.columns :] += self._on_target
        return on_weights, self._u.sum(axis=1) + self._phi.sum(axis=1)

    def _round(
        self,
        trees: Sequence[Tree],
        made: Sequence[Sequence[Step]],
        phi_sums: list[Floats] | None,
        before: Sequence[Tree],
    ) -> list[Floats]:
        """Go back over one round; returns Σ φ by leaf of the round before it, taken while the rows are at hand."""
        loss = self._traced.profile.loss
        undone = [loss.step(-added(tree, steps)) for tree, steps in zip(trees, made, strict=True)]
        from_test = [np.bincount(tree.test, self._u[tree.column], len(tree.values)) for tree in trees]
        from_train = [np.zeros(len(tree.values)) for tree in trees] if phi_sums is None else phi_sums
        on_value: list[Floats] = [
            np.asarray(tree.rate * (t + i), dtype=np.float64)
            for tree, t, i in zip(trees, from_test, from_train, strict=True)
        ]
        last = max(len(steps) for steps in made) - 1
        phi_before = [np.zeros(len(tree.values)) for tree in before]
        for number in range(last, -1, -1):
            now = [steps[number] for steps in made]
            pulls = [_pull(step, d, loss.scale) for step, d in zip(now, on_value, strict=True)]
            inner = [np.zeros_like(d) for d in on_value]
            for block in blocks(self._x.shape[1], 1):
                leaves = [tree.train[block].astype(np.intp) for tree in trees]
                if number == last:
                    for tree, step, at in zip(trees, undone, leaves, strict=True):
                        loss.add(self._x[tree.column, block], step, at)
                on_scores = self._block(trees, now, pulls, block, leaves)
                self._phi[:, block] += on_scores
                if number:
                    for tree, total, at in zip(trees, inner, leaves, strict=True):
                        total += np.bincount(at, on_scores[tree.column], len(total))
                else:
                    for tree, total in zip(before, phi_before, strict=True):
                        total += np.bincount(tree.train[block], self._phi[tree.column, block], len(total))
            # An earlier step of the same tree also moves the scores at which this one was taken.
            on_value = [np.asarray(d + total) for d, total in zip(on_value, inner, strict=True)]
        return phi_before

    def _block(
        self,
        trees: Sequence[Tree],
        now: Sequence[Step],
        pulls: Sequence[tuple[Floats, Floats]],
        block: slice,
        leaves: Sequence[npt.NDArray[np.intp]],
    ) -> Floats:
        """Add to ā and W̄ of a block of rows; returns the pulls on its scores (columns, rows)."""
        loss, a = self._traced.profile.loss, self._traced.labels.weight[block, 0]
        p = loss.probability(shifted(loss, self._x[:, block], trees, [step.before for step in now], block))[:, :, 0]
        q, slope = loss.curvature(p), loss.curvature_slope(p)
        on_p = np.zeros_like(p)
        for tree, (on_g, on_h), at in zip(trees, pulls, leaves, strict=True):
            if tree.fixed:
                continue
            c = tree.column
            g, h = np.take(on_g, at), np.take(on_h, at)
            if tree.bag is not None:
                g *= tree.bag[block]
                h *= tree.bag[block]
            self._on_target[c, block] -= g
            self._on_weight[block] += p[c] * g
            self._on_weight[block] += q[c] * h
            h *= slope[c]
            g += h
            g *= a
            on_p[c] += g
        return loss.moved(p, on_p)


def _pull(step: Step, on_step: Floats, scale: float) -> tuple[Floats, Floats]:
    """Ḡ and κ H̄ by leaf."""
    on_g = np.where(step.live[:, 0], -on_step / step.divisor[:, 0], 0.0)
    return on_g, scale * on_g * step.size[:, 0]
