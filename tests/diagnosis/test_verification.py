"""Proof by retraining, proved by retraining: every number recomputed here with scikit-learn and scipy alone."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest
import xgboost
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest, norm
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.preprocessing import LabelEncoder
from sklearn.svm import SVC

import psidebug
from psidebug.changes import NOTHING, Relabel
from psidebug.diagnosis.proof import Prover, highest_losses_moved, moved_at_random
from psidebug.errors import LearnerFailed
from psidebug.findings.effects import ErrorRate, PairedErrors
from psidebug.policy import proved
from psidebug.task.task import Task
from tests.conftest import Planted, planted_rows
from tests.diagnosis.tasks import three_classes


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


@settings(derandomize=True, max_examples=100, deadline=None)
@given(st.integers(1, 400), st.data())
def test_a_change_is_mcnemars_and_agresti_and_mins(of: int, data: st.DataObject) -> None:
    fixed = data.draw(st.integers(0, of))
    broken = data.draw(st.integers(0, of - fixed))
    change = PairedErrors(fixed, broken, of)
    # mid-p: the exact two-sided p-value less the probability of what was seen; 1 for equal counts
    exact = binomtest(fixed, fixed + broken).pvalue if fixed + broken else 1.0
    seen = math.comb(fixed + broken, fixed) / 2 ** (fixed + broken)
    assert change.p_value == pytest.approx(1.0 if fixed == broken else exact - seen, abs=1e-12)
    # the variance of broken - fixed over four cells of half a row more each, as of a multinomial
    cells = np.array([broken + 0.5, fixed + 0.5, of - fixed - broken + 1.0])
    shares, signs = cells / (of + 2), np.array([1.0, -1.0, 0.0])
    centre = shares @ signs
    half = 1.96 * math.sqrt((shares @ signs**2 - centre**2) / (of + 2))
    low, high = change.interval
    assert [low, high] == pytest.approx([max(centre - half, -1.0), min(centre + half, 1.0)], abs=1e-12)
    assert low < change.difference < high or abs(change.difference) == 1.0
    assert change.difference == (broken - fixed) / of


def test_a_p_value_worked_out_by_hand() -> None:
    """Nine fixed and one broken: 2 P(X = 0) + P(X = 1) = (2 + 10) / 2¹⁰."""
    assert PairedErrors(fixed=9, broken=1, of=50).p_value == pytest.approx(12 / 1024)
    assert PairedErrors(fixed=0, broken=0, of=50).p_value == 1.0


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
    effect = Prover(task).verify(Relabel.of(task.data, LabelEncoder().fit(y_train).transform(repaired)))

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
    np.testing.assert_array_equal(effect.wrong_after, now)
    assert effect.test_change == PairedErrors(int((was & ~now).sum()), int((now & ~was).sum()), len(y_test))
    assert effect.p_value == effect.test_change.p_value
    was, now = before.predict(X_validation) != y_validation, after.predict(X_validation) != y_validation
    assert effect.validation_change == PairedErrors(int((was & ~now).sum()), int((now & ~was).sum()), len(y_validation))
    losses = [log_loss(y_test, fitted.predict_proba(planted.X_test)) for fitted in (before, after)]
    assert [effect.log_loss_before, effect.log_loss_after] == pytest.approx(losses, rel=1e-9)
    losses = [log_loss(y_validation, fitted.predict_proba(X_validation)) for fitted in (before, after)]
    assert effect.validation_gain == pytest.approx((losses[0] - losses[1]) * len(y_validation), rel=1e-9)

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
    effect = Prover(task).verify(NOTHING)
    assert effect.validation_before is None
    assert effect.validation_after is None
    assert effect.validation_change is None
    assert effect.validation_gain is None
    assert "validation" not in str(effect)
    assert effect.p_value == 1.0
    assert (effect.corrected, effect.gain, effect.bugs_fixed, effect.points_broken) == (0, 0.0, 0, 0)


def test_a_change_is_trained_on_once(planted: Planted) -> None:
    task = Task.of(LogisticRegression(), planted.X_train, planted.y_train, planted.X_test, planted.y_test)
    prover = Prover(task)
    prover.verify(NOTHING)  # the model came from these
    assert prover.fits == 0
    other = Relabel.of(task.data, 1 - task.train.codes)
    assert not prover.trainer.knows(other)
    effect = prover.verify(other)
    assert prover.fits == 1
    same = Relabel.of(task.data, (1 - task.train.codes).astype(np.int8))
    assert prover.trainer.knows(same)
    assert str(prover.verify(same)) == str(effect)
    assert prover.fits == 1


def test_labels_that_cannot_be_trained_on_are_tried_once(planted: Planted) -> None:
    task = Task.of(LogisticRegression(), planted.X_train, planted.y_train, planted.X_test, planted.y_test)
    prover = Prover(task)
    for _ in range(2):
        with pytest.raises(LearnerFailed, match="could not be fitted"):
            prover.verify(Relabel.of(task.data, np.zeros_like(task.train.codes)))
    assert prover.fits == 1


def test_labels_that_lose_a_class_are_never_an_improvement(planted: Planted) -> None:
    y_train, y_test = three_classes(planted)
    task = Task.of(LogisticRegression(), planted.X_train, y_train, planted.X_test, y_test)
    lost = Relabel.of(task.data, np.where(task.train.codes == 2, 1, task.train.codes))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        effect = Prover(task).verify(lost)
    assert effect.gain == -math.inf
    assert not proved(effect.gain, effect.gain_error, fixed=50, broken=0, accused=True)


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


def test_the_random_control_moves_as_many_between_each_pair_of_classes() -> None:
    rng = np.random.default_rng(0)
    given = rng.integers(0, 3, size=300)
    codes = given.copy()
    codes[rng.choice(300, size=40, replace=False)] = 2
    control = moved_at_random(given, codes, rng)
    pairs = 3 * given
    np.testing.assert_array_equal(np.bincount(pairs + control, minlength=9), np.bincount(pairs + codes, minlength=9))
    assert np.any(control != codes)
    hit = np.zeros(300)
    for _ in range(400):
        hit += moved_at_random(given, codes, rng) != given
    free = given != 2
    share = (codes != given).sum() / free.sum()
    # every row of the classes that move is drawn as often, within 5 standard deviations; the others never
    assert np.all(hit[~free] == 0)
    rate = np.array([(codes != given)[given == each].mean() for each in given])
    assert np.all(np.abs(hit - 400 * rate)[free] < 5 * np.sqrt(400 * rate * (1 - rate))[free])
    assert hit[free].mean() == pytest.approx(400 * share)


def test_the_highest_losses_move_to_the_class_believed(planted: Planted) -> None:
    y_train, y_test = three_classes(planted)
    task = Task.of(LogisticRegression(), planted.X_train, y_train, planted.X_test, y_test)
    given = task.train.codes
    probability = task.learner.predict_proba(planted.X_train)
    losses = -np.log(probability[np.arange(len(given)), given])
    count = 15
    control = highest_losses_moved(given, task.margins(task.learner, task.train), count)
    chosen = np.flatnonzero(control != given)
    assert set(chosen) == set(np.argsort(-losses)[:count])
    probability[np.arange(len(given)), given] = 0.0
    np.testing.assert_array_equal(control[chosen], probability[chosen].argmax(axis=1))


def test_a_correction_beside_its_controls(planted: Planted) -> None:
    task = Task.of(LogisticRegression(), planted.X_train, planted.y_train, planted.X_test, planted.y_test)
    prover = Prover(task)
    codes = task.train.codes.copy()
    codes[planted.wrong] = 1 - codes[planted.wrong]
    change = Relabel.of(task.data, codes)
    effect = prover.verify(change)
    found = prover.controls(change)
    assert prover.fits == 3
    assert str(found.correction) == str(effect)
    assert found.at_random is not None
    assert found.highest_loss is not None
    assert found.at_random.corrected == found.highest_loss.corrected == effect.corrected == planted.wrong.sum()
    assert effect.gain > max(found.at_random.gain, found.highest_loss.gain)
    ours, theirs = effect.wrong_after, found.at_random.wrong_after
    assert found.against(found.at_random) == PairedErrors(
        int((theirs & ~ours).sum()), int((ours & ~theirs).sum()), len(ours)
    )
    again = Prover(task).controls(change)
    assert str(again) == str(found)


class Stubborn(LogisticRegression):  # type: ignore[misc]
    """A learner that cannot be trained unless its last row is labelled b."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Stubborn:
        if y[-1] != "b":
            raise ValueError("the last row must be a b")
        super().fit(X, y, sample_weight)
        return self


def test_a_control_that_cannot_be_trained_on_is_none() -> None:
    """The last row, a b among as, has the highest loss."""
    X = np.array([[0.0], [0.1], [0.2], [0.3], [5.0], [0.05]])
    task = Task.of(Stubborn(), X, list("aaaabb"), X, list("aaaaba"))
    codes = task.train.codes.copy()
    codes[0] = 1
    found = Prover(task).controls(Relabel.of(task.data, codes))
    assert found.highest_loss is None
    assert found.at_random is not None
    assert "cannot be trained" in str(found)


def test_the_tables_show_every_figure(planted: Planted) -> None:
    other = planted_rows(seed=5)
    task = Task.of(
        LogisticRegression(), planted.X_train, planted.y_train, planted.X_test, planted.y_test,
        X_validation=other.X_test, y_validation=other.y_test,
    )  # fmt: skip
    codes = task.train.codes.copy()
    codes[planted.wrong] = 1 - codes[planted.wrong]
    found = Prover(task).controls(Relabel.of(task.data, codes))
    effect = found.correction
    lines = {line[:23].strip(): line[23:].strip() for line in str(effect).splitlines()}
    assert lines["labels corrected"] == str(planted.wrong.sum())
    assert lines["bugs fixed"] == str(effect.bugs_fixed)
    assert lines["points broken"] == str(effect.points_broken)
    assert effect.validation_before is not None
    for name, rate in (
        ("test error before", effect.test_before),
        ("validation error before", effect.validation_before),
    ):
        low, high = rate.interval
        assert lines[name] == f"{rate.rate:.3f} ({low:.3f}, {high:.3f})"
    assert lines["test error change, p"] == f"{effect.p_value:.2g}"
    assert lines["gain in nats"] == f"{effect.gain:+.1f} ± {effect.gain_error:.1f}"
    assert found.at_random is not None
    head, *rows = str(found).splitlines()
    assert head.split("  ")[-1].strip() == "highest losses"
    shown = next(row for row in rows if row.startswith("test error after"))
    assert shown.index(str(found.at_random.test_after)) == head.index("random flips")
