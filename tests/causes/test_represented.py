"""Kinds of rows that training hardly has."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import psidebug
from psidebug.causes import represented
from psidebug.causes.claim import Claim
from psidebug.causes.columns import both_sets
from tests.causes.rows import SEEDS, WRONG_LABELS, Rows, late_is_rare, learner, parcels


def claims(rows: Rows) -> list[Claim]:
    return represented.claims(data := rows.data, both_sets(data))


def thinned(rows: Rows, inside: Any) -> Rows:
    """One of forty of these training rows is left."""
    return rows.taken("training", np.flatnonzero(~np.asarray(inside) | (np.arange(len(rows.y_train)) % 40 == 0)))


@pytest.mark.parametrize("kind", ["bag", "tube"])
def test_a_value_that_training_hardly_has_is_found_with_its_test_rows(kind: str) -> None:
    for seed in SEEDS:
        clean = parcels(seed)
        (found,) = claims(thinned(clean, clean.X_train["kind"] == kind))
        assert found.column == "kind"
        assert f"kind = {kind}" in found.where
        assert found.rows is not None
        np.testing.assert_array_equal(found.rows, np.flatnonzero(clean.X_test["kind"] == kind))


def test_a_range_that_training_hardly_has_is_found() -> None:
    for seed in SEEDS:
        clean = parcels(seed)
        (found,) = claims(thinned(clean, clean.X_train["age"].between(35, 42)))
        assert found.column == "age"
        assert found.rows is not None
        inside = clean.X_test["age"].between(35, 42).to_numpy()
        assert inside[found.rows].mean() > 0.8
        assert np.isin(np.flatnonzero(inside), found.rows).mean() > 0.5


@pytest.mark.parametrize("plant", [None, late_is_rare, *WRONG_LABELS.values()])
def test_no_kind_lacks_in_clean_rows_and_by_wrong_labels_or_other_shares(plant: Any) -> None:
    for seed in SEEDS:
        rows = parcels(seed) if plant is None else plant(parcels(seed))
        assert claims(rows) == [], seed


def test_a_kind_that_goes_with_a_rare_class_does_not_lack() -> None:
    """Rows of the class are fewer, and so are those of a value that only they have."""
    for seed in SEEDS:
        clean = parcels(seed)
        for side in ("training", "test"):
            own = np.where((clean.labels(side) == "late") & (clean.features(side)["weight"] > 2.5), "yes", "no")
            clean = clean.with_column(side, "express", own)
        assert claims(late_is_rare(clean)) == [], seed


def test_smaller_training_sets_lack_nothing() -> None:
    """As many rows as a tenth of the test set, drawn alike."""
    for seed in SEEDS:
        assert claims(parcels(seed, 60, 600)) == [], seed


def test_more_rows_of_the_kind_are_worth_more_than_as_many_others() -> None:
    clean = parcels(1, 900, 700)
    rows = thinned(clean, clean.X_train["kind"] == "bag")
    lines = psidebug.debug(learner(), *rows.parts, check_fidelity=False, rng=0).causes
    (found,) = lines[lines["cause"] == "under_represented"].to_dict("records")
    assert found["control"] is not None
    assert found["proved"]
    assert found["control"] < found["evidence"]


def test_a_group_that_lacks_is_no_fault_of_its_column_and_of_no_label() -> None:
    """Rows of the group have other shares of the classes, and another border between them."""
    rng, n = np.random.default_rng(0), 2000
    X, group = rng.normal(size=(n, 4)), rng.random(n) < 0.45
    score = X[:, 0] * np.where(group, 2.5, 0.5) + 2.6 * group - 2.2
    y = (rng.random(n) < 1 / (1 + np.exp(-score))).astype(int)
    X = np.column_stack([X, group])
    kept = np.flatnonzero(~group[:1200] | (rng.random(1200) < 0.03))
    found = psidebug.debug(LogisticRegression(), X[kept], y[kept], X[1200:], y[1200:], check_fidelity=False, rng=0)
    assert found.cause == "under_represented"
    assert "x4 = 1" in found.causes.iloc[0]["where"]
    np.testing.assert_array_equal(np.asarray(found.repaired_labels), y[kept])


def test_a_number_that_counts_rows_lacks_nothing() -> None:
    clean = parcels(0)
    rows = clean.with_column("training", "day", np.arange(700.0)).with_column("test", "day", 650.0 + np.arange(350.0))
    assert claims(rows) == []
