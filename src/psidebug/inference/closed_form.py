"""One linear symptom needs no sampling.

φ holds while T = Σ_j c_j(w_j) < M, where c_j(k) is the effect of label j moving to class k (0 for the given one). With
the other labels' sum T_-i, and label i moving to class k with probability π_i(k),

    PS(i) = Σ_k π_i(k) P(M - c_i(k) ≤ T_-i < M) / Σ_k π_i(k) P(T_-i ≥ M - c_i(k)).

Near the threshold the tail of T falls like exp(-λ t), where the saddle point λ solves K'(λ) = M and
K(λ) = Σ_j log Σ_k p_j(k) exp(λ c_j(k)). To first order, then,

    PS(i) ≈ Σ_k π_i(k) (exp(λ c_i(k)) - 1)⁺ / Σ_k π_i(k) exp(λ c_i(k)),

for two classes 1 - exp(-λ c_i), and P(Y_i = k | ¬φ) is the tilted prior p_i(k) exp(λ c_i(k)) / Σ.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq
from scipy.special import logsumexp

from psidebug.errors import NoWorldWithout, SymptomAbsent
from psidebug.inference.estimates import Estimates
from psidebug.priors import Prior

Floats = npt.NDArray[np.float64]


def saddle_point(prior: Prior, effects: Floats, threshold: float) -> Estimates:
    """PS of every label to first order in O(N K), for φ: Σ_j effects[j, w_j] < threshold."""
    if threshold <= 0:
        raise SymptomAbsent(
            "the symptom does not hold for the labels as given, so they cannot be its cause. Ask about a symptom "
            "that the "
            "classifier shows."
        )
    largest = np.where(prior.moves > 0, effects, -np.inf).max(axis=1)
    if largest.sum() < threshold:
        raise NoWorldWithout(
            "no change of labels removes this symptom, as far as the gray box can tell. Ask about a milder symptom, or "
            "allow more labels to be wrong."
        )
    with np.errstate(divide="ignore"):
        log_moves = np.log(prior.moves)
    tilt = _tilt(log_moves, effects, threshold)
    exponents = log_moves + tilt * effects
    log_norms = logsumexp(exponents, axis=1)
    posterior = np.exp(exponents - log_norms[:, None])

    rows = np.arange(prior.size)
    others = exponents.copy()
    others[rows, prior.given] = -np.inf
    share = np.exp(others - logsumexp(others, axis=1, keepdims=True))
    ps = (share * -np.expm1(-tilt * np.maximum(effects, 0.0))).sum(axis=1)
    others[rows, prior.given] = -np.inf
    return Estimates(
        ps=ps,
        low=ps,
        high=ps,
        p_wrong=1.0 - posterior[rows, prior.given],
        proposed=others.argmax(axis=1),
        log_p_without=float(log_norms.sum() - tilt * threshold),
        engine="closed_form",
        reason="the symptom is one linear constraint; its tail was taken to first order at the saddle point",
    )


def _tilt(log_moves: Floats, effects: Floats, threshold: float) -> float:
    """λ ≥ 0 with K'(λ) = M; 0 when the prior already expects the sum to pass the threshold."""
    scale = float(np.abs(effects).max())

    def excess(tilt: float) -> float:
        exponents = log_moves + tilt * effects / scale
        weights = np.exp(exponents - exponents.max(axis=1, keepdims=True))
        return float((weights * effects).sum(axis=1) @ (1.0 / weights.sum(axis=1))) - threshold

    if excess(0.0) >= 0:
        return 0.0
    high = 1.0
    while excess(high) < 0 and high < 1e6:
        high *= 2.0
    return float(brentq(excess, 0.0, high, xtol=1e-12, rtol=1e-12)) / scale if excess(high) > 0 else high / scale
