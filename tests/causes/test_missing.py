"""Codes that stand for no value: found with their rows, made missing by the change, and told from values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from psidebug.causes import missing
from psidebug.causes.claim import Claim, Side
from psidebug.causes.columns import TwoSets, both_sets, coded
from psidebug.changes import Mask
from tests.causes.rows import SEEDS, WRONG_LABELS, Rows, late_is_rare, parcels, seen


def codes_in(rows: Rows) -> list[Claim]:
    return [each for column in both_sets(rows.data) for each in missing.claims(column)]


def some(rows: Rows, side: Side, share: float = 0.2) -> Any:
    return np.random.default_rng(5).random(len(rows.labels(side))) < share


@pytest.mark.parametrize("code", [-999.0, -1.0, 9999.0])
@pytest.mark.parametrize("name", ["weight", "age"])
@pytest.mark.parametrize("side", ["training", "test"])
def test_a_code_is_found_and_becomes_a_missing_value(side: Side, name: str, code: float) -> None:
    clean = parcels(0)
    hit = some(clean, side)
    before = clean.features(side)[name]
    planted = clean.with_column(side, name, before.where(~hit, code))
    (found,) = codes_in(planted)
    assert found.column == name
    assert ("the test set" if side == "test" else "training") in found.where
    assert found.rows is not None
    np.testing.assert_array_equal(found.rows, np.flatnonzero(hit))
    gone, filled = found.changes
    assert isinstance(gone, Mask)
    changed = gone.applied(planted.data)
    own, other = (changed.test, changed.train) if side == "test" else (changed.train, changed.test)
    pd.testing.assert_frame_equal(own.features, clean.with_column(side, name, before.where(~hit)).features(side))
    pd.testing.assert_frame_equal(other.features, clean.features("training" if side == "test" else "test"))
    changed = filled.applied(planted.data)
    values = (changed.test if side == "test" else changed.train).features[name]
    assert (values[~hit] == before[~hit]).all()
    assert values[hit].nunique() == 1
    assert before.min() <= values[hit].iloc[0] <= before.max(), "a usual value in their place"


def test_a_zero_among_numbers_without_steps_is_a_code() -> None:
    """It is not beyond the others: the other set, of as fine numbers, has none of it."""
    rng = np.random.default_rng(0)
    test = np.where(rng.random(300) < 0.2, 0.0, rng.normal(size=300))
    (found,) = missing.claims(TwoSets("c", rng.normal(size=600), test, None))
    assert found.rows is not None
    np.testing.assert_array_equal(found.rows, np.flatnonzero(test == 0))


@pytest.mark.parametrize("word", ["?", "Unknown", " n/a ", "-999"])
def test_a_word_for_no_value_is_found_in_a_category(word: str) -> None:
    clean = parcels(0)
    hit = some(clean, "test")
    planted = clean.with_column("test", "kind", clean.X_test["kind"].where(~hit, word))
    (found,) = codes_in(planted)
    assert (found.cause, found.column) == ("missing_code", "kind")
    assert found.rows is not None
    np.testing.assert_array_equal(found.rows, np.flatnonzero(hit))


@pytest.mark.parametrize("name", ["weight", "kind"])
def test_cells_that_are_missing_in_one_set_only_are_told(name: str) -> None:
    clean = parcels(0)
    planted = clean.with_column("test", name, clean.X_test[name].where(~some(clean, "test"), None))
    (found,) = codes_in(planted)
    assert (found.column, found.changes) == (name, ())
    assert "missing in the test set" in found.said


@pytest.mark.parametrize("plant", [None, late_is_rare, *WRONG_LABELS.values()])
def test_no_code_where_none_was_planted(plant: Any) -> None:
    for seed in SEEDS:
        rows = parcels(seed) if plant is None else plant(parcels(seed))
        assert "missing_code" not in {cause for cause, _ in seen(rows)}, seed


def test_what_both_sets_have_as_often_is_no_code() -> None:
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        numbers = [np.where(rng.random(n) < 0.2, -999.0, rng.normal(size=n)) for n in (600, 300)]
        assert missing.claims(TwoSets("c", numbers[0], numbers[1], None)) == []
        empty = [np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n)) for n in (600, 300)]
        assert missing.claims(TwoSets("c", empty[0], empty[1], None)) == []
        words = [rng.choice(np.array(["?", "a", "b"], dtype=object), n) for n in (600, 300)]
        assert missing.claims(coded("c", *words)) == []


def test_values_that_are_more_frequent_in_one_set_are_no_codes() -> None:
    """The next whole number after the last, and a word that means something."""
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        numbers = rng.integers(1, 7, 600).astype(float), rng.integers(1, 8, 300).astype(float)
        assert missing.claims(TwoSets("c", *numbers, None)) == []
        words = rng.choice(np.array(["a", "b"], dtype=object), 600), rng.choice(np.array(["a", "b", "c"]), 300)
        assert missing.claims(coded("c", *words)) == []
