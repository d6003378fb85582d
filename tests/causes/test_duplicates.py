"""Copies of training rows: found where rows were repeated, not where few values are possible."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from psidebug.causes import duplicates
from psidebug.causes.duplicates import row_keys
from psidebug.changes import Drop, Weigh
from psidebug.task.data import Data
from tests.causes.rows import SEEDS, WRONG_LABELS, Rows, late_is_rare, learner, moved, parcels, seen


def repeated(clean: Rows, *, wrong: bool = False) -> Rows:
    """Twelve rows, thirty times each, in any order; the copies with the other label if they are ``wrong``."""
    rng = np.random.default_rng(4)
    some = rng.choice(len(clean.y_train), 12, replace=False)
    order = rng.permutation(np.concatenate([np.arange(len(clean.y_train)), np.repeat(some, 30)]))
    planted = clean.taken("training", order)
    if not wrong:
        return planted
    copies = pd.Series(order).duplicated().to_numpy()
    return planted.with_labels("training", moved(planted.y_train, copies))


def listed(X: pd.DataFrame, y: Any) -> list[Any]:
    return sorted(X.assign(y=y).itertuples(index=False, name=None))


def test_copies_are_found_and_dropping_them_gives_the_clean_rows_back() -> None:
    clean = parcels(0)
    planted = repeated(clean)
    (found,) = duplicates.claims(planted.data)
    copies = len(planted.y_train) - len(clean.y_train)
    assert found.rows is not None
    assert len(found.rows) == copies
    assert f"{copies} copies" in found.said
    assert "different labels" not in found.said
    weigh, drop = found.changes
    assert isinstance(drop, Drop)
    left = drop.applied(planted.data)
    assert listed(left.train.features, left.encoding.decode(left.train.codes)) == listed(clean.X_train, clean.y_train)
    assert isinstance(weigh, Weigh)
    weights = pd.Series(weigh.weights).groupby(row_keys(planted.data)[0]).sum()
    np.testing.assert_allclose(weights, 1.0, err_msg="all copies of a row weigh as much as one row")


def test_weights_that_were_given_stay_under_those_of_copies() -> None:
    planted = repeated(parcels(0))
    own = np.random.default_rng(0).random(len(planted.y_train)) + 0.5
    plain, weighed = (
        duplicates.claims(Data.of(learner(), *planted.parts) if each is None else
                          replace(planted.data, sample_weight=each))[0].changes[0]
        for each in (None, own)
    )  # fmt: skip
    assert isinstance(plain, Weigh)
    assert isinstance(weighed, Weigh)
    np.testing.assert_allclose(weighed.weights, own * plain.weights)


def test_copies_with_other_labels_are_told() -> None:
    (found,) = duplicates.claims(repeated(parcels(0), wrong=True).data)
    assert "12 of them with different labels" in found.said
    assert "the label that is right" in found.advice


@pytest.mark.parametrize("plant", [None, late_is_rare, *WRONG_LABELS.values()])
def test_no_copies_where_none_were_planted(plant: Any) -> None:
    for seed in SEEDS:
        rows = parcels(seed) if plant is None else plant(parcels(seed))
        assert "duplicates" not in {cause for cause, _ in seen(rows)}, seed


def coarse(seed: int, n: int) -> pd.DataFrame:
    """Few values are possible, so that many rows have a twin."""
    rng = np.random.default_rng([seed, n])
    return pd.DataFrame({name: rng.choice(size, n, p=np.arange(1, size + 1) / (size * (size + 1) / 2))
                         for name, size in (("a", 6), ("b", 5), ("c", 4))})  # fmt: skip


@pytest.mark.parametrize("unit", [1.0, 1000.0])
def test_rows_that_are_equal_by_chance_are_no_copies(unit: float) -> None:
    """Also where no test row is equal to a training row, since a column has another unit."""
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        X, T = coarse(seed, 500), coarse(seed, 250)
        data = Data.of(learner(), X, rng.choice(["a", "b"], 500), T.assign(a=(T["a"] + 1) * unit), ["a", "b"] * 125)
        assert len(np.unique(row_keys(data)[0])) < 250, "the case that this test is about"
        assert duplicates.claims(data) == [], seed


def test_copies_in_both_sets_alike_are_no_copies_of_training() -> None:
    """Every row was there three times before the sets were drawn: that is how new rows will be too."""
    clean = parcels(0)
    both, labels = pd.concat([clean.X_train, clean.X_test]), np.concatenate([clean.y_train, clean.y_test])
    order = np.random.default_rng(0).permutation(np.repeat(np.arange(len(labels)), 3))
    X, y = both.iloc[order].reset_index(drop=True), labels[order]
    cut = 2 * len(y) // 3
    rows = Rows(X[:cut], y[:cut], X[cut:].reset_index(drop=True), y[cut:])
    assert duplicates.claims(rows.data) == []


def test_a_column_in_which_something_else_is_wrong_can_be_left_out() -> None:
    planted = repeated(parcels(0))
    noisy = planted.X_train["weight"] + np.random.default_rng(0).normal(size=len(planted.y_train))
    hidden = planted.with_column("training", "weight", noisy)
    assert duplicates.claims(hidden.data) == []
    assert duplicates.claims(hidden.data, ["weight"]) == [], "no two rows are copies of each other"
    coded = planted.X_train["weight"].where(np.arange(len(planted.y_train)) % 4 > 0, -1.0)
    (found,) = duplicates.claims(planted.with_column("training", "weight", coded).data, ["weight"])
    assert len(found.own_rows) >= 12 * 28
