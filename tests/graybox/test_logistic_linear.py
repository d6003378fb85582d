"""Effects and margins are one linear map, whatever the learner and form; and it is the one that was written down."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from psidebug.errors import UnknownOption
from psidebug.graybox.logistic import FORMS, LogisticBox
from psidebug.graybox.logistic.gradient import GradientStep
from tests.conformance.graybox_checks import choice_of_points, effects_of_worlds
from tests.graybox.logistic_tasks import Data, census_like, precise, text_like

SGD = SGDClassifier(loss="log_loss", alpha=0.01, average=True, max_iter=100, tol=None, random_state=0)
CASES: dict[str, tuple[Data, Any]] = {
    "two classes": (census_like(), precise()),
    "three classes": (census_like(classes=3), precise()),
    "liblinear": (census_like(), precise(solver="liblinear", intercept_scaling=3.0)),
    "no intercept": (census_like(classes=3), precise(fit_intercept=False)),
    "no penalty": (census_like(classes=3), precise(C=np.inf)),
    "class weights": (census_like(), precise(class_weight={0: 1.0, 1: 4.0})),
    "balanced": (census_like(), precise(class_weight="balanced")),
    "balanced, three": (census_like(classes=3), precise(class_weight="balanced")),
    "L1": (census_like(), precise(solver="liblinear", l1_ratio=1.0, C=0.2)),
    "elastic net": (census_like(classes=3), precise(solver="saga", l1_ratio=0.5, C=0.2, random_state=0)),
    "SGD": (census_like(), SGD),
    "SGD, three": (census_like(classes=3), SGD),
    "SGD, three balanced": (census_like(classes=3), SGD.__class__(**SGD.get_params() | {"class_weight": "balanced"})),
    "text": (text_like(), LogisticRegression()),
    "text, three": (text_like(classes=3), LogisticRegression()),
    "text, weak penalty": (text_like(), LogisticRegression(C=100.0)),
    "text, weak penalty, three": (text_like(classes=3), LogisticRegression(C=100.0, class_weight="balanced")),
    "text, SGD, three": (
        text_like(classes=3),
        SGD.__class__(**SGD.get_params() | {"alpha": 1e-4, "class_weight": "balanced"}),
    ),
    "text, elastic net": (text_like(), precise(solver="saga", l1_ratio=0.5, C=5.0, tol=1e-6, random_state=0)),
    "pipeline": (census_like(), make_pipeline(StandardScaler(), precise())),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("case", CASES)
def test_effects_are_what_margins_add_up_to(case: str, form: str) -> None:
    """As the conformance suite asks of every gray box, for every way to fit a logistic model."""
    data, model = CASES[case]
    weighted = np.random.default_rng(5).uniform(0.5, 2.0, size=len(data.y_train))
    task = data.task(model, sample_weight=weighted)
    worlds = np.random.default_rng(0).integers(task.encoding.size, size=(7, len(task.train)))
    effects_of_worlds(LogisticBox(task, form=form), task, worlds, precision=1e-5)


@pytest.mark.parametrize("case", ["text", "balanced, three"])
def test_asking_for_some_points_gives_their_margins(case: str) -> None:
    data, model = CASES[case]
    task = data.task(model)
    drawn = np.random.default_rng(0).integers(task.encoding.size, size=(5, len(task.train)))
    choice_of_points(LogisticBox(task), drawn, np.array([7, 2, 11]), precision=1e-5)


def _signed(data: Data) -> tuple[Any, Any, Any, Any]:
    return (
        np.column_stack([data.X_train, np.ones(len(data.y_train))]),
        2.0 * data.y_train - 1.0,
        np.column_stack([data.X_test, np.ones(len(data.y_test))]),
        2.0 * data.y_test - 1.0,
    )


@pytest.mark.parametrize("form", ["newton", "newton_residual"])
def test_newton_is_the_formula_of_the_design(form: str) -> None:
    """c_ti = -y_t y_i x_tᵀ H⁻¹ x_i, H = XᵀWX + λ; residual: times 2 h(-y_i z_i)."""
    data = census_like(rows=150, tests=10)
    task = data.task(precise(C=0.5))
    X, y, T, s = _signed(data)
    z = X @ np.append(task.learner.coef_[0], task.learner.intercept_)
    H = X.T @ (X * (expit(z) * expit(-z))[:, None]) + np.diag([2.0] * (X.shape[1] - 1) + [0.0])
    expected = -np.outer(s, y) * (T @ np.linalg.solve(H, X.T))
    if form == "newton_residual":
        expected *= 2.0 * expit(-y * z)
    box = LogisticBox(task, form=form)
    for t in range(3):
        effects = box.effects(np.eye(10)[t][:, None])
        np.testing.assert_allclose(effects[np.arange(150), 1 - data.y_train], expected[t], rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("form", ["gradient", "gradient_residual"])
def test_the_gradient_step_is_the_paper_s(form: str) -> None:
    """c_ti = -y_t y_i α x_t·x_i; residual: times 2 h(-y_i z_i) at the iterate before the last step."""
    data = census_like(rows=80, tests=10)
    box = LogisticBox(data.task(precise()), form=form)
    X, y, T, s = _signed(data)
    step = box._step
    assert isinstance(step, GradientStep)
    expected = -step.alpha * np.outer(s, y) * (T @ X.T)
    if form == "gradient_residual":
        expected *= 2.0 * np.abs(step.probabilities[:, 0] - data.y_train)
    for t in range(3):
        effects = box.effects(np.eye(10)[t][:, None])
        np.testing.assert_allclose(effects[np.arange(80), 1 - data.y_train], expected[t], rtol=1e-9, atol=1e-12)


def test_the_profiled_step_is_one_that_descends() -> None:
    """1/α lies within the spectrum of H: a step that neither overshoots nor creeps."""
    data = census_like(rows=200)
    task = data.task(precise())
    step = LogisticBox(task, form="gradient")._step
    assert isinstance(step, GradientStep)
    X, *_ = _signed(data)
    p = task.learner.predict_proba(data.X_train)[:, 1]
    spectrum = np.linalg.eigvalsh(X.T @ (X * (p * (1 - p))[:, None]) + np.diag([1.0] * (X.shape[1] - 1) + [0.0]))
    assert spectrum[0] < 1.0 / step.alpha < 2.0 * spectrum[-1]


def test_a_fit_of_zero_still_has_a_gradient_step() -> None:
    X = np.array([[1.0], [1.0], [-1.0], [-1.0]])
    task = Data(X, np.array([0, 1, 0, 1]), np.array([[2.0], [1.0]]), np.array([0, 1])).task(precise())
    effects = LogisticBox(task, form="gradient").effects(np.ones((2, 1)))
    assert np.isfinite(effects).all()
    assert np.abs(effects).max() > 0


def test_an_unknown_form_is_refused() -> None:
    with pytest.raises(UnknownOption, match="newton_residual"):
        LogisticBox(census_like().task(precise()), form="second order")
