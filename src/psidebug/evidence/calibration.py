"""Calibration: how far each predictor is believed, learned from labels.

Those of the test set are trusted. Training labels can teach as well, as far as it is known how they came about: with
noise rates R(y | k) the given label y_i speaks for each true class k by as much.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from scipy.stats import chi2

from psidebug import policy
from psidebug.evidence.held_out import Elsewhere, Floats, LabelPredictions, Mask, Rows
from psidebug.slices.conditions import Conjunction, inside, inside_both
from psidebug.task.data import Data
from psidebug.task.labels import Codes
from psidebug.task.task import Task

MOST_STEPS, SETTLED = 100, 1e-7
"""Newton's method ends when it expects to gain fewer nats than this."""
NEARLY_SETTLED = 1e-4
"""Nor does it go on after a whole step that gained fewer: near the end the next gains about the square."""
LEAST_GAIN = 1e-4
"""A step is halved until it gains this part of what the slope promises."""
NEARLY_0 = 1e-3
"""A weight this small goes to 0 where the slope says so: held by its bound, it would halve the steps of all others."""
LEAST_CURVATURE = 0.05
"""Where the curvature is not positive definite, a direction counts as curved by as much, at least."""


@dataclass(frozen=True, eq=False)
class Calibrated:
    """P(k | x) ∝ exp(b_k + Σ_j a_j log p_j(k | x)), with a_j ≥ 0 and b that give the test labels the most likelihood.

    A predictor that is too sure of itself is tempered (a < 1), one that always prefers a class is put right (b), and
    one that knows nothing is ignored (a = 0); it takes few test points to learn that.
    """

    names: tuple[str, ...]
    weights: Floats
    bias: Floats
    train: Floats
    """Log probabilities (N, K) of the true label of every training row."""
    test: Floats
    """The same of every test row, by predictors that did not see its label."""
    elsewhere: tuple[Elsewhere | None, ...] = field(default=(), repr=False)
    """How each predictor speaks of rows that the task was drawn from."""

    @property
    def parameters(self) -> int:
        """How many numbers were learned from the test labels."""
        return int((self.weights > policy.LEAST_WEIGHT).sum()) + len(self.bias) - 1

    @property
    def unused(self) -> tuple[str, ...]:
        """Predictors that count for nothing."""
        return tuple(
            name for name, weight in zip(self.names, self.weights, strict=True) if weight <= policy.LEAST_WEIGHT
        )

    def applied_to(self, predictions: Sequence[LabelPredictions]) -> Calibrated:
        """The same weights and biases for predictions of other rows."""
        return _combine(predictions, self.weights, self.bias)

    def speaking_for(
        self, silent: LabelPredictions, excluded: Mask, slices: Sequence[Conjunction], data: Data
    ) -> LabelPredictions:
        """One who has learned from the labels in the slices: of the rows inside, what all of these say together.

        ``excluded`` are the training rows inside; of metadata no test row is known to be.
        """
        train, test = silent.train.copy(), silent.test.copy()
        train[excluded] = self.train[excluded]
        if (area := inside_both(slices, data)) is not None:
            test[area[1]] = self.test[area[1]]

        def elsewhere(task: Task, rows: Rows) -> Floats:
            assert silent.elsewhere is not None
            said, own = silent.elsewhere(task, rows).copy(), inside(slices, task.data)[rows]
            said[own] = self.of([each(task, rows[own]) for each in self.elsewhere if each is not None])
            return said

        known = all(each is not None for each in (silent.elsewhere, *self.elsewhere))
        return LabelPredictions(silent.name, train, test, elsewhere if known else None)

    def of(self, said: Sequence[Floats]) -> Floats:
        """log P (n, K) of other rows, by what the predictors say of them, each (n, K)."""
        return _combined(_stacked(said), self.weights, self.bias)


def chance(parameters: int) -> float:
    """Nats that so many parameters gain by chance: χ² / 2 at its 95% point."""
    return 0.5 * float(chi2.ppf(policy.CHANCE_QUANTILE, parameters))


def calibrate(
    predictions: Sequence[LabelPredictions],
    test_codes: Codes,
    train_likelihood: Floats | None = None,
    start: Calibrated | None = None,
) -> Calibrated:
    """Learn a and b once; see :meth:`Calibrator.best`."""
    return Calibrator.of(predictions, test_codes, by_training=train_likelihood is not None).best(
        train_likelihood, start
    )


@dataclass(frozen=True, eq=False)
class Calibrator:
    """Learns a and b from the same predictions as often as it is asked.

    With the features x_ik of row i for class k (log p_j(k | x_i) of every predictor, and which class it is), the scores
    s_ik = v · x_ik, v = (a, b), and how likely the label of the row is for each true class, l_ik, it minimises

        L(v) = Σ_i (log Σ_k exp s_ik - log Σ_k l_ik exp s_ik) + ½ Σ_j c_j (v_j - m_j)²,   a ≥ 0,

    by Newton's method. With P_ik ∝ exp s_ik and W_ik ∝ l_ik exp s_ik,

        ∇L = Σ_i Σ_k (P_ik - W_ik) x_ik + c (v - m),    ∇²L = Σ_i (Cov_P x_i - Cov_W x_i) + diag c.
    """

    predictions: Sequence[LabelPredictions]
    of_test: Floats
    """l (K, M) of the test labels."""
    advantages: Floats
    """(predictors, K-1, rows): log p of a class less that of the first; only that counts."""

    @classmethod
    def of(cls, predictions: Sequence[LabelPredictions], test_codes: Codes, *, by_training: bool) -> Calibrator:
        """By the test rows, and by the training rows if their labels may teach."""
        logs = _stacked([each.test for each in predictions])
        if by_training:
            logs = np.concatenate([logs, _stacked([each.train for each in predictions])], axis=2)
        return cls(predictions, np.eye(logs.shape[1]).take(test_codes, axis=1), logs[:, 1:] - logs[:, :1])

    def best(self, train_likelihood: Floats | None = None, start: Calibrated | None = None) -> Calibrated:
        """By penalised maximum likelihood, of the test labels and of the training labels if they may teach:

            Σ_t log P(y_t | x_t) + Σ_i log Σ_k P(k | x_i) R(y_i | k),

        subject to a ≥ 0. ``train_likelihood`` (N, K) is R(y_i | k), how likely the given label of each training row is
        for each class that may be the true one; without it the problem is convex.
        """
        likelihood = self.of_test if train_likelihood is None else np.hstack([self.of_test, train_likelihood.T])
        count, others, _ = self.advantages.shape
        mean = np.append(np.full(count, 1.0 / count), np.zeros(others))
        prior = np.append(np.full(count, policy.WEIGHT_PRIOR), np.full(others, policy.BIAS_PRIOR))
        v = mean if start is None else np.append(start.weights, start.bias[1:])
        here = self._at(v, likelihood)
        for _ in range(MOST_STEPS):
            lost = here.loss + 0.5 * float(prior @ (v - mean) ** 2)
            slope = self._slope(here) + prior * (v - mean)
            free = (v > NEARLY_0) | (slope < 0)
            free[count:] = True
            step = np.where(free, 0.0, -v)
            step[free] = -_solved((self._curvature(here) + np.diag(prior))[np.ix_(free, free)], slope[free])
            part, expected = 1.0, -float(slope @ step)
            while expected > SETTLED:
                tried = v + part * step
                tried[:count] = np.maximum(tried[:count], 0.0)
                there = self._at(tried, likelihood)
                now = there.loss + 0.5 * float(prior @ (tried - mean) ** 2)
                if now <= lost + LEAST_GAIN * float(slope @ (tried - v)):
                    break
                part, expected = 0.5 * part, 0.5 * expected
            else:
                break
            v, here = tried, there
            if part == 1.0 and lost - now < NEARLY_SETTLED:
                break
        return _combine(self.predictions, v[:count], np.append(0.0, v[count:]))

    def _at(self, v: Floats, likelihood: Floats) -> _Place:
        count, others, rows = self.advantages.shape
        scores = (v[:count] @ self.advantages.reshape(count, -1)).reshape(others, rows) + v[count:, None]
        top = np.maximum(scores.max(axis=0), 0.0)
        first, rest = np.exp(-top), np.exp(np.subtract(scores, top, out=scores), out=scores)
        joint = rest * likelihood[1:]
        total = np.maximum(first * likelihood[0] + _sum(joint), 1e-300)
        norm = first + _sum(rest)
        loss = -float(np.log(total / norm).sum())
        return _Place(loss, np.divide(rest, norm, out=rest), np.divide(joint, total, out=joint))

    def _slope(self, at: _Place) -> Floats:
        residual = at.before - at.after
        return np.append(self.advantages.reshape(len(self.advantages), -1) @ residual.ravel(), residual.sum(axis=1))

    def _curvature(self, at: _Place) -> Floats:
        """Σ_i (Cov_P x_i - Cov_W x_i)."""
        count, others, rows = self.advantages.shape
        if others == 1:  # Cov_p x = p (1 - p) x xᵀ
            spread = (at.before * (1.0 - at.before) - at.after * (1.0 - at.after))[0]
            features = np.append(self.advantages[:, 0], np.ones((1, rows)), axis=0)
            return np.asarray((features * spread) @ features.T)
        p = at.before - at.after
        weighed, curvature = self.advantages * p, np.diag(np.append(np.zeros(count), p.sum(axis=1)))
        curvature[:count, :count] = weighed.reshape(count, -1) @ self.advantages.reshape(count, -1).T
        curvature[:count, count:] = weighed.sum(axis=2)
        curvature[count:, :count] = curvature[:count, count:].T
        for sign, each in ((-1.0, at.before), (1.0, at.after)):
            means = np.concatenate([(self.advantages * each).sum(axis=1), each])
            curvature += sign * (means @ means.T)
        return np.asarray(curvature)


class _Place(NamedTuple):
    """What there is to know at some v."""

    loss: float
    before: Floats
    """P (K-1, rows) of all classes but the first."""
    after: Floats
    """W, that is P given the labels."""


def _solved(curvature: Floats, slope: Floats) -> Floats:
    """C⁻¹ slope; |C|⁻¹ slope where the curvature C = U diag w Uᵀ is not positive definite, |C| = U diag |w| Uᵀ."""
    with suppress(np.linalg.LinAlgError):
        np.linalg.cholesky(curvature)
        return np.asarray(np.linalg.solve(curvature, slope))
    w, u = np.linalg.eigh(curvature)
    return np.asarray(u @ ((u.T @ slope) / np.maximum(np.abs(w), LEAST_CURVATURE)))


def _combine(predictions: Sequence[LabelPredictions], weights: Floats, bias: Floats) -> Calibrated:
    train = _combined(_stacked([each.train for each in predictions]), weights, bias)
    test = _combined(_stacked([each.test for each in predictions]), weights, bias)
    elsewhere = tuple(each.elsewhere for each in predictions)
    return Calibrated(tuple(each.name for each in predictions), weights, bias, train, test, elsewhere)


def _stacked(logs: Sequence[Floats]) -> Floats:
    """(predictors, K, rows): classes are few, and sums over them are fast where the rows are next to each other."""
    return np.stack([each.T for each in logs])


def _combined(logs: Floats, weights: Floats, bias: Floats) -> Floats:
    """(rows, K) of stacked ones."""
    scores = np.tensordot(weights, logs, axes=1) + bias[:, None]
    scores -= scores.max(axis=0)
    scores -= np.log(np.exp(scores).sum(axis=0))
    return np.asarray(scores.T)


def _sum(table: Floats) -> Floats:
    """Over the first axis: of two classes there is one row, which numpy is slow to add up."""
    return table[0] if len(table) == 1 else np.asarray(table.sum(axis=0))
