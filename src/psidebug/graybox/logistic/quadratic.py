"""L near the fitted θ: its Hessian, as products and blocks, on the coefficients that may move.

H = Σ_i s_i x_i x_iᵀ ⊗ W_i + diag λ,    W_i = ω_i (diag p_i - p_i p_iᵀ)  (softmax),  ω_i p_i (1 - p_i)  (sigmoids)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from psidebug.graybox.logistic.design import Design
from psidebug.graybox.logistic.likelihood import Likelihood
from psidebug.graybox.logistic.objective import Objective
from psidebug.graybox.protocol import Floats
from psidebug.task.labels import Codes

CHUNK_BYTES = 2**25


@dataclass(frozen=True, eq=False)
class Quadratic:
    """H at the profiled probabilities; directions and right-hand sides have shape (m, F, D)."""

    design: Design
    likelihood: Likelihood
    probabilities: Floats
    weights: Floats
    """s_i ω_a(y_i), shape (N, F) or (N, 1)."""
    ridge: Floats
    active: npt.NDArray[np.bool_]

    @classmethod
    def at(cls, objective: Objective, design: Design, probabilities: Floats, labels: Codes) -> Quadratic:
        """The Hessian of the objective where the rows have these probabilities."""
        weights = objective.likelihood.weights(labels) * objective.sample_weight[:, None]
        return cls(design, objective.likelihood, probabilities, weights, objective.ridge, objective.active)

    @cached_property
    def diagonal(self) -> Floats:
        """The diagonal of H (F, D)."""
        return np.asarray(self.design.squares(self._curvature()) + self.ridge)

    @property
    def shape(self) -> tuple[int, int]:
        """(F, D)."""
        return self.likelihood.free, self.design.width

    def times(self, directions: Floats) -> Floats:
        """H v for each direction v, within the active coefficients."""
        free, width = self.shape
        result = np.empty_like(directions)
        size = max(1, CHUNK_BYTES // (8 * self.design.rows * free))
        for start in range(0, len(directions), size):
            part = np.where(self.active, directions[start : start + size], 0.0)
            scores = self.design.scores(part.reshape(-1, width)).reshape(self.design.rows, len(part), free)
            curved = self.likelihood.curved(self.probabilities, scores) * self.weights[:, None, :]
            gathered = self.design.gathered(curved.reshape(self.design.rows, -1)).reshape(part.shape)
            result[start : start + size] = np.where(self.active, gathered + self.ridge * part, 0.0)
        return result

    def block(self, a: int, b: int) -> Floats:
        """H between the coefficients of free classes a and b, shape (D, D)."""
        p = self.probabilities
        if a == b:
            return np.asarray(self.design.gram(self._curvature()[:, a]) + np.diag(self.ridge[a]))
        return -self.design.gram(self.weights[:, 0] * p[:, a] * p[:, b])

    def curvature(self, a: int) -> Floats:
        """s_i ω_a(y_i) p_ia (1 - p_ia) of every row, for free class a."""
        return np.asarray(self._curvature()[:, a])

    def _curvature(self) -> Floats:
        return np.asarray(self.weights * self.probabilities * (1.0 - self.probabilities))
