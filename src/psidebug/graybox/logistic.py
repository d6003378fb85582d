"""Logistic regression by one Newton step.

The loss C Σ_i ℓ(y_i, x_i·θ) + |θ|²/2 has gradient 0 at the fitted θ. Moving label i from y to k adds exactly
C x_i ⊗ (e_y - e_k) to the gradient, whatever the scores, so one Newton step moves θ by

    Δθ = H⁻¹ C Σ_i x_i ⊗ (e_{w_i} - e_{y_i}),    H = C Σ_i x_i x_iᵀ ⊗ (diag p_i - p_i p_iᵀ) + I (intercept: 0),

and a test margin m_tr = (θ_{y_t} - θ_r)·x_t by the same amount for every label: linear in the labels. Two classes have
one free vector θ (θ_0 = 0).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.linalg
import scipy.sparse as sp
from scipy.special import expit, softmax

from psidebug import learner as learners
from psidebug.errors import UnsupportedLearner
from psidebug.graybox.protocol import Floats, Worlds
from psidebug.task import Task


class NewtonLogistic:
    """The Newton-step gray box of scikit-learn's ``LogisticRegression`` with an L2 penalty or none."""

    name = "newton"

    def __init__(self, task: Task) -> None:
        model = learners.final_step(task.learner)
        _check_supported(model)
        self._classes = task.encoding.size
        self._free = 1 if self._classes == 2 else self._classes
        self._intercept = bool(model.fit_intercept)
        self._train = self._design(learners.before_final_step(task.learner, task.train.features))
        self._test = self._design(learners.before_final_step(task.learner, task.test.features))
        self._given, self._right = task.train.codes, task.test.codes
        penalised = np.isfinite(model.C) and getattr(model, "penalty", "l2") is not None
        self._weight = (model.C if penalised else 1.0) * _class_weights(model, task)
        self.actual = task.margins(task.learner, task.test)
        theta = np.column_stack([model.coef_, model.intercept_]) if self._intercept else model.coef_
        self._factor = scipy.linalg.cho_factor(self._hessian(theta, penalty=float(penalised)))

    def effects(self, weights: Floats) -> Floats:
        """G[i, k] - G[i, y_i] with G = C X H⁻¹ Σ_tr u_tr x_t ⊗ (e_{y_t} - e_r)."""
        pull = self._solve(self._gathered(weights))
        scores = self._spread(self._train @ pull.T) * self._weight[:, None]
        return np.asarray(scores - scores[np.arange(len(scores)), self._given][:, None])

    def margins(self, worlds: Worlds, points: npt.NDArray[np.intp] | None = None) -> Floats:
        """m_tr + (Δθ_{y_t} - Δθ_r)·x_t in each world."""
        chosen = np.arange(len(self._right)) if points is None else points
        test = self._test[chosen]
        result = np.empty((len(worlds), len(chosen), self._classes - 1))
        for number, world in enumerate(worlds):
            moved = np.flatnonzero(world != self._given)
            change = np.zeros((len(moved), self._classes))
            change[np.arange(len(moved)), world[moved]] += self._weight[moved]
            change[np.arange(len(moved)), self._given[moved]] -= self._weight[moved]
            step = self._solve((self._train[moved].T @ change[:, self._classes - self._free :]).T)
            moved_scores = self._spread(test @ step.T)
            result[number] = self.actual[chosen] + learners.margins(moved_scores, self._right[chosen])
        return result

    def _design(self, features: Any) -> Any:
        if sp.issparse(features):
            matrix = sp.csr_array(features)
            return sp.hstack([matrix, np.ones((matrix.shape[0], 1))], format="csr") if self._intercept else matrix
        matrix = np.asarray(features, dtype=np.float64)
        return np.column_stack([matrix, np.ones(len(matrix))]) if self._intercept else matrix

    def _hessian(self, theta: Floats, penalty: float) -> Floats:
        scores = self._train @ theta.T
        probability = expit(scores) if self._free == 1 else softmax(scores, axis=1)
        width = self._train.shape[1]
        hessian = np.zeros((self._free, width, self._free, width))
        for a in range(self._free):
            for b in range(a, self._free):
                curve = self._weight * probability[:, a] * ((a == b) - probability[:, b])
                weighted = self._train.multiply(curve[:, None]).tocsr() if sp.issparse(self._train) else None
                block = (
                    (self._train.T @ weighted).toarray()
                    if weighted is not None
                    else self._train.T @ (self._train * curve[:, None])
                )
                hessian[a, :, b, :] = block
                hessian[b, :, a, :] = block.T
        flat = hessian.reshape(self._free * width, self._free * width)
        diagonal = np.full((self._free, width), penalty)
        # The intercept is not penalised and, with several classes, a common shift of θ changes nothing: a ridge of
        # rounding size keeps the factorisation defined without moving any answer that matters.
        floor = 1e-9 * max(float(np.trace(flat)) / len(flat), 1e-12)
        if self._intercept:
            diagonal[:, -1] = 0.0
        return np.asarray(flat + np.diag(diagonal.ravel() + floor))

    def _solve(self, rhs: Floats) -> Floats:
        return np.asarray(scipy.linalg.cho_solve(self._factor, rhs.ravel())).reshape(rhs.shape)

    def _spread(self, scores: Floats) -> Floats:
        """Scores of all K classes from those of the free ones."""
        return np.column_stack([np.zeros(len(scores)), scores]) if self._free == 1 else scores

    def _gathered(self, weights: Floats) -> Floats:
        """Σ_tr u_tr x_t ⊗ (e_{y_t} - e_r) for the free classes, shape (free, width)."""
        rivals = np.array([[k for k in range(self._classes) if k != y] for y in range(self._classes)])
        signed = np.zeros((len(weights), self._classes))
        np.add.at(signed, (np.arange(len(weights))[:, None], rivals[self._right]), -weights)
        signed[np.arange(len(weights)), self._right] += weights.sum(axis=1)
        return np.asarray((self._test.T @ signed[:, self._classes - self._free :]).T)


def _check_supported(model: Any) -> None:
    name = type(model).__name__
    if name != "LogisticRegression" or not type(model).__module__.startswith("sklearn."):
        raise UnsupportedLearner(
            f"there is no gray box for {name} yet. Use sklearn's LogisticRegression, or graybox='retrain' with "
            f"engine='enumeration' on a task of at most about twenty training rows."
        )
    if getattr(model, "l1_ratio", 0.0) not in (0.0, None) or getattr(model, "penalty", "l2") in (
        "l1",
        "elasticnet",
    ):
        raise UnsupportedLearner("the Newton step needs a smooth penalty: use l1_ratio=0 (L2) instead of L1.")
    if getattr(model, "solver", "") == "liblinear" and len(model.classes_) > 2:
        raise UnsupportedLearner("liblinear fits one classifier per class; use solver='lbfgs' for several classes.")


def _class_weights(model: Any, task: Task) -> Floats:
    if model.class_weight is None:
        return np.ones(len(task.train))
    from sklearn.utils.class_weight import compute_class_weight

    labels = task.encoding.native
    per_class = compute_class_weight(model.class_weight, classes=labels, y=labels[task.train.codes])
    return np.asarray(per_class[task.train.codes], dtype=np.float64)
