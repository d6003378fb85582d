"""One labeller from many opinions, calibrated on the test labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize
from scipy.special import log_softmax

from psidebug.diagnosis.evidence.speakers import Opinion
from psidebug.labels import Codes

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


def labeller_of(opinions: Sequence[Opinion], test_codes: Codes) -> Labeller:
    """Learn the weights by penalised maximum likelihood; the problem is convex and the bounds are a ≥ 0."""
    said = np.stack([opinion.test for opinion in opinions])
    count, points, size = said.shape
    start = np.append(np.full(count, 1.0 / count), np.zeros(size - 1))
    right = np.arange(points), test_codes

    def loss(values: Floats) -> tuple[float, Floats]:
        weights, bias = values[:count], values[count:]
        logs = _combined(said, weights, np.append(0.0, bias))
        residual = np.exp(logs)
        residual[right] -= 1.0
        away = weights - start[:count]
        penalty = 0.5 * PULL * float(away @ away) + 0.5 * BIAS_PULL * float(bias @ bias)
        slope = np.append(
            np.einsum("jtk,tk->j", said, residual) + PULL * away, residual.sum(axis=0)[1:] + BIAS_PULL * bias
        )
        return penalty - float(logs[right].sum()), slope

    bounds = [(0.0, None)] * count + [(None, None)] * (size - 1)
    best = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds).x
    weights, bias = best[:count], np.append(0.0, best[count:])
    heard = np.stack([opinion.train for opinion in opinions])
    return Labeller(
        names=tuple(opinion.name for opinion in opinions),
        weights=weights,
        bias=bias,
        train=_combined(heard, weights, bias),
        test=_combined(said, weights, bias),
    )


def _combined(logs: Floats, weights: Floats, bias: Floats) -> Floats:
    return np.asarray(log_softmax(np.tensordot(weights, logs, axes=1) + bias, axis=1))
