"""The user's classifier, handled the same way whatever library it is from: fitted, refitted, asked.

Psi never changes the object it was given: every fit is on a fresh copy.
"""

from __future__ import annotations

import copy
import pickle
import re
import warnings
from collections.abc import Callable, Hashable
from contextlib import suppress
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import BaseCrossValidator, BaseShuffleSplit
from sklearn.preprocessing import TargetEncoder
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from psidebug.errors import InvalidWeights, LearnerFailed, LearnerMismatch, NotAClassifier, PsiError
from psidebug.margins import log_shares
from psidebug.task.tables import Table, check_finite, column_names
from psidebug.threads import WORTH_THREADS, open_threads

Classifier = Any  # anything with scikit-learn's fit, predict, get_params


def check_classifier(model: Any) -> None:
    """Raise :class:`NotAClassifier` unless ``model`` follows scikit-learn's conventions for classifiers."""
    name = model.__name__ if isinstance(model, type) else type(model).__name__
    if isinstance(model, type):
        raise NotAClassifier(f"model is the class {name}, not a classifier. Give an instance: {name}().")
    # A StackingClassifier hides that it predicts until it is fitted.
    if not hasattr(model, "predict") and hasattr(type(model), "predict") and _is(is_classifier, model):
        return
    missing = [method for method in ("fit", "predict", "get_params") if not hasattr(model, method)]
    if missing:
        raise NotAClassifier(
            f"model is a {name} without {', '.join(missing)}. Give a scikit-learn-compatible classifier or a Pipeline "
            f"that ends in one."
        )
    if _is(is_regressor, model):
        raise NotAClassifier(f"model is a {name}, a regressor. Psi debugs classifiers.")
    if not (hasattr(model, "decision_function") or hasattr(model, "predict_proba")):
        raise NotAClassifier(
            f"{name} gives classes but no scores: it has neither decision_function nor predict_proba. Wrap it in "
            f"sklearn.calibration.CalibratedClassifierCV."
        )


def own_copy(model: Classifier) -> Classifier:
    """A fitted classifier as it is now, whatever its owner does with it later; itself if it cannot be copied.

    By pickling first: a booster that was stopped early forgets where, if it is copied in another way. The
    bytes and the copy together take two and a half times the memory of the model, of which the copy's stays.
    """
    with suppress(Exception):  # whatever a class of somebody else raises
        return pickle.loads(pickle.dumps(model))
    with suppress(Exception):
        return copy.deepcopy(model)
    return model


def is_fitted(model: Classifier) -> bool:
    """Whether the classifier has been fitted."""
    try:
        check_is_fitted(model)
    except NotFittedError:
        return False
    except AttributeError:  # a classifier made without scikit-learn's base class
        return hasattr(model, "classes_")
    return True


def _is(kind: Callable[[Any], bool], model: Any) -> bool:
    try:
        return bool(kind(model))
    except AttributeError:  # a classifier made without scikit-learn's base class
        return False


def classes_of(model: Classifier) -> list[Hashable]:
    """The classes of a fitted classifier, in its order."""
    classes = getattr(model, "classes_", ())
    values = [value.tolist() if hasattr(value, "tolist") else value for value in classes]
    if not values or any(isinstance(value, list) for value in values):
        raise NotAClassifier(
            f"the fitted {type(final_step(model)).__name__} has no classes_ with one value per class, so it "
            f"is no classifier of one label per row. Give a scikit-learn-compatible classifier."
        )
    return values


def final_step(model: Classifier) -> Classifier:
    """The estimator itself, behind any (nested) Pipeline."""
    while hasattr(model, "steps"):
        model = model.steps[-1][1]
    return model


def takes_only_codes(model: Classifier) -> bool:
    """Whether labels must be 0 … K-1 for this classifier: XGBoost's refuse all others."""
    return type(final_step(model)).__module__.split(".")[0] == "xgboost"


def fresh(model: Any) -> Any:
    """An unfitted copy, with the same options."""
    if isinstance(model, list | tuple):
        return type(model)(map(fresh, model))
    if not hasattr(model, "get_params") or isinstance(model, type):
        return copy.deepcopy(model)
    try:
        return clone(model)
    except RuntimeError:  # clone wants the very objects back that it gave, and CatBoost copies lists and dicts
        return type(model)(**{name: fresh(value) for name, value in model.get_params(deep=False).items()})


def seeded(model: Any, seed: int) -> Any:
    """An unfitted copy in which every ``random_state`` left open is set, those of splitters given as ``cv`` too."""
    again = fresh(model)
    options = again.get_params()
    unset = [key for key in options if key.split("__")[-1] == "random_state" and _left_open(options, key)]
    if unset:
        again.set_params(**dict.fromkeys(unset, seed))
    for value in options.values():
        if isinstance(value, BaseCrossValidator | BaseShuffleSplit) and getattr(value, "random_state", seed) is None:
            value.random_state = seed  # the copy's own splitter
    return again


def _left_open(options: dict[str, Any], key: str) -> bool:
    """Whether this ``random_state`` is not set; a TargetEncoder has no use for one unless it shuffles."""
    owner = options.get(key.removesuffix("__random_state"))
    if isinstance(owner, TargetEncoder) and not owner.shuffle:
        return False
    return options[key] is None or isinstance(options[key], str)


def takes_weights(model: Classifier) -> bool:
    """Whether the (final) estimator's ``fit`` takes ``sample_weight``."""
    return bool(has_fit_parameter(final_step(model), "sample_weight"))


def check_takes_weights(model: Classifier) -> None:
    """Raise :class:`InvalidWeights` unless the (final) estimator's ``fit`` takes ``sample_weight``."""
    if not takes_weights(model):
        raise InvalidWeights(
            f"{type(final_step(model)).__name__}.fit takes no sample_weight. Leave sample_weight out, or use a learner "
            f"that weighs its rows."
        )


def _weights_argument(model: Classifier, weights: npt.NDArray[np.float64] | None) -> dict[str, Any]:
    """``fit``'s keyword for the weights: a Pipeline hands them on under the names of its last steps."""
    if weights is None:
        return {}
    keyword = ""
    while hasattr(model, "steps"):
        name, model = model.steps[-1]
        keyword += f"{name}__"
    return {f"{keyword}sample_weight": weights}


def refit(
    model: Classifier,
    features: Table,
    labels: npt.NDArray[Any],
    *,
    seed: int,
    sample_weight: npt.NDArray[np.float64] | None = None,
    quiet: bool = True,
) -> Classifier:
    """A copy of the classifier, fitted on these labels; its open ``random_state`` are set, so that it can be repeated.

    While it is fitted to few rows, numbers of threads left open (:func:`psidebug.threads.open_threads`) are one.

    A learner that draws from numpy's global generator is left to it: Psi neither seeds that generator nor sets its
    state, which belong to the whole process, and cannot repeat such a fit. Give the learner a ``random_state``. Who
    seeds that generator himself can repeat it: such fits stay in this process.
    """
    try:
        again = seeded(model, seed)
        threads = open_threads(again) if len(labels) < WORTH_THREADS else {}
        if threads:
            again.set_params(**dict.fromkeys(threads, 1))
        with warnings.catch_warnings():
            # Of a random_state that is on its way out, which is set here and not by the user.
            warnings.filterwarnings("ignore", message=r".*random_state.*deprecated", category=FutureWarning)
            if quiet:
                warnings.simplefilter("ignore")
            again.fit(features, labels, **_weights_argument(again, sample_weight))
        if threads:
            again.set_params(**threads)
    except Exception as error:
        raise _failed(model, error, features, "X_train", "could not be fitted") from error
    return again


def predict(model: Classifier, features: Table, *, name: str) -> list[Any]:
    """Predicted labels as Python values."""
    check_columns(model, features, name=name)
    try:
        predicted = np.asarray(model.predict(features))
    except Exception as error:
        raise _failed(model, error, features, name, f"could not predict on {name}") from error
    return list(predicted.reshape(len(predicted), -1)[:, 0].tolist())


def check_columns(model: Classifier, features: Table, *, name: str) -> None:
    """A fitted classifier must have been fitted on as many columns as it is given; a copy of CatBoost's says 0."""
    expected = getattr(model, "n_features_in_", 0)
    if expected and len(features.shape) == 2 and features.shape[1] != expected:
        raise LearnerMismatch(
            f"the model was fitted on {expected} columns but {name} has {features.shape[1]}. Give the features it was "
            f"fitted on, or an unfitted model."
        )
    names = getattr(model, "feature_names_in_", None)
    given = column_names(features)
    known = None if given is None else set(map(_plain_name, given))
    absent = [] if names is None or known is None else [str(each) for each in names if _plain_name(each) not in known]
    if absent:
        raise LearnerMismatch(
            f"the model was fitted on columns that {name} does not have: {absent[:5]}. Give the features it was fitted "
            f"on, or an unfitted model."
        )


def _plain_name(column: Hashable) -> str:
    """As boosters know it: a number by its text, in LightGBM with no spaces; of several levels joined."""
    return " ".join(map(str, column) if isinstance(column, tuple) else [str(column)]).replace(" ", "_")


def scores(model: Classifier, features: Table, codes_of: dict[Any, int], size: int) -> npt.NDArray[np.float64]:
    """Scores f_k(x) of the K classes, shape (rows, K), whose largest is the predicted class.

    They are the learner's own decision function where it has one per class (two classes: 0 and f), otherwise the
    logarithm of its probabilities, smoothed where they are shares of votes or rows. A class that the fitted model does
    not know scores -∞.
    """
    try:
        raw = _raw_scores(model, features)
    except PsiError:
        raise
    except Exception as error:  # for instance a category that was not among the rows it was trained on
        raise _failed(model, error, features, "the features", "could not score the rows") from error
    known = [codes_of[value] for value in np.asarray(model.classes_).tolist()]
    full = np.full((len(raw), size), -np.inf)
    full[:, known] = raw
    return full


def _raw_scores(model: Classifier, features: Table) -> npt.NDArray[np.float64]:
    known = len(model.classes_)
    pairs = getattr(final_step(model), "decision_function_shape", None) == "ovo" and known > 2
    if hasattr(model, "decision_function") and not pairs:
        decided = np.asarray(model.decision_function(features), dtype=np.float64)
        if decided.ndim == 1 and known == 2:
            return np.column_stack([np.zeros_like(decided), decided])
        if decided.ndim == 2 and decided.shape[1] == known:
            return decided
    if not hasattr(model, "predict_proba"):
        raise LearnerFailed(
            f"{type(final_step(model)).__name__} has a decision function without one score per class. Use "
            f"decision_function_shape='ovr' or probability=True."
        )
    probability = np.asarray(model.predict_proba(features), dtype=np.float64)
    return log_shares(probability) if _counts(final_step(model)) else np.log(np.clip(probability, 1e-15, 1.0))


def _counts(model: Classifier) -> bool:
    """Whether probabilities are shares of votes or of rows: trees, forests, bags, nearest neighbours."""
    return any(hasattr(model, name) for name in ("tree_", "estimators_", "n_samples_fit_"))


def _failed(model: Classifier, error: Exception, features: Table, name: str, what: str) -> LearnerFailed:
    """The learner's own words; or :class:`MissingValues`, raised here, when they are about NaN or infinity."""
    if re.search(r"\b(nans?|inf|infs|infinity|infinite|finite|missing|null)\b", str(error), re.IGNORECASE):
        check_finite(features, name=name)
    kind, said = type(error).__name__, str(error).strip().splitlines()
    return LearnerFailed(f"{type(final_step(model)).__name__} {what}: {said[0] if said else kind} ({kind})")
