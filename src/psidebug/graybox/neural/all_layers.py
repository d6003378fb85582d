"""Gray box "all_layers": one Gauss-Newton step of all layers of a net, in k random projections of its gradients.

Near θ the scores are f_a(x) + φ_a(x)·δ, with φ from :mod:`psidebug.graybox.neural.gradients`. The loss of that linear
model has the Hessian

    H = Σ_i s_i Φ_iᵀ (diag p_i - p_i p_iᵀ) Φ_i + λ I,   Φ_i (K, k),

moving label i from y to c pulls by s_i (φ_ic - φ_iy), and one step answers δ = H⁻¹ Σ_i s_i (φ_ic - φ_iy): linear in the
labels. What is held is H and, for a moment, the φ of some rows; every question is one more pass over the training rows.
λ is the larger of MacKay's, by the eigenvalues of H, and |g| / |θ| (:mod:`psidebug.task.nets`), unless it is given.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import softmax

from psidebug.errors import UnsupportedLearner
from psidebug.graybox.neural.gradients import SketchedGradients
from psidebug.graybox.protocol import Floats, Worlds, solved_once
from psidebug.margins import by_class, margins_of
from psidebug.task import learner as learners
from psidebug.task.nets import Head, evidence_ridge, standing_ridge
from psidebug.task.task import Task

PROJECTIONS = 2_048


class AllLayers:
    """Gray box of a torch net."""

    name = "all_layers"

    def __init__(self, task: Task, *, ridge: float | None = None, projections: int = PROJECTIONS) -> None:
        if not isinstance(learners.final_step(task.learner), Head):
            raise UnsupportedLearner(
                "graybox='all_layers' is for neural nets: give a torch module or a skorch classifier, or take another."
            )
        activations = task.learner.steps[0][1]
        self._gradients = SketchedGradients(activations, task.encoding.size, size=projections, seed=task.seed)
        self._train, self._test = task.train.features, task.test.features
        self._given, self._right = task.train.codes, task.test.codes
        weights = task.data.sample_weight
        self._weights = np.ones(len(self._given)) if weights is None else weights
        probabilities = softmax(activations.scores(self._train), axis=1)
        curvature, gradient = self._summed(probabilities)
        self._eigenvalues, self._axes = np.linalg.eigh(curvature)
        squares = self._gradients.squares
        own = max(evidence_ridge(self._eigenvalues, squares), standing_ridge(gradient, squares))
        self.ridge = own if ridge is None else ridge
        """λ."""
        self.actual: Floats = task.margins(task.learner, task.test)

    @property
    def notes(self) -> tuple[str, ...]:
        """What it is an approximation of."""
        size = self._gradients.size
        return (f"the net is followed to first order, by one step in {size:,} random projections of its gradients",)

    def _summed(self, probabilities: Floats) -> tuple[Floats, Floats]:
        """H without λ, Σ_i s_i Φ_iᵀ (diag p_i - p_i p_iᵀ) Φ_i, and the gradient g = Σ_i s_i Φ_iᵀ (y_i - p_i).

        H = Cᵀ C, C = √(s p) (φ_a - Σ_b p_b φ_b).
        """
        import torch

        total: Any = 0.0
        gradient = np.zeros(self._gradients.size)
        missed = (np.eye(self._gradients.classes)[self._given] - probabilities) * self._weights[:, None]
        for rows, phi in self._gradients.of(self._train, np.arange(len(self._given))):
            p = torch.as_tensor(probabilities[rows], device=phi.device, dtype=phi.dtype)[:, :, None]
            weights = torch.as_tensor(self._weights[rows], device=phi.device, dtype=phi.dtype)[:, None, None]
            centred = ((phi - (p * phi).sum(dim=1, keepdim=True)) * (p * weights).sqrt()).flatten(0, 1)
            total = total + (centred.T @ centred).double()
            gradient += np.einsum("nk,nkj->j", missed[rows], phi.double().cpu().numpy())
        return np.asarray(total.cpu().numpy()), gradient

    def _solved(self, pulls: Floats) -> Floats:
        """H⁻¹ of each of these (m, k)."""
        return np.asarray((pulls @ self._axes) / (np.maximum(self._eigenvalues, 0.0) + self.ridge) @ self._axes.T)

    @solved_once
    def effects(self, weights: Floats) -> Floats:
        """s_i (φ_ik - φ_iy) · H⁻¹ Σ_tr u_tr (φ_t,y_t - φ_tr), shape (N, K)."""
        pull = np.zeros(self._gradients.size)
        signed = by_class(weights, self._right)
        for points, phi in self._gradients.of(self._test, np.flatnonzero(signed.any(axis=1))):
            pull += np.einsum("nk,nkj->j", signed[points], phi.double().cpu().numpy())
        return np.ascontiguousarray(self._answers(self._solved(pull[None]))[:, :, 0])

    def coefficients(self, points: npt.NDArray[np.intp]) -> Floats:
        """c_tri(k) for these points, shape (K, points, K-1, N)."""
        phi = self._of_tests(points)
        directions = margins_of(phi.transpose(2, 0, 1), self._right[points]).transpose(1, 2, 0)
        answers = self._answers(self._solved(directions.reshape(-1, phi.shape[2])))
        shape = (len(self._given), phi.shape[1], len(points), phi.shape[1] - 1)
        return np.ascontiguousarray(answers.reshape(shape).transpose(1, 2, 3, 0))

    def _answers(self, directions: Floats) -> Floats:
        """s_i (φ_ik - φ_iy) · v for every row, class and direction v, shape (N, K, m)."""
        import torch

        made = np.empty((len(self._given), self._gradients.classes, len(directions)))
        for rows, phi in self._gradients.of(self._train, np.arange(len(self._given))):
            made[rows] = (phi.double() @ torch.as_tensor(directions.T, device=phi.device)).cpu().numpy()
        made -= made[np.arange(len(made)), self._given][:, None]
        return np.asarray(made * self._weights[:, None, None])

    def margins(self, worlds: Worlds, points: npt.NDArray[np.intp] | None = None) -> Floats:
        """m_tr + (φ_t,y_t - φ_tr)·δ in each world."""
        chosen = np.arange(len(self._right)) if points is None else np.asarray(points, dtype=np.intp)
        moved = np.flatnonzero((worlds != self._given).any(axis=0))
        pulls = np.zeros((len(worlds), self._gradients.size))
        for rows, phi in self._gradients.of(self._train, moved):
            values = phi.double().cpu().numpy()
            values -= values[np.arange(len(rows)), self._given[rows]][:, None]
            values *= self._weights[rows, None, None]
            for place, row in enumerate(rows):
                pulls += values[place, worlds[:, row]]
        steps = self._solved(pulls)
        result = np.empty((len(worlds), len(chosen), self.actual.shape[1]))
        start = 0
        for part, phi in self._gradients.of(self._test, chosen):
            scores = np.einsum("tkj,wj->wtk", phi.double().cpu().numpy(), steps, optimize=True)
            result[:, start : start + len(part)] = margins_of(scores, self._right[part])
            start += len(part)
        return result + self.actual[chosen]

    def _of_tests(self, points: npt.NDArray[np.intp]) -> Floats:
        parts = [phi.double().cpu().numpy() for _, phi in self._gradients.of(self._test, points)]
        return np.concatenate(parts)
