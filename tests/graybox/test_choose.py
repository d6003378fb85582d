"""Which gray box a learner gets, and what a user is told when it, or the data, will not do."""

from __future__ import annotations

from typing import Any

import lightgbm
import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import psidebug
from psidebug.errors import (
    InvalidSymptom,
    LearnerFailed,
    LearnerMismatch,
    NoBestFit,
    UnknownOption,
    UnsupportedLearner,
)
from psidebug.graybox import choose, logistic
from psidebug.graybox.choose import graybox_for
from psidebug.symptoms import misclassified
from psidebug.task.task import Task
from tests.conftest import Planted, assert_same_suspects, precise_logistic


def debug(planted: Planted, model: Any = None, **changes: Any) -> psidebug.Diagnosis:
    parts: dict[str, Any] = {
        "model": LogisticRegression() if model is None else model,
        "X_train": planted.X_train,
        "y_train": planted.y_train,
        "X_test": planted.X_test,
        "y_test": planted.y_test,
    }
    return psidebug.debug(**(parts | changes))


def boosting(**options: Any) -> GradientBoostingClassifier:
    return GradientBoostingClassifier(**{"n_estimators": 10, "max_depth": 2, "random_state": 0} | options)


# ── the choice ──────────────────────────────────────────────────────────────────────────────────────────────────────

CHOSEN: dict[str, tuple[Any, str]] = {
    "logistic": (LogisticRegression(), "newton"),
    "pipeline": (make_pipeline(StandardScaler(), LogisticRegression()), "newton"),
    "sgd": (SGDClassifier(loss="log_loss", random_state=0), "newton"),
    "boosting": (boosting(), "leaf_derivative"),
    "forest": (RandomForestClassifier(5, random_state=0), "leaf_derivative"),
    "boosting in a pipeline": (make_pipeline(StandardScaler(), boosting()), "leaf_derivative"),
    "another loss": (SGDClassifier(loss="hinge", random_state=0), "margin"),
    "a loss that nobody knows": (SGDClassifier(loss="huber", random_state=0), "surrogate"),
    "another boosting loss": (boosting(loss="exponential"), "surrogate"),
    "neighbours": (KNeighborsClassifier(5), "neighbours"),
}


@pytest.mark.parametrize(("model", "name"), CHOSEN.values(), ids=CHOSEN)
def test_the_best_gray_box_that_knows_the_learner(planted: Planted, model: Any, name: str) -> None:
    task = Task.of(model, planted.X_train, planted.y_train, planted.X_test, planted.y_test)
    assert graybox_for(task).name == graybox_for(task, "auto").name == name


def test_a_name_that_no_gray_box_has_is_refused(planted: Planted) -> None:
    logistic = Task.of(LogisticRegression(), planted.X_train, planted.y_train, planted.X_test, planted.y_test)
    with pytest.raises(UnknownOption, match=r"graybox='magic' is not one of all_layers, auto, gradient,.*surrogate"):
        graybox_for(logistic, "magic")


@pytest.mark.parametrize(
    ("model", "name", "told"),
    [
        (SGDClassifier(loss="hinge", random_state=0), "newton", "SGDClassifier.*hinge"),
        (boosting(loss="exponential"), "leaf_derivative", "loss='exponential'"),
        (boosting(), "newton", "GradientBoostingClassifier is not a logistic model"),
        (LogisticRegression(), "leaf_refit", "LogisticRegression is not a tree ensemble"),
        (KNeighborsClassifier(5), "gradient", "KNeighborsClassifier"),
    ],
)
def test_a_gray_box_asked_for_by_name_is_never_replaced(planted: Planted, model: Any, name: str, told: str) -> None:
    with pytest.raises(UnsupportedLearner, match=f"{told}.*retrain"):
        debug(planted, model, graybox=name)


def test_the_reason_of_a_stand_in_is_told(planted: Planted) -> None:
    found = debug(planted, SGDClassifier(loss="huber", random_state=0))
    assert found.notes[0].startswith(
        "SGDClassifier(loss='huber') is not logistic regression, so a logistic surrogate on"
    )


@pytest.mark.parametrize("fitted", [False, True])
def test_a_fit_that_its_own_gray_box_does_not_reproduce_gets_a_surrogate(
    planted: Planted, monkeypatch: pytest.MonkeyPatch, fitted: bool
) -> None:
    def refuse(task: Task) -> Any:
        raise LearnerMismatch("some round has other values. Give it unfitted.")

    monkeypatch.setattr(choose, "KNOWN", ((logistic.supports, refuse),))
    model = LogisticRegression().fit(planted.X_train, planted.y_train) if fitted else LogisticRegression()
    note = debug(planted, model).notes[0]
    if fitted:
        assert note.startswith("the model as it came does not agree with a fit on these rows (this LogisticRegression")
    else:
        assert note.startswith(
            "the gray box of LogisticRegression does not reproduce this fit, so a logistic surrogate"
        )


def test_a_learning_rate_that_a_plain_fit_does_not_have_is_told(planted: Planted) -> None:
    falling = lightgbm.reset_parameter(learning_rate=lambda done: 0.1 * 0.9**done)
    model = lightgbm.LGBMClassifier(n_estimators=10, verbose=-1, n_jobs=1)
    found = debug(planted, model.fit(planted.X_train, planted.y_train, callbacks=[falling]))
    assert found.settings["gray box"] == "surrogate"
    assert "in a way that a plain fit does not repeat), so a logistic surrogate on" in found.notes[0]


def test_where_a_surrogate_will_not_do_either_the_first_refusal_stands(planted: Planted) -> None:
    endless = np.where(planted.X_train > 3, np.inf, planted.X_train)
    model = HistGradientBoostingClassifier(max_iter=5, early_stopping=False)
    with pytest.raises(LearnerMismatch, match="fitted on"):
        debug(planted, model.fit(endless, planted.y_train[::-1]), X_train=endless)


# ── the learner ─────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("model", [LogisticRegression(), boosting()], ids=["logistic", "boosting"])
def test_an_unfitted_learner_is_fitted(planted: Planted, model: Any) -> None:
    unfitted = debug(planted, model)
    fitted = debug(planted, model.fit(planted.X_train, planted.y_train))
    assert_same_suspects(unfitted, fitted)


@pytest.mark.parametrize(
    "model",
    [LogisticRegression(), boosting(), HistGradientBoostingClassifier(max_iter=5, early_stopping=False)],
    ids=["logistic", "boosting", "histogram"],
)
@pytest.mark.parametrize("other", ["rows", "labels"])
def test_a_learner_of_other_data_is_found_out(planted: Planted, model: Any, other: str) -> None:
    rng = np.random.default_rng(0)
    if other == "rows":
        X = rng.permutation(planted.X_train, axis=0)
        model = model.fit(X, np.where(X[:, 2] + X[:, 3] > 0, "good", "bad"))
    else:
        labels = planted.y_train.copy()
        labels[::4] = np.where(labels[::4] == "good", "bad", "good")
        model = model.fit(planted.X_train, labels)
    named = "newton" if isinstance(model, LogisticRegression) else "leaf_derivative"
    with pytest.raises(LearnerMismatch, match="fitted on"):
        debug(planted, model, graybox=named)
    found = debug(planted, model, check_fidelity=False)
    assert found.settings["gray box"] == "surrogate"
    assert found.notes[0].startswith("the model as it came does not agree with a fit on these rows (this ")


# ── the data ────────────────────────────────────────────────────────────────────────────────────────────────────────


def separable(planted: Planted) -> dict[str, Any]:
    labels = np.where(planted.X_train[:, 0] > 0, "good", "bad")
    return {"y_train": labels, "y_test": np.where(planted.X_test[:, 1] > 0, "good", "bad")}


@pytest.mark.filterwarnings("ignore")
def test_separable_classes_without_a_penalty_have_no_best_fit(planted: Planted) -> None:
    free = LogisticRegression(C=np.inf, max_iter=5000)
    with pytest.raises(NoBestFit, match=r"Regularise it .*'gradient' or 'retrain'"):
        debug(planted, free, graybox="newton", **separable(planted))
    stand_in = debug(planted, free, **separable(planted))
    assert stand_in.notes[0].startswith("the model separates its training classes perfectly and has no penalty")
    assert "for as long as the solver runs, so a logistic surrogate on its features stands in; " in stand_in.notes[0]
    assert len(debug(planted, free, graybox="gradient", **separable(planted)).suspects) > 0
    assert len(debug(planted, **separable(planted)).suspects) > 0, "any penalty will do"


@pytest.mark.parametrize(
    # Not GradientBoostingClassifier: of equally good splits it draws one, and a further column changes the draw.
    "model",
    [
        precise_logistic(),
        pytest.param(HistGradientBoostingClassifier(max_iter=20, min_samples_leaf=5), marks=pytest.mark.thorough),
        GaussianNB(),
    ],
    ids=["logistic", "boosting", "surrogate"],
)
def test_a_constant_feature_changes_no_suspect(planted: Planted, model: Any) -> None:
    def with_zeros(X: Any) -> Any:
        return np.column_stack([X, np.zeros(len(X))])

    plain = debug(planted, model)
    wider = debug(planted, model, X_train=with_zeros(planted.X_train), X_test=with_zeros(planted.X_test))
    assert_same_suspects(plain, wider, tolerance=1e-6)


@pytest.mark.filterwarnings("ignore")
def test_a_constant_feature_beside_a_free_intercept_is_a_singular_hessian_and_is_told(planted: Planted) -> None:
    def with_ones(X: Any) -> Any:
        return np.column_stack([X, np.ones(len(X))])

    free = LogisticRegression(C=np.inf, tol=1e-10, max_iter=5000)
    # With a stated prior: on a fold that it separates, a fit without a penalty is whatever the solver leaves.
    plain = debug(planted, free, prior=0.05)
    wider = debug(planted, free, prior=0.05, X_train=with_ones(planted.X_train), X_test=with_ones(planted.X_test))
    assert any("singular" in note for note in wider.notes)
    assert plain.notes == ()
    # p_wrong also hears the learner trained on the test rows alone, which it separates: only PS is the same.
    assert plain.estimates is not None
    assert wider.estimates is not None
    np.testing.assert_allclose(plain.estimates.ps, wider.estimates.ps, atol=1e-4)


@pytest.mark.parametrize(
    "model",
    [LogisticRegression(), boosting(), GaussianNB(var_smoothing=0.1)],
    ids=["logistic", "boosting", "surrogate"],
)
def test_a_class_with_one_row(planted: Planted, model: Any) -> None:
    """It may go in some worlds, and its test points are then lost; the diagnosis is made all the same."""
    y_train = planted.y_train.astype(object)
    y_train[7] = "rare"
    y_test = planted.y_test.astype(object)
    y_test[3] = "rare"
    found = debug(planted, model, y_train=y_train, y_test=y_test)
    assert 3 in found.task.bugs
    ps = found.suspects["ps"].to_numpy()
    assert len(ps) > 0
    assert np.isfinite(ps).all()
    assert found.fidelity is not None
    assert len(found.explain(3).causes) > 0
    assert len(found.repaired_labels) == 120


def test_a_class_with_one_row_that_the_learner_cannot_take_is_the_learners_own_error(planted: Planted) -> None:
    y_train = planted.y_train.astype(object)
    y_train[7] = "rare"
    with pytest.raises(LearnerFailed, match="CalibratedClassifierCV could not be fitted"):
        debug(planted, CalibratedClassifierCV(GaussianNB(), cv=3), y_train=y_train)


# ── options, whether or not there is anything to debug ──────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "option",
    [
        {"symptom": "mood"},
        {"symptom": None},
        {"graybox": "magic"},
        {"graybox": ["newton"]},
        {"graybox": 3},
        {"engine": "steam"},
        {"engine": None},
        {"check_fidelity": "yes"},
        {"check_fidelity": None},
    ],
    ids=str,
)
@pytest.mark.parametrize("bugs", [None, []], ids=["bugs", "no bugs"])
def test_a_wrong_option_is_told_even_when_it_is_not_needed(planted: Planted, option: dict[str, Any], bugs: Any) -> None:
    (name,) = option
    with pytest.raises(UnknownOption, match=name):
        debug(planted, bugs=bugs, **option)


def test_a_symptom_of_a_point_that_is_not_there_is_told_even_when_it_is_not_needed(planted: Planted) -> None:
    with pytest.raises(InvalidSymptom, match="80 rows"):
        debug(planted, bugs=[], symptom=misclassified(80))
