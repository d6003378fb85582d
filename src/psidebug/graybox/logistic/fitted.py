"""Whether a model is the fit of the data given, seen in the gradient of its own objective, which a fit brings to 0.

Two things must come together before a model is refused. The gradient must be above what its solver stops at, and it
must stand out from chance: column j's g_j = Σ_i r_i x_ij + λ_j θ_j (r the residuals) against its standard error
(Σ_i r_i² x_ij²)^½. A model fitted on other rows of the same kind has g_j of that size in every column; a fit of these
rows has none. Solvers that state no bound on the gradient (liblinear, sag, saga) are given more room. A fit that
stopped at ``max_iter``, and SGD, may stand anywhere: they are refused only when they agree with the labels no better
than chance, and otherwise noted.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from psidebug.errors import LearnerMismatch, NoBestFit
from psidebug.graybox.logistic.design import DesignMatrix
from psidebug.graybox.logistic.objective import Objective, Quadratic
from psidebug.graybox.protocol import Floats
from psidebug.task.labels import Codes

NOTICED = 0.1  # standard errors from which a fit that stopped at max_iter is noted
FLATTENED = 0.2  # share of a column's largest curvature left where its coefficient has begun to run away

_OTHER_DATA = (
    "the fitted model is not the fit of the data given: the gradient of its own loss is {size:.2g} per unit of weight "
    "({errors:.0f} standard errors in one column), where a fit on these rows and labels leaves almost 0. Give the "
    "rows, labels and sample_weight that it was fitted on, or give it unfitted and Psi will fit it."
)
_UNFINISHED = (
    "the model's solver stopped at max_iter with a gradient of {size:.2g} per unit of weight: predictions start from a "
    "model that is not the best fit (raise max_iter, or scale the features)"
)
_NOT_A_MINIMUM = (
    "the model is not a minimum of its loss (gradient {size:.2g} per unit of weight, {errors:.0f} standard errors in "
    "one column): its predictions are as good as its fit"
)
_UNBOUNDED = (
    "{columns} columns never occur with one of the classes and have no penalty: their coefficients grow for as long as "
    "the solver runs, and predictions for rows with them are unreliable (regularise: a finite C)"
)


@dataclass(frozen=True)
class Stationarity:
    """How far from 0 the gradient is."""

    size: float
    """max_j |g_j| / Σ s."""
    errors: float
    """max_j |g_j| / its standard error, over the columns whose gradient exceeds the tolerance."""


def stationarity(objective: Objective, design: DesignMatrix, probabilities: Floats, labels: Codes) -> Stationarity:
    """Size of the gradient at the fitted θ; standard errors only where the tolerance is exceeded."""
    gradient = np.abs(objective.gradient(design, probabilities, labels, objective.theta))
    total = max(
        float((objective.sample_weight[:, None] * objective.likelihood.weights(labels)).max(axis=1).sum()), 1e-300
    )
    excess = gradient > objective.solved.tolerance * total
    size = float(gradient.max(initial=0.0)) / total
    if not excess.any():
        return Stationarity(size, 0.0)
    spread = np.sqrt(design.squares(objective.residuals(probabilities, labels) ** 2))
    excess &= spread > 0  # no row has a number there, as in a dead unit of a net: only the penalty pulls
    return Stationarity(size, float((gradient[excess] / np.maximum(spread[excess], 1e-300)).max(initial=0.0)))


def notes_on_fit(objective: Objective, design: DesignMatrix, scores: Floats, labels: Codes) -> tuple[str, ...]:
    """Notes on a fit that is not quite one; :class:`LearnerMismatch` for a model of other data."""
    solved = objective.solved
    probabilities = objective.likelihood.probabilities(scores)
    found = stationarity(objective, design, probabilities, labels)
    if found.errors < (solved.clear if solved.finished else NOTICED):
        return ()
    facts = {"size": found.size, "errors": found.errors}
    excused = not (solved.exact and solved.finished)
    if found.errors >= solved.clear and (not excused or _unrelated(objective, scores, labels)):
        raise LearnerMismatch(_OTHER_DATA.format(**facts))
    return ((_NOT_A_MINIMUM if solved.finished else _UNFINISHED).format(**facts),)


def notes_on_separation(objective: Objective, quadratic: Quadratic, labels: Codes) -> tuple[str, ...]:
    """:class:`NoBestFit` for classes perfectly separated without a penalty; a note where a column separates some rows.

    θ then runs to infinity, wholly or in the column that one class never has, and leaves less curvature on its way
    than the column's rows have at most (p = ½).
    """
    free = (objective.ridge == 0) & (objective.lasso == 0)
    free[:, free.shape[1] - quadratic.design.intercept :] = False
    if not free.any():
        return ()
    errors = np.abs(quadratic.probabilities - objective.likelihood.targets(labels))[objective.sample_weight > 0]
    separated = (errors < 0.5).all(axis=0) & free.any(axis=1)
    if separated.all() if objective.likelihood.coupled else separated.any():
        raise NoBestFit(
            "the model separates its training classes perfectly and has no penalty: there is no best fit, its "
            "coefficients grow for as long as the solver runs. Regularise it (a finite C), or use "
            "graybox='gradient' or 'retrain'."
        )
    occurs = (
        quadratic.design.squares(np.eye(objective.likelihood.classes)[labels] * objective.sample_weight[:, None]) > 0
    )
    most = quadratic.design.squares(np.broadcast_to(quadratic.weights, quadratic.probabilities.shape) / 4.0)
    flattened = (free & (quadratic.diagonal < FLATTENED * most)).any(axis=0)
    unbounded = int((flattened & occurs.any(axis=0) & ~occurs.all(axis=0)).sum())
    return (_UNBOUNDED.format(columns=unbounded),) if unbounded else ()


def _unrelated(objective: Objective, scores: Floats, labels: Codes) -> bool:
    """Whether the model's classes, of more than one kind, agree with the labels no better than chance.

    Cohen's kappa is below two of its standard errors under independence.
    """
    said = (scores[:, 0] > 0).astype(np.intp) if scores.shape[1] == 1 else scores.argmax(axis=1)
    weight, size = objective.sample_weight / objective.sample_weight.sum(), objective.likelihood.classes
    shares = np.bincount(said, weight, size)
    agree, chance = float(weight[said == labels].sum()), float(shares @ np.bincount(labels, weight, size))
    if shares.max() > 0.95 or chance >= 1.0:
        return False  # nearly constant: an honest model of a rare class looks so
    kappa = (agree - chance) / (1.0 - chance)
    return kappa < 2.0 * float(np.sqrt(chance / (1.0 - chance) * (weight**2).sum()))
