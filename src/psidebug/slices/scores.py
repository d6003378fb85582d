"""Two scores of a slice: its rows have high values, or its label is commoner in training than in the test set."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import xlogy
from scipy.stats import norm

from psidebug import policy
from psidebug.slices.atoms import Floats
from psidebug.slices.conditions import Mask
from psidebug.slices.search import Found, Score, Scored


@dataclass(frozen=True)
class Spread:
    """What the values of all rows with a label look like, to compare those of some of them.

    n of the N rows have z = (mean inside - mean) / (s √((N-n) / (n (N-1)))), the standard score of a sample drawn
    without replacement.
    """

    rows: int
    mean: float
    deviation: float
    flat: bool
    """Equal values have nothing to tell apart; their computed spread is rounding error, and any z from it absurd."""

    @classmethod
    def of(cls, values: Floats) -> Spread:
        """Of these values."""
        flat = len(values) < 2 or bool(np.ptp(values) <= 1e-12 * np.abs(values).max())
        return cls(len(values), float(values.mean()), float(values.std()), flat)

    def z(self, n: Any, total: Any, *, among: Any = None, mean: Any = None) -> Any:
        """Of n rows whose values have this total; 0 for all rows. N and the mean are of all rows, or of some."""
        rows = self.rows if among is None else among
        error = self.deviation * np.sqrt(np.maximum(rows - n, 1e-300) / (n * np.maximum(rows - 1.0, 1.0)))
        return np.where(n < rows, (total / n - (self.mean if mean is None else mean)) / error, 0.0)


@dataclass(frozen=True, eq=False)
class MeanScore(Score):
    """z of the mean value of the rows inside, among all rows of the label, and no others."""

    values: Floats

    @cached_property
    def spread(self) -> Spread:
        """Of the rows with this label."""
        return Spread.of(self.values)

    @property
    def tells_apart(self) -> bool:
        """Whether there are rows enough, with different values."""
        return len(self.values) > self.least and not self.spread.flat

    @cached_property
    def _counts(self) -> list[Floats]:
        return self.atoms.tally(np.arange(len(self.values)), self.values)

    @cached_property
    def alone(self) -> Scored:
        """Atoms that hold for some of the rows."""
        n, total = self._counts
        z, looked = self._z(n, total, n < self.spread.rows)
        return Scored(z, z > 0, looked)

    def within(self, parent: Found) -> Scored:
        """Atoms that leave out rows of the slice and are worth it.

        z must rise clearly above that of the parent and of the further condition alone, and so far that chance does it
        less than once in a whole level of the search: the rows of both must stand out *among those of each*. (Two
        conditions on one number are no conjunction: the range between them is an atom.)
        """
        n_alone, total_alone = self._counts
        size, rows = parent.size, np.flatnonzero(parent.inside)
        n, total = self.atoms.tally(rows, self.values)
        another = ~np.isin(self.atoms.column, list(parent.about))
        z, looked = self._z(n, total, (n < size) & (n < n_alone) & another)
        rare = float(norm.isf(1.0 / (policy.BEAM * len(self.atoms.conditions))))
        some = np.maximum(n, 1)
        good = z > np.maximum(self.alone.z, parent.z) + policy.RISE
        good &= self.spread.z(some, total, among=size, mean=self.values[rows].mean()) > rare
        with np.errstate(invalid="ignore", divide="ignore"):  # atoms that none of these rows has
            good &= self.spread.z(some, total, among=n_alone, mean=total_alone / n_alone) > rare
        return Scored(z, good, looked)

    def _z(self, n: Floats, total: Floats, possible: Mask) -> tuple[Floats, int]:
        """z of all atoms where it is possible and there are rows enough, else -∞; and how many these are."""
        possible = possible & (n >= self.least)
        return np.where(possible, self.spread.z(np.maximum(n, 1), total), -np.inf), int(possible.sum())


@dataclass(frozen=True, eq=False)
class LabelShareScore(Score):
    """√(2G), where the label is commoner in training: the plainest trace of a labelling script gone wrong.

    Inside a condition, k of n training rows carry the label and j of m test rows. If the labels of both were made in
    the same way, two shares of one kind differ by chance alone; G is the logarithm of the likelihood ratio, and √(2G) a
    standard score. It needs no model, and with a hundred test points it sees what effects on the model do not
    (decision 13).
    """

    labelled: Mask
    train: Mask
    """Which rows have the label, and which are training rows; the others are test rows."""

    @cached_property
    def alone(self) -> Scored:
        """Atoms with a surplus of the label in training."""
        z, looked = self._z(np.ones(len(self.labelled), dtype=bool))
        return Scored(z, z > 0, looked)

    def within(self, parent: Found) -> Scored:
        """Atoms on other columns that raise z clearly above that of each part."""
        z, looked = self._z(self.atoms.holds(*parent.atoms))
        good = z > np.maximum(self.alone.z, parent.z) + policy.RISE
        return Scored(z, good & ~np.isin(self.atoms.column, list(parent.about)), looked)

    def _z(self, rows: Mask) -> tuple[Floats, int]:
        """Of every atom among these rows, and how many have rows enough; half a row is added to each count."""
        groups = (self.train, self.own, ~self.train, self.labelled & ~self.train)
        n, k, m, j = (self.atoms.tally(np.flatnonzero(rows & group))[0] for group in groups)
        enough = k >= self.least
        n, k, m, j = n + 1.0, k + 0.5, m + 1.0, j + 0.5
        g = _log_likelihood(k, n) + _log_likelihood(j, m) - _log_likelihood(k + j, n + m)
        return np.where(enough & (k / n > j / m), np.sqrt(2.0 * np.maximum(g, 0.0)), 0.0), int(enough.sum())


def _log_likelihood(k: Floats, n: Floats) -> Floats:
    """Of k successes among n, at their own share."""
    return np.asarray(xlogy(k, k / n) + xlogy(n - k, 1.0 - k / n))
