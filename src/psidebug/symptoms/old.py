"""Symptoms φ: what is wrong with a classifier, as predicates on its margins.

Margins have shape (worlds, points, K-1): the advantage of a test point's right class over each rival, in each world.
A point is misclassified when its smallest margin is negative. Symptoms know test points by their position and
combine with ``&``, ``|`` and ``~``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from psidebug.errors import InvalidSymptom

Margins = npt.NDArray[np.float64]
Truths = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Linearisation:
    """φ holds while Σ_tr u_tr (m_tr(w) - m_tr) < M, with weights u and threshold M > 0.

    ``exact`` says whether that is the symptom itself or its tangent at the actual margins m.
    """

    weights: Margins
    threshold: float
    exact: bool


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
class Misclassified(Symptom):
    """At least ``at_least`` of these test points are misclassified; of the whole test set when ``of`` is None.

    One point: that it is misclassified. All of the points: the paper's conjunction φ₁ ∧ … ∧ φ_k.
    """

    of: tuple[int, ...] | None
    at_least: int

    def __post_init__(self) -> None:
        if self.of is not None and len(set(self.of)) != len(self.of):
            raise InvalidSymptom("a symptom names the same test point twice.")
        if self.at_least < 1:
            raise InvalidSymptom(f"at least {self.at_least} misclassified always holds: give a count of 1 or more.")
        if self.of is not None and self.at_least > len(self.of):
            raise InvalidSymptom(f"at least {self.at_least} of {len(self.of)} points can never be misclassified.")

    @property
    def points(self) -> frozenset[int] | None:
        """The points named; None for the whole test set."""
        return None if self.of is None else frozenset(self.of)

    def holds(self, margins: Margins) -> Truths:
        """Count of points whose smallest margin is negative, compared with ``at_least``."""
        watched = margins if self.of is None else margins[:, list(self.of)]
        return np.asarray((watched.min(axis=2) < 0).sum(axis=1) >= self.at_least)

    def renumbered(self, position_of: Mapping[int, int]) -> Symptom:
        """Its points under their new numbers."""
        return self if self.of is None else replace(self, of=tuple(position_of[point] for point in self.of))

    def linearised(self, margins: Margins) -> Linearisation | None:
        """One point: its margin against the class it is now mistaken for (exact for two classes)."""
        if self.of is None or len(self.of) != 1:
            return None
        weights = np.zeros_like(margins)
        rival = int(margins[self.of[0]].argmin())
        weights[self.of[0], rival] = 1.0
        return Linearisation(weights, threshold=-float(margins[self.of[0], rival]), exact=margins.shape[1] == 1)

    def __str__(self) -> str:
        if self.of is None:
            return f"at least {self.at_least} test points are misclassified"
        if len(self.of) == 1:
            return f"test point {self.of[0]} is misclassified"
        if self.at_least == len(self.of):
            return f"all of {len(self.of)} test points are misclassified"
        return f"at least {self.at_least} of {len(self.of)} test points are misclassified"


@dataclass(frozen=True)
class LogLossAbove(Symptom):
    """The mean log loss on these test points (None: on all) is above ``threshold``, in nats per point."""

    threshold: float
    of: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        if not np.isfinite(self.threshold) or self.threshold < 0:
            raise InvalidSymptom(f"a log loss is never below {self.threshold}: give a threshold of 0 or more.")
        if self.of is not None and not self.of:
            raise InvalidSymptom("the log loss of no test points says nothing: name at least one.")

    @property
    def points(self) -> frozenset[int] | None:
        """The points named; None for the whole test set."""
        return None if self.of is None else frozenset(self.of)

    def holds(self, margins: Margins) -> Truths:
        """Mean of log(1 + Σ_r exp(-m_tr)) over the points, compared with the threshold."""
        watched = margins if self.of is None else margins[:, list(self.of)]
        return np.asarray(log_losses(watched).mean(axis=1) > self.threshold)

    def renumbered(self, position_of: Mapping[int, int]) -> Symptom:
        """Its points under their new numbers."""
        return self if self.of is None else replace(self, of=tuple(position_of[point] for point in self.of))

    def linearised(self, margins: Margins) -> Linearisation:
        """Its tangent: ∂loss/∂m_tr = -p_tr, the probability the classifier gives to rival r."""
        chosen = list(range(len(margins))) if self.of is None else list(self.of)
        losses = log_losses(margins[chosen])
        weights = np.zeros_like(margins)
        weights[chosen] = np.exp(-margins[chosen] - losses[:, None]) / len(chosen)
        return Linearisation(weights, threshold=float(losses.mean()) - self.threshold, exact=False)

    def __str__(self) -> str:
        where = "the test set" if self.of is None else f"{len(self.of)} test points"
        return f"the log loss on {where} is above {self.threshold:.4g}"


@dataclass(frozen=True)
class And(Symptom):
    """All of several symptoms."""

    parts: tuple[Symptom, ...]

    @property
    def points(self) -> frozenset[int] | None:
        """Every point that a part looks at."""
        return _union(self.parts)

    def holds(self, margins: Margins) -> Truths:
        """Conjunction."""
        return np.asarray(np.logical_and.reduce([part.holds(margins) for part in self.parts]))

    def renumbered(self, position_of: Mapping[int, int]) -> Symptom:
        """Its parts, renumbered."""
        return And(tuple(part.renumbered(position_of) for part in self.parts))

    def __str__(self) -> str:
        return " and ".join(f"({part})" for part in self.parts)


@dataclass(frozen=True)
class Or(Symptom):
    """Any of several symptoms."""

    parts: tuple[Symptom, ...]

    @property
    def points(self) -> frozenset[int] | None:
        """Every point that a part looks at."""
        return _union(self.parts)

    def holds(self, margins: Margins) -> Truths:
        """Disjunction."""
        return np.asarray(np.logical_or.reduce([part.holds(margins) for part in self.parts]))

    def renumbered(self, position_of: Mapping[int, int]) -> Symptom:
        """Its parts, renumbered."""
        return Or(tuple(part.renumbered(position_of) for part in self.parts))

    def __str__(self) -> str:
        return " or ".join(f"({part})" for part in self.parts)


@dataclass(frozen=True)
class Not(Symptom):
    """The absence of a symptom."""

    part: Symptom

    @property
    def points(self) -> frozenset[int] | None:
        """The points of the negated symptom."""
        return self.part.points

    def holds(self, margins: Margins) -> Truths:
        """Negation."""
        return ~self.part.holds(margins)

    def renumbered(self, position_of: Mapping[int, int]) -> Symptom:
        """The negated symptom, renumbered."""
        return Not(self.part.renumbered(position_of))

    def __str__(self) -> str:
        return f"not ({self.part})"


def misclassified(*points: int) -> Misclassified:
    """The point is misclassified; of several points, all are (the paper's conjunction)."""
    return Misclassified(tuple(points), at_least=len(points))


def at_least(count: int, points: Iterable[int] | None = None) -> Misclassified:
    """At least ``count`` of these points (None: of the whole test set) are misclassified."""
    return Misclassified(None if points is None else tuple(points), at_least=count)


def log_losses(margins: Margins) -> npt.NDArray[np.float64]:
    """log(1 + Σ_r exp(-m_r)) over the last axis: the log loss of each point, without overflow."""
    largest = np.maximum(-margins.min(axis=-1), 0.0)
    finite = np.where(np.isfinite(largest), largest, 0.0)
    with np.errstate(over="ignore"):
        return np.asarray(finite + np.log(np.exp(-finite) + np.exp(-margins - finite[..., None]).sum(axis=-1)))


def log_loss_above_boundary(margins: Margins, bugs: npt.NDArray[np.intp]) -> LogLossAbove:
    """The default symptom: the log loss is above what it would be with every bug moved to the decision boundary.

    With losses ℓ_t, the threshold on the n watched points is (Σ_t ℓ_t - Σ_bugs (ℓ_b - log 2)) / n. Watched are the bugs
    and the points that are classified correctly, so that an explanation which breaks good points does not pass; other
    misclassified points are left out when only some bugs were asked about.
    """
    losses = log_losses(margins)
    wrong = margins.min(axis=1) < 0
    wrong[bugs] = False
    watched = np.flatnonzero(~wrong)
    excess = np.maximum(losses[bugs] - np.log(2.0), 0.0).sum()
    of = None if len(watched) == len(margins) else tuple(watched.tolist())
    return LogLossAbove(threshold=float((losses[watched].sum() - excess) / len(watched)), of=of)


def _union(parts: tuple[Symptom, ...]) -> frozenset[int] | None:
    union: frozenset[int] = frozenset()
    for part in parts:
        if part.points is None:
            return None
        union |= part.points
    return union
