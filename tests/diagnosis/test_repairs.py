"""What to train on instead: against training by hand, and no row has a say in what it judges."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

import psidebug
from psidebug.diagnosis import repairs
from psidebug.diagnosis.either_set import Weighed
from psidebug.diagnosis.repairs import (
    AS_GIVEN,
    LEFT_OUT,
    NAMES,
    RELABELLED,
    TEST_ALONE,
    WEIGHTED,
    WITH_TEST,
    Believed,
    changes_of,
    repairs_of,
)
from psidebug.evidence.held_out import Folds
from psidebug.progress import silent
from psidebug.task.task import Task
from psidebug.training.trainer import Trainer

Codes = npt.NDArray[np.intp]


class Rows:
    """Labels of one class that are often wrong, by two columns."""

    def __init__(self, seed: int = 0, train: int = 240, test: int = 120, wrong: float = 0.35) -> None:
        rng = np.random.default_rng(seed)
        self.X = rng.normal(size=(train + test + 200, 2))
        self.truth = (self.X[:, 0] + 0.5 * self.X[:, 1] + 0.3 * rng.normal(size=len(self.X)) > 0).astype(np.intp)
        self.train, self.test, self.apart = slice(0, train), slice(train, train + test), slice(train + test, None)
        flipped = (rng.random(train) < wrong) & (self.truth[self.train] == 1)
        self.given = np.where(flipped, 0, self.truth[self.train])

    @property
    def four(self) -> tuple[Any, ...]:
        return self.X[self.train], self.given, self.X[self.test], self.truth[self.test]


@pytest.fixture(scope="module")
def rows() -> Rows:
    return Rows()


@pytest.fixture(scope="module")
def found(rows: Rows) -> psidebug.Diagnosis:
    return psidebug.debug(LogisticRegression(), *rows.four, check_fidelity=False)


def test_every_repair_is_trained_on_as_by_hand(rows: Rows, found: psidebug.Diagnosis) -> None:
    X, given, X_test, y_test = rows.four
    labels, task = found.findings.labels, found.task
    changes = changes_of(task, Believed.found(labels), np.arange(len(y_test)))
    likeliest, confidence = labels.likeliest, labels.confidence
    kept = labels.p_wrong <= 0.5
    both, of_both = np.concatenate([X, X_test]), np.append(likeliest, y_test)
    by_hand = {
        AS_GIVEN: LogisticRegression().fit(X, given),
        RELABELLED: LogisticRegression().fit(X, likeliest),
        WEIGHTED: LogisticRegression().fit(X, likeliest, confidence),
        LEFT_OUT: LogisticRegression().fit(X[kept], given[kept]),
        WITH_TEST: LogisticRegression().fit(both, of_both, np.append(confidence, np.ones(len(y_test)))),
        TEST_ALONE: LogisticRegression().fit(X_test, y_test),
    }
    for name, model in by_hand.items():
        made = Trainer(task).model(changes[name])
        np.testing.assert_allclose(made.coef_, model.coef_, atol=1e-3, err_msg=name)


def test_the_frame_says_what_each_is_worth(rows: Rows, found: psidebug.Diagnosis) -> None:
    frame = found.repairs
    assert frame["repair"].tolist() == list(NAMES)
    assert frame["chosen"].sum() == 1
    before = (LogisticRegression().fit(*rows.four[:2]).predict(rows.four[2]) != rows.four[3]).mean()
    assert frame["error"][0] == pytest.approx(before), "what is trained on given labels needs no cross-fitting"
    errors = dict(zip(frame["repair"], frame["error"], strict=True))
    assert errors[RELABELLED] < errors[AS_GIVEN]
    truth = rows.truth[rows.apart]
    repaired = (found.repaired_model.predict(rows.X[rows.apart]) != truth).mean()
    assert repaired < (LogisticRegression().fit(*rows.four[:2]).predict(rows.X[rows.apart]) != truth).mean()
    assert "error" not in found.verdict, "not before it was measured by rows apart"
    assert "had no say in it" in found.with_repairs.verdict
    assert f"{before:.3f} as given" in found.with_repairs.verdict


def test_weights_say_how_likely_each_repaired_label_is_right(rows: Rows, found: psidebug.Diagnosis) -> None:
    right = np.asarray(found.repaired_labels) == rows.truth[rows.train]
    assert found.repaired_weights.shape == right.shape
    assert found.repaired_weights[right].mean() > found.repaired_weights[~right].mean()
    assert found.repaired_weights.min() >= 0.5 - 1e-9, "of two classes the likelier is taken"
    twice = psidebug.debug(LogisticRegression(), *rows.four, sample_weight=np.full(240, 2.0), check_fidelity=False)
    np.testing.assert_allclose(twice.repaired_weights, 2.0 * found.repaired_weights, atol=0.3)


def test_no_test_row_has_a_say_in_the_model_that_judges_it(rows: Rows, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another label of one test row changes nothing that is said of its fold."""
    X, given, X_test, y_test = rows.four
    made: list[Any] = []
    cross_fitted = repairs._cross_fitted

    def kept(*args: Any, **more: Any) -> Any:
        made.append(cross_fitted(*args, **more))
        return made[-1]

    def in_thirds(cls: type[Folds], task: Task) -> Folds:
        return cls(np.arange(len(task.train)) % 3, np.arange(len(task.test)) % 3)

    monkeypatch.setattr(repairs, "_cross_fitted", kept)
    monkeypatch.setattr(Folds, "of", classmethod(in_thirds))
    doubtful = Believed(given.copy(), np.full(len(given), 0.9), np.arange(3))
    for labels in (y_test, np.where(np.arange(len(y_test)) == 5, 1 - y_test, y_test)):
        task = Task.of(LogisticRegression(), X, given, X_test, labels)
        repairs_of(Trainer(task), doubtful, None, silent)
    (before, _), (after, _) = made
    fold = np.arange(len(y_test)) % 3 == 5 % 3
    fold[5] = False
    for name in NAMES:
        np.testing.assert_array_equal(before[name][fold], after[name][fold], err_msg=name)
        assert before[name][5] != after[name][5], "the same prediction, another label"


def test_where_no_label_is_in_doubt_only_test_rows_can_be_added() -> None:
    rows = Rows(wrong=0.0, test=60)
    found = psidebug.debug(LogisticRegression(), *rows.four, check_fidelity=False)
    if found.nothing_to_debug:
        pytest.fail("the task has no bugs")
    assert set(found.repairs["repair"]) == {AS_GIVEN, repairs.GIVEN_WITH_TEST}
    assert (found.repaired_weights == 1.0).all()


def test_a_validation_set_vetoes(rows: Rows) -> None:
    """With validation labels that are all turned round, every repair does harm there."""
    apart = rows.X[rows.apart], LogisticRegression().fit(*rows.four[:2]).predict(rows.X[rows.apart])
    found = psidebug.debug(
        LogisticRegression(),
        *rows.four,
        X_validation=apart[0],
        y_validation=apart[1],
        causes="labels",
        check_fidelity=False,
    )
    frame = found.repairs
    assert frame["repair"][frame["chosen"]].tolist() == [AS_GIVEN], "it makes no error there, all others do"
    assert (frame["validation_error"][~frame["chosen"]] > 0).all()
    assert found.correction is None, "nor is the correction proved"
    assert "Validation rows say that these do harm" in found.with_repairs.verdict


def test_a_learner_without_weights_is_relabelled_and_joined(rows: Rows) -> None:
    found = psidebug.debug(KNeighborsClassifier(25), *rows.four, check_fidelity=False)
    assert WEIGHTED not in set(found.repairs["repair"])
    assert WITH_TEST in set(found.repairs["repair"])
    assert found.repaired_model.predict(rows.X[:3]).shape == (3,)


def test_a_saved_diagnosis_says_and_does_the_same(tmp_path: Path, rows: Rows, found: psidebug.Diagnosis) -> None:
    found.with_repairs.save(tmp_path / "run")
    again = psidebug.Diagnosis.load(tmp_path / "run")
    pd.testing.assert_frame_equal(again.repairs, found.repairs)
    assert again.verdict == found.with_repairs.verdict
    assert again.findings.repairs == found.with_repairs.found.repairs
    found.save(tmp_path / "asked")
    assert psidebug.Diagnosis.load(tmp_path / "asked").findings.repairs == again.findings.repairs
    psidebug.debug(LogisticRegression(), *rows.four, check_fidelity=False).save(tmp_path / "without")
    later = psidebug.Diagnosis.load(tmp_path / "without")
    assert later.findings.repairs == ()
    pd.testing.assert_frame_equal(later.repairs, found.repairs)
    np.testing.assert_array_equal(again.repaired_weights, found.repaired_weights)
    np.testing.assert_allclose(again.repaired_model.coef_, found.repaired_model.coef_)


def test_too_small_a_test_set_has_no_repairs(rows: Rows) -> None:
    X, given, X_test, y_test = rows.four
    found = psidebug.debug(LogisticRegression(), X, given, X_test[:25], y_test[:25], check_fidelity=False)
    assert len(found.repairs) == 0
    np.testing.assert_allclose(found.repaired_model.coef_, LogisticRegression().fit(X, given).coef_, atol=1e-3)


def test_after_a_review_the_model_is_fitted_on_the_repaired_labels(rows: Rows, found: psidebug.Diagnosis) -> None:
    """Rejected suspects make the others doubtful; what was cross-fitted before the review is not told of it."""
    first = found.suspects["row"][:8].tolist()
    again = found.with_repairs.reviewed(confirmed=first[:2], rejected=first[2:])
    assert len(again.repairs) == 0
    own = LogisticRegression().fit(rows.four[0], again.repaired_labels)
    np.testing.assert_allclose(again.repaired_model.coef_, own.coef_, atol=1e-3)
    weights = again.repaired_weights
    np.testing.assert_array_equal(weights[first], 1.0)
    corrected = np.setdiff1d(np.flatnonzero(np.asarray(again.repaired_labels) != rows.given), first)
    np.testing.assert_allclose(weights[corrected], again.p_wrong[corrected], atol=1e-12)


def test_the_model_predicts_the_users_labels_whatever_it_was_fitted_on(rows: Rows) -> None:
    names = np.array(["no", 1], dtype=object)  # scikit-learn takes no such labels: they are fitted as 0 and 1
    X, given, X_test, y_test = rows.four
    found = psidebug.debug(LogisticRegression(), X, names[given], X_test, names[y_test], check_fidelity=False)
    predicted = found.repaired_model.predict(rows.X[rows.apart])
    assert set(predicted.tolist()) == {"no", 1}
    assert (predicted == names[rows.truth[rows.apart]]).mean() > 0.8
    assert found.repaired_model.coef_.shape == (1, 2), "all else is the learner's"


def test_a_class_without_test_rows_is_not_lost(rows: Rows) -> None:
    X, given, X_test, y_test = rows.four
    more = np.where(X[:, 1] > 1.2, 2, given)
    left = X_test[:, 1] <= 1.2
    found = psidebug.debug(LogisticRegression(), X, more, X_test[left], y_test[left], check_fidelity=False)
    assert TEST_ALONE not in set(found.repairs["repair"])
    assert found.repaired_model.classes_.tolist() == [0, 1, 2]


def test_what_two_thirds_of_the_test_rows_cannot_say_is_not_told(rows: Rows) -> None:
    X, given, X_test, y_test = rows.four
    found = psidebug.debug(LogisticRegression(), X, given, X_test[:40], y_test[:40], check_fidelity=False)
    assert found.hypotheses[0].likely
    assert set(found.repairs["repair"]) == {AS_GIVEN, repairs.GIVEN_WITH_TEST}


def test_test_rows_alone_are_judged_in_every_fold_also_where_no_label_is_doubted(
    rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By all test rows some labels are in doubt, by two thirds of them none."""
    monkeypatch.setattr(repairs, "weighed", lambda *_, **__: Weighed())
    task = Task.of(LogisticRegression(), *rows.four, seed=0)
    posterior = np.full((len(rows.given), 2), 0.4)
    posterior[np.arange(len(rows.given)), rows.given] = 0.6
    told = repairs_of(Trainer(task), Believed.by(posterior, task.train.codes), None, silent)
    X, y, folds = rows.X[rows.test], rows.truth[rows.test], Folds.of(task).test
    errors = sum(
        int(
            (
                LogisticRegression().fit(X[folds != fold], y[folds != fold]).predict(X[folds == fold])
                != y[folds == fold]
            ).sum()
        )
        for fold in range(3)
    )
    assert errors > 0
    assert next(each.error.wrong for each in told if each.repair == TEST_ALONE) == errors
