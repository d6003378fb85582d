"""What a diagnosis must not do: invent errors where nothing is known, forget a person's word, make a model worse."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

import psidebug
from psidebug.errors import UnknownRow


def three_classes() -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    X, y = make_classification(1500, 8, n_informative=5, n_classes=3, random_state=0)
    return X, y


def test_labels_of_a_class_without_test_rows_stay() -> None:
    """Clean labels, and a test set that lacks class 2: nothing is known of that class, and the notes say so."""
    X, y = three_classes()
    test = np.arange(1000, 1500)
    test = test[y[test] != 2]
    found = psidebug.debug(LogisticRegression(), X[:1000], y[:1000], X[test], y[test], check_fidelity=False)
    repaired = found.repaired_labels
    assert (repaired[y[:1000] == 2] == 2).all()
    assert (repaired != y[:1000]).mean() <= 0.01
    assert any("the class 2" in note for note in found.notes)


def test_a_test_set_of_one_class_corrects_nothing() -> None:
    X, y = make_classification(600, 10, n_informative=5, random_state=0)
    test = np.arange(400, 600)
    test = test[y[test] == 1]
    found = psidebug.debug(LogisticRegression(), X[:400], y[:400], X[test], y[test], check_fidelity=False)
    assert (found.repaired_labels == y[:400]).all()
    assert any("one class only" in note for note in found.notes)


@pytest.fixture(scope="module")
def annotators() -> tuple[psidebug.Diagnosis, npt.NDArray[Any]]:
    """Bob recorded every 1 as 0."""
    X, y = make_classification(1400, 12, n_informative=6, class_sep=1.2, random_state=1)
    who = np.random.default_rng(2).choice(["ann", "bob", "cyd", "dan"], 1000)
    given = np.where((who == "bob") & (y[:1000] == 1), 0, y[:1000])
    found = psidebug.debug(
        LogisticRegression(), X[:1000], given, X[1000:], y[1000:],
        metadata=pd.DataFrame({"annotator": who}), check_fidelity=False,
    )  # fmt: skip
    assert "annotator = bob" in found.verdict
    return found, given


def rows_of(found: psidebug.Diagnosis) -> list[int]:
    return [int(row) for row in found.order]


def test_what_a_person_says_is_what_a_row_gets(annotators: Any) -> None:
    found, given = annotators
    rows = rows_of(found)
    first, last = rows[:20], rows[-5:]
    reviewed = found.reviewed(rejected=first, confirmed=last)
    assert (reviewed.repaired_labels[first] == given[first]).all()
    assert (reviewed.repaired_labels[last] != given[last]).all()
    np.testing.assert_allclose(reviewed.p_wrong[first], 0.0)
    np.testing.assert_allclose(reviewed.p_wrong[last], 1.0)
    assert any("before the review" in note for note in reviewed.notes)


def test_figures_of_explanations_are_those_from_before_the_review(annotators: Any) -> None:
    found, _ = annotators
    reviewed = found.reviewed(rejected=rows_of(found)[:3])
    assert found.explanations["proved"].any()
    pd.testing.assert_frame_equal(reviewed.explanations, found.explanations)


def test_a_second_review_remembers_the_first(annotators: Any) -> None:
    found, _ = annotators
    rows = rows_of(found)
    again = found.reviewed(rejected=rows[:5]).reviewed(rejected=rows[5:6])
    np.testing.assert_allclose(again.p_wrong[rows[:6]], 0.0)
    at_once = found.reviewed(rejected=rows[:6])
    np.testing.assert_allclose(again.p_wrong, at_once.p_wrong)


def test_fifty_rejections_make_the_rest_doubtful(annotators: Any) -> None:
    found, _ = annotators
    rows = rows_of(found)
    others = rows[50:80]
    assert found.p_wrong[others].mean() > 0.9
    assert found.reviewed(rejected=rows[:50]).p_wrong[others].mean() < 0.2
    assert found.reviewed(confirmed=rows[:50]).p_wrong[others].mean() >= found.p_wrong[others].mean() - 0.01


def test_a_mask_names_rows_too(annotators: Any) -> None:
    found, _ = annotators
    rows = rows_of(found)[:7]
    mask = np.isin(np.arange(1000), rows)
    assert found.verify(mask).correction.corrected == 7
    with pytest.raises(UnknownRow, match="in a list"):
        found.verify(5)
    with pytest.raises(UnknownRow, match="not the id"):
        found.verify([10_000])


def test_a_symptom_that_no_group_removes_leaves_the_slices_readable() -> None:
    X, y = make_classification(3400, 12, n_informative=6, class_sep=1.2, random_state=1)
    who = np.random.default_rng(2).choice(["ann", "bob", "cyd", "dan"], 1000)
    given = np.where((who == "bob") & (y[:1000] == 1), 0, y[:1000])
    found = psidebug.debug(
        LogisticRegression(class_weight="balanced"), X[:1000], given, X[1000:1400], y[1000:1400],
        metadata=pd.DataFrame({"annotator": who}), check_fidelity=False,
    )  # fmt: skip
    sufficient = np.asarray(found.slices["ps"], dtype=float)
    assert np.isnan(sufficient).any(), "the case that this test is about"
    assert "annotator = bob" in found._repr_html_()


def test_a_correction_that_adds_errors_is_not_applied_and_chance_is_told() -> None:
    X, y = make_classification(3000, 10, n_informative=5, random_state=0)
    given = y[:400].copy()
    wrong = np.random.default_rng(0).choice(400, 40, replace=False)
    given[wrong] = 1 - given[wrong]
    for test in (slice(1000, 1040), slice(1200, 1229)):
        found = psidebug.debug(LogisticRegression(), X[:400], given, X[test], y[test], check_fidelity=False)
        for each in found.tried:
            fixed, broken = each.verified.test_change.fixed, each.verified.test_change.broken
            if each.proved:
                assert broken - fixed <= 2 * np.sqrt(broken + fixed)
        assert "error from" not in found.verdict, "the rows that chose a correction do not judge it"


def test_a_verdict_does_not_ask_for_nats_that_were_gained() -> None:
    """Constant columns: the classes' shares differ from the test set's, but no single label is probably wrong."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(160, 4))
    given = np.where(X[:, 1] > 0.7, 1, X[:, 0] + 0.3 * rng.normal(size=160) > 0)
    T = rng.normal(size=(60, 4))
    truth = (T[:, 0] > 0).astype(int)
    found = psidebug.debug(LogisticRegression(), 0 * X, given, 0 * T, truth, check_fidelity=False)
    assert found.correction is None
    assert found.hypotheses[0].likely, "the case that this test is about"
    assert "no single label is more likely wrong than right" in found.verdict
    assert "needed" not in found.verdict


def test_errors_that_no_label_moves_have_no_cause_and_that_is_an_answer() -> None:
    """Columns of zeros and no intercept: the model says the same whatever the labels are."""
    rng = np.random.default_rng(0)
    X, y, X_test, y_test = np.zeros((120, 2)), rng.integers(0, 2, 120), np.zeros((60, 2)), rng.integers(0, 2, 60)
    found = psidebug.debug(LogisticRegression(fit_intercept=False), X, y, X_test, y_test)
    assert not found.nothing_to_debug
    assert found.estimates is not None
    assert not found.estimates.ps.any()
    assert found.corrected == 0
    assert "it cannot be said whether labels are to blame" in found.verdict, "the columns say nothing"
    assert any("no change of labels takes the errors away" in note for note in found.notes)
