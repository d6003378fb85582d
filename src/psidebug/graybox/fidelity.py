"""How well a gray box follows real retraining, on the user's own task.

Single labels and groups of labels are moved, the learner is retrained for real, and its margins are compared with the
predicted ones. What is judged is the *ranking*: are labels that are said to help those that help? So the groups, all
of one size, are rungs of the gray box's own ranking: its first suspects, then rows drawn from each equal part of the
rest. With u_tr = p_tr / |Δ|, the probability that the learner gives to rival r of test point t, the predicted gain of a
world is what the ranking by log loss adds up,

    g(w) = Σ_tr u_tr (m_tr(w) - m_tr),

and ``gains`` is its correlation with the real fall of the test log loss over the groups. (Not the rank correlation,
which is told beside it: when few labels are to blame, all groups but the first do nothing, in an order of chance.) A
handful of groups may agree by chance too, so the margins' changes must agree as well: ``groups.rank_correlation`` is
over all points and groups, each point's change taken about its mean over the groups. Without that any gray box would
do, since random flips pull all margins towards 0, which even the gray box of other rows knows.

The level is 0.7 for the gains and 0.3 for the margins. Measured with five groups on five data sets (census-like,
digits, breast cancer, moons, and one with few guilty rows), several draws each, it is reached by the Newton step 50
times in 50, by the leaf derivative 149 in 150, by the surrogate (support vectors, nearest neighbours) 93 in 100, by the
gradient step with residuals, which is good on some of these data and bad on others, 28 in 50, and by gray boxes whose
rows were permuted 1 in 300. Single flips are told, not judged: trees reshuffle their splits by chance for each.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

from psidebug.errors import LearnerFailed, UnknownOption
from psidebug.graybox.protocol import Floats, GrayBox, LinearGrayBox, Worlds
from psidebug.graybox.retrain import Retrain
from psidebug.margins import is_wrong, log_losses, loss_weights
from psidebug.task.labels import Codes
from psidebug.task.task import Task

FITS = 6
LEAST_FITS = 4
GROUP_SHARE = 0.05
LARGEST_SHARE = 0.10
GAINS_LEVEL, MARGINS_LEVEL = 0.7, 0.3

Rows = npt.NDArray[np.intp]
Retrained = Sequence[tuple[Codes, Floats]]
"""Worlds with the real margins (points, K-1) of the learner trained in them."""


@dataclass(frozen=True)
class Agreement:
    """Predicted against real margins, over all test points and several worlds; NaN where nothing can be said."""

    worlds: int
    rank_correlation: float
    """Of the margins' changes; for groups about each point's mean change."""
    sign_agreement: float
    """Share of points that are on the predicted side of the decision boundary."""
    slope: float
    """Real change per predicted change: 1 is right, 0.1 means overstated ten times."""
    relative_error: float
    """Median of |predicted change - real change| / |real change|."""


@dataclass(frozen=True)
class Fidelity:
    """What retraining says about a gray box on this task."""

    graybox: str
    gains: float
    """Correlation of the groups' predicted gain with the real fall of the test log loss."""
    ranking: float
    """Rank correlation of the same."""
    groups: Agreement
    singles: Agreement
    labels: int
    """Labels moved in each group."""
    fits: int
    """Fits spent on it; groups that were retrained for another purpose cost none."""

    @property
    def trustworthy(self) -> bool:
        """Whether ``gains`` reaches 0.7 and the groups' margins correlate 0.3; if not, a ranking is a guess."""
        agrees = self.gains >= GAINS_LEVEL and self.groups.rank_correlation >= MARGINS_LEVEL
        return agrees and self.groups.slope > 0

    def __repr__(self) -> str:
        if np.isnan(self.gains):
            return f"the fidelity of {self.graybox!r} could not be measured, so its ranking is a guess"
        labels = "1 label" if self.labels == 1 else f"{self.labels} labels"
        told = (
            f"against retraining ({self.fits} fits) the gains that {self.graybox!r} predicts for {self.groups.worlds} "
            f"groups of {labels} correlate {self.gains:.2f} with the real ones, and the changes of margins "
            f"{self.groups.rank_correlation:.2f} (single labels {self.singles.rank_correlation:.2f}); real changes are "
            f"{self.groups.slope:.2g} times the predicted ones, and {self.groups.sign_agreement:.0%} of test points on "
            f"the predicted side"
        )
        if self.trustworthy:
            return told
        return f"{told}; {GAINS_LEVEL} and {MARGINS_LEVEL} are asked for, so its ranking is a guess"


def fidelity(
    graybox: GrayBox,
    task: Task,
    *,
    suspects: Rows | None = None,
    proposed: Codes | None = None,
    retrained: Retrained = (),
    fits: int = FITS,
    rng: np.random.Generator | None = None,
) -> Fidelity:
    """Compare a gray box with at most ``fits`` real fits, a third of them on single labels, the rest on groups.

    A gray box that is linear ranks the rows itself; for another, ``suspects`` are its first rows, best first, and
    ``proposed`` (N,) the labels they move to. Of the worlds ``retrained`` before, the one nearest to 5% of the labels
    is the first group, at no cost. Only one: worlds of other sizes would be told apart by their size, whatever the
    gray box knows of the rows.
    """
    if not isinstance(fits, int) or fits < LEAST_FITS:
        raise UnknownOption(f"fits={fits!r} is too few to compare with: give a whole number from {LEAST_FITS}.")
    chance = np.random.default_rng(task.seed) if rng is None else rng
    actual = task.margins(task.learner, task.test)
    weights = loss_weights(actual)
    order, labels = _ranked(graybox, task, weights, suspects, proposed, chance)

    known = _nearest_group(task, retrained)
    size = max(1, round(GROUP_SHARE * len(order))) if known is None else int((known[0] != task.train.codes).sum())
    first = order[:size] if known is None else np.flatnonzero(known[0] != task.train.codes)
    singles = fits // 3
    rungs = _rungs(order[~np.isin(order, first)], size, fits - singles - (known is None), chance)
    alone = np.concatenate([order[: (singles + 1) // 2], chance.choice(order, singles // 2, replace=False)])

    retrain = Retrain(task)
    groups, group_margins = _retrained(retrain, _worlds(task, labels, [first, *rungs] if known is None else rungs))
    single, single_margins = _retrained(retrain, _worlds(task, labels, list(alone[:, None])))
    if known is not None:
        groups = np.concatenate([known[0][None], groups])
        group_margins = np.concatenate([known[1][None], group_margins])
    predicted = graybox.margins(groups)
    said, seen = ((predicted - actual) * weights).sum(axis=(1, 2)), -log_losses(group_margins).mean(axis=1)
    finite = np.isfinite(said) & np.isfinite(seen)  # a world that lost a class has an infinite loss
    return Fidelity(
        graybox=graybox.name,
        gains=_correlation(said[finite], seen[finite]),
        ranking=_rank_correlation(said[finite], seen[finite]),
        groups=_agreement(predicted, group_margins, actual, about_mean=True),
        singles=_agreement(graybox.margins(single), single_margins, actual, about_mean=False),
        labels=size,
        fits=retrain.fits,
    )


def _ranked(
    graybox: GrayBox,
    task: Task,
    weights: Floats,
    suspects: Rows | None,
    proposed: Codes | None,
    rng: np.random.Generator,
) -> tuple[Rows, Codes]:
    """All rows, those with the largest predicted gain first, and the label to which each would move."""
    given, everyone = task.train.codes, np.arange(len(task.train))
    if isinstance(graybox, LinearGrayBox):
        effects = np.array(graybox.effects(weights))
        effects[everyone, given] = -np.inf
        labels = effects.argmax(axis=1)
        return np.argsort(-effects[everyone, labels], kind="stable"), labels
    other = (given + rng.integers(1, task.encoding.size, size=len(given))) % task.encoding.size
    first = everyone[:0] if suspects is None else suspects
    order = np.concatenate([first, rng.permutation(np.setdiff1d(everyone, first))])
    return order, other if proposed is None else np.where(proposed == given, other, proposed)


def _nearest_group(task: Task, retrained: Retrained) -> tuple[Codes, Floats] | None:
    rows = len(task.train)
    moved = {int((codes != task.train.codes).sum()): (codes, margins) for codes, margins in retrained}
    sizes = [size for size in moved if 0 < size <= LARGEST_SHARE * rows]
    return moved[min(sizes, key=lambda size: abs(size - GROUP_SHARE * rows))] if sizes else None


def _rungs(order: Rows, size: int, count: int, rng: np.random.Generator) -> list[Rows]:
    """Rows drawn from each of ``count`` equal parts of the order, or of as many as have enough rows."""
    parts = np.array_split(order, max(1, min(count, len(order) // size)))
    return [rng.choice(part, size, replace=False) for part in parts if len(part) >= size]


def _worlds(task: Task, labels: Codes, groups: list[Rows]) -> Worlds:
    worlds = np.tile(task.train.codes, (len(groups), 1))
    for world, rows in zip(worlds, groups, strict=True):
        world[rows] = labels[rows]
    return worlds


def _retrained(retrain: Retrain, worlds: Worlds) -> tuple[Worlds, Floats]:
    """The worlds in which the learner can be trained, and its margins there."""
    try:
        return worlds, retrain.margins(worlds)
    except LearnerFailed:  # for instance too few rows of a class for the learner's own cross-validation
        good = []
        for world in worlds:
            with suppress(LearnerFailed):
                retrain.margins(world[None])
                good.append(world)
        possible = np.array(good, dtype=np.intp).reshape(len(good), worlds.shape[1])
        return possible, retrain.margins(possible)


def _agreement(predicted: Floats, real: Floats, actual: Floats, *, about_mean: bool) -> Agreement:
    # A world without one of the classes puts it at -∞, which says nothing about the size of a change.
    usable = np.isfinite(real).all(axis=0) & np.isfinite(predicted).all(axis=0) & np.isfinite(actual)
    said, seen = (predicted - actual)[:, usable], (real - actual)[:, usable]
    moved = seen != 0
    nothing = float("nan")
    centre = [each.mean(axis=0) if about_mean and len(each) else 0.0 for each in (said, seen)]
    return Agreement(
        worlds=len(real),
        rank_correlation=_rank_correlation((said - centre[0]).ravel(), (seen - centre[1]).ravel()),
        sign_agreement=float((is_wrong(predicted) == is_wrong(real)).mean()) if len(real) else nothing,
        slope=float((said * seen).sum() / (said**2).sum()) if said.any() else nothing,
        relative_error=float(np.median(np.abs(said - seen)[moved] / np.abs(seen[moved]))) if moved.any() else nothing,
    )


def _correlation(left: Floats, right: Floats) -> float:
    """Pearson's; NaN for fewer than three values, and 0 if one side is constant."""
    if len(left) < 3:
        return float("nan")
    if np.ptp(left) == 0 or np.ptp(right) == 0:
        return 0.0
    return float(np.corrcoef(left, right)[0, 1])


def _rank_correlation(left: Floats, right: Floats) -> float:
    """Spearman's: Pearson's of the ranks."""
    return _correlation(rankdata(left), rankdata(right))
