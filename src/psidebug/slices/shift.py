"""Slices whose training labels are not those of the test set: the plainest trace of a labelling script gone wrong.

Inside a condition, k of n training rows carry a label and j of m test rows. If the labels of both were made in the same
way, two shares of one kind differ by chance alone; G is the logarithm of the likelihood ratio, and √(2G) a standard
score. It needs no model, and with a hundred test points it sees what effects on the model do not (decision 13).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import xlogy
from scipy.stats import norm

from psidebug.slices.atoms import Atoms, Floats, Ints, atoms_of_both
from psidebug.slices.search import Found, distinct, worth_of
from psidebug.slices.slices import Slice, searched
from psidebug.task.tables import take
from psidebug.task.task import Task

DEEPEST, BEAM, MANY, FEW = 3, 12, 10, 5
RISE = 1.5
"""A further condition must raise z by so much, above that of each part."""
MOST_TEST_ROWS = 50_000


def shifted_slices(task: Task, *, most: int, least: int = 3) -> list[Slice]:
    """Conditions on the features × given label with the largest surplus of that label in training, best first."""
    rows = searched(task)
    held = np.arange(len(task.test))[:MOST_TEST_ROWS]
    atoms = atoms_of_both(take(task.train.features, rows), take(task.test.features, held), least=least)
    if not atoms.conditions:
        return []
    labels = np.concatenate([task.train.codes[rows], task.test.codes[held]])
    searches = [_Shift(atoms, labels, len(rows), given, least) for given in np.unique(task.train.codes).tolist()]
    found = distinct([each for search in searches for each in search.run(most)], most, len(rows))
    looked = sum(search.looked for search in searches)
    slices = [
        Slice(
            tuple(atoms.conditions[atom] for atom in each.atoms),
            each.given,
            rows[each.members],
            each.z,
            min(0.0, float(norm.logsf(each.z) + np.log(looked))),
            looked,
        )
        for each in found
    ]
    return sorted(slices, key=lambda each: -worth_of(each.z, len(each.conditions)))


class _Shift:
    """The search for one given label. Rows are those of the training set, then those of the test set."""

    def __init__(self, atoms: Atoms, labels: npt.NDArray[np.intp], train: int, given: int, least: int) -> None:
        self._atoms, self._train, self._given, self._least = atoms, train, given, least
        self._own = (labels == given).astype(np.float64)
        self.looked = 0
        """Number of conditions whose z was taken."""

    def run(self, most: int) -> list[Found]:
        everything = np.arange(len(self._own))
        alone = self._z(everything)
        count = max(most, BEAM)
        # Overlapping ranges of one column must not fill the beam.
        single = self._extended((), frozenset(), everything, alone, alone > 0, MANY * count)
        level = found = distinct(single, count, self._train)
        for _ in range(DEEPEST - 1):
            children: list[Found] = []
            for parent in level[:BEAM]:
                inside = self._everyone(parent.atoms)
                z = self._z(inside)
                worth = z > np.maximum(alone, parent.z) + RISE
                worth &= ~np.isin(self._atoms.column, list(parent.about))
                children += self._extended(parent.atoms, parent.about, inside, z, worth, FEW)
            level = distinct(children, count, self._train)
            found = found + level
        return found

    def _z(self, rows: Ints) -> Floats:
        """√(2G) of every atom among these rows, where training has more of the label; half a row is added to all."""
        is_train = rows < self._train
        n, k = self._atoms.tally(rows[is_train], self._own)
        m, j = self._atoms.tally(rows[~is_train], self._own)
        enough = k >= self._least
        self.looked += int(enough.sum())
        n, k, m, j = n + 1.0, k + 0.5, m + 1.0, j + 0.5
        g = _log_likelihood(k, n) + _log_likelihood(j, m) - _log_likelihood(k + j, n + m)
        return np.where(enough & (k / n > j / m), np.sqrt(2.0 * np.maximum(g, 0.0)), 0.0)

    def _extended(
        self,
        atoms: tuple[int, ...],
        about: frozenset[int],
        inside: Ints,
        z: Floats,
        worth: npt.NDArray[np.bool_],
        most: int,
    ) -> list[Found]:
        good = np.flatnonzero(worth)
        best = good[np.argsort(-z[good], kind="stable")][:most]
        own = inside[(inside < self._train) & (self._own[inside] > 0)]
        return [
            Found(
                (*atoms, atom),
                about | {int(self._atoms.column[atom])},
                self._given,
                np.intersect1d(own, self._atoms.members(atom), assume_unique=True),
                float(z[atom]),
            )
            for atom in best.tolist()
        ]

    def _everyone(self, atoms: tuple[int, ...]) -> Ints:
        rows = self._atoms.members(atoms[0])
        for atom in atoms[1:]:
            rows = np.intersect1d(rows, self._atoms.members(atom), assume_unique=True)
        return rows


def _log_likelihood(k: Floats, n: Floats) -> Floats:
    """Of k successes among n, at their own share."""
    return np.asarray(xlogy(k, k / n) + xlogy(n - k, 1.0 - k / n))
