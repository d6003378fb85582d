"""The walk over the trees: every leaf value anew, round by round, for many worlds at once.

Regions stay as they are. In each round, from the scores f so far and the weighted labels (a, W) of a world,

    d_l = -T(G_l) / (H_l + λ_l),   s_l = ρ d_l,   f_ic ← f_ic + s_l  for i ∈ l,

with G and H of ``loss``, and T the soft threshold of an L1 penalty. A library that takes several Newton steps per tree
has s_l = ρ Σ_steps d_l, each step at f + Σ of those before. Where a library couples the classes (CatBoost), all trees
of a round have the same regions, H_l = Σ_{i∈l} a_i (diag p_i - p_i p_iᵀ) is a matrix, and d_l = -(H_l + λ)⁻¹ G_l. Every
sum over training rows is a sum over blocks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from psidebug.graybox.protocol import Floats
from psidebug.graybox.trees.loss import Loss
from psidebug.graybox.trees.profile import Leaves, Profile, Tree

BLOCK = 16_384  # numbers per block of rows × worlds: its few temporaries stay in the processor's cache


@dataclass(frozen=True, eq=False)
class Step:
    """One Newton step of a tree's leaf values, each array (leaves, worlds)."""

    before: Floats | None
    """Σ of the earlier steps of this tree; None for its first."""
    size: Floats
    """d, the step itself."""
    divisor: Floats
    """H + λ."""
    live: npt.NDArray[np.bool_]
    """Where d moves with G: not where a threshold holds it at 0."""
    across: Floats | None = None
    """(H + λ)⁻¹ between this column and every other, shape (columns, leaves, worlds), if classes are coupled."""


@dataclass(frozen=True, eq=False)
class WeighedLabels:
    """The labels of some worlds as the trees see them."""

    weight: Floats
    """a, shape (N, worlds)."""
    target: Floats
    """W of the score columns, shape (columns, N, worlds)."""
    start: Floats
    """f_0, shape (columns, worlds)."""


def weighed(profile: Profile, labels: Floats) -> WeighedLabels:
    """Labels (K, N, worlds), fractions allowed, with the profile's weights."""
    W = profile.weighting.weighted(labels)
    start = profile.start.scores(profile.weighting.start_totals(labels))
    return WeighedLabels(W.sum(axis=0), W[W.shape[0] - profile.columns :], start)


def blocks(rows: int, worlds: int) -> Iterator[slice]:
    """Blocks of rows for this many worlds."""
    size = max(BLOCK // worlds, 256)
    return (slice(begin, min(begin + size, rows)) for begin in range(0, rows, size))


def sum_by_leaf(leaves: Leaves | npt.NDArray[np.intp], values: Floats, count: int) -> Floats:
    """Σ of the values (rows, worlds) by leaf, shape (leaves, worlds)."""
    if values.shape[1] == 1:
        return np.asarray(np.bincount(leaves, values[:, 0], count)[:, None], dtype=np.float64)
    rows = len(leaves)
    indicator = sp.csr_array((np.ones(rows), leaves.astype(np.int32), np.arange(rows + 1)), shape=(rows, count))
    return np.asarray(indicator.T @ values)


def add_leaf_sums(tree: Tree, block: slice, g: Floats, h: Floats, G: Floats, H: Floats) -> None:
    """Add to G and H, by leaf, the gradients and Hessians (rows, worlds) of a block; rows count as often as bagged."""
    if tree.bag is not None:
        g *= tree.bag[block, None]
        h *= tree.bag[block, None]
    leaves = tree.train[block].astype(np.intp)
    G += sum_by_leaf(leaves, g, len(G))
    H += sum_by_leaf(leaves, h, len(H))


def walk(
    profile: Profile, labels: WeighedLabels, points: npt.NDArray[np.intp] | slice
) -> tuple[Floats, list[list[list[Step]]], Floats]:
    """Test scores (columns, points, worlds), every step by round and tree, and the final training scores."""
    x = np.repeat(profile.loss.carried(labels.start)[:, None, :], len(profile.given), axis=1)
    watched = np.arange(profile.test_size)[points]
    scores = np.repeat(labels.start[:, None, :], len(watched), axis=1)
    pending: list[tuple[Tree, Floats]] = []
    steps: list[list[list[Step]]] = []
    for trees in profile.rounds:
        steps.append(_round(profile, trees, x, labels, pending))
        values = [added(tree, made) for tree, made in zip(trees, steps[-1], strict=True)]
        for tree, s in zip(trees, values, strict=True):
            scores[tree.column] += np.take(s, tree.test[watched], axis=0)
        pending = [(tree, profile.loss.step(s)) for tree, s in zip(trees, values, strict=True)]
    for block in blocks(len(profile.given), x.shape[2]):
        _advance(profile.loss, x[:, block], pending, block)
    return scores, steps, profile.loss.scores(x)


def added(tree: Tree, steps: Sequence[Step]) -> Floats:
    """s, what the leaves add to the score after these steps, shape (leaves, worlds)."""
    if tree.fixed:
        return np.asarray(tree.values[:, None])
    return np.asarray(tree.rate * sum(step.size for step in steps))


def _round(
    profile: Profile, trees: Sequence[Tree], x: Floats, labels: WeighedLabels, pending: list[tuple[Tree, Floats]]
) -> list[list[Step]]:
    loss, made = profile.loss, [list[Step]() for _ in trees]
    for number in range(max(tree.steps for tree in trees)):
        before: list[Floats | None] = [
            None if not number else np.asarray(sum(step.size for step in steps)) for steps in made
        ]
        G = [np.zeros((len(tree.values), x.shape[2])) for tree in trees]
        H = [np.zeros_like(total) for total in G]
        coupled = np.zeros((len(trees), len(trees), *G[0].shape)) if loss.coupled else None
        for block in blocks(x.shape[1], x.shape[2]):
            if not number:
                _advance(loss, x[:, block], pending, block)
            p = loss.probability(shifted(loss, x[:, block], trees, before, block))
            q, a = loss.curvature(p), labels.weight[block]
            for tree, gradients, hessians in zip(trees, G, H, strict=True):
                if not tree.fixed:
                    g = p[tree.column] * a
                    g -= labels.target[tree.column, block]
                    h = q[tree.column] * a
                    if loss.scale != 1.0:
                        h *= loss.scale
                    add_leaf_sums(tree, block, g, h, gradients, hessians)
            if coupled is not None:
                _add_couplings(trees[0], block, p, a, coupled)
        across = None if coupled is None else _inverses(coupled, trees[0].l2)
        for place, (tree, steps, g, h, b) in enumerate(zip(trees, made, G, H, before, strict=True)):
            steps.append(_newton(tree, g, h, b) if across is None else _coupled_newton(place, across[place], G, h, b))
    return made


def _advance(loss: Loss, x: Floats, pending: list[tuple[Tree, Floats]], block: slice) -> None:
    """Add the values of the round before to the carried scores of this block, in place."""
    for tree, step in pending:
        loss.add(x[tree.column], step, tree.train[block])


def shifted(loss: Loss, x: Floats, trees: Sequence[Tree], before: Sequence[Floats | None], block: slice) -> Floats:
    """The carried scores at which a round's next Newton step is taken: x itself for the first."""
    if all(b is None for b in before):
        return x
    x = x.copy()
    for tree, b in zip(trees, before, strict=True):
        if b is not None:
            loss.add(x[tree.column], loss.step(b), tree.train[block])
    return x


def _newton(tree: Tree, G: Floats, H: Floats, before: Floats | None) -> Step:
    live = H > 1e-150
    if tree.l1:
        live &= np.abs(G) > tree.l1
    divisor = np.where(H > 0.0, np.maximum(H, tree.least_hessian) + tree.l2[:, None], 1.0)
    pull = np.sign(G) * np.maximum(np.abs(G) - tree.l1, 0.0) if tree.l1 else G
    return Step(before, np.where(live, -pull / divisor, 0.0), divisor, live)


def _add_couplings(tree: Tree, block: slice, p: Floats, a: Floats, couplings: Floats) -> None:
    """Add Σ a (diag p - p pᵀ) of a block by leaf to the couplings (columns, columns, leaves, worlds)."""
    leaves = tree.train[block].astype(np.intp)
    for c in range(len(p)):
        for k in range(c + 1):
            h = a * p[c] * ((c == k) - p[k])
            couplings[c, k] += sum_by_leaf(leaves, h, couplings.shape[2])
            couplings[k, c] = couplings[c, k]


def _inverses(couplings: Floats, l2: Floats) -> Floats:
    """(H + λ)⁻¹ of every leaf and world, shape (columns, columns, leaves, worlds)."""
    H: Floats = np.moveaxis(couplings, (0, 1), (2, 3)) + l2[:, None, None, None] * np.eye(len(couplings))
    return np.asarray(np.moveaxis(np.asarray(np.linalg.inv(H), dtype=np.float64), (2, 3), (0, 1)))


def _coupled_newton(column: int, across: Floats, G: Sequence[Floats], H: Floats, before: Floats | None) -> Step:
    """One column of -(H + λ)⁻¹ G; its own divisor is what its own gradient alone is divided by."""
    size = -sum(line * total for line, total in zip(across, G, strict=True))
    return Step(before, np.asarray(size), 1.0 / across[column], H > 1e-150, across)
