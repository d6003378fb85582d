"""Influence functions for logistic regression: what removing a training row does to the loss, by one Newton step.

With the gradient g_i = x_i ⊗ (p_i - e_{y_i}) of row i's loss at the fitted θ and the Hessian H of all that the learner
minimises, removing row i moves θ by H⁻¹ g_i. The loss of the test points t then falls by

    -Σ_t g_t · H⁻¹ g_i,

and the row's own loss rises by g_i · H⁻¹ g_i. One solve serves all rows. (Koh and Liang 2017; pyDVL's
``DirectInfluence`` is the same number.)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from benchmarks.peers.contest import Contest, Finding, Floats, Mask, Peer
from psidebug.graybox.logistic.design import DesignMatrix
from psidebug.graybox.logistic.newton import NewtonStep
from psidebug.graybox.logistic.objective import Objective, Quadratic
from psidebug.graybox.logistic.reading import objective_of
from psidebug.task.labels import Codes
from psidebug.task.learner import Classifier

ROWS_AT_ONCE = 200


@dataclass(frozen=True, eq=False)
class _Local:
    """The fitted model near its θ: rows, residuals p - e_y of both sets, and H⁻¹."""

    objective: Objective
    train: DesignMatrix
    test: DesignMatrix
    of_rows: Floats
    of_points: Floats
    solve: NewtonStep


def all_points(contest: Contest) -> Finding:
    """By how much the loss of all test points falls without the row."""
    return Finding(removal(contest, contest.fit(), np.ones(contest.points, dtype=bool)))


def misclassified(contest: Contest) -> Finding:
    """By how much the loss of the misclassified test points falls without the row."""
    fitted = contest.fit()
    return Finding(removal(contest, fitted, fitted.predict(contest.X_test) != contest.y_test))


def removal(contest: Contest, fitted: Classifier, points: Mask, rows: slice | Codes = slice(None)) -> Floats:
    """-Σ_t g_t · H⁻¹ g_i for the rows that the model was fitted on, over these test points."""
    near = _local(contest, fitted, rows)
    pull = near.solve(near.test.gathered(near.of_points * points[:, None])[None])[0]
    return np.asarray(-(near.train.scores(pull) * near.of_rows).sum(axis=1))


def of_itself(contest: Contest) -> Floats:
    """g_i · H⁻¹ g_i of every row."""
    near = _local(contest, contest.fit(), slice(None))
    scores = np.empty(len(contest))
    for begin in range(0, len(scores), ROWS_AT_ONCE):
        rows = np.arange(begin, min(begin + ROWS_AT_ONCE, len(scores)))
        x = near.train.take(rows).combined(sp.eye_array(len(rows), format="csr"))
        g = near.of_rows[rows][:, :, None] * x[:, None, :]
        scores[rows] = (g * near.solve(g)).sum(axis=(1, 2))
    return scores


def _local(contest: Contest, fitted: Classifier, rows: slice | Codes) -> _Local:
    task = contest.task(fitted, rows)
    objective = objective_of(fitted, task)
    intercept = bool(fitted.fit_intercept)
    train, test = (DesignMatrix(each.features, intercept=intercept) for each in (task.train, task.test))
    p, p_test = (objective.likelihood.probabilities(each.scores(objective.theta)) for each in (train, test))
    solve = NewtonStep(Quadratic.at(objective, train, p, task.train.codes))
    return _Local(
        objective=objective,
        train=train,
        test=test,
        of_rows=p - objective.likelihood.targets(task.train.codes),
        of_points=p_test - objective.likelihood.targets(task.test.codes),
        solve=solve,
    )


PEERS = (
    Peer("influence, all test points", all_points, "Newton step without the row, effect on test loss", ("logistic",)),
    Peer("influence, misclassified", misclassified, "the same on the misclassified test points", ("logistic",)),
)
