"""How labels came to be wrong: the rates R(b | k) at which a true label k was recorded as b, learned by EM.

With P(k | x_i) from a labeller that never saw label i, the given label y_i has probability Σ_k P(k | x_i) R(y_i | k),
and its true value is k with probability W_ik ∝ P(k | x_i) R(y_i | k). EM raises the likelihood of all given labels in
turns: W from R, then R(b | k) = Σ_i W_ik [y_i = b] / Σ_i W_ik. The rates may also be *even*, one for all pairs of
classes: R(b | k) = ε / (K-1), ε the share of wrong labels. Of the two the one is taken that is likelier after a charge
for its rates: rates that differ by chance alone, or by a labeller that prefers a class, would put the labels of one
class before those of another.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from psidebug.task.labels import Codes

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
ROUNDS = 200
SETTLED = 1e-5
START = 0.05
"""The rate that EM begins with."""
USED = 0.01
"""A rate below this is as good as none."""
RIGHT, WRONG = 1.0, 0.01
"""Rows that are pretended to have been seen of each class: labelled right, and labelled as each other class."""


@dataclass(frozen=True, eq=False)
class Channel:
    """What happened to the labels of some rows."""

    rates: Floats
    """R (K, K): true class by recorded class; every row sums to 1."""
    posterior: Floats
    """W (n, K): how likely each class is the true label of each row."""
    log_likelihood: float
    """Σ_i log Σ_k P(k | x_i) R(y_i | k)."""
    even: bool = False
    """Whether one rate holds for all pairs of classes."""

    @property
    def charge(self) -> float:
        """½ log n for each rate that was learned, and log 2 for the choice of their kind.

        Of uneven rates only those that are used cost, and log K (K-1) each for which they are.
        """
        each, size, kind = 0.5 * float(np.log(max(len(self.posterior), 2))), len(self.rates), float(np.log(2))
        if self.even:
            return each + kind
        used = int((self.rates[~np.eye(size, dtype=bool)] > USED).sum())
        return used * (each + float(np.log(size * (size - 1)))) + kind


def learned(
    log_probability: Floats,
    given: Codes,
    known: Codes | None = None,
    possible: Mask | None = None,
    *,
    doubt: float = 0.0,
) -> Channel:
    """The rates under which these given labels (n,) are likeliest, for a labeller's log P(k | x) (n, K).

    ``known`` holds the true labels that a person has confirmed, -1 elsewhere; ``possible`` (n, K) says which classes
    the true label of a row may have at all. A row that can only have its given label is right whatever the rates are:
    its likelihood is P(y | x), and it has nothing to teach about them. ``doubt`` is what uneven rates have to gain for
    each row beyond their charge: nats that a labeller which is not quite calibrated gives them by chance.
    """
    if possible is not None and (sure := possible.sum(axis=1) <= 1).any():
        others = None if known is None else known[~sure]
        rest = learned(log_probability[~sure], given[~sure], others, possible[~sure], doubt=doubt)
        posterior = np.eye(possible.shape[1])[given]
        posterior[~sure] = rest.posterior
        untold = untouched(log_probability[sure], given[sure])
        return Channel(rest.rates, posterior, rest.log_likelihood + untold, rest.even)
    probability = np.exp(log_probability) * (1.0 if possible is None else possible)
    even, free = (by_em(probability, given, known, even=even) for even in (True, False))
    gain = free.log_likelihood - even.log_likelihood
    return free if uneven_are_better(even, free, gain - doubt * len(given)) else even


def uneven_are_better(even: Channel, free: Channel, gain: float) -> bool:
    """Whether rates that differ gain more than what they cost more, and at least ½ log n nats."""
    return gain > max(free.charge - even.charge, 0.5 * float(np.log(max(len(even.posterior), 2))))


def even_rates(size: int, share: float) -> Floats:
    """Even rates (K, K): this share of the labels is wrong."""
    return np.where(np.eye(size) == 1.0, 1.0 - share, share / (size - 1))


def by_em(
    probability: Floats,
    given: Codes,
    known: Codes | None,
    *,
    even: bool,
    start: Floats | None = None,
    rounds: int = ROUNDS,
) -> Channel:
    """The likeliest rates of one kind, for P(k | x) (n, K)."""
    size = probability.shape[1]
    rates = even_rates(size, START) if start is None else start
    pretended = np.full((size, size), WRONG)
    np.fill_diagonal(pretended, RIGHT)
    recorded = np.eye(size)[given]
    for _ in range(rounds):
        posterior, _ = _posterior(probability, rates, given, known)
        counts = posterior.T @ recorded + pretended
        before, rates = rates, _evened(counts) if even else counts / counts.sum(axis=1, keepdims=True)
        if np.abs(rates - before).max() < SETTLED:
            break
    posterior, likelihood = _posterior(probability, rates, given, known)
    return Channel(rates, posterior, float(np.log(likelihood).sum()), even)


def _evened(counts: Floats) -> Floats:
    """Rates (K, K) of one ε, the share of all counts that are off the diagonal."""
    return even_rates(len(counts), 1.0 - float(np.trace(counts) / counts.sum()))


def told(log_probability: Floats, given: Codes, rates: Floats) -> Channel:
    """The posterior of every row under rates that are known."""
    posterior, likelihood = _posterior(np.exp(log_probability), rates, given, None)
    return Channel(rates, posterior, float(np.log(likelihood).sum()))


def untouched(log_probability: Floats, given: Codes) -> float:
    """Log likelihood of the given labels if none is wrong: Σ_i log P(y_i | x_i)."""
    return float(log_probability[np.arange(len(given)), given].sum())


def _posterior(probability: Floats, rates: Floats, given: Codes, known: Codes | None) -> tuple[Floats, Floats]:
    joint = probability * rates[:, given].T
    if known is not None:
        sure = known >= 0
        others = np.arange(probability.shape[1]) != known[:, None]
        joint = np.where(sure[:, None] & others, 0.0, np.maximum(joint, 1e-300))
    likelihood = np.maximum(joint.sum(axis=1), 1e-300)
    return joint / likelihood[:, None], likelihood
