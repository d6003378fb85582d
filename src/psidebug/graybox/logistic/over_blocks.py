"""Logistic regression over blocks of rows: Newton's method on sums, and the effects of labels as a map.

The objective is that of scikit-learn's ``LogisticRegression`` (:mod:`.objective`), with labels y and weights s:

    L(θ) = Σ_i s_i ℓ(y_i, θ x_i) + Σ λ_aj θ_aj²/2.

One reading of the rows gives L, its gradient and its Hessian, as sums over blocks; the step is H⁻¹ of the gradient. It
is halved where it led uphill. Newton's method squares the error with each step, so the fit ends with a step smaller
than ``NEARLY``: what is left is its square. A start near the end, such as the fit on a few of the rows, saves readings.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from psidebug.blocks import Block, Blocks, Sums, sums
from psidebug.errors import NoBestFit
from psidebug.graybox.logistic.design import DesignMatrix
from psidebug.graybox.logistic.likelihood import Likelihood
from psidebug.graybox.logistic.solvers import Primal
from psidebug.graybox.protocol import Floats
from psidebug.task.labels import Codes

NEARLY = 3e-5
"""Of the largest coefficient, or of 1: the step after one as large is about 1e-9."""
MOST_READINGS = 30


@dataclass(frozen=True, eq=False)
class Rows:
    """What the final estimator sees of a block: features (n, d), codes (n,), weights (n,)."""

    features: Any
    codes: Codes
    weights: Floats


Reader = Callable[[Block], Rows]


@dataclass(frozen=True, eq=False)
class SummedQuadratic:
    """The Hessian as it was summed, in the form that :class:`Primal` takes."""

    likelihood: Likelihood
    hessian: Floats
    """(F, D, F, D), with the penalty."""
    ridge: Floats

    @property
    def shape(self) -> tuple[int, int]:
        """(F, D)."""
        return self.ridge.shape[0], self.ridge.shape[1]

    @property
    def active(self) -> npt.NDArray[np.bool_]:
        """All coefficients may move: there is no L1 penalty here."""
        return np.ones(self.ridge.shape, dtype=bool)

    def block(self, a: int, b: int) -> Floats:
        """H between free classes a and b (D, D)."""
        return np.asarray(self.hessian[a, :, b])


@dataclass(frozen=True, eq=False)
class BlockFit:
    """A minimum of L, and the Hessian just before the last step."""

    likelihood: Likelihood
    theta: Floats
    """(F, D), the intercept last."""
    intercept: bool
    step: Primal
    loss: float
    """L at the last reading."""
    readings: int

    def pull(self, test: Any, signed: Floats) -> Floats:
        """v = H⁻¹ Σ_t x_t ⊗ signed_t (F, D): what the weighted test margins ask of the training rows."""
        return np.asarray(self.step.solve(DesignMatrix(test, intercept=self.intercept).gathered(signed)[None])[0])

    def scores(self, features: Any) -> Floats:
        """x θᵀ (n, F)."""
        return DesignMatrix(features, intercept=self.intercept).scores(self.theta)

    def effects(self, rows: Rows, pull: Floats) -> Floats:
        """c_i(k) (n, K): what moving label i to class k adds to the weighted test margins; 0 for the given one."""
        design = DesignMatrix(rows.features, intercept=self.intercept)
        both = design.scores(np.concatenate([self.theta, pull]))
        free = self.likelihood.free
        probabilities = self.likelihood.probabilities(both[:, :free])
        forces = self.likelihood.forces(probabilities, np.ascontiguousarray(both[:, free:]))
        forces *= rows.weights[:, None]
        forces -= forces[np.arange(len(forces)), rows.codes][:, None]
        return np.asarray(forces)


def fit_over_blocks(
    blocks: Blocks,
    read: Reader,
    likelihood: Likelihood,
    start: Floats,
    ridge: float,
    *,
    intercept: bool,
    columns: list[str] | None = None,
) -> BlockFit:
    """The minimum of L from ``start`` (F, D), with λ = ``ridge`` = 1/C on all coefficients but the intercept."""
    penalty = np.full(start.shape, ridge)
    if intercept:
        penalty[:, -1] = 0.0
    theta, last, best, step, factor = start.copy(), None, np.inf, np.zeros_like(start), None
    begun = blocks.readings
    for _ in range(MOST_READINGS):
        found = sums(
            blocks, partial(_sums_at, read=read, likelihood=likelihood, theta=theta, intercept=intercept), columns
        )
        value = float(found["loss"]) + float((penalty * theta**2).sum()) / 2
        if not np.isfinite(value):
            raise NoBestFit("the loss of the logistic regression is not finite on these rows: scale the columns.")
        if last is not None and value > best + 1e-9 * abs(best):  # uphill: half of the step
            step = step / 2
            theta = last + step
            continue
        best, last = value, theta
        hessian = found["hessian"].copy()
        for a in range(len(start)):
            hessian[a, :, a] += np.diag(penalty[a])
        factor = Primal(SummedQuadratic(likelihood, hessian, penalty))
        step = -factor.solve((found["gradient"] + penalty * theta)[None])[0]
        theta = last + step
        if np.abs(step).max() <= NEARLY * max(1.0, float(np.abs(theta).max())):
            return BlockFit(likelihood, theta, intercept, factor, value, blocks.readings - begun)
    raise NoBestFit(
        f"the logistic regression has no best fit after {MOST_READINGS} readings of the rows: scale the columns, or "
        f"regularise more (smaller C)."
    )


def _sums_at(block: Block, read: Reader, likelihood: Likelihood, theta: Floats, intercept: bool) -> Sums:
    """Loss, gradient (F, D) and Hessian (F, D, F, D) of one block at θ, without the penalty."""
    rows = read(block)
    design = DesignMatrix(rows.features, intercept=intercept)
    scores = design.scores(theta)
    p = likelihood.probabilities(scores)
    weights = likelihood.weights(rows.codes) * rows.weights[:, None]
    free, width = theta.shape
    hessian = np.zeros((free, width, free, width))
    curvature = weights * p * (1.0 - p)
    for a in range(free):
        hessian[a, :, a] = design.gram(curvature[:, a])
        for b in range(a + 1, free if likelihood.coupled else 0):
            hessian[a, :, b] = -design.gram(weights[:, 0] * p[:, a] * p[:, b])
            hessian[b, :, a] = hessian[a, :, b].T
    return {
        "loss": float(rows.weights @ likelihood.losses(scores, rows.codes)),
        "gradient": design.gathered((p - likelihood.targets(rows.codes)) * weights),
        "hessian": hessian,
    }
