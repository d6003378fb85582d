"""What every engine answers: the probability of sufficiency of each label, and how sure it is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from psidebug.priors import Codes, Floats, Prior, over_alternatives


@dataclass(frozen=True, eq=False)
class Estimates:
    """PS of each label with its error bar, and the posterior that the label differs.

    All are arrays with one entry per label; with w ~ p_T:

    - ``ps``: sufficiency, P(φ(w[Y_i ← y_i]) | ¬φ(w), Y_i ≠ y_i);
    - ``p_wrong``: P(Y_i ≠ y_i | ¬φ(w));
    - ``proposed``: the other class that label i most likely has, given ¬φ.
    """

    ps: Floats
    standard_error: Floats
    """Of ``ps``; 0 where it was not sampled."""
    low: Floats
    high: Floats
    """Bounds on ``ps``: a 95% interval where it was sampled, otherwise the stated error of the arithmetic."""
    p_wrong: Floats
    proposed: Codes
    effective_sample_size: Floats
    """Worlds that the estimate is worth; infinite where it was not sampled."""
    log_p_without: float
    """log P(¬φ) under the prior: how rare the worlds without the symptom are."""
    engine: str
    reason: str
    """Why this engine, and how it got the answer."""
    learner_calls: int = 0
    """Worlds in which the learner or its gray box was asked."""
    warnings: tuple[str, ...] = ()
    """When the answer is not to be trusted, why."""


@dataclass(frozen=True, eq=False)
class Tails:
    """For each label i, how often the symptom is gone, given the other labels' worlds.

    ``kept[i]`` is P(¬φ | Y_i = y_i), ``moved[k, i]`` is P(¬φ | Y_i = k-th alternative) and ``turned[k, i]`` is
    P(¬φ if Y_i is that alternative, φ if Y_i = y_i), each times exp(-``log_scale[i]``) so that none underflows.
    """

    kept: Floats
    moved: Floats
    turned: Floats
    log_scale: Floats

    def at(self, labels: npt.NDArray[np.intp]) -> Tails:
        """The tails of these labels, in their order."""
        return Tails(self.kept[labels], self.moved[:, labels], self.turned[:, labels], self.log_scale[labels])

    def sufficiency(self, proposals: Floats) -> Floats:
        """PS(i) = Σ_k π_i(k) turned / Σ_k π_i(k) moved; 0 where the symptom never goes with label i different."""
        gone = over_alternatives(proposals * self.moved)
        back = over_alternatives(proposals * self.turned)
        return np.asarray(np.clip(np.divide(back, gone, out=np.zeros_like(gone), where=gone > 0), 0.0, 1.0))


def exact_estimates(
    prior: Prior, tails: Tails, *, error: float | Floats, engine: str, reason: str, learner_calls: int = 0
) -> Estimates:
    """Everything that follows from the tails: PS, the posterior and the proposed class.

    P(¬φ) = (1 - ε_i) kept + ε_i Σ_k π_i(k) moved, the same for every i.
    """
    weights = prior.proposals * tails.moved
    ps = tails.sufficiency(prior.proposals)
    wrong, right = prior.rates * over_alternatives(weights), (1.0 - prior.rates) * tails.kept
    total = wrong + right
    reference = int(np.argmax(total))
    return Estimates(
        ps=ps,
        standard_error=np.zeros(prior.size),
        low=np.maximum(ps - error, 0.0),
        high=np.minimum(ps + error, 1.0),
        p_wrong=np.divide(wrong, total, out=np.zeros_like(total), where=total > 0),
        proposed=_likeliest(prior, weights),
        effective_sample_size=np.full(prior.size, np.inf),
        log_p_without=float(np.log(total[reference]) + tails.log_scale[reference]) if total[reference] > 0 else -np.inf,
        engine=engine,
        reason=reason,
        learner_calls=learner_calls,
    )


def no_causes(prior: Prior, *, reason: str) -> Estimates:
    """The answer where the symptom goes in no world, as far as can be told: no label is a sufficient cause."""
    nothing = np.zeros(prior.size)
    return Estimates(
        ps=nothing,
        standard_error=nothing,
        low=nothing,
        high=nothing,
        p_wrong=np.asarray(prior.rates),
        proposed=_likeliest(prior, prior.proposals),
        effective_sample_size=np.full(prior.size, np.inf),
        log_p_without=-np.inf,
        engine="none",
        reason=reason,
        warnings=(reason,),
    )


def _likeliest(prior: Prior, weights: Floats) -> Codes:
    if len(weights) == 1:
        return np.asarray(prior.alternatives[0])
    return np.asarray(np.take_along_axis(prior.alternatives, weights.argmax(axis=0)[None], axis=0)[0])


def wilson_interval(successes: npt.ArrayLike, trials: npt.ArrayLike, z: float = 1.96) -> tuple[Floats, Floats]:
    """Wilson's interval for a proportion; (0, 1) where nothing was tried."""
    k, n = np.asarray(successes, dtype=np.float64), np.asarray(trials, dtype=np.float64)
    centre = (k + z**2 / 2) / (n + z**2)
    half = z / (n + z**2) * np.sqrt(np.divide(k * (n - k), n, out=np.zeros_like(n), where=n > 0) + z**2 / 4)
    share = np.divide(k, n, out=np.full_like(n, 0.5), where=n > 0)
    # rounding must not put the share itself outside
    return np.minimum(np.clip(centre - half, 0.0, 1.0), share), np.maximum(np.clip(centre + half, 0.0, 1.0), share)
