"""Losses of the margin z of a label: their slope, and the curvature that a small change of the model meets.

A label τ = ±1 with score z loses φ(τz): its gradient in the score is τ φ'(τz), its curvature φ''(τz).

    squared           (1 - z)²/2                     ridge
    squared hinge     max(0, 1 - z)²                 linear support vectors
    hinge             max(0, 1 - z)                  support vectors
    modified Huber    max(0, 1 - z)² from z = -1 on, -4z before
    perceptron        max(0, -z)

A hinge has no curvature but at its corner, where all the rows are that hold the model up. Its corner is rounded over
1 ± ``corner``: a flip moves rows on to the corner and off it, and what the model answers to it is in between. A fit
that stands where chance left it, as by stochastic gradients, is answered best with a wide corner (chosen on seed 0 of
``benchmarks/quality/learner_fidelity.py``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from psidebug.graybox.protocol import Floats

CORNER, WIDE_CORNER = 0.1, 0.6


class Loss(Protocol):
    """φ' and φ''."""

    def slope(self, z: Floats) -> Floats:
        """φ'(z)."""

    def curvature(self, z: Floats) -> Floats:
        """φ''(z)."""


class Squared:
    """(1 - z)²/2."""

    def slope(self, z: Floats) -> Floats:
        """z - 1."""
        return np.asarray(z - 1.0)

    def curvature(self, z: Floats) -> Floats:
        """1."""
        return np.ones_like(z)


@dataclass(frozen=True)
class SquaredHinge:
    """max(0, 1 - z)², going on as a line before ``from_``."""

    from_: float = -np.inf

    def slope(self, z: Floats) -> Floats:
        """-2 max(0, 1 - z)."""
        return np.asarray(-2.0 * np.maximum(1.0 - np.maximum(z, self.from_), 0.0))

    def curvature(self, z: Floats) -> Floats:
        """2 where the loss is bent."""
        return np.asarray(2.0 * ((z < 1.0) & (z > self.from_)))


@dataclass(frozen=True)
class Hinge:
    """max(0, at - z), its corner rounded."""

    corner: float = CORNER
    at: float = 1.0

    def slope(self, z: Floats) -> Floats:
        """-1 before the corner, 0 after it."""
        return np.asarray(-np.clip((self.at + self.corner - z) / (2.0 * self.corner), 0.0, 1.0))

    def curvature(self, z: Floats) -> Floats:
        """1 / (2 corner) on it."""
        return np.asarray((np.abs(z - self.at) < self.corner) / (2.0 * self.corner))


BY_SGD: dict[str, Loss] = {
    "squared_error": Squared(),
    "squared_hinge": SquaredHinge(),
    "modified_huber": SquaredHinge(from_=-1.0),
    "hinge": Hinge(WIDE_CORNER),
    "perceptron": Hinge(WIDE_CORNER, at=0.0),
}
BY_LIBLINEAR: dict[str, Loss] = {"squared_hinge": SquaredHinge(), "hinge": Hinge()}
