"""One linear symptom: φ holds while T = Σ_j c_j(w_j) < M.

c_j(k) is the effect of label j moving to class k, 0 for its given class. With the other labels' sum T_-i, the symptom
is gone when T_-i ≥ M (label i as given) or T_-i ≥ M - c_i(k) (label i moved to k), so

    PS(i) = Σ_k π_i(k) P(M - c_i(k) ≤ T_-i < M) / Σ_k π_i(k) P(T_-i ≥ M - c_i(k)).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from psidebug.errors import InvalidSymptom, NoWorldWithout, SymptomAbsent
from psidebug.priors import Codes, Floats, Prior

COARSEST = 1e-4
"""A step finer than this share of the largest effect is no lattice, but numbers."""


@dataclass(frozen=True, eq=False)
class LinearSymptom:
    """The prior, the effects c (N, K) and the threshold M > 0 of a linear symptom."""

    prior: Prior
    effects: Floats
    threshold: float

    def __post_init__(self) -> None:
        if self.effects.shape != self.prior.moves.shape:
            raise InvalidSymptom(
                f"the effects have shape {self.effects.shape}, the prior has {self.prior.moves.shape}: one effect per "
                f"label and class."
            )
        if not np.isfinite(self.threshold) or not np.all(np.isfinite(self.effects)):
            raise InvalidSymptom("the effects of labels on the symptom are not finite: this gray box cannot be used.")
        if self.threshold <= 0:
            raise SymptomAbsent(
                "the symptom does not hold for the labels as given, so they cannot be its cause. Ask about a symptom "
                "that the classifier shows."
            )
        if self.most < self.threshold - self.rounding:
            raise NoWorldWithout(
                "no change of labels removes this symptom, as far as the gray box can tell. Ask about a milder "
                "symptom, or allow more labels to be wrong."
            )

    @cached_property
    def moves(self) -> Floats:
        """Effects of the alternatives, shape (K-1, N); 0 for those that the prior rules out."""
        effects = self.prior.at_alternatives(np.asarray(self.effects, dtype=np.float64))
        possible = self.prior.proposals > 0
        return effects if possible.all() else np.where(possible, effects, 0.0)

    @cached_property
    def log_odds(self) -> Floats:
        """log p_i(k) / (1 - ε_i) of the alternatives, shape (K-1, N); -∞ where a label never moves."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.prior.at_alternatives(self.prior.moves)) - np.log1p(-self.prior.rates))

    @cached_property
    def most(self) -> float:
        """The largest sum that any world reaches."""
        return float(np.maximum(self.moves.max(axis=0), 0.0).sum())

    @cached_property
    def can_cause(self) -> npt.NDArray[np.bool_]:
        """Labels with an alternative that helps the symptom to go; the others have PS 0, exactly."""
        return np.asarray((self.moves > 0).any(axis=0))

    @cached_property
    def rounding(self) -> float:
        """Sums closer to the threshold than this are ties: the rounding error of adding N effects."""
        return 4 * float(np.finfo(np.float64).eps) * float(np.abs(self.moves).max(axis=0).sum())

    def margins(self, worlds: Codes) -> Floats:
        """T - M as the margin of one point, shape (worlds, 1, 1): the learner whose symptom this is. Ties are 0."""
        margins = self.effects[np.arange(self.prior.size), worlds].sum(axis=1) - self.threshold
        return np.where(np.abs(margins) <= self.rounding, 0.0, margins)[:, None, None]


def lattice_step(effects: Floats) -> float | None:
    """The largest δ of which every effect is a whole multiple (votes, counts), where sums can tie; or None.

    Euclid's algorithm on floating-point numbers, with a tolerance of 1e-9 of the largest effect.
    """
    sizes = np.abs(effects[effects != 0])
    if len(sizes) == 0:
        return None
    step = largest = float(sizes.max())
    for every in (False, True):
        some = np.unique(sizes) if every else sizes[:64]  # the first are enough to tell, most of the time
        for size in some.tolist():
            step = _common_divisor(step, size, 1e-9 * largest)
            if step < COARSEST * largest:
                return None
        if _multiples(sizes, step):
            return step
    return None


def _multiples(sizes: Floats, step: float) -> bool:
    ratio = sizes / step
    return bool(np.all(np.abs(ratio - np.round(ratio)) < 1e-6))


def _common_divisor(a: float, b: float, tolerance: float) -> float:
    while b > tolerance:
        a, b = b, abs(a - b * round(a / b))
    return a
