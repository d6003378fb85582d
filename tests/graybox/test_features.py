"""What the final estimator of a Pipeline saw in training, steps that learn from the labels included."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import make_column_transformer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler, TargetEncoder
from sklearn.svm import SVC

from psidebug.graybox.features import seen_by_final_step
from psidebug.graybox.logistic import LogisticBox
from psidebug.graybox.surrogate import Surrogate
from psidebug.task import learner as learners
from psidebug.task.task import Task
from tests.conftest import Planted


class Remembering(LogisticRegression):  # type: ignore[misc]
    """Keeps the features that it was fitted on."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Remembering:
        self.seen_ = np.asarray(X)
        return super().fit(X, y, sample_weight)  # type: ignore[no-any-return]


class CrossFitted(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """The first class's share among the rows of a value, in the other folds: chance is inside the splitter."""

    def __init__(self, cv: Any) -> None:
        self.cv = cv

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    def fit(self, X: Any, y: Any) -> CrossFitted:
        values, first = np.asarray(X)[:, 0], np.asarray(y) == np.unique(y)[0]
        self.shares_ = {value: first[values == value].mean() for value in np.unique(values)}
        return self

    def transform(self, X: Any) -> Any:
        return np.array([[self.shares_.get(value, 0.5)] for value in np.asarray(X)[:, 0]])

    def fit_transform(self, X: Any, y: Any) -> Any:
        result = np.empty((len(X), 1))
        for fitted, held in self.cv.split(X, y):
            result[held] = self.fit(X.iloc[fitted], y[fitted]).transform(X.iloc[held])
        self.fit(X, y)
        return result


def encoded(encoder: Any, model: Any) -> Any:
    columns = make_column_transformer((encoder, ["make"]), remainder=StandardScaler())
    return make_pipeline(columns, make_pipeline(StandardScaler(), model))


def with_makes(X: Any) -> pd.DataFrame:
    makes = np.array(["audi", "fiat", "seat", "opel", "skoda", "lada"])
    return pd.DataFrame({"size": X[:, 0], "price": X[:, 1], "make": makes[X[:, 2].astype(int) % 6]})


def task_of(planted: Planted, model: Any, *, fitted: bool = False) -> Task:
    train, test = with_makes(planted.X_train), with_makes(planted.X_test)
    if fitted:  # by the user, with a seed that Psi does not know
        model = learners.refit(model, train, planted.y_train, seed=12345)
    return Task.of(model, train, planted.y_train, test, planted.y_test)


@pytest.mark.filterwarnings("ignore:.*TargetEncoder.shuffle:FutureWarning")
@pytest.mark.parametrize(
    ("encoder", "fitted"),
    [
        (TargetEncoder(random_state=3), True),
        (TargetEncoder(shuffle=False), True),
        (TargetEncoder(), False),
        (CrossFitted(StratifiedKFold(shuffle=True, random_state=3)), True),
        (CrossFitted(StratifiedKFold(shuffle=True)), False),
        (OneHotEncoder(), True),
    ],
)
def test_the_training_features_are_those_of_the_fit(planted: Planted, encoder: Any, fitted: bool) -> None:
    task = task_of(planted, encoded(encoder, Remembering(tol=1e-8)), fitted=fitted)
    seen = seen_by_final_step(task)
    np.testing.assert_allclose(seen.train, task.learner[-1][-1].seen_, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(task.learner[-1][-1].decision_function(seen.test), _decided(task))
    supervised = not isinstance(encoder, OneHotEncoder)
    assert len(seen.notes) == supervised
    assert not supervised or f"steps that learn from the labels ({type(encoder).__name__})" in seen.notes[0]
    assert LogisticBox(task).notes == seen.notes, "the fit is recognised as one on these features"


def _decided(task: Task) -> Any:
    return task.learner.decision_function(task.test.features)


@pytest.mark.filterwarnings("ignore:.*TargetEncoder.shuffle:FutureWarning")
def test_cross_fitted_features_are_not_those_of_transform(planted: Planted) -> None:
    task = task_of(planted, encoded(TargetEncoder(random_state=3), LogisticRegression()))
    transformed = task.learner[-1][:-1].transform(task.learner[:-1].transform(task.train.features))
    assert np.abs(seen_by_final_step(task).train - transformed).max() > 0.1


def test_chance_that_cannot_be_played_again_is_told(planted: Planted) -> None:
    for model in (LogisticRegression(), SVC()):
        task = task_of(planted, encoded(CrossFitted(StratifiedKFold(shuffle=True)), model), fitted=True)
        box = LogisticBox(task) if isinstance(model, LogisticRegression) else Surrogate(task)
        assert any("known only approximately, since chance has a part in CrossFitted" in note for note in box.notes)
        assert np.isfinite(box.effects(np.ones_like(box.actual))).all()


def test_labels_that_a_step_learns_from_without_cross_fitting_are_told_too(planted: Planted) -> None:
    model = make_pipeline(LinearDiscriminantAnalysis(), Remembering())
    task = Task.of(model, planted.X_train, planted.y_train, planted.X_test, planted.y_test)
    seen = seen_by_final_step(task)
    np.testing.assert_allclose(seen.train, task.learner[-1].seen_)
    assert "LinearDiscriminantAnalysis" in seen.notes[0]


def test_a_learner_without_steps_sees_the_rows_themselves(planted: Planted) -> None:
    task = Task.of(LogisticRegression(), planted.X_train, planted.y_train, planted.X_test, planted.y_test)
    seen = seen_by_final_step(task)
    assert seen.train is task.train.features
    assert seen.test is task.test.features
    assert seen.notes == ()
