"""Columns that lost their rows, changed places, or know the training labels; wrong labels look like none of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from psidebug.causes import dead
from psidebug.causes.claim import Claim, Side
from psidebug.causes.columns import both_sets
from psidebug.changes import Blank, Swap
from tests.causes.rows import SEEDS, WRONG_LABELS, Rows, late_is_rare, parcels


def claims(rows: Rows) -> list[Claim]:
    return dead.claims(data := rows.data, both_sets(data))


def clearest(rows: Rows) -> Claim:
    return max(claims(rows), key=lambda each: each.strength)


@pytest.mark.parametrize("how", ["shuffled", "shifted by one row"])
@pytest.mark.parametrize("name", ["weight", "route"])
@pytest.mark.parametrize("side", ["training", "test"])
def test_a_column_that_lost_its_rows_is_found(side: Side, name: str, how: str) -> None:
    clean = parcels(0)
    values = clean.features(side)[name].to_numpy()
    values = np.random.default_rng(1).permutation(values) if how == "shuffled" else np.roll(values, 1)
    planted = clean.with_column(side, name, values)
    found = clearest(planted)
    assert (found.cause, found.column) == ("dead_column", name)
    assert ("the test set" if side == "test" else "training") in found.where
    (change,) = found.changes
    assert isinstance(change, Blank)
    changed = change.applied(planted.data)
    for part, before in ((changed.train.features, clean.X_train), (changed.test.features, clean.X_test)):
        assert part[name].nunique() == 1
        pd.testing.assert_frame_equal(part.drop(columns=name), before.drop(columns=name))
    assert changed.train.features[name].iloc[0] == changed.test.features[name].iloc[0]


@pytest.mark.parametrize("side", ["training", "test"])
def test_a_column_that_hangs_together_with_no_other_is_not_judged(side: Side) -> None:
    """Labels that depend on it in one set only may just as well be wrong labels."""
    clean = parcels(0, 4000, 3000)
    assert claims(clean.with_column(side, "kind", np.roll(clean.features(side)["kind"].to_numpy(), 1))) == []


@pytest.mark.parametrize("size", [(700, 350), (3000, 1000)])
@pytest.mark.parametrize("plant", [None, late_is_rare, *WRONG_LABELS.values()])
def test_wrong_labels_and_clean_rows_say_nothing_about_columns(plant: Any, size: tuple[int, int]) -> None:
    for seed in SEEDS:
        rows = parcels(seed, *size) if plant is None else plant(parcels(seed, *size))
        assert claims(rows) == [], seed


@pytest.mark.parametrize("side", ["training", "test"])
def test_one_label_for_all_rows_of_a_range_says_nothing_about_the_column(side: Side) -> None:
    for seed in SEEDS:
        clean = parcels(seed)
        for inside in (clean.features(side)["age"] > 48, clean.features(side)["age"].between(30, 38)):
            planted = clean.with_labels(side, np.where(inside, "late", clean.labels(side)))
            assert claims(planted) == [], seed


def test_columns_that_changed_places_are_found_and_given_their_names_back() -> None:
    clean = parcels(0)
    planted = clean.with_features("test", clean.X_test.rename(columns={"weight": "price", "price": "weight"}))
    planted = planted.with_features("test", planted.X_test[clean.X_test.columns])
    found = claims(planted)
    assert {(each.cause, each.column) for each in found} == {
        ("swapped_columns", "weight"),
        ("swapped_columns", "price"),
    }
    for each in found:
        (change,) = each.changes
        assert isinstance(change, Swap)
        changed = change.applied(planted.data)
        pd.testing.assert_frame_equal(changed.test.features, clean.X_test)
        pd.testing.assert_frame_equal(changed.train.features, clean.X_train)


def with_score(rows: Rows, *, known_later: bool) -> Rows:
    """A column made from the labels, of both sets or of the training set only."""
    rng = np.random.default_rng(7)
    told = {side: (rows.labels(side) == "late") + 0.1 * rng.normal(size=len(rows.labels(side)))
            for side in ("training", "test")}  # fmt: skip
    tests = told["test"] if known_later else rng.permutation(told["test"])
    return rows.with_column("training", "score", told["training"]).with_column("test", "score", tests)


def test_a_column_made_from_the_training_labels_is_a_leak() -> None:
    for seed in SEEDS:
        planted = with_score(parcels(seed), known_later=False)
        found = next(each for each in claims(planted) if each.column == "score")
        assert found.cause == "leak"
        (change,) = found.changes
        assert change.applied(planted.data).train.features["score"].nunique() == 1


def test_a_column_that_tells_the_labels_of_both_sets_is_no_leak() -> None:
    for seed in SEEDS:
        assert claims(with_score(parcels(seed), known_later=True)) == [], seed


def test_what_a_column_tells_alone_is_at_most_what_there_is_to_know() -> None:
    rows = with_score(parcels(0), known_later=True)
    data = rows.data
    entropy = dead.entropy_of(data.train.codes, data.encoding.size)
    told = {each.name: dead.told_alone(each, data) for each in both_sets(data)}
    assert all(gained <= entropy for pair in told.values() for gained in pair)
    assert max(told, key=lambda name: told[name]) == "score"
    assert told["score"][1] > 0.9 * entropy
    assert told["age"][0] < told["weight"][0], "which has more to do with the label"
