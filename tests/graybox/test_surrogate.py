"""A logistic stand-in for learners without a gray box of their own: useful, measured, and never silent."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import xgboost
from catboost import CatBoostClassifier
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import AdaBoostClassifier, ExtraTreesClassifier, GradientBoostingClassifier, StackingClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, RadiusNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

import psidebug
from psidebug.errors import UnsupportedLearner
from psidebug.graybox.choose import graybox_for
from psidebug.graybox.fidelity import fidelity
from psidebug.graybox.protocol import LinearGrayBox
from psidebug.graybox.surrogate import Surrogate, embeddings
from psidebug.margins import loss_weights
from psidebug.task.task import Task
from tests.conftest import Planted
from tests.graybox.logistic_tasks import Data, census_like, text_like

MODELS: dict[str, Any] = {
    "svc": SVC(),
    "linear svc": make_pipeline(StandardScaler(), LinearSVC()),
    "neighbours": KNeighborsClassifier(15),
    "mlp": MLPClassifier((8,), solver="lbfgs", alpha=1.0, max_iter=1000, random_state=0),
    "calibrated": CalibratedClassifierCV(LinearSVC(), cv=3),
    "stacking": StackingClassifier([("bayes", GaussianNB()), ("linear", LinearSVC())], LogisticRegression(), cv=3),
}


class Forgiving(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier that makes numbers of its features by itself, as some do."""

    def __init__(self, coded: Any) -> None:
        self.coded = coded

    def fit(self, X: Any, y: Any) -> Forgiving:
        self.inner_ = GaussianNB().fit(self.coded(X), y)
        self.classes_ = self.inner_.classes_
        return self

    def predict(self, X: Any) -> Any:
        return self.inner_.predict(self.coded(X))

    def predict_proba(self, X: Any) -> Any:
        return self.inner_.predict_proba(self.coded(X))


def slice_flipped(*, classes: int = 2, rows: int = 300) -> Data:
    """Census-like rows whose first class was renamed wherever a number is large."""
    data = census_like(rows=rows, tests=120, classes=classes)
    labels = np.where((data.X_train[:, -1] > 0.8) & (data.y_train == 0), 1, data.y_train)
    return Data(data.X_train, labels, data.X_test, data.y_test)


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_it_follows_retraining_of_learners_without_a_gray_box(model: Any) -> None:
    task = slice_flipped().task(model)
    box = Surrogate(task)
    assert isinstance(box, LinearGrayBox)
    np.testing.assert_array_equal(box.actual, task.margins(task.learner, task.test))
    measured = fidelity(box, task)
    assert measured.trustworthy, str(measured)
    assert 0.2 < measured.groups.slope < 5.0, "the stand-in is scaled to the learner's own margins"


def test_the_stand_in_for_a_logistic_regression_is_as_good_as_its_own() -> None:
    """On whitened features of unit length with the same penalty it is the learner itself."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(420, 3))
    X[:300] = (X[:300] - X[:300].mean(axis=0)) / X[:300].std(axis=0) / np.sqrt(3)
    y = (X @ [1.0, -2.0, 0.5] + 0.3 * rng.normal(size=420) > 0).astype(int)
    task = Task.of(LogisticRegression(max_iter=1000), X[:300], y[:300], X[300:], y[300:])
    box = Surrogate(task)
    assert box.embedding == "its features"
    assert box.scale == pytest.approx(1.0, abs=1e-3)
    weights = np.ones_like(box.actual)
    from psidebug.graybox.logistic import LogisticBox

    np.testing.assert_allclose(box.effects(weights), LogisticBox(task).effects(weights), rtol=1e-2)


def test_a_curved_learner_gets_a_curved_stand_in_and_a_straight_one_a_straight() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 2))
    ring = (np.square(X).sum(axis=1) > 1.4).astype(int)
    assert Surrogate(Task.of(SVC(), X[:300], ring[:300], X[300:], ring[300:])).embedding.startswith("the Gaussian")
    half = (X[:, 0] > 0.2 * rng.normal(size=500)).astype(int)
    straight = Surrogate(Task.of(LinearSVC(), X[:300], half[:300], X[300:], half[300:]))
    assert straight.embedding == "its features"
    assert straight.notes == ("a logistic surrogate on its features stands in",)


def test_a_tree_ensemble_gives_its_leaves() -> None:
    task = slice_flipped().task(ExtraTreesClassifier(20, min_samples_leaf=3, random_state=0))
    (rows,) = embeddings(task)
    assert rows.of == "its leaves"
    assert sp.issparse(rows.train)
    np.testing.assert_allclose(rows.train.multiply(rows.train).sum(axis=1), 1.0)
    assert rows.test.shape[1] == rows.train.shape[1]
    assert fidelity(Surrogate(task), task).trustworthy


def test_a_constant_feature_changes_nothing() -> None:
    data = slice_flipped()
    wider = Data(np.c_[data.X_train, np.ones(300)], data.y_train, np.c_[data.X_test, np.ones(120)], data.y_test)
    weights = np.ones((120, 1))
    plain, same = (Surrogate(each.task(GaussianNB())) for each in (data, wider))
    assert np.isfinite(same.effects(weights)).all()
    tasks = [each.task(GaussianNB()) for each in (data, wider)]
    first, second = (next(embeddings(task)) for task in tasks)
    np.testing.assert_allclose(second.train[:, :-1], first.train, rtol=1e-12)
    assert plain.embedding == same.embedding


def test_sparse_text_behind_a_pipeline_stays_sparse() -> None:
    data = text_like(words=300)
    task = data.task(LinearSVC())
    (rows,) = embeddings(task)
    assert sp.issparse(rows.train)
    words = np.array(["good fine nice film", "bad poor dull film", "good film", "dull poor script"] * 15, dtype=object)
    labels = ["yes", "no", "yes", "no"] * 15
    box = Surrogate(Task.of(make_pipeline(TfidfVectorizer(), LinearSVC()), words, labels, words[:8], labels[:8]))
    assert np.isfinite(box.effects(np.ones((8, 1)))).all()


def test_weights_of_rows_are_the_stand_ins_too() -> None:
    data = slice_flipped()
    weights = np.where(np.arange(300) < 150, 1.0, 0.0)
    task = data.task(GaussianNB(), sample_weight=weights)
    effects = Surrogate(task).effects(np.ones((120, 1)))
    assert np.abs(effects[:150]).max() > 0
    assert not effects[150:].any()


@pytest.mark.parametrize("model", [GaussianNB(), SVC()], ids=["features", "kernel"])
def test_the_unit_of_the_weights_is_no_matter_to_a_learner_without_a_penalty(model: Any) -> None:
    data, weights = slice_flipped(), np.random.default_rng(0).uniform(0.5, 2.0, size=300)
    if isinstance(model, SVC):  # whose C the weights multiply
        one = data.task(model, sample_weight=weights)
        tasks = [one, replace(one, data=replace(one.data, sample_weight=1e9 * weights))]
    else:
        tasks = [data.task(model, sample_weight=scale * weights) for scale in (1.0, 1e9)]
    small, large = (Surrogate(task).effects(np.ones((120, 1))) for task in tasks)
    np.testing.assert_allclose(large, small, rtol=1e-3, atol=1e-4 * np.abs(small).max())


def test_a_model_that_has_apply_but_no_leaves_gives_its_features() -> None:
    task = slice_flipped().task(xgboost.XGBClassifier(booster="gblinear", n_estimators=20, n_jobs=1))
    box = graybox_for(task)
    assert box.notes[0].startswith(  # type: ignore[attr-defined]
        "XGBClassifier with booster='gblinear' has no tree gray box, so a logistic surrogate on its features stands in"
    )
    measured = fidelity(box, task)
    assert measured.trustworthy, str(measured)


@pytest.mark.parametrize("kept", [["size", "make"], ["make"]])
def test_a_learner_that_codes_categories_by_itself_has_a_stand_in(planted: Planted, kept: list[str]) -> None:
    def made(X: Any) -> pd.DataFrame:
        frame = pd.DataFrame({"size": X[:, 0], "make": np.where(X[:, 1] > 0, "audi", "fiat")})
        frame.loc[frame.index[::7], "size"] = np.nan
        frame.loc[frame.index[::9], "make"] = None
        return frame[kept].assign(nothing=np.nan)

    def coded(X: pd.DataFrame) -> Any:
        numbers = X[["size"]].fillna(0.0).to_numpy() if "size" in X else np.zeros((len(X), 0))
        return np.column_stack([numbers, X["make"] == "audi", X["make"].isna()]).astype(float)

    task = Task.of(Forgiving(coded), made(planted.X_train), planted.y_train, made(planted.X_test), planted.y_test)
    by_hand = Task.of(
        GaussianNB(), coded(task.train.features), planted.y_train, coded(task.test.features), planted.y_test
    )
    worlds = np.tile(task.train.codes, (20, 1))
    worlds[np.arange(20), np.arange(20)] ^= 1
    said, numeric = (Surrogate(each).margins(worlds) - Surrogate(each).actual for each in (task, by_hand))
    assert np.corrcoef(said.ravel(), numeric.ravel())[0, 1] > 0.8


def test_catboost_that_codes_categories_by_the_labels_has_a_stand_in(planted: Planted) -> None:
    def made(X: Any) -> pd.DataFrame:
        return pd.DataFrame({"size": X[:, 0], "make": np.array(list("abcd"))[np.digitize(X[:, 1], [-1, 0, 1])]})

    model = CatBoostClassifier(iterations=10, depth=3, cat_features=["make"], allow_writing_files=False, verbose=0)
    task = Task.of(model, made(planted.X_train), planted.y_train, made(planted.X_test), planted.y_test)
    box = graybox_for(task)
    assert box.name == "surrogate"
    assert "which it codes by the labels" in box.notes[0]  # type: ignore[attr-defined]


def test_infinite_values_and_texts_are_refused(planted: Planted) -> None:
    odd = np.where(planted.X_train > 3, np.inf, planted.X_train)
    with pytest.raises(UnsupportedLearner, match=r"Forgiving: .* infinite values"):
        Surrogate(Task.of(Forgiving(np.tanh), odd, planted.y_train, planted.X_test, planted.y_test))

    def lengths(texts: Any) -> Any:
        return np.array([[len(text)] for text in texts])

    words = np.array(["x" * (3 if label == "bad" else 5) for label in planted.y_test], dtype=object)
    words[0] += "xxx"
    with pytest.raises(UnsupportedLearner, match=r"Forgiving: .* not numeric"):
        psidebug.debug(Forgiving(lengths), words[1:], planted.y_test[1:], words, planted.y_test[::-1])


def test_it_stands_in_by_itself_and_says_so(planted: Planted) -> None:
    data = planted.X_train, planted.y_train, planted.X_test, planted.y_test
    found = psidebug.debug(RadiusNeighborsClassifier(4.0), *data)
    assert found.settings["gray box"] == "surrogate"
    assert len(found.notes) >= 1
    assert found.notes[0].startswith("there is no gray box for RadiusNeighborsClassifier, so a logistic surrogate on")
    assert found.notes[0].endswith("its fidelity was not measured")
    assert found.with_proof.notes[0].endswith(str(found.fidelity))
    silent = psidebug.debug(RadiusNeighborsClassifier(4.0), *data, check_fidelity=False)
    assert silent.notes[0].endswith("its fidelity was not measured")
    forced = psidebug.debug(LogisticRegression(), *data, graybox="surrogate")
    assert forced.settings["gray box"] == "surrogate"
    assert forced.notes[0].startswith("a logistic surrogate on")


def test_a_setting_that_the_trees_gray_box_refuses_falls_back_with_its_reason(planted: Planted) -> None:
    model = GradientBoostingClassifier(n_estimators=10, loss="exponential", random_state=0)
    found = psidebug.debug(model, planted.X_train, planted.y_train, planted.X_test, planted.y_test).with_proof
    assert found.notes[0].startswith(
        "GradientBoostingClassifier with loss='exponential' has no tree gray box, so a logistic surrogate on its "
        "leaves stands in; against retraining"
    )


@pytest.mark.parametrize("model", [AdaBoostClassifier(n_estimators=5), MLPClassifier(max_iter=300, tol=0.1)])
def test_what_users_have_scikit_learn_put_out_changes_nothing(model: Any) -> None:
    data = slice_flipped(rows=150)
    plain = Surrogate(data.task(model))
    with config_context(transform_output="pandas"):
        other = Surrogate(data.task(model))
    weights = loss_weights(plain.actual)
    np.testing.assert_array_equal(other.effects(weights), plain.effects(weights))
