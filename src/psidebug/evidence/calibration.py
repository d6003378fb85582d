"""Calibration: how far each predictor is believed, learned from labels.

Those of the test set are trusted. Training labels can teach as well, as far as it is known how they came about: with
noise rates R(y | k) the given label y_i speaks for each true class k by as much.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import minimize
from scipy.stats import chi2

from psidebug import policy
from psidebug.evidence.held_out import Elsewhere, Floats, LabelPredictions
from psidebug.task.labels import Codes


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
    """Learn a and b by penalised maximum likelihood, of the test labels and of the training labels if they may teach:

        Σ_t log P(y_t | x_t) + Σ_i log Σ_k P(k | x_i) R(y_i | k),

    subject to a ≥ 0. ``train_likelihood`` (N, K) is R(y_i | k), how likely the given label of each training row is for
    each class that may be the true one; without it the problem is convex.
    """
    logs, size = _stacked([each.test for each in predictions]), predictions[0].test.shape[1]
    likelihood = np.eye(size).take(test_codes, axis=1)
    if train_likelihood is not None:
        logs = np.concatenate([logs, _stacked([each.train for each in predictions])], axis=2)
        likelihood = np.hstack([likelihood, train_likelihood.T])
    advantages = logs[:, 1:] - logs[:, :1]  # only what a class has on the first one counts: there is less to sum
    count, _, rows = advantages.shape
    advantages = advantages.reshape(count, -1)
    mean, of_first, of_others = np.full(count, 1.0 / count), likelihood[0], np.ascontiguousarray(likelihood[1:])

    def loss(values: Floats) -> tuple[float, Floats]:
        weights, bias = values[:count], values[count:]
        scores = (weights @ advantages).reshape(size - 1, rows) + bias[:, None]
        top = np.maximum(scores.max(axis=0), 0.0)
        first, others = np.exp(-top), np.exp(np.subtract(scores, top, out=scores), out=scores)
        joint = others * of_others
        total = np.maximum(first * of_first + _sum(joint), 1e-300)
        norm = first + _sum(others)
        residual = others / norm - np.divide(joint, total, out=joint)
        away = weights - mean
        penalty = 0.5 * policy.WEIGHT_PRIOR * float(away @ away) + 0.5 * policy.BIAS_PRIOR * float(bias @ bias)
        slope = np.append(
            advantages @ residual.ravel() + policy.WEIGHT_PRIOR * away,
            residual.sum(axis=1) + policy.BIAS_PRIOR * bias,
        )
        return penalty - float(np.log(total / norm).sum()), slope

    first = np.append(mean, np.zeros(size - 1)) if start is None else np.append(start.weights, start.bias[1:])
    bounds = [(0.0, None)] * count + [(None, None)] * (size - 1)
    best = minimize(loss, first, jac=True, method="L-BFGS-B", bounds=bounds).x
    return _combine(predictions, best[:count], np.append(0.0, best[count:]))


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
