"""Counts of misclassified points: one, all of several, at least so many."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from psidebug.errors import InvalidSymptom
from psidebug.margins import is_wrong
from psidebug.symptoms.symptom import Changes, Floats, Linearisation, Margins, OfPoints, Truths, whole


@dataclass(frozen=True)
class Misclassified(OfPoints):
    """At least ``at_least`` of these test points are misclassified; of the whole test set when ``of`` is None.

    One point: that it is misclassified. All of the points: the paper's conjunction φ₁ ∧ … ∧ φ_k.
    """

    of: tuple[int, ...] | None
    at_least: int

    def __post_init__(self) -> None:
        if not whole(self.at_least):
            raise InvalidSymptom(f"at least {self.at_least!r} points: give a whole number.")
        self.check_points()
        if self.at_least < 1:
            raise InvalidSymptom(f"at least {self.at_least} misclassified always holds: give a count of 1 or more.")
        if self.of is not None and self.at_least > len(self.of):
            raise InvalidSymptom(f"at least {self.at_least} of {len(self.of)} points can never be misclassified.")

    def holds(self, margins: Margins) -> Truths:
        """Count of points whose smallest margin is negative, compared with ``at_least``."""
        return np.asarray(is_wrong(self.watched(margins)).sum(axis=1) >= self.at_least)

    def severity(self, margins: Margins) -> Floats:
        """Minus the margin of the point whose turning would make φ go: the ``at_least``-th smallest."""
        smallest = self.watched(margins).min(axis=2)
        return -np.partition(smallest, self.at_least - 1, axis=1)[:, self.at_least - 1]

    def pull(self, margins: Margins) -> Margins:
        """Towards the points near the critical one, and there against the rival that is ahead."""
        smallest = self.watched(margins).min(axis=2)
        distance = np.abs(smallest + self.severity(margins)[:, None])
        closeness = np.exp(-distance / (0.5 * np.median(distance) + 1e-12))
        closeness /= closeness.sum(axis=1, keepdims=True)
        pull = np.zeros(margins.shape[1:])
        for k in range(margins.shape[2]):
            ahead = self.watched(margins).argmin(axis=2) == k
            pull[self.positions(len(pull)), k] = (closeness * ahead).mean(axis=0)
        return pull

    def holds_after(self, margins: Margins, changes: Changes) -> Truths:
        """The count after each change, compared with ``at_least``."""
        return np.asarray(changes.errors(margins, self.positions(margins.shape[1])) >= self.at_least)

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


def misclassified(*points: int) -> Misclassified:
    """The point is misclassified; of several points, all are (the paper's conjunction)."""
    return Misclassified(tuple(points), at_least=len(points))


def at_least(count: int, points: Iterable[int] | None = None) -> Misclassified:
    """At least ``count`` of these points (None: of the whole test set) are misclassified."""
    return Misclassified(None if points is None else tuple(points), at_least=count)
