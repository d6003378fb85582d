"""Mixed tables in numbers: against pandas' own dummies, and for learners that read categories themselves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from lightgbm import LGBMClassifier

from psidebug.evidence.in_numbers import MOST_COLUMNS, InNumbers
from psidebug.evidence.predictors import FOREST, LINEAR, OWN, Predictors
from psidebug.evidence.predictors import OWN_ON_TEST as ON_TEST
from psidebug.task.task import Task
from psidebug.training.trainer import Trainer

RNG = np.random.default_rng(0)
ROWS = 90
TABLE = pd.DataFrame(
    {
        "city": pd.Categorical(RNG.choice(["Lima", "Bonn", "Oslo"], ROWS)),
        "age": np.where(np.arange(ROWS) % 9 == 0, np.nan, RNG.integers(18, 90, ROWS)),
        "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(RNG.integers(0, 90, ROWS), unit="D"),
        "told": RNG.random(ROWS) < 0.5,
        "note": [f"note {each}" for each in range(ROWS)],
    }
)


@pytest.mark.parametrize("as_given", [pd.DataFrame, pl.from_pandas])
def test_a_value_is_a_column_a_number_itself_and_a_date_its_days(as_given: Any) -> None:
    table = as_given(TABLE)
    numbers = InNumbers.of(table)
    assert numbers is not None
    found = numbers(table)
    columns = {tuple(np.nan_to_num(each, nan=-1.0)) for each in found.T}
    dummies = pd.get_dummies(TABLE[["city", "told"]].astype(str)).to_numpy(float)
    days = (TABLE["day"] - pd.Timestamp("1970-01-01")).dt.days.to_numpy(float)
    expected = [*dummies.T, np.nan_to_num(TABLE["age"].to_numpy(), nan=-1.0), days]
    assert columns == {tuple(each) for each in expected}, "and what is said once is left out"


def test_other_rows_have_the_same_columns() -> None:
    numbers = InNumbers.of(TABLE)
    assert numbers is not None
    others = TABLE[:5].assign(city=["Rome", None, "Lima", "Oslo", "Bonn"], age="old")
    found, before = numbers(others), numbers(TABLE)
    assert found.shape == (5, before.shape[1])
    assert found[:2, :3].tolist() == [[0, 0, 0], [0, 0, 0]], "nobody has seen Rome"
    assert np.isnan(found[:, 3]).all(), "an age that is no number"


def test_of_many_columns_the_most_frequent_values_are_told() -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.choice(list("aaaaabbbccd"), size=(60, 150)))
    numbers = InNumbers.of(table)
    assert numbers is not None
    assert numbers(table).shape[1] <= MOST_COLUMNS
    assert numbers.categories[table.columns[0]] == tuple(table[0].value_counts().index[:2])


@pytest.mark.parametrize("table", [sp.eye_array(9, format="csr"), np.array(["a text"] * 9), TABLE[["note"]]])
def test_what_has_no_values_to_tell_is_not_told(table: Any) -> None:
    assert InNumbers.of(table) is None


def test_plain_predictors_stand_beside_a_learner_that_reads_categories_itself() -> None:
    """And know what the categories say."""
    rng = np.random.default_rng(1)
    city = rng.choice(["Lima", "Bonn", "Oslo"], 600)
    X = pd.DataFrame({"city": pd.Categorical(city), "age": rng.normal(size=600)})
    y = np.where(city == "Lima", 1, 0)
    task = Task.of(LGBMClassifier(n_estimators=5, verbose=-1), X[:400], y[:400], X[400:], y[400:])
    said = {each.name: each for each in Predictors.of(task, Trainer(task)).predict()}
    assert set(said) == {OWN, ON_TEST, LINEAR, FOREST}
    for name in (LINEAR, FOREST):
        assert (said[name].train.argmax(axis=1) == y[:400]).all()
    part = task.drawn(np.arange(0, 400, 2))
    for each in Predictors.of(part, Trainer(part)).predict():
        if each.name in (LINEAR, FOREST):
            assert each.elsewhere is not None
            assert (each.elsewhere(task, np.arange(1, 400, 2)).argmax(axis=1) == y[1:400:2]).all()
