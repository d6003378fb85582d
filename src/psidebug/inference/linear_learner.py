"""A learner that is linear in the labels, in memory: m_tr(w) = m_tr + Σ_i c_tri(w_i) for the watched points."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from psidebug.margins import is_wrong
from psidebug.priors import Codes, Floats

Points = npt.NDArray[np.intp]

SMALL = np.uint8
"""Counts below 256 are added up in single bytes, which is fast."""
LARGE = 2**20
"""Coefficients beyond which they are compared in single precision."""
BLOCK = 4096
"""Labels compared at once."""


@dataclass(frozen=True, eq=False)
class LinearLearner:
    """Margins m (points, K-1) at the given labels, and coefficients c (K, points, K-1, N), 0 at the given label."""

    given: Codes
    actual: Floats
    coefficients: Floats

    @property
    def classes(self) -> int:
        """K."""
        return len(self.coefficients)

    def __call__(self, worlds: Codes) -> Floats:
        """Margins (worlds, points, K-1) in each world: one matrix product per class, or one for two classes."""
        _, points, rivals, size = self.coefficients.shape
        shape = (len(worlds), points, rivals)
        if self.classes == 2:
            moved = (worlds != self.given).astype(np.float64)
            return np.asarray(self.actual + (moved @ self.two_way.T).reshape(shape))
        margins = np.broadcast_to(self.actual, shape).copy()
        for k in range(self.classes):
            table = self.coefficients[k].reshape(points * rivals, size)
            margins += (((worlds == k) & (self.given != k)).astype(np.float64) @ table.T).reshape(shape)
        return margins

    def effects(self, pull: Floats) -> Floats:
        """Σ_tr pull_tr c_tri(k), shape (N, K)."""
        return np.asarray(np.einsum("kprn,pr->nk", self.coefficients, pull))

    @cached_property
    def two_way(self) -> Floats:
        """Two classes: the coefficient of moving away from the given label, shape (points, N)."""
        return np.ascontiguousarray((self.coefficients[0] + self.coefficients[1])[:, 0])

    @cached_property
    def strongest_first(self) -> tuple[Points, npt.NDArray[Any]]:
        """Two classes: labels by their largest coefficient, and ``two_way`` in that order.

        It is there to be compared with margins, in single precision once it is large.
        """
        order = np.argsort(-np.abs(self.two_way).max(axis=0), kind="stable")
        table = self.two_way[:, order]
        return order, table.astype(np.float32) if table.size > LARGE else table


@dataclass(frozen=True, eq=False)
class MovedLabels:
    """N changes to each of several worlds: label i moves from w_i to (w_i + shift) mod K, one label at a time."""

    learner: LinearLearner
    worlds: Codes
    shift: int

    def margins(self, world: int, margins: Floats) -> Floats:
        """Margins (N, points, K-1) after each change to one world, whose margins (points, K-1) are given."""
        learner, labels = self.learner, np.arange(self.worlds.shape[1])
        here = self.worlds[world]
        target = (here + self.shift) % learner.classes
        # index arrays on the first and last axis put the labels first: (N, points, K-1)
        change = learner.coefficients[target, :, :, labels] - learner.coefficients[here, :, :, labels]
        return np.asarray(margins + change)

    def errors(self, margins: Floats, points: Points) -> npt.NDArray[np.intp]:
        """How many of these points are misclassified after each change, shape (worlds, N), for margins of the worlds.

        Two classes: m_t + c_ti < 0 where the label is as given, m_t - c_ti < 0 where it is not. Labels are taken in
        blocks, strongest first, so that in most blocks few points are within reach of a change.
        """
        if self.learner.classes > 2:
            return np.stack(
                [is_wrong(self.margins(world, each)[:, points]).sum(axis=1) for world, each in enumerate(margins)]
            )
        order, table = self.learner.strongest_first
        here = margins[:, points, 0].astype(table.dtype)
        counts = np.empty(self.worlds.shape, dtype=np.intp)

        for start in range(0, len(order), BLOCK):
            labels = order[start : start + BLOCK]
            counts[:, labels] = self._errors_in_block(labels, table[points, start : start + BLOCK], here)
        return counts

    def _errors_in_block(self, labels: Points, block: npt.NDArray[Any], here: npt.NDArray[Any]) -> Points:
        """Misclassified points after changing each of these labels, for coefficients (points, labels) and margins."""
        within = np.abs(here) <= np.abs(block).max(axis=1)
        far = ((here < 0) & ~within).sum(axis=1)
        moved = self.worlds[:, labels] != self.learner.given[labels]
        counts = np.empty((len(here), len(labels)), dtype=np.intp)
        for world, row in enumerate(here):
            near = np.flatnonzero(within[world])
            rows, threshold = block[near], row[near, None]
            turned = np.add.reduce(
                (rows < -threshold).view(np.uint8), axis=0, dtype=SMALL if len(near) < 256 else np.intp
            )
            counts[world] = turned
            back = np.flatnonzero(moved[world])
            counts[world, back] = (rows[:, back] > threshold).sum(axis=0)
        return np.asarray(counts + far[:, None])
