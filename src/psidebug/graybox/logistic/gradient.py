"""The paper's gradient step: Δθ = α (force of the moved labels), with α and the iterate profiled from descent.

scikit-learn's solvers are not gradient descent, so there is no last step of theirs to profile. We replay one: start a
tenth of the way back from the fitted θ to 0, descend with a line search (from twice the last step, at first from
|g|²/gᵀHg, halved until L(θ - αg) ≤ L(θ) - α|g|²/2), and keep the last step's α and the iterate it started from. A step
costs two products with X, as one iteration of the fit does; trying another α costs none, since the scores are linear
in it. α depends on the data's scale and conditioning, as it does for the paper's learner; the ranking of a linear
symptom does not depend on α.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from psidebug.graybox.logistic.design import DesignMatrix
from psidebug.graybox.logistic.objective import Objective
from psidebug.graybox.protocol import Floats
from psidebug.task.labels import Codes

STEPS = 3
BACK = 0.1


class GradientStep:
    """α·, applied to right-hand sides (m, F, D), and the probabilities at the step's beginning."""

    notes: tuple[str, ...] = ()

    def __init__(self, objective: Objective, design: DesignMatrix, labels: Codes) -> None:
        self._active = objective.active
        theta = (1.0 - BACK) * objective.theta
        scores = design.scores(theta)
        value = objective.value(scores, labels, theta)
        last: float | None = None
        self.probabilities = objective.likelihood.probabilities(scores)
        for _ in range(STEPS):
            probabilities = objective.likelihood.probabilities(scores)
            gradient = objective.gradient(design, probabilities, labels, theta)
            line = _Line(objective, labels, theta, scores, gradient, along=design.scores(gradient), value=value)
            found = line.searched(line.cauchy(probabilities) if last is None else 2.0 * last)
            if found is None:  # the gradient is down to rounding: the step before was the last
                break
            last, value = found
            self.probabilities = probabilities
            theta, scores = theta - last * gradient, scores - last * line.along
        # Where θ = 0 is the best fit there is no descent to replay.
        self.alpha = _careful_step(objective, design, labels) if last is None else last

    def __call__(self, rhs: Floats) -> Floats:
        """α rhs, on the active coefficients."""
        return np.asarray(np.where(self._active, self.alpha * rhs, 0.0))


@dataclass(frozen=True, eq=False)
class _Line:
    """L along θ - αg; ``along`` are the scores of g."""

    objective: Objective
    labels: Codes
    theta: Floats
    scores: Floats
    gradient: Floats
    along: Floats
    value: float

    @property
    def steepness(self) -> float:
        """|g|²."""
        return float((self.gradient**2).sum())

    def cauchy(self, probabilities: Floats) -> float:
        """|g|² / gᵀHg: the best step if L were quadratic."""
        objective = self.objective
        weights = objective.likelihood.weights(self.labels) * objective.sample_weight[:, None]
        curved = objective.likelihood.curved(probabilities, self.along) * weights
        bend = float((curved * self.along).sum() + (objective.ridge * self.gradient**2).sum())
        return self.steepness / max(bend, 1e-12 * self.steepness, 1e-300)

    def searched(self, start: float) -> tuple[float, float] | None:
        """The first of start, start/2, … that lowers L by α|g|²/2, and L there; None if rounding is reached."""
        alpha = start
        while alpha * self.steepness > 1e-13 * abs(self.value):
            there = self._value(alpha)
            if there <= self.value - alpha * self.steepness / 2:
                return alpha, there
            alpha /= 2.0
        return None

    def _value(self, alpha: float) -> float:
        return self.objective.value(self.scores - alpha * self.along, self.labels, self.theta - alpha * self.gradient)


def _careful_step(objective: Objective, design: DesignMatrix, labels: Codes) -> float:
    """1/trace of a bound on H: a step that never overshoots."""
    weights = objective.likelihood.weights(labels) * objective.sample_weight[:, None]
    squares = design.squares(np.broadcast_to(weights, (design.rows, objective.likelihood.free)) / 4.0)
    return 1.0 / max(float((squares + objective.ridge)[objective.active].sum()), 1e-300)
