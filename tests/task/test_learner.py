"""The user's classifier: recognised or refused, cloned, never changed, asked for scores."""

from __future__ import annotations

import importlib
import pickle
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.cluster import KMeans
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    IsolationForest,
    RandomForestClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression, Perceptron, RidgeClassifier
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from psidebug.errors import InvalidWeights, LearnerFailed, LearnerMismatch, MissingValues, NotAClassifier
from psidebug.store.fingerprint import learner_text
from psidebug.task import learner as learners
from tests.conftest import Planted

catboost: Any = importlib.import_module("catboost")  # a developer has it: its absence is a failure, not a skip


class Duck:
    """Follows the conventions without scikit-learn's base class: the class whose mean is nearest."""

    def __init__(self, power: float = 2.0) -> None:
        self.power = power

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return {"power": self.power}

    def set_params(self, **params: Any) -> Duck:
        self.__dict__.update(params)
        return self

    def fit(self, X: Any, y: Any) -> Duck:
        self.classes_ = np.unique(y)
        self.means_ = np.stack([np.asarray(X)[np.asarray(y) == k].mean(axis=0) for k in self.classes_])
        return self

    def decision_function(self, X: Any) -> npt.NDArray[np.float64]:
        far = (np.abs(np.asarray(X)[:, None] - self.means_[None]) ** self.power).sum(axis=2)
        return np.asarray(far[:, 0] - far[:, 1] if len(self.classes_) == 2 else -far)

    def predict(self, X: Any) -> npt.NDArray[Any]:
        scores = self.decision_function(X)
        best = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes_[best])


class Unclonable(LogisticRegression):  # type: ignore[misc]
    def __init__(self, *numbers: int) -> None:
        super().__init__()


class Failing(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    def fit(self, X: Any, y: Any) -> Failing:
        raise RuntimeError("the disk of the feature store is full\nand a long traceback")

    def predict(self, X: Any) -> Any:
        raise AssertionError

    predict_proba = predict


@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(),
        LinearSVC(),
        RidgeClassifier(),
        Perceptron(),
        NearestCentroid(),
        KNeighborsClassifier(),
        RandomForestClassifier(),
        make_pipeline(StandardScaler(), LogisticRegression()),
        VotingClassifier([("a", LogisticRegression())], voting="soft"),
        StackingClassifier([("a", LogisticRegression())]),
        make_pipeline(StandardScaler(), StackingClassifier([("a", LogisticRegression())])),
        Duck(),
    ],
    ids=lambda model: type(model).__name__,
)
def test_classifiers_with_scores_are_taken(model: Any) -> None:
    learners.check_classifier(model)
    assert not learners.is_fitted(model)


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (LogisticRegression, r"the class LogisticRegression.*LogisticRegression\(\)"),
        (Pipeline, "the class Pipeline"),
        (LinearRegression(), "LinearRegression, a regressor"),
        (make_pipeline(StandardScaler(), LinearRegression()), "a regressor"),
        (StandardScaler(), "StandardScaler without predict"),
        (make_pipeline(StandardScaler()), "without predict"),
        (KMeans(), "KMeans gives classes but no scores.*CalibratedClassifierCV"),
        (VotingClassifier([("a", LogisticRegression())], voting="hard"), "no scores"),
        (None, "NoneType without fit, predict, get_params"),
        ("logistic", "str without fit"),
        (lambda X: X, "function without fit"),
    ],
)
def test_what_is_no_classifier_is_refused_by_name(model: Any, said: str) -> None:
    with pytest.raises(NotAClassifier, match=said):
        learners.check_classifier(model)


def test_fitted_is_told_from_unfitted(planted: Planted) -> None:
    for model in (LogisticRegression(), make_pipeline(StandardScaler(), LinearSVC()), Duck()):
        assert not learners.is_fitted(model)
        assert learners.is_fitted(model.fit(planted.X_train, planted.y_train))


def test_refitting_leaves_the_given_object_as_it_was(planted: Planted) -> None:
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(planted.X_train, planted.y_train)
    before = pickle.dumps(model)
    fresh = learners.refit(model, planted.X_train, planted.y_train[::-1], seed=3)
    assert pickle.dumps(model) == before
    assert fresh is not model
    assert not np.allclose(fresh[-1].coef_, model[-1].coef_)


def test_unset_random_states_are_set_and_set_ones_kept(planted: Planted) -> None:
    def fit(model: Any, seed: int) -> Any:
        return learners.refit(model, planted.X_train, planted.y_train, seed=seed).predict_proba(planted.X_test)

    free = make_pipeline(StandardScaler(), RandomForestClassifier(n_estimators=5))
    fixed = RandomForestClassifier(n_estimators=5, random_state=11)
    np.testing.assert_array_equal(fit(free, 1), fit(free, 1))
    assert not np.array_equal(fit(free, 1), fit(free, 2))
    np.testing.assert_array_equal(fit(fixed, 1), fit(fixed, 2))


def test_splitters_are_seeded_too_and_the_users_own_are_left_alone(planted: Planted) -> None:
    cv = StratifiedKFold(3, shuffle=True)
    model = CalibratedClassifierCV(LinearSVC(random_state=0), cv=cv)
    one, same, other = (learners.refit(model, planted.X_train, planted.y_train, seed=seed) for seed in (1, 1, 2))
    probabilities = [each.predict_proba(planted.X_test) for each in (one, same, other)]
    np.testing.assert_array_equal(probabilities[0], probabilities[1])
    assert not np.array_equal(probabilities[0], probabilities[2])
    assert cv.random_state is None
    texts = {learner_text(fitted, seed=seed) for fitted, seed in ((one, 1), (other, 2), (model, 3))}
    assert len(texts) == 1, "a seed that Psi has set is no part of the learner"


class Drawn(LogisticRegression):  # type: ignore[misc]
    """Adds noise that it takes from numpy's global generator."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Drawn:
        super().fit(X, y, sample_weight)
        self.coef_ += np.random.normal(size=X.shape[1])  # noqa: NPY002
        return self


def test_chance_of_the_global_generator_is_left_to_the_learner_that_takes_it(planted: Planted) -> None:
    one, other = (learners.refit(Drawn(), planted.X_train, planted.y_train, seed=1) for _ in range(2))
    assert not np.array_equal(one.coef_, other.coef_)


def test_a_learner_that_raises_is_quoted_in_one_line(planted: Planted) -> None:
    with pytest.raises(LearnerFailed, match=r"Failing could not be fitted: the disk .* is full \(RuntimeError\)$"):
        learners.refit(Failing(), planted.X_train, planted.y_train, seed=0)


def test_a_learner_that_cannot_be_cloned_is_named(planted: Planted) -> None:
    with pytest.raises(LearnerFailed, match="Unclonable could not be fitted"):
        learners.refit(Unclonable(), planted.X_train, planted.y_train, seed=0)


class Copying(LogisticRegression):  # type: ignore[misc]
    """Copies its options on the way in, as CatBoost does with lists and dicts, which clone takes for an error."""

    def __init__(self, C: float = 1.0, columns: Any = ()) -> None:
        super().__init__(C=C)
        self.columns = list(columns)


@pytest.mark.parametrize("pipeline", [False, True])
def test_a_learner_that_copies_its_options_is_fitted_anew_all_the_same(planted: Planted, pipeline: bool) -> None:
    own = Copying(C=0.3, columns=[0, 1])
    model = make_pipeline(StandardScaler(), own) if pipeline else own
    with pytest.raises(RuntimeError, match="columns"):
        clone(model)
    first = learners.refit(model, planted.X_train, planted.y_train, seed=0)
    again = learners.refit(first, planted.X_train, planted.y_train[::-1], seed=0)
    assert not learners.is_fitted(own)
    assert learners.final_step(again).columns == [0, 1]
    assert learners.final_step(again).C == 0.3
    assert not np.allclose(learners.final_step(again).coef_, learners.final_step(first).coef_)


def test_catboost_with_lists_and_dicts_is_fitted_anew(planted: Planted) -> None:
    model = catboost.CatBoostClassifier(
        iterations=3, verbose=0, allow_writing_files=False, class_weights=[1, 2], custom_metric=["AUC"]
    )
    fitted = learners.refit(model, planted.X_train, planted.y_train, seed=0)
    again = learners.refit(fitted, planted.X_train, planted.y_train, seed=0)
    np.testing.assert_allclose(again.predict_proba(planted.X_test), fitted.predict_proba(planted.X_test))
    assert again.get_params()["class_weights"] == [1, 2]


def test_nan_is_blamed_only_when_the_learner_complains_of_it(planted: Planted) -> None:
    X = planted.X_train.copy()
    X[3, 1] = np.nan
    with pytest.raises(MissingValues, match="X_train has NaN in column 1"):
        learners.refit(LogisticRegression(), X, planted.y_train, seed=0)
    with pytest.raises(LearnerFailed, match="feature store"):
        learners.refit(Failing(), X, planted.y_train, seed=0)
    learners.refit(make_pipeline(SimpleImputer(), LogisticRegression()), X, planted.y_train, seed=0)
    learners.refit(HistGradientBoostingClassifier(max_iter=2), X, planted.y_train, seed=0)


def test_nan_in_the_rows_to_predict_is_placed(planted: Planted) -> None:
    model = LogisticRegression().fit(planted.X_train, planted.y_train)
    X = planted.X_test.copy()
    X[7, 2] = np.inf
    with pytest.raises(MissingValues, match=r"X_test has infinity in column 2 \(1 values, first in row 7\)"):
        learners.predict(model, X, name="X_test")


def test_other_columns_than_fitted_on_are_counted_and_named(planted: Planted) -> None:
    model = LogisticRegression().fit(pd.DataFrame(planted.X_train, columns=list("abcd")), planted.y_train)
    with pytest.raises(LearnerMismatch, match=r"fitted on 4 columns but X_test has 3.*unfitted model"):
        learners.predict(model, planted.X_test[:, :3], name="X_test")
    with pytest.raises(LearnerMismatch, match=r"columns that X_test does not have: \['d'\]"):
        learners.predict(model, pd.DataFrame(planted.X_test, columns=list("abcz")), name="X_test")


@pytest.mark.parametrize(
    "names", [[0, 1, 2, 3], ["hours per week", "a b", "a", " b"], pd.MultiIndex.from_product([["a", "b"], [1, 2]])]
)
@pytest.mark.parametrize("library", ["lightgbm", "xgboost", "catboost"])
def test_boosters_that_name_columns_in_their_own_way_know_them(planted: Planted, library: str, names: Any) -> None:
    """A number by its text, without spaces, or joined."""
    if library == "lightgbm" and isinstance(names, pd.MultiIndex):
        names = ["a (1)", "a/2", "b-1", "ä"]  # it takes no tuples
    model = {"lightgbm": "LGBMClassifier", "xgboost": "XGBClassifier", "catboost": "CatBoostClassifier"}[library]
    quiet: dict[str, Any] = {"catboost": {"verbose": 0, "allow_writing_files": False}}.get(library, {})
    features, labels = pd.DataFrame(planted.X_train), np.unique(planted.y_train, return_inverse=True)[1]
    features.columns = names
    fitted = getattr(importlib.import_module(library), model)(n_estimators=3, **quiet).fit(features, labels)
    assert len(learners.predict(fitted, features, name="X_train")) == len(features)
    with pytest.raises(LearnerMismatch, match="columns"):
        learners.predict(fitted, features.iloc[:, :3], name="X_test")


def test_weights_reach_the_last_step_or_are_refused(planted: Planted) -> None:
    weights = np.where(planted.wrong, 0.0, 1.0)
    model = make_pipeline(StandardScaler(), LogisticRegression())
    weighted = learners.refit(model, planted.X_train, planted.y_train, seed=0, sample_weight=weights)
    scaled = StandardScaler().fit_transform(planted.X_train)
    alone = LogisticRegression().fit(scaled, planted.y_train, sample_weight=weights)
    np.testing.assert_allclose(weighted[-1].coef_, alone.coef_)
    with pytest.raises(InvalidWeights, match=r"KNeighborsClassifier.fit takes no sample_weight"):
        learners.check_takes_weights(make_pipeline(StandardScaler(), KNeighborsClassifier()))


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(),
        LinearSVC(),
        RidgeClassifier(),
        Perceptron(),
        KNeighborsClassifier(3),
        RandomForestClassifier(n_estimators=7, random_state=0),
        Duck(),
        make_pipeline(StandardScaler(), SVC(break_ties=True)),
    ],
    ids=lambda model: type(model).__name__,
)
def test_the_highest_score_is_the_prediction(planted: Planted, model: Any, classes: int) -> None:
    y = np.digitize(planted.X_train[:, 0], [0.0, 2.0][: classes - 1])
    fitted = learners.refit(model, planted.X_train, y, seed=0)
    scores = learners.scores(fitted, planted.X_test, {k: k for k in range(classes)}, classes)
    assert scores.shape == (len(planted.X_test), classes)
    predicted = fitted.predict(planted.X_test)
    np.testing.assert_array_equal(scores[np.arange(len(predicted)), predicted], scores.max(axis=1))


def test_scores_of_pairs_of_classes_are_never_taken_for_scores_of_classes(planted: Planted) -> None:
    """Three classes have three pairs: the shapes agree, the meaning does not."""
    y = np.digitize(planted.X_train[:, 0], [0.0, 2.0])
    fitted = SVC(decision_function_shape="ovo").fit(planted.X_train, y)
    with pytest.raises(LearnerFailed, match="decision_function_shape='ovr'"):
        learners.scores(fitted, planted.X_test, {k: k for k in range(3)}, 3)


def test_a_class_the_model_never_saw_scores_minus_infinity(planted: Planted) -> None:
    fitted = LogisticRegression().fit(planted.X_train, planted.y_train)
    scores = learners.scores(fitted, planted.X_test, {"bad": 0, "good": 1, "ugly": 2}, 3)
    assert np.all(np.isneginf(scores[:, 2]))
    assert np.all(np.isfinite(scores[:, :2]))


@pytest.mark.parametrize("model", [IsolationForest(n_estimators=3), GaussianMixture(2)], ids=lambda m: type(m).__name__)
def test_detectors_and_mixtures_are_no_classifiers(planted: Planted, model: Any) -> None:
    import psidebug

    for given in (model, clone(model).fit(planted.X_train)):
        with pytest.raises(NotAClassifier, match=f"{type(model).__name__} has no classes_"):
            psidebug.Task.of(given, planted.X_train, planted.y_train, planted.X_test, planted.y_test)
