"""From a fitted scikit-learn model to its :class:`Objective`: one reader per class, found by name.

Readers are looked up by the name of the class or of one it inherits from, so a subclass of ``LogisticRegression`` is
read as one.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils.class_weight import compute_class_weight

from psidebug.errors import LearnerMismatch, UnsupportedLearner
from psidebug.graybox.logistic.likelihood import Likelihood, Multinomial, Separate
from psidebug.graybox.logistic.objective import Objective, Solved
from psidebug.graybox.protocol import Floats
from psidebug.task.task import Task

# These stop at max |gradient| / Σ s ≤ tol; the others state no bound. Measured on 11 small data sets, 84 finished fits:
# they leave at most tol, by liblinear, sag and saga at most 3e-3; with 3% of the labels changed it is 6e-3 or more, in
# 87% over one standard error. None was refused with its own labels; with 3% changed 76% were, with 10% 89%.
GRADIENT_SOLVERS = ("lbfgs", "newton-cg", "newton-cholesky")
LOOSE = 1e-2
WEIGHTED_COUNTS = "sample_weight" in inspect.signature(compute_class_weight).parameters  # scikit-learn 1.7 and later


def objective_of(model: Any, task: Task) -> Objective:
    """What the fitted model minimises on this task; :class:`UnsupportedLearner` for any other kind of model."""
    reader = _reader_of(model)
    if reader is not None:
        return reader(model, task)
    raise UnsupportedLearner(
        f"{type(model).__name__} is not a logistic model. The Newton and gradient gray boxes take scikit-learn's "
        f"{', '.join(READERS)}; for another learner use graybox='retrain'."
    )


def supports(model: Any) -> bool:
    """Whether there is a reader for models of this class."""
    return _reader_of(model) is not None


def _reader_of(model: Any) -> Callable[[Any, Task], Objective] | None:
    own = (kind.__name__ for kind in type(model).__mro__ if kind.__module__.startswith("sklearn."))
    return next((READERS[name] for name in own if name in READERS), None)


def _logistic_regression(model: Any, task: Task) -> Objective:
    strength, l1_ratio = _strength(model)
    one_against_rest = _one_against_rest(model, task)
    likelihood: Likelihood
    kappa = _class_weights(model, task, weighted_counts=WEIGHTED_COUNTS)
    if task.encoding.size == 2 or one_against_rest:
        likelihood = Separate(task.encoding.size, kappa)
    else:
        likelihood = Multinomial(task.encoding.size, kappa)
    theta = _theta(model, likelihood)
    shape = np.broadcast_to(np.reshape(strength, (-1, 1)), theta.shape)
    penalty = _without_intercept(model, shape)
    lasso_penalty = penalty
    if model.solver == "liblinear" and model.fit_intercept:
        penalty, lasso_penalty = shape.copy(), shape.copy()
        penalty[:, -1] /= model.intercept_scaling**2
        lasso_penalty[:, -1] /= model.intercept_scaling
    solver, iterations = model.solver, np.max(getattr(model, "n_iter_", 0))
    return Objective(
        likelihood=likelihood,
        theta=theta,
        ridge=penalty * (1.0 - l1_ratio),
        lasso=lasso_penalty * l1_ratio,
        sample_weight=_sample_weights(task),
        balance=_balance(model, task, weighted_counts=WEIGHTED_COUNTS),
        notes=_notes(l1_ratio, chosen_again=np.size(getattr(model, "Cs_", 0)) > 1),
        solved=Solved(
            tolerance=10.0 * model.tol if solver in GRADIENT_SOLVERS else LOOSE,
            clear=2.0 if solver in ("sag", "saga") else 1.0,
            finished=bool(iterations < model.max_iter),
            # LogisticRegressionCV(refit=False) averages over folds; the head of a net stands where its training ended.
            exact=bool(getattr(model, "refit", True)) and not getattr(model, "as_it_came_", False),
        ),
    )


def _sgd(model: Any, task: Task) -> Objective:
    if model.loss != "log_loss":
        raise UnsupportedLearner(
            f"SGDClassifier(loss={model.loss!r}) is not logistic regression. Use loss='log_loss', or graybox='retrain'."
        )
    likelihood = Separate(task.encoding.size, _class_weights(model, task, weighted_counts=False))
    theta = _theta(model, likelihood)
    l1_ratio = {"l2": 0.0, None: 0.0, "l1": 1.0}.get(model.penalty, model.l1_ratio)
    alpha = 0.0 if model.penalty is None else model.alpha
    penalty = _without_intercept(model, np.full(theta.shape, alpha * len(task.train)))
    return Objective(
        likelihood=likelihood,
        theta=theta,
        ridge=penalty * (1.0 - l1_ratio),
        lasso=penalty * l1_ratio,
        sample_weight=_sample_weights(task),
        balance=_balance(model, task, weighted_counts=False),
        notes=_notes(l1_ratio, held_out=model.validation_fraction if model.early_stopping else 0.0),
        solved=Solved(tolerance=LOOSE, clear=2.0, finished=bool(model.n_iter_ < model.max_iter), exact=False),
    )


READERS: dict[str, Callable[[Any, Task], Objective]] = {
    "LogisticRegression": _logistic_regression,
    "LogisticRegressionCV": _logistic_regression,
    "SGDClassifier": _sgd,
}


def _strength(model: Any) -> tuple[Floats, float]:
    """1/C, one or one per class, and the L1 share; ``penalty`` until scikit-learn 1.9, C and l1_ratio alone after."""
    chosen = np.atleast_1d(np.asarray(getattr(model, "C_", getattr(model, "C", 1.0)), dtype=np.float64))
    penalty = getattr(model, "penalty", "deprecated")
    if penalty in (None, "none"):
        return np.zeros(1), 0.0
    if penalty in ("l1", "l2"):
        return 1.0 / chosen, float(penalty == "l1")
    ratios = getattr(model, "l1_ratio_", getattr(model, "l1_ratio", 0.0))
    ratio = np.atleast_1d(np.asarray(0.0 if ratios is None else ratios, dtype=object))[0]
    return 1.0 / chosen, float(ratio or 0.0)


def _one_against_rest(model: Any, task: Task) -> bool:
    """Until scikit-learn 1.7 liblinear and multi_class="ovr" fitted one classifier per class."""
    multi_class, size = getattr(model, "multi_class", "deprecated"), task.encoding.size
    if multi_class == "multinomial" and size == 2:
        raise UnsupportedLearner(
            "multi_class='multinomial' with two classes scores them with a doubled sigmoid. Leave multi_class out."
        )
    separate = size > 2 and (multi_class == "ovr" or model.solver == "liblinear")
    if separate and model.class_weight is not None:
        raise UnsupportedLearner(
            "class_weight with one classifier per class has no gray box. Use solver='lbfgs' and leave multi_class out."
        )
    return bool(separate)


def _theta(model: Any, likelihood: Likelihood) -> Floats:
    coefficients = np.asarray(model.coef_, dtype=np.float64)
    if len(coefficients) != likelihood.free:
        raise LearnerMismatch(
            f"the fitted {type(model).__name__} has {len(coefficients)} rows of coefficients where "
            f"{likelihood.classes} classes need {likelihood.free}. Give an unfitted model."
        )
    if not np.isfinite(coefficients).all():
        raise LearnerMismatch(
            f"the coefficients of the fitted {type(model).__name__} are not all finite: fit it again."
        )
    if not model.fit_intercept:
        return coefficients
    return np.column_stack([coefficients, np.broadcast_to(model.intercept_, len(coefficients))])


def _without_intercept(model: Any, penalty: Floats) -> Floats:
    free = penalty.copy()
    if model.fit_intercept:
        free[:, -1] = 0.0
    return free


def _sample_weights(task: Task) -> Floats:
    return np.ones(len(task.train)) if task.data.sample_weight is None else task.data.sample_weight


def _class_weights(model: Any, task: Task, *, weighted_counts: bool) -> Floats:
    if model.class_weight is None:
        return np.ones(task.encoding.size)
    counted = {"sample_weight": task.data.sample_weight} if weighted_counts else {}
    labels = task.encoding.native
    try:
        weights = compute_class_weight(model.class_weight, classes=labels, y=labels[task.train.codes], **counted)
    except ValueError as error:
        raise LearnerMismatch(f"class_weight does not fit the labels given: {error}") from error
    return np.asarray(weights, dtype=np.float64)


def _balance(model: Any, task: Task, *, weighted_counts: bool) -> Floats | None:
    if not isinstance(model.class_weight, str):
        return None
    return _sample_weights(task) if weighted_counts else np.ones(len(task.train))


def _notes(l1_ratio: float, *, chosen_again: bool = False, held_out: float = 0.0) -> tuple[str, ...]:
    notes = []
    if l1_ratio > 0:
        notes.append("coefficients that the L1 penalty holds at 0 are held there, which retraining may not do")
    if chosen_again:
        notes.append("C is held at the value that cross-validation chose; retraining may choose another")
    if held_out:
        notes.append(
            f"early stopping held {held_out:.0%} of the rows out of the fit; the gray box counts them too, so it is an "
            f"approximation"
        )
    return tuple(notes)
