"""Beam search for slices: all atoms × one given label, then conjunctions of the best, then one of each finding.

What makes a slice good is a :class:`Score`; :mod:`psidebug.slices.scores` has two of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from psidebug import policy
from psidebug.slices.atoms import Atoms, Floats
from psidebug.slices.conditions import Mask


class Found(NamedTuple):
    """A slice on the way: its atoms, the columns or words that they are about, and which rows searched are in it."""

    atoms: tuple[int, ...]
    about: frozenset[int]
    unseen: bool
    """Whether one of them is about what the learner does not see."""
    given: int
    inside: Mask
    size: int
    z: float

    @property
    def worth(self) -> float:
        """What slices are ordered by: z less the price of the length."""
        return worth_of(self.z, len(self.atoms))


class Scored(NamedTuple):
    """What a score says of all atoms."""

    z: Floats
    good: Mask
    """Which of them are worth a slice."""
    looked: int
    """How many were looked at; chance is given as many tries."""


@dataclass(frozen=True, eq=False)
class Score(ABC):
    """How far the rows of one given label stand out where a condition holds, as a standard score z."""

    atoms: Atoms
    given: int
    own: Mask
    """The rows that a slice may have: training rows with this label."""
    least: int
    """Rows that a slice must have."""

    @cached_property
    @abstractmethod
    def alone(self) -> Scored:
        """Every atom by itself."""

    @abstractmethod
    def within(self, parent: Found) -> Scored:
        """Every atom as a further condition of a slice."""


def worth_of(z: float, conditions: int) -> float:
    """z (1 - price)^(conditions - 1), with equality wherever it is equal but for rounding error."""
    return round(z * (1.0 - policy.LENGTH_PRICE) ** (conditions - 1), 6)


def beam_search(score: Score, most: int) -> tuple[list[Found], int]:
    """The best slices of one, two and three conditions, each list free of repetitions; and how many were looked at.

    The first ``policy.BEAM`` slices of each length get a further condition, and each keeps as many of the results. Of
    single conditions the square of that is kept, since overlapping ranges of one column must not fill the beam.
    """
    count = max(most, policy.BEAM)
    everything = Found((), frozenset(), False, score.given, score.own, int(score.own.sum()), 0.0)
    looked = score.alone.looked
    level = found = distinct(_extended(score, everything, score.alone, policy.BEAM * count), count)
    for _ in range(policy.MOST_PARTS - 1):
        longer: list[Found] = []
        for parent in level[: policy.BEAM]:
            scored = score.within(parent)
            looked += scored.looked
            longer += _extended(score, parent, scored, policy.BEAM)
        level = distinct(longer, count)
        found = found + level
    return found, looked


def _extended(score: Score, parent: Found, scored: Scored, most: int) -> list[Found]:
    """The parent with one further condition, the best of those that are worth it."""
    good = np.flatnonzero(scored.good)
    longer = []
    for atom in good[np.argsort(-np.round(scored.z[good], 6), kind="stable")][:most].tolist():
        inside, about = parent.inside & score.atoms.holds(atom), parent.about | {int(score.atoms.column[atom])}
        size, z = int(np.count_nonzero(inside)), float(scored.z[atom])
        unseen = parent.unseen or not score.atoms.seen[atom]
        longer.append(Found((*parent.atoms, atom), about, unseen, score.given, inside, size, z))
    return longer


def distinct(found: list[Found], most: int) -> list[Found]:
    """The best of them, best first, without those that have nearly the same rows as a better one."""
    kept: list[Found] = []
    for each in sorted(found, key=lambda one: -one.worth):
        if len(kept) == most:
            break
        if not any(_nearly_the_same(each, other) for other in kept if other.given == each.given):
            kept.append(each)
    return kept


def _nearly_the_same(one: Found, other: Found) -> bool:
    """Whether half of the rows of either are in both; on the same columns, half of the smaller one.

    Features can tell how the wrong labels of a slice of metadata look, who made them, say. These are two things.
    """
    both, sizes = int(np.count_nonzero(one.inside & other.inside)), (one.size, other.size)
    if one.unseen != other.unseen:
        return both == max(sizes)
    return both >= policy.MAJORITY * (min(sizes) if one.about == other.about else sum(sizes) - both)
