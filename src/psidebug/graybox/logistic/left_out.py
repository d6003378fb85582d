"""What a logistic model would say of each of its rows had it not been trained on it, without training again.

At the fitted θ the gradient of all rows is 0, so without row i it is -g_i ⊗ x_i, g_i = s_i ω_i (p_i - τ_i). One Newton
step of the others' loss, whose Hessian is H without the row's own part W_i ⊗ x_i x_iᵀ, changes the row's scores by

    z_i^(-i) = z_i + (I - Q_i W_i)⁻¹ Q_i g_i,    Q_i = (I ⊗ x_i)ᵀ H⁻¹ (I ⊗ x_i),

and of separate sigmoids each class alone: z + q g / (1 - v q). In the dual only the diagonal of an N × N inverse is
needed: with M = (I + G)⁻¹, G = V^½ X Λ⁻¹ Xᵀ V^½, r = V^½ 1 and λ_b the intercept's penalty,

    v_i q_i = 1 - M_ii + (M r)_i² / (λ_b + rᵀ M r).

It is exact where the others' loss is quadratic. Folds know a third less of the data and cost three fits.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from psidebug.graybox.logistic.design import DesignMatrix
from psidebug.graybox.logistic.likelihood import Separate
from psidebug.graybox.logistic.objective import Objective, Quadratic
from psidebug.graybox.logistic.solvers import Dual, Primal
from psidebug.graybox.protocol import Floats
from psidebug.task.labels import Codes

MOST_WORK = 2e10
"""Multiplications up to which leverages are worth their time: a few seconds."""
LARGEST = 3_000
"""Rows and columns of the largest matrix to factorise."""
LEAST_LEFT = 1e-3
"""1 - v q is kept above this: a row that alone decides its score has no score without it."""
CHUNK_BYTES = 2**26


def possible(rows: int, columns: int, classes: int) -> bool:
    """Whether the leverages of so many rows are soon found."""
    free = 1 if classes == 2 else classes
    width = free * (columns + 1)
    if width <= min(rows, LARGEST) or free > 1:
        return width <= LARGEST and rows * free * width**2 <= MOST_WORK
    return rows <= LARGEST


def left_out_scores(objective: Objective, design: DesignMatrix, labels: Codes) -> Floats:
    """Scores (N, F) of the free classes, each row's by a model without it."""
    scores = design.scores(objective.theta)
    probabilities = objective.likelihood.probabilities(scores)
    quadratic = Quadratic.at(objective, design, probabilities, labels)
    pull = objective.residuals(probabilities, labels)
    if not isinstance(objective.likelihood, Separate):
        return scores + _coupled(quadratic, pull)
    curvature = np.column_stack([quadratic.curvature(a) for a in range(quadratic.shape[0])])
    if Dual.possible(quadratic) and design.rows < design.width:
        shares = Dual(quadratic).leverages
        reach = np.divide(shares, curvature, out=np.zeros_like(shares), where=curvature > 0)
    else:
        reach = np.diagonal(_own_answers(quadratic), axis1=1, axis2=2)
    return np.asarray(scores + reach * pull / np.maximum(1.0 - curvature * reach, LEAST_LEFT))


def _coupled(quadratic: Quadratic, pull: Floats) -> Floats:
    """(I - Q_i W_i)⁻¹ Q_i g_i of every row, for a softmax."""
    p = quadratic.probabilities
    own = quadratic.weights[:, :, None] * (p[:, :, None] * np.eye(p.shape[1]) - p[:, :, None] * p[:, None, :])
    answers = _own_answers(quadratic)
    kept = np.eye(p.shape[1]) - answers @ own
    return np.asarray(np.linalg.solve(kept, answers @ pull[:, :, None])[:, :, 0])


def _own_answers(quadratic: Quadratic) -> Floats:
    """Q_i (N, F, F): how far each score of a row answers to a pull at each other. Of sigmoids only the diagonal.

    From H⁻¹ itself, the answers to pulls at single coefficients; of fewer rows than columns, from those to the rows'.
    """
    free, width = quadratic.shape
    design, inverse = quadratic.design, Primal(quadratic)
    by_column = width <= design.rows
    pulls = np.eye(width) if by_column else _dense(design)
    solved = [inverse.solve(pulls[:, None, :] * (np.arange(free) == b)[:, None]) for b in range(free)]
    answers = np.zeros((design.rows, free, free))
    size = max(1, CHUNK_BYTES // (8 * free * width))
    for start in range(0, design.rows, size):
        part = answers[start : start + size]
        x = _dense(design.take(np.arange(start, start + len(part))))
        for b in range(free):
            for a in range(b + 1) if quadratic.likelihood.coupled else (b,):
                reached = x @ solved[b][:, a] if by_column else solved[b][start : start + size, a]
                part[:, a, b] = part[:, b, a] = np.einsum("ij,ij->i", reached, x)
    return answers


def _dense(design: DesignMatrix) -> Floats:
    """All rows (n, D)."""
    return design.combined(sp.eye_array(design.rows, format="csr"))
