"""The walk's derivative, forwards: what small changes of the labels do to the test scores. See ``derivative``."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from psidebug.graybox.protocol import Floats
from psidebug.graybox.trees.passes import Step, added, blocks, leaf_sums, shifted
from psidebug.graybox.trees.profile import Tree
from psidebug.graybox.trees.trace import Trace


def tangent(traced: Trace, given: Floats, change: Floats, points: npt.NDArray[np.intp] | slice) -> Floats:
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
        sizes = _round(traced, trees, made, x, moved, weight, target)
        for tree, steps, size in zip(trees, made, sizes, strict=True):
            if not tree.fixed:
                moved[tree.column] += np.take(tree.rate * size, tree.train, axis=0)
                result[tree.column] += np.take(tree.rate * size, tree.test[watched], axis=0)
            profile.loss.add(x[tree.column], profile.loss.step(added(tree, steps)), tree.train)
    return result


def _round(
    traced: Trace,
    trees: Sequence[Tree],
    made: Sequence[Sequence[Step]],
    x: Floats,
    moved: Floats,
    weight: Floats,
    target: Floats,
) -> list[Floats]:
    """ΔΣd by tree, shape (leaves, worlds) each."""
    worlds = moved.shape[2]
    sizes = [np.zeros((len(tree.values), worlds)) for tree in trees]
    for number in range(max(len(steps) for steps in made)):
        now = [steps[number] for steps in made]
        G = [np.zeros_like(size) for size in sizes]
        H = [np.zeros_like(size) for size in sizes]
        for block in blocks(x.shape[1], worlds):
            _add_sums(traced, trees, now, sizes if number else None, x, moved, weight, target, block, G, H)
        for size, step, g, h in zip(sizes, now, G, H, strict=True):
            size -= np.where(step.live, (g + step.size * h) / step.divisor, 0.0)
    return sizes


def _add_sums(
    traced: Trace,
    trees: Sequence[Tree],
    now: Sequence[Step],
    sizes: Sequence[Floats] | None,
    x: Floats,
    moved: Floats,
    weight: Floats,
    target: Floats,
    block: slice,
    G: Sequence[Floats],
    H: Sequence[Floats],
) -> None:
    loss = traced.profile.loss
    p = loss.probability(shifted(loss, x[:, block], trees, [step.before for step in now], block))
    p_moved = loss.moved(p, _moved(moved[:, block], trees, sizes, block))
    q, slope, a = loss.curvature(p), loss.curvature_slope(p), traced.labels.weight[block]
    for tree, gradient_sum, hessian_sum in zip(trees, G, H, strict=True):
        if tree.fixed:
            continue
        c = tree.column
        g = weight[block] * p[c] - target[c, block] + a * p_moved[c]
        h = loss.scale * (weight[block] * q[c] + a * slope[c] * p_moved[c])
        gradients, hessians = leaf_sums(tree, block, g, h, len(gradient_sum))
        gradient_sum += gradients
        hessian_sum += hessians


def _moved(change: Floats, trees: Sequence[Tree], sizes: Sequence[Floats] | None, block: slice) -> Floats:
    """Change of the scores at which a step is taken: earlier steps of the same trees have moved them too."""
    if sizes is None:
        return change
    change = change.copy()
    for tree, size in zip(trees, sizes, strict=True):
        change[tree.column] += np.take(size, tree.train[block], axis=0)
    return change
