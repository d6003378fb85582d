"""BoostIn (Brophy, Hammoudeh and Lowd, JMLR 2023): influence in boosted trees with their regions held.

Weight w_i of training row i moves the value θ = -G / (H + λ) of its leaf l in tree n, before shrinkage ρ, by
∂θ/∂w_i = -(g_ni + h_ni θ_nl) / (H_nl + λ). A test point t in the same leaf has gradient g_nt of its loss before that
tree. Removing row i, the test loss falls by

    BoostIn(i) = -Σ_t Σ_n [leaf_n(t) = leaf_n(i)] g_nt ρ (g_ni + h_ni θ_nl) / (H_nl + λ).

In a leaf of one label g + hθ is 0: one row fewer leaves its value as it is, and BoostIn is blind to a slice that was
marked as a whole. The variant "by gradient" leaves hθ out, so that a row counts by its share of its leaf's value; it is
the stronger rival there.

Sums over t are taken leaf by leaf, so it costs one pass over the trees. Regions come from our reader of fitted trees.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from scipy.special import expit, softmax

from benchmarks.peers.contest import Contest, Finding, Floats, Mask, Peer
from psidebug.graybox.trees.adapters import profile_of
from psidebug.graybox.trees.profile import Profile, Tree
from psidebug.task.labels import Codes
from psidebug.task.learner import Classifier

Visit = tuple[Tree, Floats, Floats, Floats]


def all_points(contest: Contest, *, curved: bool = True) -> Finding:
    """BoostIn summed over all test points."""
    return Finding(removal(contest, contest.fit(), np.ones(contest.points, dtype=bool), curved=curved))


def misclassified(contest: Contest, *, curved: bool = True) -> Finding:
    """BoostIn summed over the test points that the model gets wrong."""
    fitted = contest.fit()
    return Finding(removal(contest, fitted, fitted.predict(contest.X_test) != contest.y_test, curved=curved))


def removal(
    contest: Contest, fitted: Classifier, points: Mask, rows: slice | Codes = slice(None), *, curved: bool = True
) -> Floats:
    """BoostIn of the rows that the model was fitted on, over these test points."""
    profile = profile_of(contest.task(fitted, rows))
    scores = np.zeros(len(profile.given))
    for tree, pull, _, of_points in visits(profile, contest.y_test, curved=curved):
        by_leaf = np.bincount(tree.test[points], of_points[points], len(tree.values))
        scores -= by_leaf[tree.train] * pull
    return scores


def of_itself(contest: Contest) -> Floats:
    """The same with each row as its own test point, and the sign turned: how much its loss rises without it."""
    profile = profile_of(contest.task(contest.fit()))
    scores = np.zeros(len(profile.given))
    for _, pull, of_rows, _ in visits(profile, contest.y_test):
        scores += of_rows * pull
    return scores


def visits(profile: Profile, right: Codes, *, curved: bool = True) -> Iterator[Visit]:
    """Tree by tree: what removing each row adds to its leaf's (shrunk) value, and gradients of rows and test points."""
    start = profile.start.value[:, None]
    f, f_test = np.repeat(start, len(profile.given), axis=1), np.repeat(start, len(right), axis=1)
    for trees in profile.rounds:
        p, p_test = _probabilities(f), _probabilities(f_test)
        for tree in trees:
            c = tree.column
            of_rows = _gradient(p[c], profile.given, c, profile.columns)
            of_points = _gradient(p_test[c], right, c, profile.columns)
            yield tree, _pull(profile, tree, p[c], of_rows, curved), of_rows, of_points
            f[c] += tree.values[tree.train]
            f_test[c] += tree.values[tree.test]


def _pull(profile: Profile, tree: Tree, p: Floats, g: Floats, curved: bool) -> Floats:
    """ρ (g + h θ) / (H + λ) by row, with s = ρ θ the leaf's value; 0 in a tree that never moves."""
    if tree.fixed:
        return np.zeros(len(g))
    h = profile.loss.scale * p * (1.0 - p)
    divisor = np.bincount(tree.train, h, len(tree.values)) + tree.l2
    return np.asarray((tree.rate * g + curved * h * tree.values[tree.train]) / np.maximum(divisor, 1e-12)[tree.train])


def _probabilities(f: Floats) -> Floats:
    return np.asarray(expit(f) if len(f) == 1 else softmax(f, axis=0))


def _gradient(p: Floats, labels: Codes, column: int, columns: int) -> Floats:
    """∂ log loss / ∂f_c = p_c - [y = c]; with one column that of class 1."""
    return np.asarray(p - (labels == (1 if columns == 1 else column)))


PEERS = (
    Peer("BoostIn, all test points", all_points, "same-leaf test gradient × leaf derivative of the row", ("boosting",)),
    Peer("BoostIn, misclassified", misclassified, "the same over misclassified test points", ("boosting",)),
    Peer(
        "BoostIn by gradient, all test points",
        partial(all_points, curved=False),
        "same-leaf test gradient × the row's share of the leaf value",
        ("boosting",),
    ),
    Peer(
        "BoostIn by gradient, misclassified",
        partial(misclassified, curved=False),
        "the same over misclassified test points",
        ("boosting",),
    ),
)
