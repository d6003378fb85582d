"""Proof by retraining, proved by retraining: every number recomputed here with scikit-learn and scipy alone."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import xgboost
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest, norm
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import LabelEncoder
from sklearn.svm import SVC

import psidebug
from psidebug.diagnosis.repair import Correction, best_of
from psidebug.diagnosis.verification import ErrorRate, Judge
from psidebug.errors import LearnerFailed
from psidebug.task import Task
from tests.conftest import Planted, planted_rows


@settings(derandomize=True, max_examples=100, deadline=None)
@given(st.integers(1, 3000), st.data())
def test_the_interval_is_wilsons(of: int, data: st.DataObject) -> None:
    wrong = data.draw(st.integers(0, of))
    level = 2 * norm.cdf(1.96) - 1
    expected = binomtest(wrong, of).proportion_ci(level, method="wilson")
    low, high = ErrorRate(wrong, of).interval
    assert low == pytest.approx(expected.low, abs=1e-12)
    assert high == pytest.approx(expected.high, abs=1e-12)
    assert ErrorRate(wrong, of).rate == wrong / of
    assert 0.0 <= low <= wrong / of <= high <= 1.0


def three_classes(planted: Planted) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    cuts = [-1.0, 2.0]
    names = np.array(["low", "mid", "top"])
    given = names[np.digitize(planted.X_train[:, 0], cuts)]
    given[planted.wrong] = "low"
    return given, names[np.digitize(planted.X_test[:, 0], cuts)]


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_every_number_of_a_verification(planted: Planted, classes: int, weighted: bool) -> None:
    y_train, y_test = (planted.y_train, planted.y_test) if classes == 2 else three_classes(planted)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, size=len(y_train)) if weighted else None
    other = planted_rows(seed=5)
    X_validation = other.X_test
    y_validation = other.y_test if classes == 2 else three_classes(other)[1]
    model = LogisticRegression()
    everything = Task.of(
        model, planted.X_train, y_train, planted.X_test, y_test, sample_weight=weights,
        X_validation=X_validation, y_validation=y_validation,
    )  # fmt: skip
    bugs = everything.bugs[::2]
    task = Task.of(
        model, planted.X_train, y_train, planted.X_test, y_test, sample_weight=weights, bugs=bugs,
        X_validation=X_validation, y_validation=y_validation,
    )  # fmt: skip
    repaired = y_train.copy()
    repaired[planted.wrong] = "good" if classes == 2 else "top"
    effect = Judge(task).verify(LabelEncoder().fit(y_train).transform(repaired))

    before = LogisticRegression().fit(planted.X_train, y_train, sample_weight=weights)
    after = LogisticRegression().fit(planted.X_train, repaired, sample_weight=weights)
    was, now = before.predict(planted.X_test) != y_test, after.predict(planted.X_test) != y_test
    assert effect.corrected == (repaired != y_train).sum() > 0
    assert effect.test_before == ErrorRate(int(was.sum()), len(y_test))
    assert effect.test_after == ErrorRate(int(now.sum()), len(y_test))
    assert effect.bugs_fixed == sum(not now[bug] for bug in bugs)
    assert effect.points_broken == (now & ~was).sum()
    for rate, fitted in ((effect.validation_before, before), (effect.validation_after, after)):
        assert rate == ErrorRate(int((fitted.predict(X_validation) != y_validation).sum()), len(y_validation))

    column = np.searchsorted(before.classes_, y_test)
    points = np.arange(len(y_test))
    gains = (
        after.predict_log_proba(planted.X_test)[points, column]
        - before.predict_log_proba(planted.X_test)[points, column]
    )
    assert effect.gain == pytest.approx(gains.sum(), rel=1e-9)
    assert effect.gain_error == pytest.approx(math.sqrt(sum(gain**2 for gain in gains)), rel=1e-9)


def test_without_validation_rows_nothing_is_said_of_them(planted: Planted) -> None:
    task = Task.of(LogisticRegression(), planted.X_train, planted.y_train, planted.X_test, planted.y_test)
    effect = Judge(task).verify(task.train.codes)
    assert effect.validation_before is None
    assert effect.validation_after is None
    assert (effect.corrected, effect.gain, effect.bugs_fixed, effect.points_broken) == (0, 0.0, 0, 0)


def test_a_judge_counts_its_fits(planted: Planted) -> None:
    task = Task.of(LogisticRegression(), planted.X_train, planted.y_train, planted.X_test, planted.y_test)
    judge = Judge(task)
    judge.verify(task.train.codes)
    judge.fit(task.train.codes, rows=np.arange(60))
    assert judge.fits == 2


def test_labels_that_lose_a_class_are_never_an_improvement(planted: Planted) -> None:
    y_train, y_test = three_classes(planted)
    task = Task.of(LogisticRegression(), planted.X_train, y_train, planted.X_test, y_test)
    lost = np.where(task.train.codes == 2, 1, task.train.codes)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        effect = Judge(task).verify(lost)
    assert effect.gain == -math.inf
    assert not Correction("lost", lost, effect).improves
    assert best_of([Correction("lost", lost, effect)]) is None


def test_a_model_that_cannot_be_fitted_again_is_an_error_not_a_verdict(planted: Planted) -> None:
    """XGBoost with early stopping needs rows that fit(X, y) does not give: nothing was tried, so nothing is said."""
    codes = (planted.y_train == "good").astype(int)
    model = xgboost.XGBClassifier(n_estimators=20, early_stopping_rounds=3)
    model.fit(planted.X_train, codes, eval_set=[(planted.X_train[:30], codes[:30])], verbose=False)
    with pytest.raises(LearnerFailed, match="give a model whose options allow that"):
        psidebug.debug(model, planted.X_train, codes, planted.X_test, (planted.y_test == "good").astype(int))


def test_corrections_are_compared_with_a_fresh_fit(planted: Planted) -> None:
    """A model fitted on shuffled labels: fitting it anew is no merit of a correction, and the difference is told."""
    shuffled = np.random.default_rng(0).permutation(planted.y_train)
    other = SVC().fit(planted.X_train, shuffled)
    found = psidebug.debug(other, planted.X_train, planted.y_train, planted.X_test, planted.y_test)
    assert any("fresh fit" in note for note in found.notes)
    fresh = SVC().fit(planted.X_train, planted.y_train).score(planted.X_test, planted.y_test)
    assert found.tried[0].verified.test_before.rate == pytest.approx(1 - fresh)
    same = SVC().fit(planted.X_train, planted.y_train)
    found = psidebug.debug(same, planted.X_train, planted.y_train, planted.X_test, planted.y_test)
    assert not any("fresh fit" in note for note in found.notes)
