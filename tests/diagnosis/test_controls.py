"""What is proved gains more than the same done elsewhere; where there is no elsewhere, that is said."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from psidebug.causes.claim import Claim
from psidebug.changes import Drop, Mask, Rescale, Swap
from psidebug.diagnosis.causes import found_cause, repaired_rows
from psidebug.diagnosis.controls import elsewhere
from psidebug.findings.effects import ErrorRate, Verification
from psidebug.findings.findings import FoundCause
from psidebug.task.columns import columns
from psidebug.task.data import Data
from psidebug.task.task import Task
from tests.causes.rows import NUMBERS, Rows, learner, parcels


def other(data: Data, change: Any) -> Any:
    return elsewhere(data, change, np.random.default_rng(0))


def changed_cells(before: pd.DataFrame, after: pd.DataFrame) -> dict[str, int]:
    differ = before.astype(object).ne(after.astype(object)) & ~(before.isna() & after.isna())
    return {name: int(count) for name, count in differ.sum().items() if count}


@pytest.mark.parametrize("test", [False, True])
@pytest.mark.parametrize(("column", "code"), [("weight", -999.0), ("kind", "unknown")])
def test_as_many_cells_of_another_column_lose_their_value(column: str, code: Any, test: bool) -> None:
    rows = parcels(0)
    side: Any = "test" if test else "training"
    data = rows.with_column(
        side, column, rows.features(side)[column].where(np.arange(len(rows.labels(side))) % 5 > 0, code)
    ).data
    change = Mask(column, test=test, code=code)
    control = other(data, change)
    done = control.applied(data)
    parts = [(data.train.features, done.train.features), (data.test.features, done.test.features)]
    ((name, count),) = changed_cells(*parts[test]).items()
    assert count == control.count(data) == change.count(data) > 50
    assert name != column
    assert (name in NUMBERS) == (column in NUMBERS), "of the same kind"
    assert changed_cells(*parts[not test]) == {}, "the other set is as it was"
    if column == "weight":
        filled = other(data, replace(change, fill=3.0))
        values = columns(filled.applied(data).train.features if not test else filled.applied(data).test.features)
        assert all(np.isfinite(each.values).all() for each in values if each.numeric), "filled where the repair fills"


def test_as_many_rows_that_are_no_copies_are_left_out() -> None:
    data, copies = parcels(0).data, np.arange(100, 300)
    control = other(data, Drop(copies))
    assert len(np.unique(control.rows)) == 200
    assert not np.isin(control.rows, copies).any()
    assert other(data, Drop(np.arange(len(data.train) // 2))) is None, "there are not as many others to keep some"


def test_two_other_columns_change_places() -> None:
    data = parcels(0).data
    control = other(data, Swap("weight", "age"))
    assert {control.one, control.other} == {"price", "days"}


def test_without_another_column_there_is_no_control() -> None:
    X = pd.DataFrame({"a": np.arange(6.0), "b": np.arange(6.0)})
    data = Data.of(LogisticRegression(), X, list("ababab"), X, list("ababab"))
    assert other(data, Swap("a", "b")) is None
    alone = Data.of(LogisticRegression(), X[["a"]], list("ababab"), X[["a"]], list("ababab"))
    assert other(alone, Rescale("a", factor=2.0)) is None
    assert other(alone, Mask("a", code=1.0)) is None


def gained(nats: float) -> Verification:
    """So many nats, and 30 of 100 errors fewer."""
    return Verification(5, ErrorRate(40, 100), ErrorRate(10, 100), None, None, 30, 0, nats, 1.0)


@pytest.mark.parametrize(
    ("control", "proved", "proof"),
    [
        (None, False, "no control"),
        (gained(2.0), True, "yes"),
        (gained(50.0), False, "no"),
        (gained(-np.inf), True, "yes"),
    ],
)
def test_proved_is_what_gains_more_than_its_control(control: Any, proved: bool, proof: str) -> None:
    rows = parcels(0, 60, 40)
    task = Task.of(learner(), *rows.parts)
    claim = Claim("unit", "column weight", "…", "…")
    found = replace(found_cause(claim, task, gained(40.0), control), change=Rescale("weight", factor=2.0))
    assert (found.proved, found.proof) == (proved, proof)
    assert found.control == (None if control is None else control.gain)


def seen_in(rows: Rows, **more: Any) -> tuple[FoundCause, ...]:
    return repaired_rows(Task.of(learner(), *rows.parts, seed=0, **more), lambda *_: None).causes


@pytest.mark.parametrize("side", ["training", "test"])
def test_words_for_no_value_among_categories_are_repaired_beside_a_control(side: Any) -> None:
    clean = parcels(0)
    hit = np.random.default_rng(0).random(len(clean.labels(side))) < 0.4
    (found,) = seen_in(clean.with_column(side, "kind", clean.features(side)["kind"].where(~hit, "unknown")))
    assert found.cause == "missing_code"
    assert found.control is not None
    assert isinstance(found.change, Mask)
    assert (found.change.column, found.change.test, found.change.code) == ("kind", side == "test", "unknown")


def test_swapped_columns_and_codes_have_controls() -> None:
    clean = parcels(0)
    X = clean.X_test
    seen = seen_in(clean.with_features("test", X.assign(weight=X["age"], age=X["weight"])))
    swapped = next(each for each in seen if each.cause == "swapped_columns")
    assert swapped.proved
    assert swapped.control is not None
    hit = np.random.default_rng(0).random(len(X)) < 0.3
    (coded,) = seen_in(clean.with_column("test", "weight", X["weight"].where(~hit, -999.0)))
    assert (coded.cause, coded.proved) == ("missing_code", True)
    assert coded.control is not None
    assert isinstance(coded.change, Mask)
    assert np.isnan(coded.change.fill), "what is written is a missing value: nothing is made up"


@pytest.mark.parametrize("cause", ["unit", "swapped_columns"])
@pytest.mark.parametrize("shared", [False, True])
def test_validation_rows_are_repaired_only_if_they_share_the_fault(cause: str, shared: bool) -> None:
    """Else they would veto the repair, which spoils them."""

    def spoiled(X: pd.DataFrame) -> pd.DataFrame:
        return X.assign(weight=X["weight"] * 1000) if cause == "unit" else X.assign(weight=X["age"], age=X["weight"])

    clean, apart = parcels(0), parcels(5)
    rows = clean.with_features("test", spoiled(clean.X_test))
    X = spoiled(apart.X_test) if shared else apart.X_test
    seen = seen_in(rows, X_validation=X, y_validation=apart.y_test)
    found = next(each for each in seen if each.cause == cause)
    assert found.proved
    if cause == "swapped_columns":
        assert isinstance(found.change, Swap)
        assert found.change.validation == shared
    elif not shared:
        assert isinstance(found.change, Rescale)
        assert (found.change.test, found.change.validation) == (True, False)
