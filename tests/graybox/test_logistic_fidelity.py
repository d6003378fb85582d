"""The gray box against retraining, one label at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import expit
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV, SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from psidebug.graybox.logistic import LogisticBox
from tests.graybox.logistic_tasks import Data, agreement, census_like, changes, precise, single_moves, text_like

SGD: dict[str, Any] = {
    "loss": "log_loss",
    "alpha": 0.01,
    "average": True,
    "max_iter": 300,
    "tol": None,
    "random_state": 0,
}
SAGA: dict[str, Any] = {"solver": "saga", "C": 0.3, "random_state": 0}

BINARY = {
    "lbfgs": precise(solver="lbfgs"),
    "lbfgs as shipped": LogisticRegression(),
    "newton-cg": precise(solver="newton-cg"),
    "newton-cholesky": precise(),
    "sag": precise(solver="sag", random_state=0),
    "saga": precise(solver="saga", random_state=0),
    "liblinear": precise(solver="liblinear"),
    "liblinear, scaled intercept": precise(solver="liblinear", intercept_scaling=7.0, C=0.1),
    "liblinear, dual": precise(solver="liblinear", dual=True, random_state=0),
    "weak penalty": precise(C=100.0),
    "no penalty": precise(C=np.inf),
    "no intercept": precise(fit_intercept=False),
    "class weights": precise(class_weight={0: 1.0, 1: 3.0}),
    "balanced": precise(class_weight="balanced"),
    "elastic net": precise(**SAGA, l1_ratio=0.5),
    "L1, saga": precise(**SAGA, l1_ratio=1.0),
    "L1, liblinear": precise(solver="liblinear", C=0.3, l1_ratio=1.0),
    "cross-validated": LogisticRegressionCV(Cs=[0.1], cv=3, tol=1e-10, max_iter=10_000),
    "SGD": SGDClassifier(**SGD),
    "SGD, class weights": SGDClassifier(**SGD, class_weight={0: 1.0, 1: 3.0}),
    "pipeline": make_pipeline(StandardScaler(), precise()),
}
SEVERAL = {
    "softmax": precise(),
    "softmax, lbfgs": precise(solver="lbfgs"),
    "softmax, saga": precise(solver="saga", random_state=0),
    "softmax, no intercept": precise(fit_intercept=False),
    "softmax, no penalty": precise(C=np.inf),
    "softmax, class weights": precise(class_weight={0: 2.0, 1: 1.0, 2: 0.5}),
    "softmax, balanced": precise(class_weight="balanced"),
    "softmax, elastic net": precise(**SAGA, l1_ratio=0.5),
    "SGD": SGDClassifier(**SGD),
    "SGD, balanced": SGDClassifier(**SGD, class_weight="balanced"),
}


def dense(data: Data) -> Data:
    return Data(data.X_train.toarray(), data.y_train, data.X_test.toarray(), data.y_test)


@pytest.mark.filterwarnings("ignore::FutureWarning")  # LogisticRegressionCV announces other defaults
@pytest.mark.parametrize("learner", BINARY)
def test_newton_follows_retraining_on_two_classes(learner: str) -> None:
    task = census_like().task(BINARY[learner])
    assert agreement(task, LogisticBox(task)) >= 0.99


@pytest.mark.parametrize("learner", SEVERAL)
def test_newton_follows_retraining_on_three_classes(learner: str) -> None:
    task = census_like(classes=3).task(SEVERAL[learner])
    assert agreement(task, LogisticBox(task)) >= 0.99


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("C", [1.0, 100.0])
def test_newton_follows_retraining_on_text_with_more_words_than_rows(classes: int, C: float) -> None:
    task = text_like(classes=classes).task(precise(C=C, solver="lbfgs"))
    assert agreement(task, LogisticBox(task)) >= 0.95


def test_predicted_changes_have_the_right_size() -> None:
    task = census_like(rows=600).task(precise())
    predicted, retrained = changes(task, LogisticBox(task), single_moves(task, 25))
    slope = (predicted * retrained).sum() / (predicted**2).sum()
    assert 0.9 < slope < 1.02


WEAK: dict[str, tuple[int, Any]] = {
    "two classes": (2, precise(C=100.0, solver="lbfgs")),
    "very weak": (2, precise(C=1000.0, solver="lbfgs")),
    "dense, no intercept": (2, precise(C=100.0, solver="lbfgs", fit_intercept=False)),
    "class weights": (2, precise(C=100.0, solver="lbfgs", class_weight={0: 1.0, 1: 4.0})),
    "three classes": (3, precise(C=100.0, solver="lbfgs")),
    "three, class weights": (3, precise(C=100.0, solver="lbfgs", class_weight={0: 1.0, 1: 4.0})),
    "against the rest": (3, SGDClassifier(**SGD | {"alpha": 1e-4, "max_iter": 1000})),
}


@pytest.mark.parametrize("case", WEAK)
def test_predicted_changes_have_the_right_size_where_columns_outnumber_rows(case: str) -> None:
    """A bare Newton step overstates them six to thirty times."""
    classes, model = WEAK[case]
    data = text_like(classes=classes, words=800)
    task = (data if "dense" not in case else dense(data)).task(model)
    box, moves = LogisticBox(task), single_moves(task, 8)
    predicted, retrained = changes(task, box, moves)
    assert 0.75 < (predicted * retrained).sum() / (predicted**2).sum() < 1.25
    box._reach = None
    bare, _ = changes(task, box, moves)
    assert (bare * retrained).sum() / (bare**2).sum() < 0.4


def test_a_row_answers_to_its_own_flip_as_it_would_alone_beside_a_penalty() -> None:
    """One row and no intercept: no other row to approximate, so θ' = C x (τ' - p(θ' x)) is met exactly."""
    X, C = np.array([[2.0, 1.0], [0.0, 0.0]]), 50.0
    task = Data(X, np.array([1, 0]), X, np.array([1, 0])).task(precise(C=C, fit_intercept=False))
    moved = LogisticBox(task).margins(np.array([[0, 0]]))[0, 0, 0]
    at = brentq(lambda z: z - C * 5.0 * (0.0 - expit(z)), -1000.0, 0.0)
    assert moved == pytest.approx(at, rel=1e-6)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("class_weight", [None, "balanced", {0: 3.0}])
@pytest.mark.parametrize("penalty", [{}, {"solver": "saga", "l1_ratio": 0.5, "C": 0.3, "tol": 1e-12}])
def test_the_change_is_exact_to_first_order(classes: int, class_weight: Any, penalty: dict[str, Any]) -> None:
    """Labels of rows that weigh a thousandth move the margins by exactly the derivative."""
    weights = np.ones(300)
    weights[:20] = 1e-3
    task = census_like(classes=classes).task(precise(class_weight=class_weight, **penalty), sample_weight=weights)
    worlds = np.tile(task.train.codes, (20, 1))
    worlds[np.arange(20), np.arange(20)] = (worlds[np.arange(20), np.arange(20)] + 1) % classes
    box = LogisticBox(task)
    predicted, retrained = changes(task, box, worlds)
    assert np.linalg.norm(predicted - retrained) < 0.01 * np.linalg.norm(retrained)
    if class_weight == "balanced":  # and it is the classes' new sizes that make it so
        box._shifts = None
        without, _ = changes(task, box, worlds)
        assert np.linalg.norm(without - retrained) > 0.05 * np.linalg.norm(retrained)


def test_weights_of_balanced_classes_are_followed_through_sample_weights() -> None:
    weights = np.random.default_rng(3).uniform(0.2, 3.0, size=300)
    task = census_like().task(precise(class_weight="balanced"), sample_weight=weights)
    assert agreement(task, LogisticBox(task)) >= 0.99


def test_one_classifier_per_class_as_liblinear_fitted_until_1_7() -> None:
    data = census_like(classes=3)
    worlds = np.tile(data.y_train, (12, 1))
    worlds[np.arange(12), np.arange(12)] = (worlds[np.arange(12), np.arange(12)] + 1) % 3

    def one_against_rest(labels: Any) -> LogisticRegression:
        parts = [precise(solver="liblinear").fit(data.X_train, labels == k) for k in range(3)]
        model = precise(solver="liblinear")
        model.classes_, model.n_iter_, model.n_features_in_ = np.arange(3), np.array([5]), data.X_train.shape[1]
        model.coef_ = np.vstack([part.coef_ for part in parts])
        model.intercept_ = np.concatenate([part.intercept_ for part in parts])
        return model

    task = data.task(one_against_rest(data.y_train))
    box = LogisticBox(task)
    retrained = np.stack([task.margins(one_against_rest(world), task.test) for world in worlds]) - box.actual
    predicted = box.margins(worlds) - box.actual
    assert np.corrcoef(predicted.ravel(), retrained.ravel())[0, 1] > 0.99
