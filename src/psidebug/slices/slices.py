"""What the suspects have in common: conditions on the user's own columns × the given label."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.stats import norm

from psidebug.slices.atoms import Atoms, Floats, Ints, atoms_of
from psidebug.slices.conditions import Condition, Mask
from psidebug.slices.search import Found, Search, Spread, distinct, worth_of
from psidebug.task.labels import Codes
from psidebug.task.tables import Column, Table, take
from psidebug.task.task import Task

MOST_CELLS, LEAST_SEARCHED = 4_000_000, 5_000
"""Rows × columns to search in; of more rows a part is searched, and what is found is measured on all of them."""
LETTERS = 6.0
"""Of a word and the space after it, to guess the number of words."""


@dataclass(frozen=True, eq=False)
class Slice:
    """Training rows that meet one to three conditions and carry the same given label."""

    conditions: tuple[Condition, ...]
    given: int
    members: Ints
    z: float
    """How far the mean score of its rows is above that of all rows with this label, in standard errors."""
    log_p_value: float = 0.0
    """Logarithm of the probability that chance gives such a z somewhere among all that were looked at; at most 0."""
    looked: int = 1
    """How many conditions × labels it was chosen from."""

    @property
    def condition(self) -> str:
        """The conditions in words."""
        return " and ".join(map(str, self.conditions))

    @property
    def column(self) -> str:
        """The column of the first condition."""
        return self.conditions[0].column

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of all conditions."""
        return tuple(condition.column for condition in self.conditions)

    @property
    def p_value(self) -> float:
        """exp(log_p_value): 0 where that is too small for a number."""
        return float(np.exp(self.log_p_value))

    def holds(self, features: Table) -> Mask | None:
        """Where the conditions hold among other rows, whatever their label; None if they are about training rows only.

        That is: about metadata or row ids, which other rows do not have.
        """
        if any(condition.home != "features" for condition in self.conditions):
            return None
        return np.asarray(np.logical_and.reduce([condition.holds(features) for condition in self.conditions]))

    def everyone(self, task: Task) -> Mask:
        """The training rows that meet the conditions, whatever their label."""
        homes = {"features": task.train.features, "metadata": task.metadata, "rows": task.rows}
        held = [condition.holds(homes[condition.home]) for condition in self.conditions]
        return np.asarray(np.logical_and.reduce(held))


def common_slices(task: Task, scores: Floats, *, most: int, least: int = 3) -> list[Slice]:
    """The slices whose rows have the highest scores for their size, best first, no two of them nearly the same.

    Every condition (of at least ``least`` rows) × given label is looked at, and conjunctions of the best. The order is
    by z, the standard score of the slice's mean among the rows of its label, of the scores as :func:`tamed` leaves
    them, less 5% for each condition after the first. Of equal ones metadata come first.
    """
    rows = searched(task)
    codes, tame = task.train.codes[rows], tamed(scores, task.train.codes)
    metadata = None if task.metadata is None else take(task.metadata, rows)
    atoms = atoms_of(take(task.train.features, rows), metadata, task.rows[rows], least=least)
    searches = [Search(atoms, codes == given, tame[rows], given, least) for given in np.unique(codes).tolist()]
    found = distinct([each for search in searches for each in search.run(most)], most, len(rows))
    looked = sum(search.looked for search in searches)
    measure = _Measure(task, tame) if len(rows) < len(task.train) else None
    slices = [_told(each, atoms, looked, measure) for each in found]
    slices = [each for each in slices if len(each.members) >= least]
    return sorted(slices, key=lambda each: -worth_of(each.z, len(each.conditions)))


def tamed(scores: Floats, codes: Codes) -> Floats:
    """The scores, those of each label kept within median ± 2 (q90 - q10) / 2.56, that is 2 s for normal ones.

    Effects on a loss have heavy tails: of raw ones three extreme rows that share a rare word outweigh two hundred that
    share the guilty one. (Ranks would do as well, but not tell a few high scores among many equal ones from noise.)
    What is no finite number is as low as the lowest.
    """
    tame = np.array(scores, dtype=np.float64)
    finite = np.isfinite(tame)
    tame[~finite] = tame[finite].min() if finite.any() else 0.0
    for given in np.unique(codes):
        own = tame[codes == given]
        low, middle, high = np.quantile(own, [0.1, 0.5, 0.9])
        scale = (high - low) / 2.56
        if scale <= 1e-9 * np.abs(own).max():  # nearly all scores are equal; the others are what is to be told
            scale = np.abs(own - middle).mean()
        tame[codes == given] = np.clip(own, middle - 2 * scale, middle + 2 * scale)
    return tame


def _told(found: Found, atoms: Atoms, looked: int, measure: _Measure | None) -> Slice:
    """The slice with its p-value, P(Z > z) × the number looked at; after a search of some rows, measured on all."""
    conditions = tuple(atoms.conditions[atom] for atom in found.atoms)
    members, z = (found.members, found.z) if measure is None else measure(conditions, found.given)
    return Slice(conditions, found.given, members, z, min(0.0, float(norm.logsf(z) + np.log(looked))), looked)


class _Measure:
    """Members and z of a slice among all training rows; a column is read once for all conditions on it."""

    def __init__(self, task: Task, scores: Floats) -> None:
        self._codes, self._scores = task.train.codes, scores
        self._homes = {"features": task.train.features, "metadata": task.metadata, "rows": task.rows}
        self._columns: dict[tuple[str, str], Column] = {}

    def __call__(self, conditions: tuple[Condition, ...], given: int) -> tuple[Ints, float]:
        own = self._codes == given
        holds = own.copy()
        for condition in conditions:
            key = condition.home, condition.column
            if key not in self._columns:
                self._columns[key] = condition.column_in(self._homes[condition.home])
            holds &= condition.holds_in(self._columns[key])
        total = self._scores[holds].sum()
        return np.flatnonzero(holds), float(Spread.of(self._scores[own]).z(max(int(holds.sum()), 1), total))


def searched(task: Task) -> Ints:
    """Positions of the rows to search: all, or as many as can be held, by chance but always the same."""
    rows = len(task.train)
    tables = [task.train.features] if task.metadata is None else [task.train.features, task.metadata]
    most = max(LEAST_SEARCHED, int(MOST_CELLS / sum(map(_width, tables))))
    if rows <= most:
        return np.arange(rows)
    return np.sort(task.in_order_of_ids[np.random.default_rng(0).choice(rows, most, replace=False)])


def _width(table: Table) -> float:
    """About how many cells a row is in: one of each column, or one for each entry or word."""
    if sp.issparse(table):
        return max(1.0, float(table.nnz / table.shape[0]))
    if len(table.shape) == 2:
        return float(table.shape[1])
    return max(1.0, float(np.mean([len(text) for text in table[:1000]])) / LETTERS)
