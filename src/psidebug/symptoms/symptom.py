"""What every symptom offers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

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
        ...

    def errors(self, margins: Margins, points: npt.NDArray[np.intp], /) -> npt.NDArray[np.intp]:
        """How many of these points are misclassified after each change to each world, shape (worlds, N)."""
        ...


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
        from psidebug.symptoms.combined import And

        return And((self, other))

    def __or__(self, other: Symptom) -> Symptom:
        from psidebug.symptoms.combined import Or

        return Or((self, other))

    def __invert__(self) -> Symptom:
        from psidebug.symptoms.combined import Not

        return Not(self)
