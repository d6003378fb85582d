"""How labels go wrong: the rates R(b | k) at which a true label k was recorded as b, learned by EM.

With P(k | x_i) from predictors that never saw label i, the given label y_i has probability Σ_k P(k | x_i) R(y_i | k),
and its true value is k with probability W_ik ∝ P(k | x_i) R(y_i | k). EM raises the likelihood of all given labels in
turns: W from R, then R(b | k) = Σ_i W_ik [y_i = b] / Σ_i W_ik. The rates may also be *even*, one for all pairs of
classes: R(b | k) = ε / (K-1), ε the share of wrong labels, found by Newton's method. Of the two the one is taken that
is likelier after a charge for its rates: rates that differ by chance alone, or since the predictors prefer a class,
would put the labels of one class before those of another.

People and rules do not err at random: they err on rows that *look* like another class. A share ρ of the labels then
follows the look of its row, q(b | x), whatever the truth is, and the others the truth (decision 23):

    R_i(b | k) = (1 - ρ) R(b | k) + ρ q(b | x_i).

q is what rows of this look are labelled: predictors calibrated on the given labels. EM learns ρ with the rates, by the
share of labels that the look explains. Rates and look explain much the same, so that few labels tell them apart: the
rates are then drawn towards even ones, as by ``policy.SHRUNK`` labels of each class that have these.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import rel_entr

from psidebug import policy
from psidebug.evidence.held_out import Floats, Mask
from psidebug.margins import sums_of_rows
from psidebug.task.labels import Codes

ROUNDS, SETTLED = 200, 1e-5
"""EM ends when no rate changes by more than this."""
SETTLED_EVEN = 1e-9
"""So does Newton's method for even rates."""
START, START_FOLLOWING = 0.05, 0.3
"""The share of wrong labels that EM begins with, and that of labels which follow the look of their row."""


@dataclass(frozen=True, eq=False)
class NoiseFit:
    """Noise rates of some labels, and what follows for each of them."""

    rates: Floats
    """R (K, K): true class by recorded class; every row sums to 1."""
    posterior: Floats
    """W (n, K): how likely each class is the true label of each row."""
    log_likelihood: float
    """Σ_i log Σ_k P(k | x_i) R(y_i | k)."""
    even: bool = False
    """Whether one rate holds for all pairs of classes."""
    follow: float | None = None
    """ρ: the share of labels that follow the look of their row; None if none may."""
    penalty: float = 0.0
    """Nats that the rates lose by their prior, which draws them towards even ones."""

    @property
    def charge(self) -> float:
        """½ log n for each rate that was learned, and log 2 for the choice of their kind.

        Of uneven rates only those that are used cost, and log K (K-1) each for which they are; or their penalty.
        """
        each, size, kind = 0.5 * float(np.log(max(len(self.posterior), 2))), len(self.rates), float(np.log(2))
        if self.follow is not None:
            return 2.0 * each + kind + self.penalty
        if self.even:
            return each + kind
        used = int((self.rates[~np.eye(size, dtype=bool)] > policy.NEGLIGIBLE).sum())
        return used * (each + float(np.log(size * (size - 1)))) + kind


def fit_rates(
    log_probability: Floats,
    given: Codes,
    known: Codes | None = None,
    possible: Mask | None = None,
    *,
    miscalibration: float = 0.0,
) -> NoiseFit:
    """The rates under which these given labels (n,) are likeliest, for log P(k | x) (n, K).

    ``known`` holds the true labels that a person has confirmed, -1 elsewhere; ``possible`` (n, K) says which classes
    the true label of a row may have at all. A row that can only have its given label is right whatever the rates are:
    its likelihood is P(y | x), and it has nothing to teach about them. ``miscalibration`` is what uneven rates have to
    gain for each row beyond their charge: nats that predictors which are not quite calibrated give them by chance.
    """
    if possible is not None and (sure := possible.sum(axis=1) <= 1).any():
        others = None if known is None else known[~sure]
        rest = fit_rates(log_probability[~sure], given[~sure], others, possible[~sure], miscalibration=miscalibration)
        posterior = np.eye(possible.shape[1])[given]
        posterior[~sure] = rest.posterior
        fixed = log_likelihood(log_probability[sure], given[sure])
        return NoiseFit(rest.rates, posterior, rest.log_likelihood + fixed, rest.even)
    probability = np.exp(log_probability) * (1.0 if possible is None else possible)
    even, free = fit_even(probability, given, known), fit_by_em(probability, given, known)
    gain = free.log_likelihood - even.log_likelihood
    return free if uneven_are_better(even, free, gain - miscalibration * len(given)) else even


def uneven_are_better(even: NoiseFit, free: NoiseFit, gain: float) -> bool:
    """Whether rates that differ gain more than what they cost more, and at least ½ log n nats."""
    return gain > max(free.charge - even.charge, 0.5 * float(np.log(max(len(even.posterior), 2))))


def even_rates(size: int, share: float) -> Floats:
    """Even rates (K, K): this share of the labels is wrong."""
    rates = np.full((size, size), share / (size - 1))
    rates.flat[:: size + 1] = 1.0 - share
    return rates


def fit_even(probability: Floats, given: Codes, known: Codes | None) -> NoiseFit:
    """The likeliest even rates, for P(k | x) (n, K): one number, ε.

    With p_i = P(y_i | x_i), and q_i the mean of P(k | x_i) of the other classes,

        Σ_i log (p_i + ε (q_i - p_i)) + c log (1 - ε) + d log ε

    is concave, with c and d the pseudo-counts of right and of wrong labels; Newton's method finds its maximum.
    """
    size = probability.shape[1]
    settled = _settled(probability, known)
    right = settled[np.arange(len(given)), given]
    gap = (sums_of_rows(settled) - right) / (size - 1) - right
    c, d = size * policy.RIGHT_PSEUDO_COUNT, size * (size - 1) * policy.WRONG_PSEUDO_COUNT
    share, low, high = START, 0.0, 1.0
    for _ in range(ROUNDS):
        gains = gap / np.maximum(right + share * gap, 1e-300)
        slope = float(gains.sum()) - c / (1.0 - share) + d / share
        low, high = (share, high) if slope > 0 else (low, share)
        before = share
        share += slope / (float(gains @ gains) + c / (1.0 - share) ** 2 + d / share**2)
        share = share if low < share < high else (low + high) / 2
        if abs(share - before) < SETTLED_EVEN:
            break
    rates = even_rates(size, share)
    posterior, likelihood = posterior_of(probability, rates, given, known)
    return NoiseFit(rates, posterior, float(np.log(likelihood).sum()), even=True)


def fit_by_em(
    probability: Floats,
    given: Codes,
    known: Codes | None,
    *,
    look: Floats | None = None,
    start: NoiseFit | None = None,
    rounds: int = ROUNDS,
) -> NoiseFit:
    """The likeliest rates, for P(k | x) (n, K).

    With ``look``, q(y_i | x_i) (n,), labels may follow the look of their row, and the rates are drawn to even ones.
    """
    size = probability.shape[1]
    rates = even_rates(size, START) if start is None else start.rates
    follow = None if look is None else START_FOLLOWING if start is None or start.follow is None else start.follow
    pseudo_counts = np.full((size, size), policy.WRONG_PSEUDO_COUNT)
    np.fill_diagonal(pseudo_counts, policy.RIGHT_PSEUDO_COUNT)
    alike, drawn_to, by_truth = _by_label(probability, given, known, look), rates, np.empty((size, size))
    for _ in range(rounds):
        true = rates if follow is None else (1.0 - follow) * rates
        for label, each in enumerate(alike):
            by_truth[:, label] = each.counts(true[:, label], follow)
        counts = by_truth + pseudo_counts
        if look is not None:  # ε is the share of all counts that are off the diagonal
            drawn_to = even_rates(size, 1.0 - float(counts.trace() / counts.sum()))
            counts += policy.SHRUNK * drawn_to
        before, rates = (rates, follow), counts / counts.sum(axis=1, keepdims=True)
        follow = None if look is None else 1.0 - float(by_truth.sum()) / len(given)
        if max(np.abs(rates - before[0]).max(), abs((follow or 0.0) - (before[1] or 0.0))) < SETTLED:
            break
    posterior, likelihood = posterior_of(probability, rates, given, known, follow, look)
    penalty = 0.0 if look is None else policy.SHRUNK * float(rel_entr(drawn_to, rates).sum())
    return NoiseFit(rates, posterior, float(np.log(likelihood).sum()), follow=follow, penalty=penalty)


class _Alike(NamedTuple):
    """The rows with one given label b."""

    probability: Floats
    """P(k | x) (K, n); of a row that a person has settled 1 for its true class."""
    by_look: Floats | None
    """q(b | x) Σ_k P(k | x) (n,); None if no label may follow its look."""

    def counts(self, true: Floats, follow: float | None) -> Floats:
        """Σ_i P(k | x_i) R(b | k) / P(b | x_i) (K,): how many of the labels are right for each class.

        ``true`` (K,) is R(b | k), (1 - ρ) R(b | k) if labels may follow the look of their row: the others are counted.
        """
        total = true @ self.probability
        if follow is not None and self.by_look is not None:
            total += follow * self.by_look
        np.maximum(total, 1e-300, out=total)
        return np.asarray(true * (self.probability @ np.reciprocal(total, out=total)))


def _by_label(probability: Floats, given: Codes, known: Codes | None, look: Floats | None) -> list[_Alike]:
    """The rows of each given label: these have one likelihood R(b | ·), so that a sum over them is a product."""
    probability = _settled(probability, known)
    rows = [np.flatnonzero(given == label) for label in range(probability.shape[1])]
    parts = [(np.ascontiguousarray(probability[own].T), own) for own in rows]
    return [_Alike(each, None if look is None else look[own] * each.sum(axis=0)) for each, own in parts]


def _settled(probability: Floats, known: Codes | None) -> Floats:
    """P(k | x), 1 for the true class of the rows that a person has settled."""
    if known is None:
        return probability
    return np.where((known >= 0)[:, None], np.eye(probability.shape[1])[known], probability)


def with_rates(log_probability: Floats, given: Codes, rates: Floats) -> NoiseFit:
    """What follows from these rates, which are not learned."""
    posterior, likelihood = posterior_of(np.exp(np.asfortranarray(log_probability)), rates, given, None)
    return NoiseFit(rates, posterior, float(np.log(likelihood).sum()))


def log_likelihood(log_probability: Floats, given: Codes) -> float:
    """Log likelihood of the given labels if none is wrong: Σ_i log P(y_i | x_i)."""
    return float(log_probability[np.arange(len(given)), given].sum())


def label_likelihood(rates: Floats, given: Codes, follow: float | None = None, look: Floats | None = None) -> Floats:
    """R_i(y_i | k) (n, K): how likely each given label is for each true class."""
    by_class = rates.take(given, axis=1).T  # by column, and much faster than an index
    return by_class if follow is None or look is None else (1.0 - follow) * by_class + follow * look[:, None]


def posterior_of(
    probability: Floats,
    rates: Floats,
    given: Codes,
    known: Codes | None,
    follow: float | None = None,
    look: Floats | None = None,
) -> tuple[Floats, Floats]:
    """W (n, K) and the likelihood (n,) of the labels."""
    joint = np.asfortranarray(probability) * label_likelihood(rates, given, follow, look)
    if known is not None:
        settled = known >= 0
        others = np.arange(probability.shape[1]) != known[:, None]
        joint = np.where(settled[:, None] & others, 0.0, np.maximum(joint, 1e-300))
    total = np.maximum(sums_of_rows(joint), 1e-300)
    return joint / total[:, None], total
