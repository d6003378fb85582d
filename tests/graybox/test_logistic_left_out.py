"""Scores without the row's own label, against models that were really trained without the row."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression

from psidebug.graybox.logistic.design import DesignMatrix
from psidebug.graybox.logistic.left_out import left_out_scores, possible
from psidebug.graybox.logistic.reading import objective_of
from psidebug.task.task import Task


def left_out(model: Any, X: Any, y: Any, **options: Any) -> Any:
    task = Task.of(model, X, y, X, y, **options)
    fitted = task.learner
    design = DesignMatrix(X, intercept=fitted.fit_intercept)
    return left_out_scores(objective_of(fitted, task), design, task.train.codes)


def really_left_out(model: Any, X: Any, y: Any, weights: Any = None) -> Any:
    found = []
    for row in range(len(y)):
        others = np.arange(len(y)) != row
        kept = None if weights is None else weights[others]
        fitted = model.fit(X[others], y[others], sample_weight=kept)
        found.append(np.ravel(fitted.decision_function(X[[row]])))
    return np.array(found)


def drawn(rows: int, columns: int, classes: int, *, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, columns))
    scores = 1.5 * X @ rng.normal(size=(columns, classes)) / np.sqrt(columns) + rng.gumbel(size=(rows, classes))
    return X, scores.argmax(axis=1)


EXACT: dict[str, Any] = {"tol": 1e-10, "max_iter": 10_000}
CASES = {
    "few columns": (LogisticRegression(**EXACT), drawn(80, 4, 2)),
    "without an intercept": (LogisticRegression(fit_intercept=False, **EXACT), drawn(80, 4, 2)),
    "more columns than rows": (LogisticRegression(C=0.1, **EXACT), drawn(60, 150, 2)),
    "more columns, no intercept": (LogisticRegression(C=0.1, fit_intercept=False, **EXACT), drawn(60, 150, 2)),
    "three classes": (LogisticRegression(C=0.5, **EXACT), drawn(90, 4, 3)),
    "weighed classes": (LogisticRegression(class_weight={0: 1.0, 1: 3.0}, **EXACT), drawn(80, 4, 2)),
}


@pytest.mark.parametrize(("model", "data"), CASES.values(), ids=CASES)
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
def test_a_row_is_spoken_of_as_by_a_model_trained_without_it(model: Any, data: Any, sparse: bool) -> None:
    X, y = data
    predicted, real = left_out(model, sp.csr_array(X) if sparse else X, y), really_left_out(model, X, y)
    with_it = np.reshape(model.fit(X, y).decision_function(X), real.shape)
    if y.max() > 1:  # a softmax knows scores up to a constant for all classes
        predicted, real, with_it = (each - each.mean(axis=1, keepdims=True) for each in (predicted, real, with_it))
    missed, moved = np.abs(predicted - real), np.abs(with_it - real)
    assert missed.mean() < 0.1 * moved.mean(), "a step leaves a tenth of the way at most"
    assert np.corrcoef(predicted.ravel(), real.ravel())[0, 1] > 0.995


def test_weights_of_rows_count() -> None:
    (X, y), model = drawn(80, 4, 2), LogisticRegression(**EXACT)
    weights = np.random.default_rng(1).uniform(0.2, 3.0, size=80)
    predicted, real = left_out(model, X, y, sample_weight=weights), really_left_out(model, X, y, weights)
    unweighed = really_left_out(model, X, y)
    assert np.abs(predicted - real).max() < 0.3 * np.abs(unweighed - real).max()


def test_what_is_too_large_is_said_to_be() -> None:
    assert possible(50_000, 20, 2)
    assert possible(1_500, 20_000, 2), "the dual is of the size of the rows"
    assert not possible(50_000, 20_000, 2)
    assert not possible(1_500, 20_000, 3), "a softmax has no dual here"
