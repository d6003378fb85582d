"""Exponential tilting: the prior leaned towards the worlds where a linear symptom is gone.

K(λ) = Σ_j log Σ_k p_j(k) exp(λ c_j(k)) is the cumulant generating function of T. Under the tilted prior
q_j(k) ∝ p_j(k) exp(λ c_j(k)) the sum T has mean K'(λ) and variance K''(λ); λ solves K'(λ) = M, so that the rare event
T ≥ M becomes ordinary.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import expit
from scipy.stats import norm

from psidebug.inference.linear import LinearSymptom
from psidebug.priors import Floats, over_alternatives


@dataclass(frozen=True, eq=False)
class Tilt:
    """λ, the tilted probabilities q (K-1, N) of the alternatives, and the moments of T under them."""

    symptom: LinearSymptom
    rate: float
    moved: Floats
    mean: float
    deviation: float

    @cached_property
    def log_norms(self) -> Floats:
        """log Σ_k p_i(k) exp(λ c_i(k)) = log(1 - ε_i) + log(1 + Σ_k odds) of each label."""
        odds = self.symptom.log_odds + self.rate * self.symptom.moves
        odds = odds[0] if len(odds) == 1 else np.logaddexp.reduce(odds, axis=0)
        return np.asarray(np.log1p(-self.symptom.prior.rates) + np.logaddexp(0.0, odds))

    @cached_property
    def coarseness(self) -> float:
        """√Σ P(w)² over all worlds of the tilted prior: the size at which |ψ| keeps returning, however far out.

        Of very many labels the first are enough for a bound: every further one makes it smaller.
        """
        moved = self.moved[:, :20_000]
        same = (1.0 - over_alternatives(moved)) ** 2 + over_alternatives(moved**2)
        return float(np.exp(0.5 * np.log(np.maximum(same, 1e-300)).sum()))

    @cached_property
    def log_norm(self) -> float:
        """K(λ)."""
        return float(self.log_norms.sum())


def tilt_at(symptom: LinearSymptom, rate: float) -> Tilt:
    """The prior tilted by a given λ: label i has the odds p_i(k) exp(λ c_i(k)) : 1 - ε_i."""
    effects = symptom.moves
    exponents = symptom.log_odds + rate * effects
    if len(effects) == 1:
        moved = expit(exponents)
    else:
        top = np.maximum(exponents.max(axis=0), 0.0)
        moved = np.exp(exponents - top)
        moved /= moved.sum(axis=0) + np.exp(-top)
    products = moved * effects
    means = over_alternatives(products)
    variance = float(np.vdot(products, effects)) - float(np.vdot(means, means))
    return Tilt(
        symptom=symptom,
        rate=rate,
        moved=moved,
        mean=float(means.sum()),
        deviation=float(np.sqrt(max(variance, 0.0))),
    )


def saddle_point(symptom: LinearSymptom, *, at: float | None = None, tolerance: float = 0.05) -> Tilt:
    """The tilt with K'(λ) = M, to within ``tolerance`` standard deviations of T; λ = 0 if the prior expects more.

    ``at`` is another value than the threshold in the place of M.
    Newton's method, kept inside a bracket by bisection. Every λ > 0 gives exact tails, so the tolerance costs nothing.
    Where M is nearly the largest possible sum, λ stops once every label is certain.
    """
    current, wanted = tilt_at(symptom, 0.0), symptom.threshold if at is None else at
    if current.mean >= wanted:
        return current
    steepest = 40.0 / float(np.abs(symptom.moves).min(where=symptom.moves != 0, initial=np.inf))
    low, high = 0.0, np.inf
    for _ in range(200):
        gap = wanted - current.mean
        if abs(gap) <= tolerance * current.deviation or (gap > 0 and current.rate >= steepest):
            break
        low, high = (current.rate, high) if gap > 0 else (low, current.rate)
        step = gap / current.deviation**2 if current.deviation > 0 else np.inf
        rate = current.rate + step
        if not low < rate < high:
            rate = (low + high) / 2 if np.isfinite(high) else max(2.0 * current.rate, 1e-3 * steepest)
        elif not np.isfinite(high) and current.rate > 0:
            rate = min(rate, 4.0 * current.rate)
        current = tilt_at(symptom, min(rate, steepest))
    return current


def log_tail(symptom: LinearSymptom, at: float) -> float:
    """log P(T ≥ at) by the saddle point λ of K'(λ) = at (Lugannani and Rice),

        P(T ≥ at) ≈ 1 - Φ(w) + φ(w) (1/u - 1/w),  w = √(2 (λ at - K(λ))),  u = λ √K''(λ).

    In O(N), for very many labels; where the prior expects as much, T counts as normal.
    """
    plain = tilt_at(symptom, 0.0)
    ahead = (at - plain.mean) / plain.deviation if plain.deviation > 0 else np.inf * np.sign(at - plain.mean)
    if ahead < 0.1:
        return float(norm.logsf(ahead))
    if at > symptom.most + symptom.rounding:
        return -np.inf
    tilt = saddle_point(symptom, at=at, tolerance=1e-3)
    w = float(np.sqrt(max(2.0 * (tilt.rate * at - tilt.log_norm), 1e-300)))
    u = tilt.rate * tilt.deviation
    # φ(w) is taken out: both parts underflow together
    mills = float(np.exp(norm.logsf(w) - norm.logpdf(w)))
    return float(norm.logpdf(w) + np.log(max(mills + 1.0 / max(u, 1e-300) - 1.0 / w, 1e-300)))


def first_order_sufficiency(symptom: LinearSymptom, tilt: Tilt) -> Floats:
    """PS to first order, in O(N): near M the tail of T falls like exp(-λ t), so two classes give 1 - exp(-λ c_i).

    For several, PS(i) ≈ Σ_k q_i(k) (1 - exp(-λ c_i(k)))⁺ / Σ_k q_i(k).
    """
    moved = over_alternatives(tilt.moved)
    back = over_alternatives(tilt.moved * -np.expm1(-tilt.rate * np.maximum(symptom.moves, 0.0)))
    return np.asarray(np.divide(back, moved, out=np.zeros_like(moved), where=moved > 0))
