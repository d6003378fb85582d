"""Whole diagnoses: what was planted is named first, and labels are corrected only where they are the cause."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import psidebug
from psidebug.errors import UnknownOption
from tests.causes.rows import Rows, at_random, in_test_slice, in_training_slice, late_is_rare, learner, moved, parcels

FIRST_COLUMNS = ["cause", "where", "evidence", "share", "proved", "advice"]


def diagnosed(rows: Rows, model: Any = None, **options: Any) -> psidebug.Diagnosis:
    return psidebug.debug(model or learner(), *rows.parts, check_fidelity=False, rng=0, **options)


def unchanged(found: psidebug.Diagnosis, rows: Rows) -> bool:
    return bool((np.asarray(found.repaired_labels) == rows.y_train).all())


def test_a_unit_in_the_test_set_is_named_and_no_label_is_changed() -> None:
    clean = parcels(0)
    rows = clean.with_column("test", "weight", clean.X_test["weight"] * 1000)
    found = diagnosed(rows)
    assert found.cause == "unit"
    assert unchanged(found, rows)
    assert list(found.causes.columns)[:6] == FIRST_COLUMNS
    first = found.causes.iloc[0]
    assert "weight" in first["where"]
    assert first["proved"]
    assert 0 < first["share"] <= 1
    assert first["said"] in found.verdict
    left = len(diagnosed(clean).task.bugs)
    assert f"With that repaired, {left} test points are misclassified" in found.verdict, (
        "as many as the clean rows have"
    )
    assert found.data.test.features is not None
    np.testing.assert_array_equal(found.data.test.features["weight"], rows.X_test["weight"], "the data as they came")


def test_two_columns_with_something_wrong_are_both_told() -> None:
    clean = parcels(0)
    rows = clean.with_column("test", "weight", clean.X_test["weight"] * 1000)
    hit = np.random.default_rng(0).random(len(rows.y_test)) < 0.2
    rows = rows.with_column("test", "age", rows.X_test["age"].where(~hit, -999.0))
    found = diagnosed(rows)
    assert set(found.causes["cause"]) == {"unit", "missing_code"}
    assert found.causes["evidence"].is_monotonic_decreasing
    for said in found.causes["said"]:
        assert said in found.verdict


def test_wrong_test_labels_of_a_slice_are_named_and_training_labels_stay() -> None:
    clean = parcels(0)
    rows = in_test_slice(clean)
    found = diagnosed(rows)
    assert found.cause == "test_labels"
    assert unchanged(found, rows)
    tests = found.suspect_tests
    sure = tests[tests["p_wrong"] > 0.5]
    wrong = np.flatnonzero(rows.y_test != clean.y_test)
    assert np.isin(sure["row"], wrong).mean() > 0.7
    assert np.isin(wrong, sure["row"]).mean() > 0.7
    assert (sure["given"] != sure["proposed"]).all()
    assert tests["p_wrong"].is_monotonic_decreasing
    assert "mislabelled" in found.verdict
    assert "not to blame" not in found.verdict


@pytest.mark.parametrize("plant", [in_training_slice, at_random("training")])
def test_wrong_training_labels_are_still_corrected(plant: Any) -> None:
    clean = parcels(1)
    rows = plant(clean)
    found = diagnosed(rows)
    assert found.cause == "training_labels"
    assert len(found.suspect_tests) == 0
    before, after = ((labels != clean.y_train).sum() for labels in (rows.y_train, found.repaired_labels))
    assert after < 0.7 * before


def test_copies_of_rows_are_named() -> None:
    clean, rng = parcels(0), np.random.default_rng(0)
    some = rng.choice(len(clean.y_train), 15, replace=False)
    hit = np.isin(np.arange(len(clean.y_train)), some)
    wrong = clean.with_labels("training", moved(clean.y_train, hit))
    rows = wrong.taken("training", np.concatenate([np.arange(len(clean.y_train)), np.repeat(some, 30)]))
    found = diagnosed(rows)
    assert found.cause == "duplicates"
    assert f"{15 * 30} copies" in found.causes["said"].iloc[0]


def test_other_class_shares_are_named_and_no_label_is_changed() -> None:
    rows = late_is_rare(parcels(0))
    found = diagnosed(rows)
    assert found.cause == "class_shares"
    assert unchanged(found, rows)
    assert "not to blame" not in found.verdict


def test_a_learner_that_is_too_weak_is_named() -> None:
    rows = parcels(0)
    found = diagnosed(rows, learner(C=1e-4))
    assert found.cause == "capacity"
    assert unchanged(found, rows)


def test_a_test_set_that_lacks_a_class_does_not_have_wrong_labels() -> None:
    """Rows that look like the class are there by chance; that nobody calls them so is no error."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 4))
    y = (X[:, :3] + 0.7 * rng.normal(size=(1500, 3))).argmax(axis=1)
    test = np.arange(1000, 1500)[y[1000:] != 2]
    found = psidebug.debug(
        learner().steps[-1][1], X[:1000], y[:1000], X[test], y[test], check_fidelity=False, rng=0
    )  # fmt: skip
    assert found.cause == "none"


def test_few_test_rows_cannot_say() -> None:
    rows = parcels(0, 700, 29)
    found = diagnosed(rows)
    assert found.cause == "cannot_say"
    assert unchanged(found, rows)
    assert "too small" in found.verdict
    assert "not to blame" not in found.verdict


def test_clean_rows_have_no_cause() -> None:
    for seed in (0, 1):
        rows = parcels(seed)
        found = diagnosed(rows)
        assert found.cause == "none", seed
        assert unchanged(found, rows)
        assert len(found.causes) == 1
        assert len(found.suspect_tests) == 0


def test_asked_about_labels_only_nothing_else_is_said() -> None:
    clean = parcels(0)
    for rows in (clean.with_column("test", "weight", clean.X_test["weight"] * 1000), in_test_slice(clean)):
        found = diagnosed(rows, causes="labels")
        assert set(found.causes["cause"]) <= {"training_labels", "none"}
        assert len(found.suspect_tests) == 0
        assert "unit" not in found.verdict


def test_where_the_cause_is_training_labels_both_ways_give_the_same_answer() -> None:
    rows = at_random("training")(parcels(0))
    one, other = diagnosed(rows), diagnosed(rows, causes="labels")
    assert one.verdict == other.verdict
    np.testing.assert_array_equal(one.repaired_labels, other.repaired_labels)
    np.testing.assert_array_equal(one.order, other.order)


@pytest.mark.parametrize("value", ["label", "", None, 1, ["all"]])
def test_an_unknown_value_is_refused_in_a_sentence(value: Any) -> None:
    with pytest.raises(UnknownOption, match=r"causes=.* is not one of all, labels\."):
        diagnosed(parcels(0, 60, 40), causes=value)


@pytest.mark.parametrize("side", ["training", "test"])
def test_inverted_labels_are_not_acquitted(side: Any) -> None:
    clean = parcels(0)
    rows = clean.with_labels(side, moved(clean.labels(side), np.ones(len(clean.labels(side)), dtype=bool)))
    found = diagnosed(rows)
    assert found.cause == "cannot_say"
    assert "most labels of one set contradict those of the other" in found.verdict
    assert "not to blame" not in found.verdict
    assert unchanged(found, rows)


def test_a_code_that_the_learner_could_not_take_as_missing_is_still_told() -> None:
    rng = np.random.default_rng(21)
    X = rng.normal(size=(2_100, 4))
    y = (X[:, 0] + X[:, 1] + 0.5 * rng.normal(size=2_100) > 0).astype(int)
    X[:1_500][rng.random(1_500) < 0.05, 0] = -999.0
    model = make_pipeline(StandardScaler(), LogisticRegression())
    found = psidebug.debug(model, X[:1_500], y[:1_500], X[1_500:], y[1_500:], rng=0)
    assert "missing_code" in {each.cause for each in found.found.causes}
