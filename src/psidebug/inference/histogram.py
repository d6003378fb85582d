"""PS of any number of labels, for one linear symptom: a histogram of effects, a table over c, a look-up.

PS(i) depends on label i only through its effect c_i and its rate ε, since T_-i is T with one known factor divided out.
So effects are counted: how many, their sum and the sum of their squares in each of 2^14 bins, by the leading bits of
the number (sign, exponent, five bits of the mantissa). The bins need no range, and counts of blocks are added. Each bin
stands for n effects by two, with its mean and variance. From them come, as in
:mod:`psidebug.inference.characteristic`, the tilt λ of K'(λ) = M and ψ(u) = Π_b f_b(u)^n_b; then

    kept(c)  = (h/π) Re Σ_n g(u_n) / f_c(u_n),        moved(c) = exp(λc) (h/π) Re Σ_n g(u_n) exp(i u_n c) / f_c(u_n),
    PS(c)    = 1 - kept(c) / moved(c) for c > 0, 0 otherwise,

on a grid of c with a point at 0, and PS of every label by linear interpolation.

The stated error is the largest change of the table if each bin has its mean alone, plus that of leaving every second
grid point out. One rate for all labels, and one other class for each.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq
from scipy.special import expit

from psidebug.errors import InferenceError, NoWorldWithout, SymptomAbsent
from psidebug.priors import Floats

BINS = 2**14
SHIFT = 18
"""Bits of a single-precision number that do not tell bins apart: 32 - 14."""
GRID = 4096
SMALLEST = 1e-7
"""The first grid point beside 0, as a part of the largest effect."""
MOST_NODES = 2**14
FEWEST_BINS = 256
"""With effects in fewer bins sums may tie, which a histogram cannot tell."""
NEGLIGIBLE = 1e-9
ALIKE = "the effects of the labels are too few or too much alike for a histogram: use the closed form in memory."


@dataclass(frozen=True, eq=False)
class EffectHistogram:
    """How many effects fall in each bin, their sum and the sum of their squares; histograms are added."""

    counts: npt.NDArray[np.int64]
    sums: Floats
    squares: Floats

    @classmethod
    def of(cls, effects: Floats) -> EffectHistogram:
        """Of effects c (n,)."""
        bins = (effects.astype(np.float32).view(np.uint32) >> SHIFT).astype(np.intp)
        return cls(
            np.bincount(bins, minlength=BINS).astype(np.int64),
            np.bincount(bins, effects, BINS).astype(np.float64),
            np.bincount(bins, effects * effects, BINS).astype(np.float64),
        )

    def __add__(self, other: EffectHistogram) -> EffectHistogram:
        return EffectHistogram(self.counts + other.counts, self.sums + other.sums, self.squares + other.squares)

    def effects(self, *, spread: bool = True) -> tuple[Floats, Floats]:
        """Effects that stand for all, and how many each stands for; without ``spread`` each bin has its mean alone."""
        full = self.counts > 0
        count, mean = self.counts[full], self.sums[full] / self.counts[full]
        if not spread:
            return mean, count.astype(np.float64)
        deviation = np.sqrt(np.maximum(self.squares[full] / count - mean**2, 0.0))
        few = count // 2  # whole numbers: a power of a complex number is then the same on every branch
        many = count - few
        ratio = np.sqrt(np.maximum(few, 1) / many)
        deviation = np.where(few > 0, deviation, 0.0)
        return (
            np.concatenate([mean - deviation / ratio, mean + deviation * ratio]),
            np.concatenate([few, many]).astype(np.float64),
        )


@dataclass(frozen=True, eq=False)
class SufficiencyTable:
    """PS as a function of the effect c."""

    largest: float
    """The last grid point; larger effects have its PS."""
    ps: Floats
    """At c = 0, then at the grid points."""
    error: float
    """Stated, of every PS that is looked up."""
    rate: float
    """λ."""

    def __call__(self, effects: Floats) -> Floats:
        """PS of labels with these effects."""
        first, step = self.largest * SMALLEST, -np.log(SMALLEST) / (GRID - 1)
        place = np.log(np.maximum(effects, first) / first) / step
        left = np.minimum(place.astype(np.intp), GRID - 2)
        part = np.minimum(place - left, 1.0)
        found = self.ps[left + 1] * (1.0 - part) + self.ps[left + 2] * part
        return np.asarray(np.where(effects < first, self.ps[1] * np.maximum(effects, 0.0) / first, found))


def sufficiency_table(histogram: EffectHistogram, rate: float, threshold: float) -> SufficiencyTable:
    """PS(c) where φ holds while T < M, M = ``threshold``, and every label is wrong with probability ε = ``rate``."""
    effects, counts = histogram.effects()
    if threshold <= 0:
        raise SymptomAbsent("the symptom does not hold for the labels as given, so they cannot be its cause.")
    largest = float(effects.max())
    if largest <= 0 or float(counts @ np.maximum(effects, 0.0)) < threshold:
        raise NoWorldWithout("no change of labels removes this symptom, as far as the gray box can tell.")
    if int((histogram.counts > 0).sum()) < FEWEST_BINS:
        raise InferenceError(ALIKE)
    grid = largest * np.exp(np.linspace(np.log(SMALLEST), 0.0, GRID))
    tilt, ps = _inverted(effects, counts, rate, threshold, grid)
    _, coarse = _inverted(*histogram.effects(spread=False), rate, threshold, grid)
    between = np.interp(grid[1:-1:2], grid[::2], ps[::2]) - ps[1:-1:2]
    error = 1e-7 + float(np.abs(ps - coarse).max()) + float(np.abs(between).max(initial=0.0))
    return SufficiencyTable(largest, np.concatenate([[0.0], ps]), error, tilt)


def _inverted(effects: Floats, counts: Floats, rate: float, threshold: float, grid: Floats) -> tuple[float, Floats]:
    """λ, and PS at the grid points."""
    tilt = _Tilted(effects, counts, float(np.log(rate) - np.log1p(-rate)))
    lam = _tilt(tilt, threshold)
    log_norm, mean, deviation = tilt.log_norm(lam), tilt.mean(lam), tilt.deviation(lam)
    reach = (36.0 + max(lam * threshold - log_norm, 0.0)) / lam
    period = max(reach, 12.0 * deviation + abs(mean - threshold)) + 2.0 * float(np.abs(effects).max())
    spacing = 2.0 * np.pi / period
    psi = tilt.characteristic(lam, spacing)
    u = spacing * np.arange(len(psi))
    integrand = psi * np.exp(-1j * u * threshold) / (lam + 1j * u)
    integrand[0] *= 0.5
    moved = expit(tilt.log_odds + lam * grid)
    kept, back = np.zeros(len(grid)), np.zeros(len(grid))
    root, power = np.exp(1j * spacing * grid), np.ones(len(grid), dtype=np.complex128)
    for value in integrand:
        share = value / (1.0 - moved + moved * power)
        kept += share.real
        back += (share * power).real
        power *= root
    gone = np.maximum(back, 1e-300)
    return lam, np.clip(1.0 - np.maximum(kept, 0.0) * np.exp(-lam * grid) / gone, 0.0, 1.0)


@dataclass(frozen=True, eq=False)
class _Tilted:
    effects: Floats
    counts: Floats
    log_odds: float

    def moved(self, lam: float) -> Floats:
        """q of each bin."""
        return np.asarray(expit(self.log_odds + lam * self.effects))

    def log_norm(self, lam: float) -> float:
        """K(λ)."""
        stay = -np.logaddexp(0.0, self.log_odds)
        return float(self.counts @ (stay + np.logaddexp(0.0, self.log_odds + lam * self.effects)))

    def mean(self, lam: float) -> float:
        """K'(λ)."""
        return float(self.counts @ (self.moved(lam) * self.effects))

    def deviation(self, lam: float) -> float:
        """√K''(λ)."""
        q = self.moved(lam)
        return float(np.sqrt(self.counts @ (q * (1.0 - q) * self.effects**2)))

    def characteristic(self, lam: float, spacing: float) -> npt.NDArray[np.complex128]:
        """ψ(u_n) until it is negligible."""
        q, psi = self.moved(lam), []
        root, power = np.exp(1j * spacing * self.effects), np.ones(len(q), dtype=np.complex128)
        small = 0
        while small < 3:
            psi.append(np.exp(self.counts @ np.log(1.0 - q + q * power + 1e-150j)))
            weight = lam / abs(lam + 1j * spacing * (len(psi) - 1))
            small = small + 1 if abs(psi[-1]) * weight < NEGLIGIBLE else 0
            if len(psi) == MOST_NODES:
                raise InferenceError(ALIKE)
            power *= root
        return np.array(psi)


def _tilt(tilted: _Tilted, threshold: float) -> float:
    """λ > 0 with K'(λ) = M, raised towards 0.5/σ, away from the pole of 1/(λ + iu); any λ > 0 is exact."""
    lam = 0.0
    if tilted.mean(0.0) < threshold:
        high = 1.0 / float(np.abs(tilted.effects).max())
        while tilted.mean(high) < threshold and high < 1e6 / float(np.abs(tilted.effects).max()):
            high *= 2.0
        if tilted.mean(high) <= threshold:
            return high
        lam = float(brentq(lambda rate: tilted.mean(rate) - threshold, 0.0, high, rtol=1e-6))
    raised = 0.5 / tilted.deviation(lam)
    while raised > lam and tilted.log_norm(raised) - raised * threshold > 2.0:
        raised *= 0.5
    return max(lam, raised)
