"""A column in another unit: found with its factor, in the set and the rows that have it, and nothing else is one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from psidebug import policy
from psidebug.causes import units
from psidebug.causes.claim import Claim, Side
from psidebug.causes.columns import TwoSets, both_sets, unlike
from psidebug.changes import Mask, Rescale
from psidebug.diagnosis.causes import claims_of, harmless
from psidebug.diagnosis.proof import Prover
from psidebug.task.data import Data
from psidebug.task.task import Task
from tests.causes.rows import SEEDS, WRONG_LABELS, Rows, late_is_rare, learner, parcels, seen


def units_in(rows: Rows, **more: Any) -> list[Claim]:
    return [each for each in claims_of(Data.of(learner(), *rows.parts, **more)) if each.cause == "unit"]


@pytest.mark.parametrize("factor", [1000.0, 60.0, 12.0, 0.1, 1 / 365])
@pytest.mark.parametrize("side", ["training", "test"])
def test_a_whole_column_is_found_and_brought_back(side: Side, factor: float) -> None:
    """Other rows, kept apart, say which of the sets it is."""
    clean, apart = parcels(0), parcels(1)
    planted = clean.with_column(side, "weight", clean.features(side)["weight"] * factor)
    (found,) = units_in(planted, X_validation=apart.X_test, y_validation=apart.y_test)
    assert found.column == "weight"
    assert ("the test set" if side == "test" else "training") in found.where
    (change,) = found.changes
    assert isinstance(change, Rescale)
    assert change.test == (side == "test")
    assert change.factor == pytest.approx(1 / factor, rel=1e-3)
    changed = change.applied(planted.data)
    for part, before in ((changed.train, clean.X_train), (changed.test, clean.X_test)):
        pd.testing.assert_frame_equal(part.features, before, rtol=1e-3)


def test_without_other_rows_the_sets_are_brought_to_the_unit_of_training() -> None:
    clean = parcels(0)
    planted = clean.with_column("training", "weight", clean.X_train["weight"] * 1000)
    (found,) = units_in(planted)
    (change,) = found.changes
    changed = change.applied(planted.data)
    pd.testing.assert_frame_equal(changed.train.features, planted.X_train)
    np.testing.assert_allclose(changed.test.features["weight"], 1000 * clean.X_test["weight"])


@pytest.mark.parametrize("side", ["training", "test"])
def test_some_rows_in_another_unit_are_found_row_by_row(side: Side) -> None:
    clean = parcels(2)
    count = len(clean.labels(side))
    rows = np.sort(np.random.default_rng(3).choice(count, count // 4, replace=False))
    values = clean.features(side)["weight"].to_numpy().copy()
    values[rows] *= 1000
    planted = clean.with_column(side, "weight", values)
    (found,) = units_in(planted)
    assert found.column == "weight"
    assert found.rows is not None
    np.testing.assert_array_equal(found.rows, rows)
    assert str(len(rows)) in found.where
    changed = found.changes[0].applied(planted.data)
    pd.testing.assert_frame_equal(changed.train.features, clean.X_train)
    pd.testing.assert_frame_equal(changed.test.features, clean.X_test)


def test_rows_that_are_no_test_rows_stay_as_they_are() -> None:
    """Positions of test rows mean nothing among validation rows, of which there may be fewer."""
    clean = parcels(2)
    values = clean.X_test["weight"].to_numpy().copy()
    values[200:] *= 1000
    planted, few = clean.with_column("test", "weight", values), parcels(4, 700, 40)
    (found,) = units_in(planted, X_validation=few.X_test, y_validation=few.y_test)
    data = Data.of(learner(), *planted.parts, X_validation=few.X_test, y_validation=few.y_test)
    changed = found.changes[0].applied(data)
    assert changed.validation is not None
    pd.testing.assert_frame_equal(changed.validation.features, few.X_test)


@pytest.mark.parametrize("plant", [None, late_is_rare, *WRONG_LABELS.values()])
def test_no_unit_where_none_was_planted(plant: Any) -> None:
    for seed in SEEDS:
        rows = parcels(seed) if plant is None else plant(parcels(seed))
        assert "unit" not in {cause for cause, _ in seen(rows)}, seed


def codes(rng: np.random.Generator, n: int, *, other: bool) -> Any:
    """Numbers of twelve places, which the two sets have in other shares."""
    places = np.array([1.0, 2, 3, 10, 11, 12, 20, 30, 100, 110, 120, 200])
    shares = np.linspace(1, 12, 12) if other else np.linspace(12, 1, 12)
    return rng.choice(places, n, p=shares / shares.sum())


@pytest.mark.parametrize(
    "made",
    [
        pytest.param(codes, id="codes of places"),
        pytest.param(lambda rng, n, other: np.minimum(rng.geometric(0.05 + 0.1 * other, n), 40.0), id="codes to 40"),
        pytest.param(lambda rng, n, other: np.exp(rng.normal(size=n) + 0.4 * other), id="half as large again"),
        pytest.param(lambda rng, n, other: rng.normal(20 + 5 * other, 3, n), id="another zero"),
        pytest.param(lambda rng, n, other: rng.normal(20, 3 + 6 * other, n), id="more spread"),
        pytest.param(lambda rng, n, other: np.where(rng.random(n) < 0.4 * other, -999, rng.gamma(4, 2, n)), id="-999"),
        pytest.param(lambda rng, n, other: rng.integers(0, 2, n) * (1.0 + other), id="two values"),
    ],
)
def test_what_differs_otherwise_is_no_unit(made: Any) -> None:
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        column = TwoSets("c", made(rng, 600, other=False), made(rng, 300, other=True), None)
        assert units.claims(column) == [], seed


def test_a_few_rows_of_a_small_table_in_another_unit_are_seen_by_their_end() -> None:
    rows = parcels(0, train=280, test=140)
    hit = np.random.default_rng(0).random(280) < 0.2
    rows = rows.with_column("training", "weight", rows.X_train["weight"].where(~hit, rows.X_train["weight"] * 100))
    column = next(each for each in both_sets(rows.data) if each.name == "weight")
    assert unlike(column.present("training"), column.present("test")) > policy.CLEARLY_DIFFERENT
    (claim,) = units.claims(column)
    assert claim.rows is not None
    assert (hit[claim.rows]).mean() > 0.95


def test_a_whole_column_is_repaired_though_wrong_labels_make_that_look_harmful() -> None:
    """Codes in some rows are not: they are less clear."""
    effect = Prover(Task.of(learner(), *parcels(0).parts, seed=0)).verify(Rescale("weight", test=True, factor=0.1))
    bad = replace(effect, gain=-100.0, gain_error=1.0)
    assert harmless(Rescale("weight", test=True, factor=0.1), bad)
    assert not harmless(Rescale("weight", test=True, factor=0.1, rows=np.arange(50)), bad)
    assert not harmless(Mask("weight", test=True, code=-1.0), bad)


def test_a_unit_is_found_where_the_classes_have_other_shares_too() -> None:
    rows = late_is_rare(parcels(0, 1500, 700))
    rows = rows.with_column("test", "weight", rows.X_test["weight"] * 1000)
    column = next(each for each in both_sets(rows.data) if each.name == "weight")
    alike = unlike(column.present("training"), column.present("test") / 1000)
    assert alike < policy.STILL_DIFFERENT, "the case that this test is about"
    (claim,) = units.claims(column)
    (change,) = claim.changes
    assert isinstance(change, Rescale)
    assert change.factor == pytest.approx(0.001)
