"""A learner whose encoding is fitted once is the learner that is trained as a whole."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import make_column_transformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler, TargetEncoder

from psidebug.task import learner as learners
from psidebug.task.data import LabelledSet
from psidebug.task.encoders import encoded
from psidebug.task.learner import final_step
from psidebug.task.task import Task
from tests.conftest import refit

ROWS, TEST = 120, 40


def _mixed(rng: np.random.Generator, rows: int) -> pd.DataFrame:
    return pd.DataFrame(
        {"age": rng.normal(40, 10, rows), "town": rng.choice(["a", "b", "c"], rows), "x": rng.normal(size=rows)}
    )


def _texts(rng: np.random.Generator, rows: int) -> list[str]:
    return [" ".join(rng.choice(["good", "bad", "film", "plot", "end"], 12)) for _ in range(rows)]


def _numbers(rng: np.random.Generator, rows: int) -> Any:
    return rng.normal(size=(rows, 3))


PIPELINES: dict[str, tuple[Any, Any]] = {
    "scaled": (_numbers, make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression())),
    "columns": (
        _mixed,
        make_pipeline(
            make_column_transformer((OneHotEncoder(), ["town"]), (StandardScaler(), ["age"]), remainder="passthrough"),
            LogisticRegression(),
        ),
    ),
    "text": (_texts, make_pipeline(TfidfVectorizer(), LogisticRegression())),
    "union": (
        _numbers,
        make_pipeline(FeatureUnion([("s", StandardScaler()), ("i", SimpleImputer())]), LogisticRegression()),
    ),
}


@pytest.mark.parametrize("name", PIPELINES)
def test_retraining_is_the_same_as_of_the_whole_pipeline(name: str) -> None:
    draw, model = PIPELINES[name]
    rng = np.random.default_rng(0)
    X, X_test, X_validation = (draw(rng, rows) for rows in (ROWS, TEST, TEST))
    y, y_test, y_validation = (rng.integers(2, size=rows) for rows in (ROWS, TEST, TEST))
    weights = rng.uniform(0.5, 2.0, ROWS)
    task = Task.of(
        model, X, y, X_test, y_test, X_validation=X_validation, y_validation=y_validation, sample_weight=weights
    )
    assert encoded(task.learner, task.train.features) is not None
    assert task.validation is not None
    for _ in range(3):
        world = rng.integers(2, size=ROWS)
        again = refit(task, world)
        whole = learners.refit(model, task.train.features, world, sample_weight=weights, seed=task.seed)
        for part in (task.train, task.test, task.validation):
            np.testing.assert_allclose(task.margins(again, part), task.margins(whole, part), rtol=1e-9, atol=1e-12)
        some = rng.permutation(TEST)[:7]  # rows that it has not met as this object
        few = pd.DataFrame(X_test).iloc[some] if name == "columns" else np.asarray(X_test, dtype=object)[some]
        few = few.astype(float) if name in ("scaled", "union") else few
        np.testing.assert_array_equal(again.predict(few), whole.predict(few))


class Counting(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Says that it looks at features alone, and counts how often it is fitted."""

    label_free = True
    fits = 0

    def fit(self, X: Any, y: Any = None) -> Counting:
        Counting.fits += 1
        self.fitted_ = True
        return self

    def transform(self, X: Any) -> Any:
        return np.asarray(X, dtype=float)


class Heir(Counting):
    """A class of its own: what its parent says is not said of it."""


def test_steps_blind_to_labels_are_fitted_once() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=ROWS)
    task = Task.of(make_pipeline(Counting(), LogisticRegression()), _numbers(rng, ROWS), y, _numbers(rng, 9), y[:9])
    Counting.fits = 0
    for _ in range(4):
        refit(task, rng.integers(2, size=ROWS))
    assert Counting.fits == 1


@pytest.mark.parametrize("step", [SelectKBest(k=1), TargetEncoder(), Heir()], ids=lambda step: type(step).__name__)
def test_steps_that_may_use_labels_are_trained_with_the_rest(step: Any) -> None:
    X = np.random.default_rng(0).normal(size=(ROWS, 3))
    assert encoded(make_pipeline(step, LogisticRegression()), X) is None
    assert encoded(make_pipeline(StandardScaler(), step, LogisticRegression()), X) is None


def test_a_learner_without_steps_has_no_encoding() -> None:
    X = np.random.default_rng(0).normal(size=(ROWS, 3))
    assert encoded(LogisticRegression(), X) is None
    assert encoded(make_pipeline(LogisticRegression()), X) is None


def test_with_other_options_of_the_learner_nothing_is_encoded_again() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(ROWS, 3)), rng.integers(2, size=ROWS)
    task = Task.of(make_pipeline(Counting(), LogisticRegression(C=0.5)), X, y, X[:TEST], y[:TEST])
    again = refit(task, 1 - y)
    before = Counting.fits
    other = task.with_options(logisticregression__C=5.0)
    assert final_step(refit(other, 1 - y)).C == 5.0
    assert final_step(again).C == 0.5
    assert Counting.fits == before


def test_margins_of_the_tasks_own_model_are_looked_up_and_cannot_be_spoilt() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(ROWS, 3)), rng.integers(2, size=ROWS)
    task = Task.of(LogisticRegression(), X, y, X[:TEST], y[:TEST])
    first = task.margins(task.learner, task.test)
    np.testing.assert_array_equal(first, task.margins(task.learner, LabelledSet(task.test.features, task.test.codes)))
    first[:] = 0.0
    assert task.margins(task.learner, task.test).any()
