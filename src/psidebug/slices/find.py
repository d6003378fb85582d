"""Slices of a task: those whose rows have high scores, and those whose label is commoner in training than in the test.

The conditions on training rows are made once, in :func:`searchable`, however many scores are searched.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from psidebug import policy
from psidebug.slices.atoms import Atoms, Floats, atoms_of, atoms_of_both
from psidebug.slices.conditions import Ints, Slice
from psidebug.slices.scores import LabelShareScore, MeanScore, Spread
from psidebug.slices.search import Score, beam_search, distinct, worth_of
from psidebug.task.labels import Codes
from psidebug.task.tables import Table, take
from psidebug.task.task import Task

MOST_CELLS, LEAST_SEARCHED = 4_000_000, 5_000
"""Rows × columns to search in; of more rows a part is searched, and what is found is measured on all of them."""
MOST_TEST_ROWS = 50_000
LETTERS = 6.0
"""Of a word and the space after it, to guess the number of words."""


@dataclass(frozen=True, eq=False)
class Searchable:
    """The training rows that are searched, and the conditions on their features, metadata and ids."""

    rows: Ints
    atoms: Atoms
    least: int
    """Rows that a slice must have."""


def searchable(task: Task, *, least: int = policy.LEAST_ROWS) -> Searchable:
    """What :func:`slices_by_score` searches; it does not depend on the labels."""
    rows = searched_rows(task)
    metadata = None if task.data.metadata is None else take(task.data.metadata, rows)
    return Searchable(rows, atoms_of(take(task.train.features, rows), metadata, task.rows[rows], least=least), least)


def slices_by_score(task: Task, scores: Floats, *, most: int, within: Searchable | None = None) -> list[Slice]:
    """The slices whose rows have the highest scores (N,) for their size, best first, no two of them nearly the same.

    Every condition × given label is looked at, and conjunctions of the best. The order is by z, the standard score of
    the slice's mean among the rows of its label, of the scores as :func:`clipped` leaves them, less 5% for each
    condition after the first. Of equal ones metadata come first.
    """
    within = searchable(task) if within is None else within
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


def slices_by_label_share(task: Task, *, most: int, least: int = policy.LEAST_ROWS) -> list[Slice]:
    """Conditions on the features × given label with the largest surplus of that label in training, best first."""
    rows, held = searched_rows(task), np.arange(len(task.test))[:MOST_TEST_ROWS]
    atoms = atoms_of_both(take(task.train.features, rows), take(task.test.features, held), least=least)
    labels = np.concatenate([task.train.codes[rows], task.test.codes[held]])
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


def searched_rows(task: Task) -> Ints:
    """Positions of the rows to search: all, or as many as can be held, by chance but always the same."""
    rows = len(task.train)
    tables = [task.train.features] if task.data.metadata is None else [task.train.features, task.data.metadata]
    most = max(LEAST_SEARCHED, int(MOST_CELLS / sum(map(_width, tables))))
    if rows <= most:
        return np.arange(rows)
    return np.sort(task.data.in_order_of_ids[np.random.default_rng(0).choice(rows, most, replace=False)])


def _width(table: Table) -> float:
    """About how many cells a row is in: one of each column, or one for each entry or word."""
    if sp.issparse(table):
        return max(1.0, float(table.nnz / table.shape[0]))
    if len(table.shape) == 2:
        return float(table.shape[1])
    return max(1.0, float(np.mean([len(text) for text in table[:1000]])) / LETTERS)
