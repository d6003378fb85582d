"""Slices of a task: those whose rows have high scores, and those whose label is commoner in training than in the test.

The conditions are made once, by :meth:`Binned.of`, however many scores are searched.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from psidebug import policy
from psidebug.slices.atoms import Atoms, Floats
from psidebug.slices.binned import Binned
from psidebug.slices.conditions import Ints, Slice
from psidebug.slices.scores import LabelShareScore, MeanScore, Spread
from psidebug.slices.search import Score, beam_search, distinct, worth_of
from psidebug.task.labels import Codes
from psidebug.task.task import Task


def slices_by_score(task: Task, scores: Floats, *, most: int, within: Binned | None = None) -> list[Slice]:
    """The slices whose rows have the highest scores (N,) for their size, best first, no two of them nearly the same.

    Every condition × given label is looked at, and conjunctions of the best. The order is by z, the standard score of
    the slice's mean among the rows of its label, of the scores as :func:`clipped` leaves them, less 5% for each
    condition after the first. Of equal ones metadata come first.
    """
    within = Binned.of(task) if within is None else within
    codes, values = task.train.codes[within.rows], clipped(scores, task.train.codes)
    by_label = []
    for given in np.unique(codes).tolist():
        own = np.flatnonzero(codes == given)
        everyone, scored = np.ones(len(own), dtype=bool), values[within.rows[own]]
        by_label.append(MeanScore(within.atoms.at(own), given, everyone, within.least, scored))
    found = _found(task, within.rows, within.atoms, [each for each in by_label if each.tells_apart], most)
    if len(within.rows) < len(task.train):
        found = [_measured(each, task, values) for each in found]
    return _ordered([each for each in found if len(each.members) >= within.least])


def slices_by_label_share(task: Task, *, most: int, within: Binned | None = None) -> list[Slice]:
    """Conditions on the features × given label with the largest surplus of that label in training, best first."""
    within = Binned.of(task) if within is None else within
    atoms, rows, least = within.of_both, within.rows, within.least
    labels = np.concatenate([task.train.codes[rows], task.test.codes[within.test.rows]])
    train = np.arange(len(labels)) < len(rows)
    by_label = [
        LabelShareScore(atoms, given, (labels == given) & train, least, labels == given, train)
        for given in np.unique(task.train.codes).tolist()
    ]
    return _ordered(_found(task, rows, atoms, by_label, most))


def _found(task: Task, rows: Ints, atoms: Atoms, scores: Sequence[Score], most: int) -> list[Slice]:
    """The best slices by any of these scores, one for each given label; the first rows of the atoms are these."""
    if not atoms.conditions or not scores:
        return []
    searches = [beam_search(score, most) for score in scores]
    looked = sum(count for _, count in searches)
    slices = []
    for each in distinct([one for found, _ in searches for one in found], most):
        held = atoms.holds(*each.atoms)[: len(rows)]
        members = rows[held & (task.train.codes[rows] == each.given)]
        found = Slice.of(tuple(atoms.conditions[atom] for atom in each.atoms), each.given, members, each.z, looked)
        slices.append(replace(found, held=(task.train.features, held)) if len(rows) == len(task.train) else found)
    return slices


def _ordered(slices: list[Slice]) -> list[Slice]:
    return sorted(slices, key=lambda each: -worth_of(each.z, len(each.conditions)))


def clipped(scores: Floats, codes: Codes) -> Floats:
    """The scores, those of each label kept within median ± 2 (q90 - q10) / 2.56, that is 2 s for normal ones.

    Effects on a loss have heavy tails: three extreme rows with a rare word would outweigh two hundred with the guilty
    one. (Ranks cannot tell a few high scores among many equal ones from noise.) What is not finite counts as lowest.
    """
    kept = np.array(scores, dtype=np.float64)
    finite = np.isfinite(kept)
    kept[~finite] = kept[finite].min() if finite.any() else 0.0
    for given in np.unique(codes):
        own = kept[codes == given]
        low, middle, high = np.quantile(own, [0.1, 0.5, 0.9])
        scale = (high - low) / 2.56
        if scale <= 1e-9 * np.abs(own).max():  # nearly all scores are equal; the others are what is to be told
            scale = np.abs(own - middle).mean()
        kept[codes == given] = np.clip(own, middle - policy.CLIPPED_AT * scale, middle + policy.CLIPPED_AT * scale)
    return kept


def _measured(found: Slice, task: Task, values: Floats) -> Slice:
    """A slice that was found among some rows, with its members and z among all training rows."""
    own, held = task.train.codes == found.given, found.everyone(task)
    members = np.flatnonzero(own & held)
    z = Spread.of(values[own]).z(max(len(members), 1), values[members].sum())
    measured = Slice.of(found.conditions, found.given, members, float(z), found.looked)
    return replace(measured, held=(task.train.features, held))
