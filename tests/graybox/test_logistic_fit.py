"""Models of other data, unfinished fits, and learners that are not logistic."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sklearn
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV, SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from psidebug.errors import LearnerMismatch, PsiError, UnsupportedLearner
from psidebug.graybox.logistic import LogisticBox, supports
from tests.graybox.logistic_tasks import Data, census_like, precise, text_like

L1: dict[str, Any] = {"penalty": "l1"} if sklearn.__version__.startswith(("1.6.", "1.7.")) else {"l1_ratio": 1.0}
SOLVERS = ["lbfgs", "newton-cg", "newton-cholesky", "sag", "saga", "liblinear"]


def relabelled(data: Data, share: float) -> Data:
    rng = np.random.default_rng(0)
    labels = data.y_train.copy()
    chosen = rng.random(len(labels)) < share
    labels[chosen] = (labels[chosen] + 1) % (labels.max() + 1)
    return Data(data.X_train, labels, data.X_test, data.y_test)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_model_of_other_labels_is_refused(solver: str) -> None:
    data = census_like()
    model = LogisticRegression(solver=solver, max_iter=1000, random_state=0).fit(data.X_train, data.y_train)
    LogisticBox(data.task(model))
    with pytest.raises(LearnerMismatch, match="give it unfitted"):
        LogisticBox(relabelled(data, 0.25).task(model))


def test_a_model_of_other_rows_is_refused() -> None:
    data, other = census_like(), census_like(seed=2)
    model = precise().fit(other.X_train, other.y_train)
    with pytest.raises(LearnerMismatch, match="rows, labels and sample_weight"):
        LogisticBox(data.task(model))


@pytest.mark.parametrize("form", ["newton", "gradient"])
def test_a_model_of_other_weights_is_refused(form: str) -> None:
    data = census_like()
    weights = np.where(data.y_train == 0, 5.0, 1.0)
    model = precise().fit(data.X_train, data.y_train, sample_weight=weights)
    LogisticBox(data.task(model, sample_weight=weights), form=form)
    with pytest.raises(LearnerMismatch, match="sample_weight"):
        LogisticBox(data.task(model), form=form)


def test_a_model_with_another_penalty_than_it_says_is_refused() -> None:
    data = census_like()
    model = precise(C=0.01).fit(data.X_train, data.y_train)
    model.C = 1.0
    with pytest.raises(LearnerMismatch):
        LogisticBox(data.task(model))


def test_a_sgd_model_of_shuffled_labels_is_refused_and_an_honest_rough_one_is_noted() -> None:
    data = census_like()
    model = SGDClassifier(loss="log_loss", random_state=0).fit(data.X_train, data.y_train)
    notes = LogisticBox(data.task(model)).notes
    assert len(notes) == 1
    assert "not a minimum" in notes[0]
    shuffled = np.random.default_rng(0).permutation(data.y_train)
    with pytest.raises(LearnerMismatch):
        LogisticBox(Data(data.X_train, shuffled, data.X_test, data.y_test).task(model))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("solver", ["lbfgs", "saga"])
def test_an_unfinished_fit_is_noted_not_refused(solver: str) -> None:
    data = census_like()
    wide = Data(data.X_train * 30.0, data.y_train, data.X_test * 30.0, data.y_test)
    model = LogisticRegression(max_iter=2, solver=solver, random_state=0).fit(wide.X_train, wide.y_train)
    box = LogisticBox(wide.task(model))
    assert len(box.notes) == 1
    assert "max_iter" in box.notes[0]
    assert np.isfinite(box.effects(np.ones((60, 1)))).all()


@pytest.mark.parametrize("data", [census_like(), census_like(classes=3), text_like(), text_like(classes=3)])
@pytest.mark.parametrize("scale", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_an_honest_finished_fit_has_no_notes(data: Data, scale: float, kind: type) -> None:
    scaled = Data((data.X_train * scale).astype(kind), data.y_train, (data.X_test * scale).astype(kind), data.y_test)
    assert LogisticBox(scaled.task(LogisticRegression(max_iter=5000))).notes == ()


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_what_is_held_fixed_is_noted() -> None:
    data = census_like()
    chosen = LogisticBox(data.task(LogisticRegressionCV(Cs=[0.1, 1.0], cv=3)))
    assert any("cross-validation" in note for note in chosen.notes)
    sparse = LogisticBox(data.task(precise(solver="liblinear", **L1)))
    assert any("L1" in note for note in sparse.notes)


def test_rows_held_out_by_early_stopping_are_noted() -> None:
    options: dict[str, Any] = {"loss": "log_loss", "random_state": 0, "validation_fraction": 0.2}
    stopped = LogisticBox(census_like().task(SGDClassifier(**options, early_stopping=True)))
    assert any("early stopping held 20% of the rows out of the fit" in note for note in stopped.notes)
    whole = LogisticBox(census_like().task(SGDClassifier(**options)))
    assert not any("held" in note for note in whole.notes)


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_an_average_over_folds_is_noted_not_refused() -> None:
    box = LogisticBox(census_like().task(LogisticRegressionCV(Cs=[1e-3], cv=3, refit=False)))
    assert np.isfinite(box.effects(np.ones((60, 1)))).all()


@pytest.mark.parametrize(
    ("model", "named"),
    [
        (RandomForestClassifier(n_estimators=3, random_state=0), "RandomForestClassifier"),
        (LinearSVC(), "LinearSVC"),
        (SGDClassifier(random_state=0), "hinge"),
        (make_pipeline(StandardScaler(), LinearSVC()), "LinearSVC"),
    ],
)
def test_another_learner_is_refused_by_name(model: Any, named: str) -> None:
    task = census_like().task(model)
    with pytest.raises(UnsupportedLearner, match=named):
        LogisticBox(task)


def test_which_learners_are_supported() -> None:
    House: Any = type("House", (LogisticRegression,), {})
    assert supports(House())
    assert supports(SGDClassifier())
    assert not supports(LinearSVC())
    assert LogisticBox(census_like().task(House())).notes == ()


def test_coefficients_that_are_not_numbers_are_refused() -> None:
    data = census_like()
    model = precise().fit(data.X_train, data.y_train)
    model.coef_[0, 0] = np.nan
    with pytest.raises(PsiError):
        LogisticBox(data.task(model))


def test_class_weights_for_classes_that_are_not_there_are_refused() -> None:
    data = census_like()
    model = precise(class_weight="balanced").fit(data.X_train, np.arange(300) % 3)
    with pytest.raises(LearnerMismatch, match="class_weight"):
        LogisticBox(data.task(model))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("penalty", "C"), [("l2", 0.5), (None, 1.0)])
def test_the_old_penalty_parameter_is_still_read(penalty: Any, C: float) -> None:
    data = census_like()
    old = precise(penalty=penalty, C=C).fit(data.X_train, data.y_train)
    new = precise(C=np.inf if penalty is None else C).fit(data.X_train, data.y_train)
    weights = np.ones((60, 1))
    expected = LogisticBox(data.task(new)).effects(weights)
    np.testing.assert_allclose(LogisticBox(data.task(old)).effects(weights), expected, rtol=1e-6, atol=1e-9)
