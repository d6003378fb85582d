"""What every symptom offers; and, or, not of symptoms; what symptoms of named test points share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from psidebug.errors import InvalidSymptom

Margins = npt.NDArray[np.float64]
Floats = npt.NDArray[np.float64]
Truths = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Linearisation:
    """φ holds while Σ_tr u_tr (m_tr(w) - m_tr) < M, with weights u and threshold M > 0.

    ``exact`` says whether that is the symptom itself or its tangent at the actual margins m.
    """

    weights: Margins
    threshold: float
    exact: bool


class Changes(Protocol):
    """N changes to each of several worlds, one at a time, as symptoms see them."""

    def margins(self, world: int, margins: Margins, /) -> Margins:
        """Margins (N, points, K-1) after each change to one world, whose margins (points, K-1) are given."""

    def errors(self, margins: Margins, points: npt.NDArray[np.intp], /) -> npt.NDArray[np.intp]:
        """How many of these points are misclassified after each change to each world, shape (worlds, N)."""


class Symptom(ABC):
    """A predicate φ on classifiers."""

    @property
    @abstractmethod
    def points(self) -> frozenset[int] | None:
        """Test points it looks at; None for the whole test set."""

    @abstractmethod
    def holds(self, margins: Margins) -> Truths:
        """Whether φ holds, for each world."""

    @abstractmethod
    def severity(self, margins: Margins) -> Floats:
        """How far φ is from going, for each world: a continuous function of the margins, positive where φ holds."""

    @abstractmethod
    def pull(self, margins: Margins) -> Margins:
        """The direction in margins (points, K-1) that makes φ go, on average over the worlds given."""

    def holds_after(self, margins: Margins, changes: Changes) -> Truths:
        """Whether φ holds after each of N changes to each world, shape (worlds, N); ``margins`` are the worlds' own."""
        return np.stack([self.holds(changes.margins(world, each)) for world, each in enumerate(margins)])

    @abstractmethod
    def renumbered(self, position_of: Mapping[int, int]) -> Symptom:
        """The same symptom for margins that hold only some of the test points."""

    def linearised(self, margins: Margins) -> Linearisation | None:
        """The symptom as one linear constraint on margins near the actual ones (points, K-1), if it has that form."""
        return None

    def __and__(self, other: Symptom) -> Symptom:
        return And((self, other))

    def __or__(self, other: Symptom) -> Symptom:
        return Or((self, other))

    def __invert__(self) -> Symptom:
        return Not(self)


@dataclass(frozen=True)
class Several(Symptom):
    """Symptoms taken together; what is made of them, ``And`` and ``Or`` say."""

    parts: tuple[Symptom, ...]
    word: ClassVar[str]
    together: ClassVar[np.ufunc]

    def __post_init__(self) -> None:
        _check_parts(self.parts)

    @property
    def points(self) -> frozenset[int] | None:
        """Every point that a part looks at; None if one looks at all."""
        named = [part.points for part in self.parts if part.points is not None]
        return frozenset[int]().union(*named) if len(named) == len(self.parts) else None

    def holds(self, margins: Margins) -> Truths:
        """Conjunction, or disjunction."""
        return np.asarray(self.together.reduce([part.holds(margins) for part in self.parts]))

    def holds_after(self, margins: Margins, changes: Changes) -> Truths:
        """Conjunction, or disjunction."""
        return np.asarray(self.together.reduce([part.holds_after(margins, changes) for part in self.parts]))

    def renumbered(self, position_of: Mapping[int, int]) -> Symptom:
        """Its parts, renumbered."""
        return replace(self, parts=tuple(part.renumbered(position_of) for part in self.parts))

    def __str__(self) -> str:
        return f" {self.word} ".join(f"({part})" for part in self.parts)


@dataclass(frozen=True)
class And(Several):
    """All of several symptoms."""

    word = "and"
    together = np.logical_and

    def severity(self, margins: Margins) -> Floats:
        """That of the part that goes first."""
        return np.asarray(np.min([part.severity(margins) for part in self.parts], axis=0))

    def pull(self, margins: Margins) -> Margins:
        """Towards the part that goes first."""
        return min(self.parts, key=lambda part: float(part.severity(margins).mean())).pull(margins)


@dataclass(frozen=True)
class Or(Several):
    """Any of several symptoms."""

    word = "or"
    together = np.logical_or

    def severity(self, margins: Margins) -> Floats:
        """That of the part that goes last."""
        return np.asarray(np.max([part.severity(margins) for part in self.parts], axis=0))

    def pull(self, margins: Margins) -> Margins:
        """Towards every part, in the measure in which it holds: all must go."""
        shares = np.array([part.holds(margins).mean() + 1e-3 for part in self.parts])
        pulls = [share * part.pull(margins) for share, part in zip(shares / shares.sum(), self.parts, strict=True)]
        return np.asarray(np.sum(pulls, axis=0))


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


class OfPoints(Symptom):
    """A symptom of the test points ``of``, or of the whole test set where that is None."""

    of: tuple[int, ...] | None

    @property
    def points(self) -> frozenset[int] | None:
        """The points named; None for the whole test set."""
        return None if self.of is None else frozenset(self.of)

    def renumbered(self, position_of: Mapping[int, int]) -> Symptom:
        """Its points under their new numbers."""
        this: Any = self  # a dataclass, of which only the subclass knows the fields
        return self if self.of is None else replace(this, of=tuple(position_of[point] for point in self.of))

    def watched(self, margins: Margins) -> Margins:
        """The margins of these points, in each world."""
        return margins if self.of is None else margins[:, list(self.of)]

    def positions(self, points: int) -> npt.NDArray[np.intp]:
        """Where these points are among all."""
        return np.arange(points) if self.of is None else np.array(self.of)

    def check_points(self) -> None:
        """Points are known by their position in the test set, a whole number from 0, each once."""
        if self.of is None:
            return
        if any(not whole(point) or point < 0 for point in self.of):
            raise InvalidSymptom(f"test points are named by their position, a whole number from 0: got {self.of!r}.")
        if len(set(self.of)) != len(self.of):
            raise InvalidSymptom("a symptom names the same test point twice.")


def whole(value: object) -> bool:
    """Whether it is a whole number, and not a truth value."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)
