"""What a fitted logistic model minimises, whichever library class and solver minimised it.

    L(θ) = Σ_i s_i ℓ(y_i, θ x_i) + Σ_aj (λ_aj θ_aj²/2 + μ_aj |θ_aj|)

with sample weights s, class weights inside ℓ, and per-coefficient penalties: scikit-learn's C is λ = 1/C, an SGD
``alpha`` is λ = N·alpha. The intercept is the last coefficient and free of penalty, except in liblinear, which appends
the constant ``intercept_scaling`` = c to every row and penalises its weight, hence the intercept by λ/c² and μ/c.

Near the fitted θ it is a quadratic, with the Hessian

    H = Σ_i s_i x_i x_iᵀ ⊗ W_i + diag λ,   W_i = ω_i (diag p_i - p_i p_iᵀ)  (softmax),  ω_i p_i (1 - p_i)  (sigmoids).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from psidebug.graybox.logistic.design import DesignMatrix
from psidebug.graybox.logistic.likelihood import Curved, Likelihood
from psidebug.graybox.protocol import Floats
from psidebug.task.labels import Codes

CHUNK_BYTES = 2**25
FEW_COLUMNS, MANY_CLASSES = 32, 6


@dataclass(frozen=True, eq=False)
class Solved:
    """How the fit was ended: what may be asked of its gradient."""

    tolerance: float
    """The largest |gradient| / Σ s that the solver may leave behind."""
    clear: float
    """Standard errors from which a larger gradient is no fit of these data."""
    finished: bool
    """Whether it stopped by its own rule rather than at ``max_iter``."""
    exact: bool = True
    """False for a fit that is not meant to be a minimum (an average over folds, early stopping)."""


@dataclass(frozen=True, eq=False)
class Objective:
    """L and the fitted θ; all that the gray box needs to know of the model."""

    likelihood: Likelihood
    theta: Floats
    """(F, D), the intercept last."""
    ridge: Floats
    """λ (F, D)."""
    lasso: Floats
    """μ (F, D)."""
    sample_weight: Floats
    """s (N,)."""
    balance: Floats | None
    """With class_weight="balanced": what each row counts for in its class's size (N,); otherwise None."""
    solved: Solved
    notes: tuple[str, ...] = ()
    """What is held fixed that retraining would not hold."""

    @property
    def active(self) -> npt.NDArray[np.bool_]:
        """Coefficients that may move: all but those that the L1 penalty holds at 0."""
        return np.asarray((self.theta != 0) | (self.lasso == 0))

    def residuals(self, probabilities: Floats, labels: Codes) -> Floats:
        """s_i ω_a(y_i) (p_ia - τ_a(y_i)), shape (N, F): the gradient of the loss in the scores."""
        errors = probabilities - self.likelihood.targets(labels)
        errors *= self.likelihood.weights(labels) * self.sample_weight[:, None]
        return np.asarray(errors)

    def gradient(self, design: DesignMatrix, probabilities: Floats, labels: Codes, theta: Floats) -> Floats:
        """∂L/∂θ on the active set, shape (F, D); 0 at the best fit."""
        smooth = design.gathered(self.residuals(probabilities, labels))
        penalty = self.ridge * theta + self.lasso * np.sign(self.theta)  # the L1 penalty is linear on the active set
        return np.asarray(np.where(self.active, smooth + penalty, 0.0))

    def value(self, scores: Floats, labels: Codes, theta: Floats) -> float:
        """L(θ) for these scores, with the L1 penalty continued linearly from the fitted signs."""
        loss = float(self.sample_weight @ self.likelihood.losses(scores, labels))
        penalty = (self.ridge * theta**2 / 2 + self.lasso * np.sign(self.theta) * theta).sum()
        return loss + float(penalty)

    def class_shifts(self, design: DesignMatrix, probabilities: Floats, labels: Codes) -> Floats | None:
        """With balanced class weights, B_k (K, F, D): what one more row in class k adds to -∂L/∂θ through the weights.

        κ_k = n / (K n_k), so one row more takes κ_k/n_k from the weight of all rows of class k:
        B_k = (1/n_k) Σ_{y_j = k} s_j ∂ℓ_j/∂θ. None without balancing.
        """
        if self.balance is None:
            return None
        residuals = self.residuals(probabilities, labels)
        classes = self.likelihood.classes
        shifts = np.zeros((classes, *self.theta.shape))
        for k in range(classes):
            rows = np.flatnonzero(labels == k)
            weighted = residuals[rows]
            if self.likelihood.free > 1 and not self.likelihood.coupled:
                weighted = weighted * (np.arange(classes) == k)  # against the rest, only positives carry the weight
            shifts[k] = design.take(rows).gathered(weighted) / max(float(self.balance[rows].sum()), 1e-300)
        return shifts


@dataclass(frozen=True, eq=False)
class Quadratic:
    """H at the profiled probabilities; directions and right-hand sides have shape (m, F, D)."""

    design: DesignMatrix
    likelihood: Curved
    probabilities: Floats
    weights: Floats
    """s_i ω_a(y_i), shape (N, F) or (N, 1)."""
    ridge: Floats
    active: npt.NDArray[np.bool_]

    @classmethod
    def at(cls, objective: Objective, design: DesignMatrix, probabilities: Floats, labels: Codes) -> Quadratic:
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
        """H between the coefficients of free classes a and b, shape (D, D): Xᵀ diag(s p_a (δ_ab - p_b)) X, and λ."""
        if self.likelihood.coupled and self._all_at_once:
            first, second = np.triu_indices(self.shape[1])
            gram = np.empty((self.shape[1],) * 2)
            gram[first, second] = gram[second, first] = self._grams[frozenset((a, b))]
        else:
            p = self.probabilities
            gram = self.design.gram(self.curvature(a) if a == b else self.weights[:, 0] * p[:, a] * p[:, b])
        return np.asarray(gram + np.diag(self.ridge[a]) if a == b else -gram)

    @property
    def _all_at_once(self) -> bool:
        """Whether columns are dense and few, and classes many: then one pass over the rows is faster than one a block.

        10,000 rows × 21 columns, 10 classes: 11 ms in the place of 28 ms; 3 classes: 3.9 ms in the place of 3.0 ms.
        From 6 classes on it is faster with any number of columns up to 32, and with 100 classes and 3 columns, too.
        """
        return not self.design.sparse and self.design.width <= FEW_COLUMNS and self.shape[0] >= MANY_CLASSES

    @cached_property
    def _grams(self) -> dict[frozenset[int], Floats]:
        """Upper triangles of Xᵀ diag(s p_a p_b) X for a ≠ b, of Xᵀ diag(s p_a (1 - p_a)) X, by both classes."""
        first, second = np.triu_indices(self.shape[0])

        def weights(rows: slice) -> Floats:
            p = np.ascontiguousarray(self.probabilities[rows].T)
            scaled = p * self.weights[rows, 0]
            products = scaled[first] * p[second]
            products[first == second] = scaled * (1.0 - p)
            return products

        pairs = zip(first.tolist(), second.tolist(), strict=True)
        return dict(zip(map(frozenset, pairs), self.design.grams(weights, len(first)), strict=True))

    def curvature(self, a: int) -> Floats:
        """s_i ω_a(y_i) p_ia (1 - p_ia) of every row, for free class a."""
        return np.asarray(self._curvature()[:, a])

    def _curvature(self) -> Floats:
        return np.asarray(self.weights * self.likelihood.curvature(self.probabilities))
