"""Symptoms combined with and, or, not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from psidebug.errors import InvalidSymptom
from psidebug.symptoms.symptom import Changes, Floats, Margins, Symptom, Truths


@dataclass(frozen=True)
class Several(Symptom):
    """Symptoms taken together; what is made of them, ``And`` and ``Or`` say."""

    parts: tuple[Symptom, ...]

    def __post_init__(self) -> None:
        _check_parts(self.parts)

    @property
    def points(self) -> frozenset[int] | None:
        """Every point that a part looks at; None if one looks at all."""
        union: frozenset[int] = frozenset()
        for part in self.parts:
            if part.points is None:
                return None
            union |= part.points
        return union

    def renumbered(self, position_of: Mapping[int, int]) -> Symptom:
        """Its parts, renumbered."""
        return replace(self, parts=tuple(part.renumbered(position_of) for part in self.parts))


@dataclass(frozen=True)
class And(Several):
    """All of several symptoms."""

    def holds(self, margins: Margins) -> Truths:
        """Conjunction."""
        return np.asarray(np.logical_and.reduce([part.holds(margins) for part in self.parts]))

    def severity(self, margins: Margins) -> Floats:
        """That of the part that goes first."""
        return np.asarray(np.min([part.severity(margins) for part in self.parts], axis=0))

    def pull(self, margins: Margins) -> Margins:
        """Towards the part that goes first."""
        return min(self.parts, key=lambda part: float(part.severity(margins).mean())).pull(margins)

    def holds_after(self, margins: Margins, changes: Changes) -> Truths:
        """Conjunction."""
        return np.asarray(np.logical_and.reduce([part.holds_after(margins, changes) for part in self.parts]))

    def __str__(self) -> str:
        return " and ".join(f"({part})" for part in self.parts)


@dataclass(frozen=True)
class Or(Several):
    """Any of several symptoms."""

    def holds(self, margins: Margins) -> Truths:
        """Disjunction."""
        return np.asarray(np.logical_or.reduce([part.holds(margins) for part in self.parts]))

    def severity(self, margins: Margins) -> Floats:
        """That of the part that goes last."""
        return np.asarray(np.max([part.severity(margins) for part in self.parts], axis=0))

    def pull(self, margins: Margins) -> Margins:
        """Towards every part, in the measure in which it holds: all must go."""
        shares = np.array([part.holds(margins).mean() + 1e-3 for part in self.parts])
        pulls = [share * part.pull(margins) for share, part in zip(shares / shares.sum(), self.parts, strict=True)]
        return np.asarray(np.sum(pulls, axis=0))

    def holds_after(self, margins: Margins, changes: Changes) -> Truths:
        """Disjunction."""
        return np.asarray(np.logical_or.reduce([part.holds_after(margins, changes) for part in self.parts]))

    def __str__(self) -> str:
        return " or ".join(f"({part})" for part in self.parts)


@dataclass(frozen=True)
class Not(Symptom):
    """The absence of a symptom."""

    part: Symptom

    def __post_init__(self) -> None:
        _check_parts((self.part,))

    @property
    def points(self) -> frozenset[int] | None:
        """The points of the negated symptom."""
        return self.part.points

    def holds(self, margins: Margins) -> Truths:
        """Negation."""
        return ~self.part.holds(margins)

    def severity(self, margins: Margins) -> Floats:
        """Turned round."""
        return -self.part.severity(margins)

    def pull(self, margins: Margins) -> Margins:
        """Turned round."""
        return -self.part.pull(margins)

    def holds_after(self, margins: Margins, changes: Changes) -> Truths:
        """Negation."""
        return ~self.part.holds_after(margins, changes)

    def renumbered(self, position_of: Mapping[int, int]) -> Symptom:
        """The negated symptom, renumbered."""
        return Not(self.part.renumbered(position_of))

    def __str__(self) -> str:
        return f"not ({self.part})"


def _check_parts(parts: tuple[Symptom, ...]) -> None:
    if not parts or not all(isinstance(part, Symptom) for part in parts):
        raise InvalidSymptom("symptoms combine with symptoms, for instance misclassified(3) & at_least(5).")
