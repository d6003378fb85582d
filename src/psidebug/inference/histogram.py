"""PS of any number of labels, for one linear symptom: a histogram of effects, a table over c, a look-up.

PS(i) depends on label i only through its effect c_i and its rate ε, since T_-i is T with one known factor divided out.
So effects are counted: how many, their sum and the sum of their squares in each of 2^14 bins, by the leading bits of
the number (sign, exponent, five bits of the mantissa). The bins need no range, and counts of blocks are added. Each bin
stands for n effects by two, with its mean and variance. From them come, as in
:mod:`psidebug.inference.characteristic`, the tilt λ of K'(λ) = M and ψ(u) = Π_b f_b(u)^n_b; then

    kept(c)  = (h/π) Re Σ_n g(u_n) / f_c(u_n),        moved(c) = exp(λc) (h/π) Re Σ_n g(u_n) exp(i u_n c) / f_c(u_n),
    r(c)     = log moved(c) / kept(c),        PS(c) = 1 - exp(-r(c)) for c > 0, 0 otherwise,

on a grid of |c| for either sign. To first order r(c) is λc; what is beyond that is interpolated for every label.

The stated error is the largest change of the table if each bin has its mean alone, plus that of leaving every second
grid point out. One rate for all labels, and one other class for each.

Where effects fill few bins, as those of rows of categories do, the grid has these effects. Sums then take few values: ψ
comes back, and is followed to the last node. If it has not ended by then it is cut off by a taper, which smooths T on
the scale s = 3/u_last; stated as well is what half of the nodes, and thresholds M ± s, change.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq
from scipy.special import expit

from psidebug.errors import NoWorldWithout, SymptomAbsent
from psidebug.inference.characteristic import WRAPPED
from psidebug.priors import Floats

BINS = 2**14
SHIFT = 18
"""Bits of a single-precision number that do not tell bins apart: 32 - 14."""
GRID = 1024
COMPARED = 8
"""Every so many grid points, PS by bins with their means alone is compared."""
SMALLEST = 1e-7
"""The first grid point, as a part of the largest effect."""
MOST_NODES = 2**14
FEWEST_BINS = 256
"""With effects in fewer bins sums may tie, and ψ may come back after it was negligible."""
NEGLIGIBLE = 1e-9


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

    @property
    def is_of_kinds(self) -> bool:
        """Whether the effects of each bin are one number, but for rounding."""
        both = self.effects()[0].reshape(2, -1)
        return bool(np.all(both[1] - both[0] <= 1e-5 * np.abs(both[0])))

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
    """PS and P(wrong | ¬φ) as functions of the effect c, by r(c) = log moved(c) / kept(c)."""

    sizes: Floats
    """|c|, ascending; larger effects have what the last one has."""
    beyond: Floats
    """r(c) - λc at c = -|c| and at c = |c|, shape (2, sizes)."""
    error: float
    """Stated, of every PS that is looked up."""
    rate: float
    """λ."""
    log_odds: float
    """log ε / (1 - ε)."""
    log_p_without: float
    """log P(¬φ)."""
    followed: float
    """u up to which ψ was followed."""
    even: bool
    """Whether the sizes are evenly spaced in log |c|: a look-up then needs no search."""

    def __call__(self, effects: Floats) -> Floats:
        """PS of labels with these effects."""
        return sufficiency_of(effects, self.log_ratio(effects))

    def log_ratio(self, effects: Floats) -> Floats:
        """r(c): how much likelier the symptom is to be gone if the label differs."""
        sizes, helps = np.abs(effects), effects > 0
        if not self.even:
            beyond = np.where(helps, *(np.interp(sizes, self.sizes, side) for side in self.beyond[::-1]))
            return np.asarray(self.rate * effects + beyond)
        first, last, steps = self.sizes[0], self.sizes[-1], len(self.sizes) - 1
        place = np.log(np.clip(sizes, first, last) / first)
        place *= steps / np.log(last / first)
        left = np.minimum(place.astype(np.int32), steps - 1)
        place -= left
        left += helps * np.int32(steps + 1)
        table = self.beyond.ravel()
        low = table[left]
        return np.asarray(self.rate * effects + low + place * (table[left + 1] - low))

    def wrong(self, log_ratios: Floats) -> Floats:
        """P(wrong | ¬φ) of labels with these r: the odds of being wrong are exp(r) times those of the prior."""
        return np.asarray(expit(self.log_odds + log_ratios))


def sufficiency_of(effects: Floats, log_ratios: Floats) -> Floats:
    """PS = 1 - exp(-r(c)) where c > 0, and 0 elsewhere."""
    return np.where(effects > 0, -np.expm1(-np.maximum(log_ratios, 0.0)), 0.0)


def sufficiency_table(histogram: EffectHistogram, rate: float, threshold: float) -> SufficiencyTable:
    """The table where φ holds while T < M, M = ``threshold``, and every label is wrong with probability ``rate``."""
    effects, counts = histogram.effects()
    if threshold <= 0:
        raise SymptomAbsent("the symptom does not hold for the labels as given, so they cannot be its cause.")
    if effects.max() <= 0 or float(counts @ np.maximum(effects, 0.0)) < threshold:
        raise NoWorldWithout("no change of labels removes this symptom, as far as the gray box can tell.")
    log_odds = float(np.log(rate) - np.log1p(-rate))
    few = int((histogram.counts > 0).sum()) < FEWEST_BINS
    fine = _Inversion.of(_Tilted(effects, counts, log_odds), threshold, few=few)
    coarse = _Inversion.of(_Tilted(*histogram.effects(spread=False), log_odds), threshold, few=few)
    edge = float(np.abs(effects).max()) * (1.0 + 2.0**-5)  # of the last bin, at most
    sizes = edge * np.exp(np.linspace(np.log(SMALLEST), 0.0, GRID if fine.ended else GRID // 2))
    kinds = few and histogram.is_of_kinds
    if few:
        own = np.unique(np.abs(effects[(effects != 0) & (counts > 0)]))
        sizes = own if kinds else np.union1d(sizes, own)
    harms, helps = fine.log_ratio(-sizes), fine.log_ratio(sizes)
    ps, some = sufficiency_of(sizes, helps), sizes[::COMPARED]
    error = 1e-7 + fine.cut_off(sizes, ps)
    error += float(np.abs(ps[::COMPARED] - sufficiency_of(some, coarse.log_ratio(some))).max())
    beyond = np.stack([harms + fine.rate * sizes, helps - fine.rate * sizes])
    if not kinds:
        between = np.interp(sizes[1:-1:2], sizes[::2], beyond[1, ::2]) + fine.rate * sizes[1:-1:2]
        error += float(np.abs(sufficiency_of(sizes[1:-1:2], between) - ps[1:-1:2]).max(initial=0.0))
    return SufficiencyTable(
        sizes=sizes,
        beyond=beyond,
        error=min(error, 1.0),
        rate=fine.rate,
        log_odds=log_odds,
        log_p_without=fine.log_p_without,
        followed=float(fine.spacing * (len(fine.psi) - 1)),
        even=not few,
    )


@dataclass(frozen=True, eq=False)
class _Inversion:
    """λ, M, the spacing of the nodes, and ψ there."""

    tilt: _Tilted
    rate: float
    threshold: float
    spacing: float
    psi: npt.NDArray[np.complex128]
    ended: bool
    """Whether ψ was followed to its end."""
    unseen: float
    """Stated of what is beyond the last node."""

    @classmethod
    def of(cls, tilt: _Tilted, threshold: float, *, few: bool) -> _Inversion:
        """Of M = ``threshold``; ψ of ``few`` effects may come back."""
        lam = _tilt(tilt, threshold)
        log_norm, mean, deviation = tilt.log_norm(lam), tilt.mean(lam), tilt.deviation(lam)
        reach = (WRAPPED + max(lam * threshold - log_norm, 0.0)) / lam
        period = max(reach, 12.0 * deviation + abs(mean - threshold)) + 2.0 * float(np.abs(tilt.effects).max())
        spacing = 2.0 * np.pi / period
        psi, ended = tilt.characteristic(lam, spacing, few=few)
        unseen = 4.0 * tilt.coarseness(lam) * lam * deviation / float(np.sqrt(MOST_NODES)) if few else 0.0
        return cls(tilt, lam, threshold, spacing, psi, ended, unseen)

    def cut_off(self, sizes: Floats, ps: Floats) -> float:
        """What nodes that are not there may change of PS at these effects."""
        if self.ended:
            return self.unseen
        smoothing = 3.0 / (self.spacing * len(self.psi))
        halved = 3.0 * np.abs(ps - sufficiency_of(sizes, self.log_ratio(sizes, nodes=len(self.psi) // 2)))
        shifted = [np.abs(ps - sufficiency_of(sizes, self.log_ratio(sizes, by))) for by in (-smoothing, smoothing)]
        return self.unseen + float((halved + shifted[0] + shifted[1]).max())

    @property
    def log_p_without(self) -> float:
        """log P(T ≥ M) = K(λ) - λM + log (h/π) Re Σ_n g(u_n)."""
        mass = self.spacing / np.pi * float(self._integrand(0.0, None).real.sum())
        return float(self.tilt.log_norm(self.rate) - self.rate * self.threshold + np.log(max(mass, 1e-300)))

    def log_ratio(self, effects: Floats, by: float = 0.0, nodes: int | None = None) -> Floats:
        """r at these effects, for M + ``by``; a ψ that has not ended is tapered, to end after so many ``nodes``."""
        moved = expit(self.tilt.log_odds + self.rate * effects)
        stays = 1.0 - moved + 1e-150j
        kept, back = np.zeros(len(effects)), np.zeros(len(effects))
        root, power = np.exp(1j * self.spacing * effects), np.ones(len(effects), dtype=np.complex128)
        for value in self._integrand(by, nodes):
            share = value / (stays + moved * power)
            kept += share.real
            share *= power
            back += share.real
            power *= root
        return np.asarray(self.rate * effects + np.log(np.maximum(back, 1e-300)) - np.log(np.maximum(kept, 1e-300)))

    def _integrand(self, by: float, nodes: int | None) -> npt.NDArray[np.complex128]:
        """g(u_n) = ψ(u_n) exp(-i u_n M) / (λ + i u_n), the first halved."""
        place = np.arange(len(self.psi))
        u = self.spacing * place
        integrand = self.psi * np.exp(-1j * u * (self.threshold + by)) / (self.rate + 1j * u)
        integrand[0] *= 0.5
        if not self.ended:
            last = nodes or len(self.psi)
            integrand = (integrand * np.exp(-0.5 * (3.0 * place / last) ** 2))[:last]
        return np.asarray(integrand)


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

    def coarseness(self, lam: float) -> float:
        """√(Σ P(w)²) over all worlds: the size of ψ, on average, where it comes back."""
        q = self.moved(lam)
        return float(np.exp(0.5 * (self.counts @ np.log((1.0 - q) ** 2 + q**2))))

    def characteristic(self, lam: float, spacing: float, *, few: bool) -> tuple[npt.NDArray[np.complex128], bool]:
        """ψ(u_n) until it is negligible, of ``few`` effects for good; and whether it is."""
        q = self.moved(lam)
        psi: list[Any] = []
        root, power = np.exp(1j * spacing * self.effects), np.ones(len(q), dtype=np.complex128)
        seen = 0  # nodes up to the last at which ψ counts
        while len(psi) < MOST_NODES and (few or len(psi) < seen + 3):
            factor = 1.0 - q + q * power + 1e-150j  # of which a complex logarithm takes three times as long
            log_size = 0.5 * np.log(factor.real**2 + factor.imag**2)
            psi.append(np.exp(self.counts @ log_size + 1j * (self.counts @ np.arctan2(factor.imag, factor.real))))
            weight = lam / abs(lam + 1j * spacing * (len(psi) - 1))
            seen = len(psi) if abs(psi[-1]) * weight >= NEGLIGIBLE else seen
            power *= root
        ended = seen + 3 <= len(psi) and (not few or seen < len(psi) // 2)
        return np.array(psi[: seen + 3] if ended else psi), ended


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
