"""Tables of every kind come back as they were given: columns, types, categories, dates, missing values."""

from __future__ import annotations

import datetime as dt
import io
import json
import sys
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import polars.testing
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp

from psidebug.store.stored import restored, restored_series, stored, stored_series


def through_files(parts: tuple[Any, Any]) -> tuple[Any, Any]:
    table, form = parts
    file = io.BytesIO()
    pq.write_table(table, file)
    file.seek(0)
    return pq.read_table(file), json.loads(json.dumps(form, allow_nan=False))


def again(table: Any) -> Any:
    return restored(*through_files(stored(table)))


def pandas_frame() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "number": [1.5, np.nan, -0.0],
            "whole": np.array([1, 2, 3], dtype=np.int8),
            "large": [2**62 + 1, 0, 1],
            "nullable": pd.array([2**62 + 1, None, 3], dtype="Int64"),
            "yes": [True, False, True],
            "maybe": pd.array([True, None, False], dtype="boolean"),
            "text": ["a", "ä", None],
            "string": pd.array(["a", None, "c"], dtype="string"),
            "objects": pd.Series([1, "a", None], dtype=object),
            "gaps": pd.Series(["x", np.nan, pd.NA], dtype=object),
            "lists": pd.Series([[1], (2, 3), None], dtype=object),
            "day": pd.to_datetime(["2024-01-01", None, "2024-01-03"]),
            "nanoseconds": pd.to_datetime(["2024-01-01 00:00:00.000000001"] * 3).astype("datetime64[ns]"),
            "zoned": pd.to_datetime(["2024-01-01", None, "2024-01-03"]).tz_localize("Europe/Berlin"),
            "python_day": pd.Series([dt.date(2024, 1, 1), None, dt.date(2024, 1, 3)], dtype=object),
            "lasting": pd.to_timedelta([1, 2, None], unit="s"),
            "category": pd.Categorical(["b", None, "a"], categories=["z", "b", "a"], ordered=True),
            "numbered": pd.Categorical([3, 1, 3], categories=[3, 2, 1]),
            "cut": pd.cut(pd.Series([0.1, 0.9, np.nan]), [0.0, 0.5, 1.0]),
            "period": pd.period_range("2024-01", periods=3, freq="M"),
            7: [1, 2, 3],
        }
    )


@pytest.mark.parametrize("name", list(pandas_frame().columns), ids=str)
def test_each_kind_of_pandas_column(name: Any) -> None:
    frame = pandas_frame()[[name]]
    pd.testing.assert_frame_equal(again(frame), frame)


def test_missing_objects_keep_their_kind() -> None:
    values = again(pandas_frame())["gaps"].tolist()
    assert values[0] == "x"
    assert isinstance(values[1], float)
    assert values[2] is pd.NA


@pytest.mark.parametrize(
    "index",
    [pd.RangeIndex(3), pd.RangeIndex(1, 4), pd.Index(["a", "b", "c"], name="id"), pd.date_range("2024", periods=3)],
    ids=str,
)
def test_a_pandas_frame_keeps_its_index(index: Any) -> None:
    frame = pandas_frame().set_axis(index)
    pd.testing.assert_frame_equal(again(frame), frame, check_freq=False)


def test_a_sparse_pandas_column_keeps_its_values() -> None:
    frame = pd.DataFrame({"a": pd.arrays.SparseArray([0.0, 0.0, 1.5])})
    assert again(frame)["a"].tolist() == [0.0, 0.0, 1.5]


def polars_frame() -> pl.DataFrame:
    return pl.DataFrame(
        {
            "number": [1.5, None, float("nan")],
            "whole": pl.Series([1, None, 3], dtype=pl.UInt8),
            "yes": [True, None, False],
            "text": ["a", None, "ä"],
            "day": [dt.date(2024, 1, 1), None, dt.date(2024, 1, 3)],
            "moment": pl.Series([dt.datetime(2024, 1, 1), None, None], dtype=pl.Datetime("ms", "Europe/Berlin")),
            "lasting": [dt.timedelta(seconds=1), None, None],
            "time": [dt.time(1), None, None],
            "category": pl.Series(["b", None, "a"], dtype=pl.Categorical),
            "enum": pl.Series(["b", None, "a"], dtype=pl.Enum(["z", "b", "a"])),
            "list": [[1, 2], None, []],
            "nothing": pl.Series([None] * 3, dtype=pl.String),
        }
    )


@pytest.mark.parametrize("name", polars_frame().columns)
def test_each_kind_of_polars_column(name: str) -> None:
    frame = polars_frame().select(name)
    pl.testing.assert_frame_equal(again(frame), frame)


def test_each_kind_of_pyarrow_column() -> None:
    table = pa.table(
        {
            "number": pa.array([1.5, None, float("nan")]),
            "small": pa.array([1, None, 3], pa.int8()),
            "text": ["a", None, "b"],
            "day": pa.array([dt.date(2024, 1, 1), None, None]),
            "category": pa.array(["b", None, "a"]).dictionary_encode(),
        }
    )
    found = again(table)
    assert found.schema.types == table.schema.types
    for one, other in zip(found.columns, table.columns, strict=True):
        assert str(one.to_pylist()) == str(other.to_pylist())


@pytest.mark.parametrize(
    "matrix",
    [
        np.arange(6.0).reshape(3, 2),
        np.array([[1, -2], [3, 4]], dtype=np.int8),
        np.array([[0.1, np.nan], [np.inf, -0.0]], dtype=np.float32),
        np.array([[0.1], [0.2]], dtype=np.float16),
        np.array([[True, False]]),
        np.array([["a", "long text"], ["ä", ""]]),
        np.array([["2024-01-01", "NaT"]], dtype="datetime64[D]"),
        np.array([["a", 1], [None, 2.5]], dtype=object),
        np.array([[b"a", b"b"]]),
    ],
    ids=lambda matrix: str(matrix.dtype),
)
def test_each_kind_of_matrix(matrix: Any) -> None:
    found = again(matrix)
    assert found.dtype == matrix.dtype
    np.testing.assert_array_equal(found, matrix)


def test_the_columns_of_a_matrix_are_numbered() -> None:
    assert stored(np.zeros((2, 3)))[0].column_names == ["x0", "x1", "x2"]


@pytest.mark.parametrize("make", [sp.csr_matrix, sp.csr_array])
def test_a_sparse_matrix(make: Any) -> None:
    matrix = make(np.array([[0, 1.5, 0], [0, 0, 0], [2, 0, 0]], dtype=np.float32))
    found = again(matrix)
    assert type(found) is type(matrix)
    assert found.dtype == matrix.dtype
    assert found.shape == matrix.shape
    np.testing.assert_array_equal(found.toarray(), matrix.toarray())
    assert stored(matrix)[0].column_names == ["row", "column", "value"]


def test_texts_even_those_that_are_no_unicode() -> None:
    texts = np.array(["a b", "", "\ud800", "ä"], dtype=object)
    found = again(texts)
    assert found.dtype == object
    assert found.tolist() == texts.tolist()
    assert stored(texts[:2])[0].to_pydict() == {"text": ["a b", ""]}


@pytest.mark.parametrize(
    "series",
    [
        pd.Series(["a", "b"], name="y", index=[4, 7]),
        pd.Series([1, 2]),
        pd.Series(["a", "b"], dtype="category", name=3),
        pd.Series([("a", 1), ("b", 2)]),
        pd.Series(pd.to_datetime(["2024-01-01", "2024-01-02"])),
    ],
    ids=["text", "numbers", "category", "tuples", "dates"],
)
def test_a_pandas_series_of_labels(series: Any) -> None:
    pd.testing.assert_series_equal(restored_series(*through_files(stored_series(series))), series)


def test_series_of_labels_of_other_libraries() -> None:
    named = pl.Series("y", ["a", "b"], dtype=pl.Categorical)
    pl.testing.assert_series_equal(restored_series(*through_files(stored_series(named))), named)
    chunked = pa.chunked_array([[1, 2], [3]])
    assert restored_series(*through_files(stored_series(chunked))).to_pylist() == [1, 2, 3]


@pytest.mark.parametrize(
    "frame", [pandas_frame()[["number", "category", "objects"]], polars_frame()[["number", "enum"]]]
)
def test_a_frame_whose_library_is_not_installed_comes_as_pyarrow(monkeypatch: pytest.MonkeyPatch, frame: Any) -> None:
    written = through_files(stored(frame))
    monkeypatch.setattr("importlib.util.find_spec", lambda name, *_: None if name in ("pandas", "polars") else sys)
    found = restored(*written)
    assert isinstance(found, pa.Table)
    assert found.column_names == list(frame.columns)
    assert found.column(1).to_pylist() == ["b", None, "a"]


def test_numbers_in_the_place_of_dates_are_damage() -> None:
    """Dates beyond the year 9999 are refused when they are read; numbers would become such dates unseen."""
    table, form = stored(pd.DataFrame({"when": pd.date_range("2024-01-01", periods=3)}))
    forged = pa.table({"when": pa.array([2**62] * 3)})
    assert restored(table, form)["when"].dt.year.tolist() == [2024] * 3
    with pytest.raises(pa.ArrowInvalid, match="holds no dates"):
        restored(forged, form)
