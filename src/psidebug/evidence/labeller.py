"""One labeller from many opinions: how much each is worth is learned from labels.

Those of the test set are trusted. Training labels can teach as well, as far as it is known how they came about: with
rates R(y | k) the given label y_i speaks for each true class k by as much.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize
from scipy.special import log_softmax

from psidebug.evidence.speakers import Opinion
from psidebug.task.labels import Codes

Floats = npt.NDArray[np.float64]
HEARD = 0.05
"""A weight below this is as good as none."""
PULL, BIAS_PULL = 1.0, 0.1
"""Strength with which weights are drawn to the plain mean, and biases to 0, in test points."""


@dataclass(frozen=True, eq=False)
class Labeller:
    """P(k | x) ∝ exp(b_k + Σ_j a_j log p_j(k | x)), with a_j ≥ 0 and b that give the test labels the most likelihood.

    One opinion that is too sure of itself is tempered (a < 1), one that always prefers a class is put right (b), and
    one that knows nothing is not listened to (a = 0); it takes few test points to learn that.
    """

    names: tuple[str, ...]
    weights: Floats
    bias: Floats
    train: Floats
    """Log probabilities (N, K) of the true label of every training row."""
    test: Floats
    """The same of every test row, by opinions that did not see its label."""

    @property
    def parameters(self) -> int:
        """How many numbers were learned from the test labels."""
        return int((self.weights > HEARD).sum()) + len(self.bias) - 1

    @property
    def unheard(self) -> tuple[str, ...]:
        """Those whose opinion counts for nothing."""
        return tuple(name for name, weight in zip(self.names, self.weights, strict=True) if weight <= HEARD)

    def about(self, opinions: Sequence[Opinion]) -> Labeller:
        """The same weights and biases for what was said about other rows."""
        return _told(opinions, self.weights, self.bias)


def labeller_of(
    opinions: Sequence[Opinion], test_codes: Codes, lesson: Floats | None = None, start: Labeller | None = None
) -> Labeller:
    """Learn the weights by penalised maximum likelihood, of the test labels and those of the lesson:

        Σ_t log P(y_t | x_t) + Σ_i log Σ_k P(k | x_i) R(y_i | k),

    subject to a ≥ 0. The lesson (N, K) is R(y_i | k), how likely the given label of each training row is for each class
    that may be the true one; without it the problem is convex.
    """
    said = np.stack([opinion.test for opinion in opinions])
    count, _, size = said.shape
    likelihood = np.eye(size)[test_codes]
    if lesson is not None:
        said = np.concatenate([said, np.stack([opinion.train for opinion in opinions])], axis=1)
        likelihood = np.concatenate([likelihood, lesson])
    mean = np.full(count, 1.0 / count)

    def loss(values: Floats) -> tuple[float, Floats]:
        weights, bias = values[:count], values[count:]
        believed = np.exp(_combined(said, weights, np.append(0.0, bias)))
        joint = believed * likelihood
        total = np.maximum(joint.sum(axis=1), 1e-300)
        residual = believed - joint / total[:, None]
        away = weights - mean
        penalty = 0.5 * PULL * float(away @ away) + 0.5 * BIAS_PULL * float(bias @ bias)
        slope = np.append(
            np.einsum("jtk,tk->j", said, residual) + PULL * away, residual.sum(axis=0)[1:] + BIAS_PULL * bias
        )
        return penalty - float(np.log(total).sum()), slope

    first = np.append(mean, np.zeros(size - 1)) if start is None else np.append(start.weights, start.bias[1:])
    bounds = [(0.0, None)] * count + [(None, None)] * (size - 1)
    best = minimize(loss, first, jac=True, method="L-BFGS-B", bounds=bounds).x
    weights, bias = best[:count], np.append(0.0, best[count:])
    return _told(opinions, weights, bias)


def _told(opinions: Sequence[Opinion], weights: Floats, bias: Floats) -> Labeller:
    train, test = (
        _combined(np.stack(said), weights, bias)
        for said in ([each.train for each in opinions], [each.test for each in opinions])
    )
    return Labeller(tuple(each.name for each in opinions), weights, bias, train, test)


def _combined(logs: Floats, weights: Floats, bias: Floats) -> Floats:
    return np.asarray(log_softmax(np.tensordot(weights, logs, axes=1) + bias, axis=1))
