"""Labels and ids of any kind come back equal, and of the same type, from JSON and from Parquet."""

from __future__ import annotations

import datetime as dt
import io
import json
import math
import uuid
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from psidebug.store.values import TAGGED, as_json, column, from_json, table_of, values_of

ZONE = dt.timezone(dt.timedelta(hours=2))
VALUES: list[Any] = [
    None, "", "a", "ä ∧ b", "\ud800", "{}", True, False, 0, -1, 2**63, -(2**80), 0.0, 0.1, 1e300, math.inf, -math.inf,
    (), ("a", 1), (1, (2.5, None)), frozenset({1, 2}), b"\x00\xff", dt.date(2024, 2, 29), dt.time(1, 2, 3),
    dt.datetime(2024, 2, 29, 1, 2, 3, 4), dt.datetime(2024, 1, 1, tzinfo=ZONE), dt.timedelta(days=-1, microseconds=3),
    Decimal("1.10"), uuid.UUID(int=7), 1 + 2j, np.datetime64("2024-01-01T00:00:00.000000001"), np.datetime64("2024-03"),
    np.timedelta64(5, "m"), pd.Timestamp("2024-01-01 00:00:00.000000001"), pd.Timestamp("2024-01-01", tz="UTC"),
    pd.Timedelta(1, "ns"), pd.Period("2024-03", "M"), pd.Interval(0.5, 2, closed="left"), ["a", [1]], {"a": (1,)},
]  # fmt: skip


def through_parquet(values: list[Any]) -> tuple[list[Any], Any]:
    file = io.BytesIO()
    pq.write_table(table_of([column("labels", values)]), file)
    file.seek(0)
    table = pq.read_table(file)
    return values_of(table, "labels"), table.schema.field("labels")


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_a_value_comes_back_equal_from_json(value: Any) -> None:
    again = from_json(json.loads(json.dumps(as_json(value), allow_nan=False)))
    assert again == value
    assert type(again) is type(value)


@pytest.mark.parametrize("value", VALUES, ids=repr)
@pytest.mark.parametrize("others", [[], [None], ["text", 3]], ids=repr)
def test_a_column_comes_back_equal_from_parquet(value: Any, others: list[Any]) -> None:
    values = [value, *others, value]
    again, _ = through_parquet(values)
    assert again == values
    assert [type(each) for each in again] == [type(each) for each in values]


def test_nan_and_what_pandas_has_for_missing() -> None:
    again, _ = through_parquet([float("nan"), "a", pd.NA, pd.NaT, None])
    assert math.isnan(again[0])
    assert again[2] is pd.NA
    assert again[3] is pd.NaT
    assert again[4] is None


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["a", None], pa.string()),
        ([1, 2**62], pa.int64()),
        ([True, False], pa.bool_()),
        ([0.5, float("inf")], pa.float64()),
        ([dt.date(2024, 1, 1)], pa.date32()),
        ([dt.datetime(2024, 1, 1)], pa.timestamp("us")),
    ],
)
def test_what_parquet_has_a_type_for_is_written_in_it(values: list[Any], kind: Any) -> None:
    again, field = through_parquet(values)
    assert again == values
    assert field.type == kind
    assert (field.metadata or {}).get(b"psi") is None


def test_true_is_not_one_and_one_is_not_its_text() -> None:
    again, field = through_parquet([True, 1, 1.0, "1", (1,)])
    assert [type(each) for each in again] == [bool, int, float, str, tuple]
    assert field.metadata[b"psi"] == TAGGED[b"psi"]


def test_numpy_scalars_are_plain_numbers() -> None:
    again, field = through_parquet([np.int32(3), np.int8(4)])
    assert again == [3, 4]
    assert field.type == pa.int64()


def test_a_type_that_nobody_knows_is_its_text() -> None:
    class Colour:
        def __str__(self) -> str:
            return "red"

    assert from_json(as_json(Colour())) == "red"
    assert from_json({"type": "Hologram", "value": 3}) == {"type": "Hologram", "value": 3}


def test_a_column_without_values_has_a_type() -> None:
    assert column("a", [])[0].type == pa.float64()
    assert column("a", [None], text=True)[0].type == pa.string()
