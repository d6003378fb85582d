"""Gray box "leaf_derivative": the leaf refit's own derivative, propagated through later trees.

A small change (Δa, ΔW) of the weighted labels moves the scores x at which a tree is fitted, and with them its step d:

    ΔG_l = Σ_{i∈l} b (Δa p - ΔW + a Δp),   ΔH_l = κ Σ_{i∈l} b (Δa q + a q' Δp),   Δp = (∂p/∂f) Δx,
    Δd_l = -(ΔG_l + d_l ΔH_l) / (H_l + λ_l),   Δf_i += ρ Δd_l.

``margins`` carries Δ forwards for whole worlds. ``effects`` runs the transpose backwards, once, for all rows: from
pulls u on the test scores and φ_i on the training scores after a tree,

    d̄_l = ρ (Σ_{t∈l} u_t + Σ_{i∈l} φ_i),   Ḡ_l = -d̄_l / (H_l + λ_l),   H̄_l = d_l Ḡ_l,
    W̄_i -= b Ḡ_l,   ā_i += b (p Ḡ_l + κ q H̄_l),   φ_i += (∂p/∂f) a b (Ḡ_l + κ q' H̄_l),

at a cost of O(trees · (N + |Δ|)). The scores before each tree are those after it less its values: nothing is stored.
Where classes are coupled, G + (H + λ) d = 0 is one equation of all columns: ΔG + ΔH d is summed row by row, d held
(:class:`~psidebug.graybox.trees.loss.CoupledSoftmax`), and 1 / (H + λ) is the inverse of a matrix.

Where the derivative is taken matters. At the given labels a booster is sure of most rows, q = p(1-p) is nearly 0, and
the derivative does not see that later trees will answer to a flip: it overstates a whole flip about twenty times. So
it is taken where labels are a little uncertain, in the mean world of a noise rate: each given label has weight 1 -
``softness``, the others share the rest. With 5% the slope against retraining is about 1
(benchmarks/quality/tree_fidelity.py); ``softness=0`` is the derivative at the given labels.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from psidebug.graybox.protocol import Floats, Worlds, solved_once
from psidebug.graybox.trees.ensemble import SOFTNESS, Ensemble, OfEnsemble, Points, Trace, trace_at
from psidebug.graybox.trees.loss import CoupledSoftmax
from psidebug.graybox.trees.passes import Step, add_leaf_sums, added, blocks, shifted, sum_by_leaf
from psidebug.graybox.trees.profile import Tree
from psidebug.graybox.trees.weighting import one_hot
from psidebug.task.task import Task


class LeafDerivative(OfEnsemble):
    """Linear in the labels, with the leaf refit's scale for small changes."""

    name = "leaf_derivative"

    def __init__(self, task: Task, ensemble: Ensemble | None = None, *, softness: float = SOFTNESS) -> None:
        super().__init__(task, ensemble)
        profile = self.ensemble.profile
        self._at = (1.0 - softness) * profile.labels + softness * (1.0 - profile.labels) / (profile.classes - 1)
        self._traced = trace_at(profile, self._at) if softness else self.ensemble.traced

    @solved_once
    def effects(self, weights: Floats) -> Floats:
        """One pass backwards over the trees, for all rows and labels."""
        profile = self.ensemble.profile
        on_weights, on_start = Reverse(self._traced, self.ensemble.gathered(weights)).run()
        totals = profile.weighting.start_totals(self._at)[:, 0]
        pull = profile.start.slopes(totals).T @ on_start
        on_labels = profile.weighting.pulled(self._at[:, :, 0], on_weights, pull)
        return np.asarray((on_labels - np.take_along_axis(on_labels, profile.given[None, :], axis=0)).T)

    def _margins(self, worlds: Worlds, points: Points) -> Floats:
        """Actual margins plus the tangent of each world."""
        profile = self.ensemble.profile
        change = one_hot(worlds, profile.classes) - profile.labels
        return self.ensemble.moved(tangent(self._traced, self._at, change, points), points)


def tangent(traced: Trace, given: Floats, change: Floats, points: Points) -> Floats:
    """Δf (columns, points, worlds) of the test scores for changes (K, N, worlds) of the given labels (K, N, 1)."""
    profile = traced.profile
    in_trees, in_start = profile.weighting.moved(given, change)
    totals = profile.weighting.start_totals(given)[:, 0]
    start = profile.start.slopes(totals) @ in_start
    weight = in_trees.sum(axis=0)
    target = in_trees[profile.classes - profile.columns :]
    x = np.repeat(profile.loss.carried(traced.labels.start)[:, None, :], len(profile.given), axis=1)
    moved = np.repeat(start[:, None, :], len(profile.given), axis=1)
    watched = np.arange(profile.test_size)[points]
    result = np.repeat(start[:, None, :], len(watched), axis=1)
    for trees, made in zip(profile.rounds, traced.steps, strict=True):
        sizes = _tangent_round(traced, trees, made, x, moved, weight, target)
        for tree, steps, size in zip(trees, made, sizes, strict=True):
            if not tree.fixed:
                moved[tree.column] += np.take(tree.rate * size, tree.train, axis=0)
                result[tree.column] += np.take(tree.rate * size, tree.test[watched], axis=0)
            profile.loss.add(x[tree.column], profile.loss.step(added(tree, steps)), tree.train)
    return result


def _tangent_round(
    traced: Trace,
    trees: Sequence[Tree],
    made: Sequence[Sequence[Step]],
    x: Floats,
    moved: Floats,
    weight: Floats,
    target: Floats,
) -> list[Floats]:
    """ΔΣd by tree, shape (leaves, worlds) each."""
    loss, worlds = traced.profile.loss, moved.shape[2]
    sizes = [np.zeros((len(tree.values), worlds)) for tree in trees]
    for number in range(max(len(steps) for steps in made)):
        now = [steps[number] for steps in made]
        G = [np.zeros_like(size) for size in sizes]
        H = [np.zeros_like(size) for size in sizes]
        for block in blocks(x.shape[1], worlds):
            p = loss.probability(shifted(loss, x[:, block], trees, [step.before for step in now], block))
            p_moved = loss.moved(p, _moved(moved[:, block], trees, sizes, block) if number else moved[:, block])
            q, slope, a = loss.curvature(p), loss.curvature_slope(p), traced.labels.weight[block]
            for tree, gradients, hessians in zip(trees, G, H, strict=True):
                if not tree.fixed:
                    c = tree.column
                    g = weight[block] * p[c] - target[c, block] + a * p_moved[c]
                    h = loss.scale * (weight[block] * q[c] + a * slope[c] * p_moved[c])
                    add_leaf_sums(tree, block, g, h, gradients, hessians)
            if isinstance(loss, CoupledSoftmax):
                d = _at_rows(now, trees, block)
                pressed = weight[block] * loss.pressed(p, d) + a * loss.pressed_moved(p, p_moved, d)
                for tree, gradients in zip(trees, G, strict=True):
                    gradients += sum_by_leaf(tree.train[block], pressed[tree.column], len(gradients))
        for size, step, g, h in zip(sizes, now, G, H, strict=True):
            if step.across is None:
                size -= np.where(step.live, (g + step.size * h) / step.divisor, 0.0)
            else:
                size -= sum(line * total for line, total in zip(step.across, G, strict=True))
    return sizes


def _at_rows(now: Sequence[Step], trees: Sequence[Tree], block: slice) -> Floats:
    """d of the leaf of every row, shape (columns, rows, 1)."""
    return np.stack([np.take(step.size, tree.train[block], axis=0) for step, tree in zip(now, trees, strict=True)])


def _moved(change: Floats, trees: Sequence[Tree], sizes: Sequence[Floats], block: slice) -> Floats:
    """Change of the scores at which a later step is taken: earlier steps of the same trees have moved them too."""
    change = change.copy()
    for tree, size in zip(trees, sizes, strict=True):
        change[tree.column] += np.take(size, tree.train[block], axis=0)
    return change


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
            pulls = [_pull(step, d, loss.scale, on_value) for step, d in zip(now, on_value, strict=True)]
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
        if isinstance(loss, CoupledSoftmax):
            d = _at_rows(now, trees, block)[:, :, 0]
            pulled = np.stack([np.take(on_g, at) for (on_g, _), at in zip(pulls, leaves, strict=True)])
            self._on_weight[block] += (loss.pressed(p, d) * pulled).sum(axis=0)
            on_p += a * loss.pressed_pull(p, pulled, d)
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


def _pull(step: Step, on_step: Floats, scale: float, on_steps: Sequence[Floats]) -> tuple[Floats, Floats]:
    """Ḡ and κ H̄ by leaf; where classes are coupled, Ḡ alone, of the steps of all columns."""
    if step.across is not None:
        on_all = -sum(line[:, 0] * each for line, each in zip(step.across, on_steps, strict=True))
        return np.asarray(on_all), np.zeros_like(on_step)
    on_g = np.where(step.live[:, 0], -on_step / step.divisor[:, 0], 0.0)
    return on_g, scale * on_g * step.size[:, 0]
