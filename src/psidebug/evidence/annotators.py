"""Who errs, and how: answers of several annotators, weighed together with what the predictors say of a row.

The true class k of row i has the probability P(k | x_i), by predictors that never saw its label. What annotators see is
how the row *looks*: like its true class, or, with probability ρ, like any class g that rows with these features are
taken for, q(g | x_i). Annotator j then says b with probability C_j(b | g), each for himself:

    P(answers of i | k) = (1 - ρ) Π_j C_j(a_ij | k) + ρ Σ_g q(g | x_i) Π_j C_j(a_ij | g),
    W_ik ∝ P(k | x_i) P(answers of i | k).

So three annotators who are deceived by the same look count as little more than one. EM learns C and ρ: with V_ig, how
likely the row looks like g, C_j(b | g) ∝ Σ_i V_ig [a_ij = b] + s C(b | g), drawn to the confusion C of all annotators
together, which is drawn to one even rate. Without q (ρ = 0) and with uniform P this is Dawid and Skene's model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import scipy.sparse as sp
from scipy.special import logsumexp

from psidebug import policy
from psidebug.evidence.calibration import calibrate
from psidebug.evidence.held_out import Floats, LabelPredictions, Mask, Rows, few
from psidebug.evidence.noise_rates import even_rates
from psidebug.task.annotations import Annotations
from psidebug.task.labels import Codes

ROUNDS, SETTLED = 300, 1e-4
"""EM ends when no W changes by more than this."""
LEAST_FOLLOW = 1e-6


@dataclass(frozen=True, eq=False)
class AnnotatorFit:
    """What is believed of annotators and rows."""

    confusions: Floats
    """C_j(b | g) (J, K, K): annotator, look, answer."""
    common: Floats
    """C(b | g) (K, K), of all annotators together."""
    posterior: Floats = field(repr=False)
    """W (N, K): how likely each class is the true one."""
    looks: Floats = field(repr=False)
    """V (N, K): how likely the row looks like each class."""
    by_look: Floats = field(repr=False)
    """(N,): how likely the look of each row was drawn from q, not taken from its true class."""
    follow: float
    """ρ, the share of such rows."""
    log_likelihood: float
    """Σ_i log Σ_k P(k | x_i) P(answers of i | k)."""
    log_probability: Floats = field(repr=False)
    """log P(k | x) (N, K), -∞ for classes that a row cannot have."""
    log_look: Floats | None = field(repr=False)
    """log q(g | x) (N, K)."""
    log_answers: Floats = field(repr=False)
    """Σ_j log C_j(a_ij | g) (N, K)."""

    def truth_and_look(self, rows: Rows) -> Floats:
        """P(k, g | answers) (n, K, K) of these rows."""
        of_truth = self.log_probability[rows][:, :, None]
        same = np.where(np.eye(self.posterior.shape[1]) == 1, np.log1p(-self.follow), -np.inf)[None]
        if self.log_look is not None:
            same = np.logaddexp(same, _log(self.follow) + self.log_look[rows][:, None, :])
        joint = of_truth + same + self.log_answers[rows][:, None, :]
        return np.asarray(np.exp(joint - logsumexp(joint, axis=(1, 2), keepdims=True)))


@dataclass(frozen=True, eq=False)
class Annotated:
    """Answers, and what is believed of them: what a hypothesis keeps, to learn from a review."""

    annotations: Annotations
    fit: AnnotatorFit
    log_probability: Floats = field(repr=False)
    look: Floats | None = field(default=None, repr=False)
    possible: Mask | None = field(default=None, repr=False)

    @classmethod
    def of(
        cls,
        annotations: Annotations,
        log_probability: Floats,
        look: Floats | None = None,
        known: Codes | None = None,
        possible: Mask | None = None,
    ) -> Annotated:
        """Fitted; the arguments are those of :func:`fit_annotators`."""
        fit = fit_annotators(log_probability, annotations, look, known, possible)
        return cls(annotations, fit, log_probability, look, possible)

    @classmethod
    def without_predictors(cls, annotations: Annotations, size: int, known: Codes | None = None) -> Annotated:
        """By the answers alone, with uniform P: for test sets that calibrate nothing."""
        return cls.of(annotations, np.full((annotations.count, size), -np.log(size)), None, known)

    def after_review(self, known: Codes) -> Annotated:
        """Fitted again with true labels that a person has settled, -1 elsewhere."""
        possible = self.possible
        if possible is not None:
            possible = possible | (known[:, None] == np.arange(possible.shape[1]))
        fit = fit_annotators(self.log_probability, self.annotations, self.look, known, possible)
        return replace(self, fit=fit)

    def over(self, posterior: Floats) -> Floats:
        """W (N, K): by the answers where a row has any, else as it is."""
        return np.where(self.annotations.answered[:, None], self.fit.posterior, posterior)


def fit_annotators(
    log_probability: Floats,
    annotations: Annotations,
    look: Floats | None = None,
    known: Codes | None = None,
    possible: Mask | None = None,
) -> AnnotatorFit:
    """Fit C_j and ρ by EM, for log P(k | x) (N, K) and, if there are any, log q(g | x) (N, K).

    ``known`` holds the true labels that a person has confirmed, -1 elsewhere; ``possible`` (N, K) says which classes a
    row may have. Both are as in :func:`psidebug.evidence.noise_rates.fit_rates`.
    """
    size = log_probability.shape[1]
    logs = _certain(log_probability, known, possible)
    answers = _indicator(annotations, size)
    looks = _votes(annotations, size)
    follow, before = (0.0 if look is None else policy.MOST_FOLLOW), np.full_like(logs, np.inf)
    for _ in range(ROUNDS):
        confusions, common = _confusions(answers, looks, len(annotations.names))
        fit = _weighed(logs, look, answers, confusions, common, follow)
        looks = fit.looks
        if look is not None:
            follow = float(np.clip(fit.by_look[annotations.answered].mean(), LEAST_FOLLOW, policy.MOST_FOLLOW))
        if np.abs(fit.posterior - before).max() < SETTLED:
            break
        before = fit.posterior
    return fit


def look_of(predictions: Sequence[LabelPredictions], annotations: Annotations) -> Floats:
    """log q(b | x) (N, K): what rows of this look are answered, by the same predictors calibrated on the answers."""
    some = few(np.arange(len(annotations)), 0)
    rows = annotations.rows[some]
    answered = [LabelPredictions(each.name, each.train, each.train[rows]) for each in predictions]
    return calibrate(answered, annotations.codes[some]).train


def _weighed(
    logs: Floats, look: Floats | None, answers: sp.csr_array, confusions: Floats, common: Floats, follow: float
) -> AnnotatorFit:
    """W and V for these confusions and this ρ: Bayes' rule."""
    said = np.asarray(answers @ np.log(confusions).transpose(0, 2, 1).reshape(-1, logs.shape[1]))
    joint, looks = logs + np.log1p(-follow) + said, logs + np.log1p(-follow)
    by_truth = logsumexp(joint, axis=1)
    if look is not None:
        joint = np.logaddexp(joint, logs + _log(follow) + logsumexp(look + said, axis=1, keepdims=True))
        looks = np.logaddexp(looks, _log(follow) + look)
    total, looks = logsumexp(joint, axis=1), looks + said
    return AnnotatorFit(
        confusions,
        common,
        posterior=np.exp(joint - total[:, None]),
        looks=np.exp(looks - logsumexp(looks, axis=1, keepdims=True)),
        by_look=1.0 - np.exp(by_truth - total),
        follow=follow,
        log_likelihood=float(total.sum()),
        log_probability=logs,
        log_look=look,
        log_answers=said,
    )


def _confusions(answers: sp.csr_array, looks: Floats, annotators: int) -> tuple[Floats, Floats]:
    """C_j (J, K, K) drawn to C, and C (K, K) drawn to an even rate, from the counts Σ_i V_ig [a_ij = b]."""
    size = looks.shape[1]
    counts = (answers.T @ looks).reshape(annotators, size, size).transpose(0, 2, 1)
    total = counts.sum(axis=0)
    wrong = (total.sum() - np.trace(total) + 0.5) / (total.sum() + 1.0)
    common = _shares(total, even_rates(size, float(wrong)), policy.SHRUNK)
    return _shares(counts, common, policy.ANNOTATOR_PSEUDO_COUNT), common


def _shares(counts: Floats, towards: Floats, weight: float) -> Floats:
    more = counts + weight * towards + 1e-12
    return np.asarray(more / more.sum(axis=-1, keepdims=True))


def _indicator(annotations: Annotations, size: int) -> sp.csr_array:
    """[a_ij = b] as a matrix (N, J K)."""
    column = annotations.annotators * size + annotations.codes
    shape = (annotations.count, len(annotations.names) * size)
    return sp.csr_array((np.ones(len(annotations)), (annotations.rows, column)), shape=shape)


def _votes(annotations: Annotations, size: int) -> Floats:
    """Where EM begins: the shares of the answers of each row, nearly; uniform where there are none."""
    votes = np.full((annotations.count, size), 0.1 / size)
    np.add.at(votes, (annotations.rows, annotations.codes), 1.0)
    return np.asarray(votes / votes.sum(axis=1, keepdims=True))


def _certain(logs: Floats, known: Codes | None, possible: Mask | None) -> Floats:
    """log P with -∞ for what cannot be true."""
    allowed = np.ones(logs.shape, dtype=bool) if possible is None else possible.copy()
    if known is not None:
        settled = known >= 0
        allowed[settled] = np.eye(logs.shape[1], dtype=bool)[known[settled]]
    masked = np.where(allowed, logs, -np.inf)
    return np.asarray(masked - logsumexp(masked, axis=1, keepdims=True))


def _log(share: float) -> float:
    return float(np.log(max(share, 1e-300)))
