"""The names of rows: those that a user looks them up by."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import psidebug
from psidebug.task.row_ids import index_of


@pytest.mark.parametrize(
    ("index", "found"),
    [
        ([7, 3, 5], [7, 3, 5]),
        (["a", "c", "b"], ["a", "c", "b"]),
        ([0, 1, 2], None),
        ([7, 7, 5], None),
        ([0.5, 1.5, 2.5], None),
        (pd.date_range("2024-01-01", periods=3), None),
        (pd.MultiIndex.from_tuples([(0, 1), (0, 2), (1, 1)]), None),
    ],
)
def test_an_index_that_tells_rows_apart_names_them(index: Any, found: Any) -> None:
    assert index_of(pd.DataFrame({"x": [1, 2, 3]}, index=index)) == found
    assert index_of(np.zeros((3, 1)), pd.Series([0, 1, 0], index=index)) == found


def test_suspects_are_looked_up_by_the_index_after_a_shuffle() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=240), "z": rng.normal(size=240)})
    frame["y"] = np.where(frame.x > 0, "high", "low")
    mixed = frame.sample(frac=1, random_state=1)
    train, test = mixed.iloc[:150], mixed.iloc[150:]
    labels = train.y.where(~((train.z > 0.5) & (train.y == "high")), "low")
    found = psidebug.debug(LogisticRegression(), train[["x", "z"]], labels, test[["x", "z"]], test.y)
    assert found.correction is not None
    assert set(found.suspects.row) <= set(train.index)
    looked_up = labels.loc[found.suspects.row]
    assert looked_up.tolist() == found.suspects.given.tolist()
    named = psidebug.debug(
        LogisticRegression(), train[["x", "z"]], labels, test[["x", "z"]], test.y, rows=range(150), effort="rank"
    )
    assert labels.iloc[named.suspects.row].tolist() == named.suspects.given.tolist()
