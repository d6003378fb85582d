"""The error tree, and every leaf of it met by a user of the public door."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

import psidebug
from psidebug import errors
from psidebug.symptoms import LogLossAbove, misclassified
from tests.conftest import Planted, with_changes


def classes() -> dict[str, type[errors.PsiError]]:
    found = inspect.getmembers(errors, inspect.isclass)
    return {name: each for name, each in found if issubclass(each, errors.PsiError)}


def test_every_error_says_what_it_means_and_has_one_place_in_the_tree() -> None:
    for name, each in classes().items():
        assert each.__doc__, name
        assert sum(issubclass(base, errors.PsiError) for base in each.__bases__) == (each is not errors.PsiError)


@pytest.mark.parametrize("name", ["InputError", "LearnerMismatch"])
def test_wrong_values_are_value_errors_too(name: str) -> None:
    assert issubclass(classes()[name], ValueError)


def test_wrong_kinds_are_type_errors_and_failed_writes_os_errors() -> None:
    assert issubclass(errors.NotAClassifier, TypeError)
    assert issubclass(errors.UnsupportedLearner, TypeError)
    assert issubclass(errors.OutputError, OSError)


def debug(planted: Planted, **changes: Any) -> psidebug.Diagnosis:
    data, options = with_changes(planted, changes)
    return psidebug.debug(*data, **options)


def separated(planted: Planted) -> dict[str, Any]:
    """Training classes that a line separates, a model without penalty, and a test label that contradicts it."""
    X = np.linspace(-1.0, 1.0, 20)[:, None]
    y = np.where(X[:, 0] > 0, "good", "bad")
    model = LogisticRegression(C=np.inf, max_iter=50)
    return {"model": model, "graybox": "newton", "X_train": X, "y_train": y, "X_test": X, "y_test": [*y[:-1], "bad"]}


RAISES: dict[type[errors.PsiError], Callable[[Planted], dict[str, Any]]] = {
    errors.UnsupportedFeatures: lambda p: {"X_train": {"a": 1}},
    errors.ShapeMismatch: lambda p: {"y_train": p.y_train[1:]},
    errors.MissingValues: lambda p: {"X_train": np.where(p.X_train == 0, np.nan, p.X_train)},
    errors.LabelError: lambda p: {"y_train": 3},
    errors.MissingLabels: lambda p: {"y_train": [None] * 120},
    errors.ContinuousLabels: lambda p: {"y_train": np.linspace(0.01, 0.99, 120)},
    errors.SingleClass: lambda p: {"y_train": ["bad"] * 120},
    errors.UnseenClass: lambda p: {"y_test": ["ugly"] * 80},
    errors.DuplicateIds: lambda p: {"rows": [0] * 120},
    errors.UnknownRow: lambda p: {"bugs": [1000]},
    errors.NotMisclassified: lambda p: {"bugs": range(80)},
    errors.InvalidAnnotations: lambda p: {"annotations": [["ugly"]] * 120},
    errors.InvalidProbabilities: lambda p: {"pred_probs": p.X_train[:, :2], "pred_probs_test": p.X_test[:, :2]},
    errors.InvalidWeights: lambda p: {"sample_weight": [-1] * 120},
    errors.InvalidPrior: lambda p: {"prior": 1.5},
    errors.InvalidSymptom: lambda p: {"symptom": misclassified(1000)},
    errors.UnknownOption: lambda p: {"engine": "steam"},
    errors.NotAClassifier: lambda p: {"model": LinearRegression()},
    errors.LearnerMismatch: lambda p: {"model": LogisticRegression().fit(p.X_train[:, :2], p.y_train)},
    errors.LearnerFailed: lambda p: {"model": LogisticRegression(C=-1.0)},
    errors.NoBestFit: separated,
    errors.UnsupportedLearner: lambda p: {"model": KNeighborsClassifier(), "graybox": "newton"},
    errors.TooManyWorlds: lambda p: {"engine": "enumeration"},
    errors.SymptomAbsent: lambda p: {"symptom": LogLossAbove(50.0)},
    errors.NoWorldWithout: lambda p: {"prior": 0.0},
}


def test_every_error_that_can_be_met_is_met_here() -> None:
    inner = {errors.PsiError, errors.InputError, errors.LearnerError, errors.InferenceError}
    about_files = {errors.OutputError, errors.OtherRun, errors.UnreadableRun}  # raised below, and in tests/store
    about_files |= {errors.UnreadableModel, errors.UnreadableTable, errors.LearnerMissing}  # in their own tests
    about_files |= {errors.InvalidVerdicts, errors.UsedKey}  # raised in tests/review
    about_files |= {errors.ChangedData}  # raised in tests/diagnosis/test_effort.py
    assert set(RAISES) | about_files == set(classes().values()) - inner


@pytest.mark.parametrize("error", RAISES, ids=lambda error: str(error.__name__))
def test_every_error_is_raised_by_the_public_door(planted: Planted, error: type[errors.PsiError]) -> None:
    with pytest.raises(error) as caught:
        debug(planted, **RAISES[error](planted))
    assert type(caught.value) is error
    message = str(caught.value)
    assert 20 < len(message) < 600
    assert "\n" not in message


def test_a_result_that_cannot_be_written(planted: Planted, tmp_path: Path) -> None:
    with pytest.raises(errors.OutputError, match="could not write"):
        debug(planted).report(tmp_path / "missing" / "report.html")
