"""What the final estimator of a Pipeline sees: as the learner is, and in every world."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler, TargetEncoder
from sklearn.svm import SVC

from psidebug.graybox.logistic import LogisticBox
from psidebug.graybox.surrogate import Surrogate
from psidebug.task import learner as learners
from psidebug.task.final_features import blind_to_labels
from psidebug.task.learner import final_step
from psidebug.task.task import Task
from tests.conftest import Planted, refit


class Keeping(LogisticRegression):  # type: ignore[misc]
    """Keeps the features that it was fitted on."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Keeping:
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
        model = clone(model).fit(train, planted.y_train)
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
    task = task_of(planted, encoded(encoder, Keeping(tol=1e-8)), fitted=fitted)
    seen = task.seen
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
    assert np.abs(task.seen.train - transformed).max() > 0.1


def test_chance_that_cannot_be_played_again_is_told(planted: Planted) -> None:
    for model in (LogisticRegression(), SVC()):
        task = task_of(planted, encoded(CrossFitted(StratifiedKFold(shuffle=True)), model), fitted=True)
        box = LogisticBox(task) if isinstance(model, LogisticRegression) else Surrogate(task)
        assert any("known only approximately, since chance has a part in CrossFitted" in note for note in box.notes)
        assert np.isfinite(box.effects(np.ones_like(box.actual))).all()


def test_labels_that_a_step_learns_from_without_cross_fitting_are_told_too(planted: Planted) -> None:
    model = make_pipeline(LinearDiscriminantAnalysis(), Keeping())
    task = Task.of(model, planted.X_train, planted.y_train, planted.X_test, planted.y_test)
    seen = task.seen
    np.testing.assert_allclose(seen.train, task.learner[-1].seen_)
    assert "LinearDiscriminantAnalysis" in seen.notes[0]


def test_a_learner_without_steps_sees_the_rows_themselves(planted: Planted) -> None:
    task = Task.of(LogisticRegression(), planted.X_train, planted.y_train, planted.X_test, planted.y_test)
    seen = task.seen
    assert seen.train is task.train.features
    assert seen.test is task.test.features
    assert seen.notes == ()
    assert task.seen_in_every_world is task.seen
    assert task.seen.with_final(task.learner) is task.learner


class Jittered(CrossFitted):
    """Takes chance from numpy's global generator, which no seed of Psi's reaches."""

    def fit_transform(self, X: Any, y: Any) -> Any:
        return super().fit_transform(X, y) + np.random.normal(scale=0.1, size=(len(X), 1))  # noqa: NPY002


def test_chance_of_the_global_generator_is_told_of_a_model_that_psi_fitted_too(planted: Planted) -> None:
    task = task_of(planted, encoded(Jittered(StratifiedKFold()), LogisticRegression()))
    assert not task.seen.exact
    assert "chance has a part in Jittered (give it a fixed seed)" in task.seen.notes[1]


# ── in every world ──────────────────────────────────────────────────────────────────────────────────────────────────

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
    assert task.seen_in_every_world is not None
    assert task.data.validation is not None
    for _ in range(3):
        world = rng.integers(2, size=ROWS)
        again = refit(task, world)
        whole = learners.refit(model, task.train.features, world, sample_weight=weights, seed=task.seed)
        for part in (task.train, task.test, task.data.validation):
            np.testing.assert_allclose(task.margins(again, part), task.margins(whole, part), rtol=1e-9, atol=1e-12)
        some = rng.permutation(TEST)[:7]  # rows that it has not met as this object
        few = pd.DataFrame(X_test).iloc[some] if name == "columns" else np.asarray(X_test, dtype=object)[some]
        few = few.astype(float) if name in ("scaled", "union") else few
        np.testing.assert_array_equal(again.predict(few), whole.predict(few))
        again.fit(task.train.features, world, final__sample_weight=weights)  # it is a learner like any other
        np.testing.assert_allclose(
            task.margins(again, task.test), task.margins(whole, task.test), rtol=1e-9, atol=1e-12
        )


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
    rng, pipeline = np.random.default_rng(0), make_pipeline(Counting(), LogisticRegression())
    y = rng.integers(2, size=ROWS)
    data = _numbers(rng, ROWS), y, _numbers(rng, 9), y[:9]
    for model in (pipeline, clone(pipeline).fit(*data[:2])):
        Counting.fits = 0
        task = Task.of(model, *data)
        for _ in range(4):
            refit(task, rng.integers(2, size=ROWS))
        assert Counting.fits == 1


@pytest.mark.parametrize("step", [SelectKBest(k=1), TargetEncoder(), Heir()], ids=lambda step: type(step).__name__)
def test_steps_that_may_use_labels_are_trained_with_the_rest(step: Any) -> None:
    assert not blind_to_labels(make_pipeline(step, LogisticRegression()))
    assert not blind_to_labels(make_pipeline(StandardScaler(), step, LogisticRegression()))
    assert not blind_to_labels(make_pipeline(StandardScaler(), make_pipeline(step, LogisticRegression())))


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
