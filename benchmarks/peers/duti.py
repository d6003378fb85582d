"""DUTI's idea (Zhang, Zhu and Wright, AAAI 2018) for logistic regression of two classes.

Test points are trusted. Each training label may be flipped by a fraction δ_i ∈ [0, 1], and the model is the fit θ(δ) of
these softened labels ỹ_i = y_i + δ_i s_i, s_i = 1 - 2y_i. Sought is the cheapest change under which the fit agrees with
the trusted items and with itself:

    min_δ  O(δ) = (c/m) Σ_t ℓ(y_t, θ·x_t) + (1/N) Σ_i ℓ(ỹ_i, θ·x_i) + (γ/N) Σ_i δ_i,      θ = θ(δ).

θ(δ) is a minimum, so dθ/dδ_i = H⁻¹ x_i s_i, and the gradient of the outer problem is

    dO/dδ_i = (∇_θ O · H⁻¹ x_i) s_i - s_i θ·x_i / N + γ/N.

It is solved for a falling sequence of γ, from where no label moves. Labels that flip while flips are dear are the most
suspicious: the score is the mean of δ_i along the path.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize
from scipy.sparse.linalg import LinearOperator, cg
from scipy.special import expit

from benchmarks.peers.contest import Contest, Finding, Floats, Peer

CONFIDENCE = 100.0
"""c: how much the trusted items count."""
PATH = 0.5 ** np.arange(1, 9)
"""γ as shares of the one at which the first label would move."""
PRECISE = {"maxiter": 1000, "maxcor": 20, "ftol": 1e-14, "gtol": 1e-8}
"""For the inner fit: the outer gradient is no better than it."""
STEPS = 10
"""Iterations of the outer problem for each γ."""


class _Bilevel:
    """The outer problem as a function of δ; the inner fit starts from the last one."""

    def __init__(self, contest: Contest) -> None:
        self.X, self.T = _with_constant(contest.X_train), _with_constant(contest.X_test)
        self.y, self.y_test = contest.given.astype(np.float64), contest.y_test.astype(np.float64)
        self.sign = 1.0 - 2.0 * self.y
        self.ridge = np.full(self.X.shape[1], 1.0 / contest.estimator.C)
        self.ridge[-1] = 0.0
        self.theta = np.zeros(self.X.shape[1])

    def value(self, delta: Floats, gamma: float) -> tuple[float, Floats]:
        """O(δ) and its gradient."""
        N, m, soft = len(self.y), len(self.y_test), self.y + delta * self.sign
        self.theta = self._fit(soft)
        z, z_test = self.X @ self.theta, self.T @ self.theta
        outer = CONFIDENCE / m * _loss(self.y_test, z_test) + _loss(soft, z) / N + gamma / N * delta.sum()
        slope = CONFIDENCE / m * (self.T.T @ (expit(z_test) - self.y_test)) + self.X.T @ (expit(z) - soft) / N
        moved = self.X @ self._solve(expit(z), slope)
        return outer, np.asarray(moved * self.sign - self.sign * z / N + gamma / N)

    def _fit(self, soft: Floats) -> Floats:
        def inner(theta: Floats) -> tuple[float, Floats]:
            z = self.X @ theta
            value = _loss(soft, z) + 0.5 * float(self.ridge @ theta**2)
            return value, self.X.T @ (expit(z) - soft) + self.ridge * theta

        return np.asarray(minimize(inner, self.theta, jac=True, method="L-BFGS-B", options=PRECISE).x)

    def _solve(self, p: Floats, rhs: Floats) -> Floats:
        curvature = p * (1.0 - p)
        size = len(rhs)
        times = LinearOperator(
            (size, size), matvec=lambda v: self.X.T @ (curvature * (self.X @ v)) + (self.ridge + 1e-9) * v
        )
        return np.asarray(cg(times, rhs, rtol=1e-6, maxiter=500)[0])


def rank(contest: Contest) -> Finding:
    """The mean of δ along the falling γ; ties, for labels that never move, by the first gradient."""
    problem = _Bilevel(contest)
    N = len(contest)
    delta = np.zeros(N)
    _, first = problem.value(delta, 0.0)
    dearest = max(float(-first.min()) * N, 1e-12)
    total = np.zeros(N)
    for gamma in dearest * PATH:
        solved = minimize(
            problem.value, delta, args=(gamma,), jac=True, method="L-BFGS-B", bounds=[(0.0, 1.0)] * N,
            options={"maxiter": STEPS},
        )  # fmt: skip
        delta = solved.x
        total += delta
    return Finding(total / len(PATH) - 1e-6 * first / np.abs(first).max())


def _loss(y: Floats, z: Floats) -> float:
    """Σ log(1 + e^z) - y z, for labels that may be fractions."""
    return float((np.logaddexp(0.0, z) - y * z).sum())


def _with_constant(X: Any) -> Any:
    ones = np.ones((X.shape[0], 1))
    return sp.hstack([X, ones], format="csr") if sp.issparse(X) else np.hstack([X, ones])


PEERS = (
    Peer(
        "DUTI's idea",
        rank,
        "trusted test points, relaxed flips, bilevel gradient",
        ("logistic",),
        most_classes=2,
        seconds=lambda contest, one_fit: 1.5 * len(PATH) * STEPS * one_fit,
    ),
)
