"""From a fitted model to its :class:`Machine`: the two-class problems, their loss, scores and response.

One reader per class of scikit-learn, found by name: ridge, support vectors (linear and by kernel), and stochastic
gradient descent with a loss of the margin.

    ridge           Σ s κ (1 - τz)²/2 + (α/2)|θ|²            free intercept
    LinearSVC       C Σ s κ φ(τz) + |θ|²/2                    the intercept is penalised, by 1/scaling²
    SVC             C Σ s κ φ(τz) + |θ|²/2, by the kernel     free intercept, pairs of classes
    SGD             Σ s κ φ(τz) + (N α/2)|θ|²                 free intercept
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.utils.class_weight import compute_class_weight

from psidebug.errors import LearnerMismatch, NoBestFit, UnsupportedLearner
from psidebug.graybox.class_scores import class_of, other_data
from psidebug.graybox.logistic.design import DesignMatrix
from psidebug.graybox.margin.columns import Columns
from psidebug.graybox.margin.following import Kernels
from psidebug.graybox.margin.losses import BY_LIBLINEAR, BY_SGD, Hinge, Loss, Squared
from psidebug.graybox.margin.response import ByFeatures, ByKernel, Response
from psidebug.graybox.protocol import Floats
from psidebug.task.labels import Codes
from psidebug.task.task import Task

MOST_ROWS = 6_000
"""Rows of the largest kernel matrix that is held: 288 MB."""
KEPT_GRADIENT = {"RidgeClassifier": 1e-4, "RidgeClassifierCV": 1e-4, "LinearSVC": 1e-2}
"""The largest |gradient| per unit of weight that a finished fit leaves; others leave what they leave."""


@dataclass(frozen=True, eq=False)
class Machine:
    """All that the gray box needs to know of a model."""

    columns: Columns
    loss: Loss
    weights: Floats
    """C s_i (N,)."""
    train: Floats
    """z (N, P)."""
    test: Floats
    """z (points, P)."""
    response: Response
    kernels: Kernels | None = None
    """Of a hinge that can be followed."""
    notes: tuple[str, ...] = ()


def supports(model: Any) -> bool:
    """Whether there is a reader for this model, as it is set."""
    reader = class_of(model, READERS)
    return (
        reader is not None
        and getattr(model, "loss", "hinge") in BY_SGD
        and getattr(model, "penalty", "l2") in ("l2", None)
        and getattr(model, "multi_class", "ovr") == "ovr"
    )


def machine_of(model: Any, task: Task) -> Machine:
    """What was fitted; :class:`UnsupportedLearner` for any other kind of model."""
    if not supports(model):
        raise UnsupportedLearner(
            f"{type(model).__name__} as it is set has no gray box 'margin', which takes {', '.join(READERS)} with a "
            f"quadratic penalty. Use graybox='auto'."
        )
    machine: Machine = class_of(model, READERS)(model, task)
    return machine


def side_and_weight(columns: Columns, weights: Floats, labels: Codes) -> tuple[Floats, Floats]:
    """τ and C s ω of rows with these labels, (N, P); 0 weight for who has no part in a problem."""
    sides = columns.sides[:, labels].T
    return sides, np.asarray(np.abs(sides) * columns.weights[:, labels].T * weights[:, None])


def _linear(
    model: Any,
    task: Task,
    form: Loss,
    strength: float,
    ridge: float,
    *,
    positives_only: bool,
    ridge_of_intercept: float,
) -> Machine:
    """A model with ``coef_`` and ``intercept_`` that minimises Σ strength s κ φ(τz) + (ridge/2)|θ|²."""
    columns = Columns.against_rest(class_weights(model, task), positives_only=positives_only)
    design, points = (DesignMatrix(x, intercept=model.fit_intercept) for x in (task.seen.train, task.seen.test))
    theta = np.atleast_2d(np.asarray(model.coef_, dtype=np.float64))
    if len(theta) != columns.count or not np.isfinite(theta).all():
        raise LearnerMismatch(
            f"the coefficients of the fitted {type(model).__name__} are not those of {task.encoding.size} classes: "
            f"give an unfitted model."
        )
    penalty = np.full((columns.count, design.width), ridge)
    if model.fit_intercept:
        theta = np.column_stack([theta, np.broadcast_to(model.intercept_, len(theta))])
        penalty[:, -1] = ridge_of_intercept
    weights = strength * _sample_weights(task)
    z = design.scores(theta)
    sides, scale = side_and_weight(columns, weights, task.train.codes)
    residuals = scale * sides * form.slope(sides * z)
    if (
        (kept := KEPT_GRADIENT.get(type(model).__name__)) is not None
        and task.seen.exact
        and not isinstance(form, Hinge)
    ):
        gradient = np.abs(design.gathered(residuals) + penalty * theta)
        spread = np.sqrt(design.squares(residuals**2))
        if ((gradient > kept * scale.sum(axis=0)[:, None]) & (gradient > spread)).any():
            raise other_data(task)
    response = ByFeatures(design, points, penalty, scale * form.curvature(sides * z))
    return Machine(columns, form, weights, z, points.scores(theta), response, notes=_notes(model))


def _ridge(model: Any, task: Task) -> Machine:
    alpha = float(np.max(getattr(model, "alpha_", getattr(model, "alpha", 0.0))))
    return _linear(model, task, Squared(), 1.0, alpha, positives_only=False, ridge_of_intercept=0.0)


def _linear_svc(model: Any, task: Task) -> Machine:
    free = 1.0 / float(model.intercept_scaling) ** 2
    machine = _linear(
        model, task, BY_LIBLINEAR[model.loss], float(model.C), 1.0, positives_only=True, ridge_of_intercept=free
    )
    if model.loss != "hinge" or len(task.train) > MOST_ROWS:
        return machine
    level = 1.0 / free if model.fit_intercept else 0.0
    tables = (task.seen.train, task.seen.test)
    among, between = (pairwise_kernels(x, task.seen.train, metric="linear") + level for x in tables)
    return replace(machine, kernels=Kernels(among, between, free=False))


def _sgd(model: Any, task: Task) -> Machine:
    ridge = 0.0 if model.penalty is None else float(model.alpha) * len(task.train)
    return _linear(model, task, BY_SGD[model.loss], 1.0, ridge, positives_only=True, ridge_of_intercept=0.0)


def _svc(model: Any, task: Task) -> Machine:
    if len(task.train) > MOST_ROWS:
        raise UnsupportedLearner(
            f"the kernel of {len(task.train)} rows is too large to hold (at most {MOST_ROWS}). Use graybox='surrogate'."
        )
    _check_support(model, task)
    columns = Columns.of_pairs(class_weights(model, task))
    raw = copy.copy(model)
    raw.decision_function_shape, raw.break_ties = "ovo", False
    z, test = (
        np.asarray(raw.decision_function(x)).reshape(-1, columns.count) for x in (task.seen.train, task.seen.test)
    )
    weights = float(model.C) * _sample_weights(task)
    sides, scale = side_and_weight(columns, weights, task.train.codes)
    curvature = scale * Hinge().curvature(sides * z)
    if not (curvature > 0).any(axis=0).all():
        raise NoBestFit("no row is near the margin, so nothing says how the model answers to labels.")
    among, between = (_kernel(model, x, task.seen.train) for x in (task.seen.train, task.seen.test))
    response, kernels = ByKernel(among, between, curvature), Kernels(among, between, free=True)
    return Machine(columns, Hinge(), weights, z, test, response, kernels, _notes(model))


READERS: dict[str, Callable[[Any, Task], Machine]] = {
    "RidgeClassifier": _ridge,
    "RidgeClassifierCV": _ridge,
    "LinearSVC": _linear_svc,
    "SVC": _svc,
    "SGDClassifier": _sgd,
}


def class_weights(model: Any, task: Task) -> Floats:
    """κ (K,)."""
    if model.class_weight is None:
        return np.ones(task.encoding.size)
    labels = task.encoding.native
    return np.asarray(compute_class_weight(model.class_weight, classes=labels, y=labels[task.train.codes]))


def _sample_weights(task: Task) -> Floats:
    return np.ones(len(task.train)) if task.data.sample_weight is None else task.data.sample_weight


def _kernel(model: Any, rows: Any, train: Any) -> Floats:
    if callable(model.kernel) or model.kernel == "precomputed":
        return np.asarray(model.kernel(rows, train) if callable(model.kernel) else rows, dtype=np.float64)
    options = {"gamma": model._gamma, "degree": model.degree, "coef0": model.coef0}
    return np.asarray(pairwise_kernels(rows, train, metric=model.kernel, filter_params=True, **options), dtype=float)


def _check_support(model: Any, task: Task) -> None:
    """Every support vector must be a training row with its label; of a kernel without vectors, in its place."""
    labels = np.repeat(np.arange(len(model.n_support_)), model.n_support_).tolist()
    if callable(model.kernel) or model.kernel == "precomputed":
        if model.support_.max() >= len(task.train) or task.train.codes[model.support_].tolist() != labels:
            raise other_data(task)
        return
    dense = [x.toarray() if hasattr(x, "toarray") else np.asarray(x) for x in (task.seen.train, model.support_vectors_)]
    rows, vectors = (np.ascontiguousarray(x, dtype=np.float64) + 0.0 for x in dense)
    known = {(row.tobytes(), code) for row, code in zip(rows, task.train.codes.tolist(), strict=True)}
    if not all((row.tobytes(), code) in known for row, code in zip(vectors, labels, strict=True)):
        raise other_data(task)


def _notes(model: Any) -> tuple[str, ...]:
    return (
        ("balanced class weights are held as they are, which retraining does not do",)
        if isinstance(model.class_weight, str)
        else ()
    )
