"""The search for slices: every atom × given label, then conjunctions of the best, then one of each finding.

A slice of n of the N rows with a given label has z = (mean inside - mean) / (s √((N-n) / (n (N-1)))), the standard
score of a sample drawn without replacement.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import norm

from psidebug.slices.atoms import Atoms, Floats, Ints
from psidebug.slices.conditions import Mask

BEAM = 30
"""So many slices of each length are looked at for a further condition."""
FEW = 10
"""So many of its extensions are taken from each of them."""
DEEPEST = 3
"""Conditions of a slice, at most."""
PRICE = 0.05
"""A further condition must be worth it: slices are ordered by z less this share for each condition after the first;"""
LEAST_RISE, CHANCE = 1.0, 0.05
"""… and z must rise by so much, and beyond what chance gives with this probability to one of all further conditions."""
SAME = 0.7
"""Slices of one label are the same finding if this share of the rows of either is in both."""


def worth_of(z: float, conditions: int) -> float:
    """z (1 - price)^(conditions - 1), with equality wherever it is equal but for rounding error."""
    return round(z * (1.0 - PRICE) ** (conditions - 1), 6)


class Found(NamedTuple):
    """A slice on the way: its atoms, the columns or words that they are about, and its rows among those searched."""

    atoms: tuple[int, ...]
    about: frozenset[int]
    given: int
    members: Ints
    z: float

    @property
    def worth(self) -> float:
        """What slices are ordered by: z less the price of the length."""
        return worth_of(self.z, len(self.atoms))


class Search:
    """All atoms among the rows of one given label, and conjunctions of the best of them."""

    def __init__(self, atoms: Atoms, inside: Mask, scores: Floats, given: int, least: int) -> None:
        self._atoms, self._inside, self._scores, self._given, self._least = atoms, inside, scores, given, least
        self._rows = np.flatnonzero(inside)
        self._spread = Spread.of(scores[self._rows])
        self.looked = 0
        """Number of slices whose z was taken."""

    def run(self, most: int) -> list[Found]:
        """The best slices of one, two and three conditions, each list free of repetitions."""
        if len(self._rows) <= self._least or self._spread.flat or not self._atoms.conditions:
            return []
        count, rows = max(most, BEAM), len(self._scores)
        n, total = self._atoms.tally(self._rows, self._scores)
        z = self._taken(n, total, n < len(self._rows))
        everything = Found((), frozenset(), self._given, self._rows, 0.0)
        level = found = distinct(self._extensions(everything, z, z > 0, FEW * count), count, rows)
        for _ in range(DEEPEST - 1):
            level = [child for parent in level[:BEAM] for child in self._narrowed(parent, n, total, z)]
            level = distinct(level, count, rows)
            found = found + level
        return found

    def _taken(self, n: Floats, total: Floats, possible: Mask) -> Floats:
        """z of all atoms where it is possible and there are rows enough, else -∞; counted as looked at."""
        possible = possible & (n >= self._least)
        self.looked += int(possible.sum())
        return np.where(possible, self._spread.z(np.maximum(n, 1), total), -np.inf)

    def _narrowed(self, parent: Found, n_alone: Floats, total_alone: Floats, z_alone: Floats) -> list[Found]:
        """The parent with a further condition, where that leaves out rows and is worth it.

        z must rise clearly above that of the parent and of the further condition alone, and beyond what the best of so
        many conditions does by chance: the rows of both must stand out *among those of each*. (Two conditions on one
        number are no conjunction: the range between them is an atom.)
        """
        atoms, spread, size = self._atoms, self._spread, len(parent.members)
        n, total = atoms.tally(parent.members, self._scores)
        z = self._taken(n, total, (n < size) & (n < n_alone) & ~np.isin(atoms.column, list(parent.about)))
        rare = float(norm.isf(CHANCE / (BEAM * len(atoms.conditions))))
        some = np.maximum(n, 1)
        worth = z > np.maximum(z_alone, parent.z) + LEAST_RISE
        worth &= spread.z(some, total, among=size, mean=self._scores[parent.members].mean()) > rare
        with np.errstate(invalid="ignore", divide="ignore"):  # atoms that none of these rows has
            worth &= spread.z(some, total, among=n_alone, mean=total_alone / n_alone) > rare
        return self._extensions(parent, z, worth, FEW)

    def _extensions(self, parent: Found, z: Floats, worth: Mask, most: int) -> list[Found]:
        good = np.flatnonzero(worth)
        best = good[np.argsort(-np.round(z[good], 6), kind="stable")][:most]
        return [
            Found(
                (*parent.atoms, atom),
                parent.about | {int(self._atoms.column[atom])},
                self._given,
                self._within(parent, atom),
                float(z[atom]),
            )
            for atom in best.tolist()
        ]

    def _within(self, parent: Found, atom: int) -> Ints:
        members = self._atoms.members(atom)
        members = members[self._inside[members]]
        return members if not parent.atoms else np.intersect1d(parent.members, members, assume_unique=True)


@dataclass(frozen=True)
class Spread:
    """What the scores of all rows with a label look like, to judge those of some of them."""

    rows: int
    mean: float
    deviation: float
    flat: bool
    """Equal scores have nothing to tell apart; their computed spread is rounding error, and any z from it absurd."""

    @classmethod
    def of(cls, scores: Floats) -> Spread:
        """Of these scores."""
        flat = len(scores) < 2 or bool(np.ptp(scores) <= 1e-12 * np.abs(scores).max())
        return cls(len(scores), float(scores.mean()), float(scores.std()), flat)

    def z(self, n: Any, total: Any, *, among: Any = None, mean: Any = None) -> Any:
        """(total / n - mean) / (s √((N-n) / (n (N-1)))), n of N rows without replacement; 0 for all of them.

        N and the mean are those of all rows, or of some of them.
        """
        rows = self.rows if among is None else among
        error = self.deviation * np.sqrt(np.maximum(rows - n, 1e-300) / (n * np.maximum(rows - 1.0, 1.0)))
        return np.where(n < rows, (total / n - (self.mean if mean is None else mean)) / error, 0.0)


def distinct(found: list[Found], most: int, rows: int) -> list[Found]:
    """The best of them, best first, without those that have nearly the same rows as a better one.

    Of one column, or of the same two or three, ranges are the same finding already if half of the smaller one is in
    the other; different values have no row in common.
    """
    kept: list[Found] = []
    marks = np.zeros((most, rows), dtype=bool)
    for each in sorted(found, key=lambda one: -one.worth):
        if len(kept) == most:
            break
        common = marks[: len(kept)][:, each.members].sum(axis=1)
        for other, both in zip(kept, common.tolist(), strict=True):
            if other.given != each.given:
                continue
            either = len(other.members) + len(each.members) - both
            smaller = min(len(other.members), len(each.members))
            if both >= SAME * either or (other.about == each.about and 2 * both >= smaller):
                break
        else:
            marks[len(kept), each.members] = True
            kept.append(each)
    return kept
