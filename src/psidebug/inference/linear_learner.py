"""A learner that is linear in the labels, in memory: m_tr(w) = m_tr + Σ_i c_tri(w_i) for the watched points."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from psidebug.priors import Codes, Floats

Points = npt.NDArray[np.intp]

LARGE = 2**20
"""Coefficients beyond which they are compared in single precision."""
BLOCK = 1024
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
    def compact(self) -> npt.NDArray[Any]:
        """Two classes: ``two_way`` as it is compared with margins, in single precision once it is large."""
        return self.two_way.astype(np.float32) if self.two_way.size > LARGE else self.two_way


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

        Two classes: m_t + c_ti < 0 where the label is as given, m_t - c_ti < 0 where it is not. Blocks of labels stay
        in the processor's cache over all worlds, and counts of up to 255 points are added up in single bytes.
        """
        if self.learner.classes > 2:
            return np.stack(
                [
                    (self.margins(world, each)[:, points].min(axis=2) < 0).sum(axis=1)
                    for world, each in enumerate(margins)
                ]
            )
        counts = np.zeros(self.worlds.shape, dtype=np.intp)
        starts = range(0, self.worlds.shape[1], BLOCK)
        with ThreadPoolExecutor() as pool:  # blocks of labels are apart, so the threads change nothing but the time
            list(pool.map(lambda start: self._count(counts, margins[:, :, 0], points, start), starts))
        return counts

    def _count(self, counts: npt.NDArray[np.intp], margins: Floats, points: Points, start: int) -> None:
        """Fill in the counts of one block of labels."""
        labels = slice(start, start + BLOCK)
        moved = self.worlds[:, labels] != self.learner.given[labels]
        for first in range(0, len(points), 255):
            some = points[first : first + 255]
            block = np.ascontiguousarray(self.learner.compact[some, labels])
            here = margins[:, some].astype(block.dtype)[:, :, None]
            below = np.empty(block.shape, dtype=bool)
            for world, row in enumerate(here):
                np.less(block, -row, out=below)
                shown = np.add.reduce(below.view(np.uint8), axis=0, dtype=np.uint8).astype(np.intp)
                back = np.flatnonzero(moved[world])
                shown[back] = (block[:, back] > row).sum(axis=0)
                counts[world, labels] += shown
