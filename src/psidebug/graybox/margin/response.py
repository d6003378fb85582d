"""How scores answer to a force on one row: R_p(t, i) = φ(x_t)ᵀ H_p⁻¹ φ(x_i), H_p = Σ_j w_jp φ(x_j) φ(x_j)ᵀ + Λ.

w_jp is the curvature of row j in problem p. By features, H is a matrix of their columns and solved as that of a
logistic regression is. By a kernel, with S the rows that have curvature and k(x, x') the kernel,

    R(t, i) = k_ti - k_tS M⁻¹ k_Si + b_t b_i,    M = K_SS + W⁻¹,    b_i = (1 - 1ᵀM⁻¹ k_Si) / (1ᵀM⁻¹1)^½,

the last term the free intercept's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import scipy.linalg
import scipy.sparse as sp

from psidebug.graybox.logistic.design import DesignMatrix
from psidebug.graybox.logistic.newton import NewtonStep
from psidebug.graybox.logistic.objective import Quadratic
from psidebug.graybox.protocol import Floats

SOLVED_WORK = 1e10
"""Multiplications up to which the leverage of every row is solved for; beyond, that of ``SOME`` rows."""
SOME = 20


class Response(Protocol):
    """R of every problem."""

    def own(self) -> Floats:
        """R_p(i, i), shape (N, P)."""

    def of_rows(self, pulls: Floats) -> Floats:
        """Σ_t pull_tp R_p(t, i), shape (N, P)."""

    def of_points(self, forces: list[Any], points: npt.NDArray[np.intp]) -> Floats:
        """Σ_i force_pwi R_p(t, i) for sparse forces (W, N) of each problem, shape (W, points, P)."""


@dataclass(frozen=True)
class Apart:
    """What :class:`Quadratic` asks of a likelihood, for problems apart from each other."""

    free: int
    coupled: bool = False

    def curved(self, curvature: Floats, scores: Floats) -> Floats:
        """w z."""
        return np.asarray(curvature.reshape(len(curvature), *[1] * (scores.ndim - 2), self.free) * scores)

    def curvature(self, curvature: Floats) -> Floats:
        """w."""
        return curvature


class ByFeatures:
    """H over the columns of the features."""

    def __init__(self, train: DesignMatrix, test: DesignMatrix, ridge: Floats, curvature: Floats) -> None:
        self._train, self._test = train, test
        everyone = np.ones((len(curvature), 1))
        active = np.ones_like(ridge, dtype=bool)
        self._quadratic = Quadratic(train, Apart(curvature.shape[1]), curvature, everyone, ridge, active)
        self._step = NewtonStep(self._quadratic)

    def own(self) -> Floats:
        """R_p(i, i)."""
        train, (problems, width) = self._train, self._quadratic.shape
        if train.rows * float(min(train.rows, width)) ** 2 * problems <= SOLVED_WORK:
            size = max(1, 2_000_000 // (problems * width))
            parts = [np.arange(start, min(start + size, train.rows)) for start in range(0, train.rows, size)]
            return np.concatenate([self._solved(part) for part in parts])
        stiffness = self._quadratic.diagonal
        lengths = train.lengths(np.where(stiffness > 0, 1.0 / np.where(stiffness > 0, stiffness, 1.0), 0.0))
        some = np.unique(np.linspace(0, train.rows - 1, SOME).astype(np.intp))
        return np.asarray(lengths * np.median(self._solved(some) / np.maximum(lengths[some], 1e-300), axis=0))

    def of_rows(self, pulls: Floats) -> Floats:
        """Σ_t pull_tp R_p(t, i)."""
        solved = self._step(self._test.gathered(pulls)[None])[0]
        return np.asarray(self._train.scores(solved))

    def of_points(self, forces: list[Any], points: npt.NDArray[np.intp]) -> Floats:
        """Σ_i force_pwi R_p(t, i)."""
        gathered = np.stack([self._train.combined(force) for force in forces], axis=1)
        solved = self._step(gathered)
        worlds, problems, width = solved.shape
        moved = self._test.take(points).scores(solved.reshape(-1, width))
        return np.asarray(moved.reshape(len(points), worlds, problems).transpose(1, 0, 2))

    def _solved(self, rows: npt.NDArray[np.intp]) -> Floats:
        x = self._train.take(rows).combined(sp.eye_array(len(rows), format="csr"))
        tiled = np.repeat(x[:, None, :], self._quadratic.shape[0], axis=1)
        return np.asarray((self._step(tiled) * tiled).sum(axis=2))


class ByKernel:
    """H over the training rows: kernel matrices (N, N) and (points, N), which are held."""

    def __init__(self, train: Floats, test: Floats, curvature: Floats) -> None:
        self._diagonal, self._test = np.diag(train).copy(), test
        self._parts = [eliminated(train, test, each) for each in curvature.T]

    def own(self) -> Floats:
        """R_p(i, i)."""
        return np.column_stack([self._diagonal - np.square(rows).sum(axis=0) + b**2 for rows, _, b, _ in self._parts])

    def of_rows(self, pulls: Floats) -> Floats:
        """Σ_t pull_tp R_p(t, i)."""
        columns = []
        for pull, (rows, points, b, b_points) in zip(pulls.T, self._parts, strict=True):
            columns.append(self._test.T @ pull - rows.T @ (points @ pull) + b * (b_points @ pull))
        return np.column_stack(columns)

    def of_points(self, forces: list[Any], points: npt.NDArray[np.intp]) -> Floats:
        """Σ_i force_pwi R_p(t, i)."""
        answers = []
        for force, (rows, watched, b, b_points) in zip(forces, self._parts, strict=True):
            direct = force @ self._test[points].T + np.outer(force @ b, b_points[points])
            answers.append(direct - (force @ rows.T) @ watched[:, points])
        return np.stack(answers, axis=-1)


def eliminated(
    among: Floats, watched: Floats, curvature: Floats, *, free: bool = True
) -> tuple[Floats, Floats, Floats, Floats]:
    """L⁻¹ k_S and b of the training rows, then of the rows watched, M = L Lᵀ; b = 0 if the intercept is not free."""
    held = np.flatnonzero(curvature > 0)
    within = among[np.ix_(held, held)]
    within[np.diag_indices_from(within)] += 1.0 / curvature[held]
    factor = scipy.linalg.cholesky(within, lower=True)
    sides = (among[held], watched[:, held].T, np.ones((len(held), 1)))
    rows, points, one = (scipy.linalg.solve_triangular(factor, side, lower=True) for side in sides)
    level = 1.0 / np.sqrt(float((one**2).sum())) if free else 0.0
    return rows, points, (1.0 - rows.T @ one[:, 0]) * level, (1.0 - points.T @ one[:, 0]) * level
