"""Tables in the user's own library: recognised, cut, compared, and given back."""

from __future__ import annotations

from datetime import date
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

from psidebug.errors import MissingValues, ShapeMismatch, UnsupportedFeatures
from psidebug.task.columns import column_of, columns
from psidebug.task.tables import as_table, check_finite, column_names, frame_like, row_count, same_columns, take

NUMBERS: npt.NDArray[np.float64] = np.arange(12.0).reshape(4, 3)
NAMES = ["a", "b", "c"]


def as_pandas(X: npt.NDArray[Any]) -> pd.DataFrame:
    return pd.DataFrame(X, columns=NAMES, index=range(100, 100 + len(X)))


def as_polars(X: npt.NDArray[Any]) -> pl.DataFrame:
    return pl.DataFrame(dict(zip(NAMES, X.T, strict=True)))


def as_arrow(X: npt.NDArray[Any]) -> Any:
    return pa.table(dict(zip(NAMES, X.T, strict=True)))


FRAMES = [as_pandas, as_polars, as_arrow]
KINDS: list[Any] = [
    np.asarray,
    np.asfortranarray,
    lambda X: X.astype(np.float32),
    lambda X: X.astype(np.int64),
    lambda X: X.astype(object),
    np.asmatrix,
    lambda X: X.tolist(),
    lambda X: tuple(map(tuple, X)),
    sp.csr_array,
    sp.csc_matrix,
    sp.coo_array,
    sp.lil_matrix,
    *FRAMES,
    lambda X: nw.from_native(as_polars(X)),
]


def dense(table: Any) -> npt.NDArray[Any]:
    return np.asarray(table.toarray() if sp.issparse(table) else table)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
def test_every_kind_of_table_is_counted_and_cut_by_row(kind: Any) -> None:
    table = as_table(kind(NUMBERS), name="X_train")
    assert row_count(table) == 4
    cut = take(table, np.array([3, 1], dtype=np.intp))
    assert type(cut) is type(table)
    np.testing.assert_array_equal(dense(cut).astype(float), NUMBERS[[3, 1]])


@pytest.mark.parametrize("kind", [lambda X: X, sp.csr_array, as_pandas, as_polars, as_arrow])
def test_the_users_own_object_is_not_copied(kind: Any) -> None:
    given = kind(NUMBERS)
    assert as_table(given, name="X_train") is given


def test_numbers_next_to_texts_stay_numbers() -> None:
    table = as_table([[1.5, "a"], [2.5, "b"]], name="X_train")
    assert table.tolist() == [[1.5, "a"], [2.5, "b"]]


@pytest.mark.parametrize(
    "texts",
    [
        ["one", "two"],
        ("one", "two"),
        np.array(["one", "two"]),
        np.array(["one", "two"], dtype=object),
        pd.Series(["one", "two"], index=[5, 9]),
        pd.Series(["one", "two"], dtype="string"),
        pl.Series(["one", "two"]),
        pa.chunked_array([["one"], ["two"]]),
    ],
    ids=lambda texts: type(texts).__name__,
)
def test_texts_are_one_dimension_of_str(texts: Any) -> None:
    table = as_table(texts, name="X_train")
    assert table.shape == (2,)
    assert table.tolist() == ["one", "two"]
    assert columns(table) == []


def test_an_arrow_table_with_text_reaches_the_learner_as_a_frame_of_str() -> None:
    table = as_table(pa.table({"n": [1, 2], "t": ["one", "two"]}), name="X_train")
    assert isinstance(table, pd.DataFrame)
    assert table["t"].tolist() == ["one", "two"]


@pytest.mark.parametrize(
    ("features", "said"),
    [
        (np.ones((2, 2, 2)), "X_test has 3 dimensions"),
        (np.float64(3.0), "Give a numpy array"),
        (np.ones(3), r"X_test.reshape\(-1, 1\)"),
        ([1.0, 2.0], "reshape"),
        (pd.Series([1, 2]), "reshape"),
        (["text", 3], "every row must be a str"),
        (np.ones((0, 3)), "X_test has no rows"),
        ([], "X_test has no rows"),
        (np.ones((3, 0)), "X_test has no columns"),
        (pd.DataFrame(index=[1, 2]), "X_test has no columns"),
        (pd.DataFrame({"a": []}), "X_test has no rows"),
        (pl.DataFrame({"a": [1]}).lazy(), r"X_test.collect\(\)"),
        ((row for row in NUMBERS), "generator"),
        ({"a": [1, 2]}, "builtins.dict"),
        ([[1, 2], [3]], "same number of columns"),
        ([[1, 2], 3], "same number of columns"),
        ([{"a": 1}, {"a": 2}], "every row must be a str"),
        (None, "NoneType"),
        (3, "builtins.int"),
        ("text", "list of texts"),
        (pd.DataFrame(np.ones((2, 2)), columns=["a", "a"]), "cannot be told apart.*'a' 2 times"),
        (np.ma.MaskedArray(np.ones((2, 2)), mask=[[True, False], [False, False]]), "masked"),
        (sp.coo_array(np.ones(3)), "sparse with 1 dimensions"),
        (sp.coo_array(np.ones((2, 2, 2))), "sparse with 3 dimensions"),
    ],
)
def test_what_is_no_table_is_named(features: Any, said: str) -> None:
    with pytest.raises(UnsupportedFeatures, match=said):
        as_table(features, name="X_test")


@pytest.mark.parametrize("frame", FRAMES)
def test_columns_in_another_order_are_put_in_training_order(frame: Any) -> None:
    train = frame(NUMBERS)
    other = nw.from_native(train, eager_only=True).select("c", "a", "b").to_native()
    again = same_columns(train, other, name="X_test")
    assert column_names(again) == NAMES
    np.testing.assert_array_equal(dense(again), NUMBERS)


@pytest.mark.parametrize("frame", FRAMES)
def test_missing_and_added_columns_are_named(frame: Any) -> None:
    train = frame(NUMBERS)
    other = nw.from_native(train, eager_only=True).rename({"b": "z"}).to_native()
    with pytest.raises(ShapeMismatch, match=r"X_test.*missing \['b'\], not in training \['z'\]"):
        same_columns(train, other, name="X_test")


@pytest.mark.parametrize("frame", [*FRAMES, sp.csr_array])
def test_another_number_of_columns_without_names_is_told_by_shape(frame: Any) -> None:
    with pytest.raises(ShapeMismatch, match=r"X_test has shape \(4, 2\), X_train has \(4, 3\)"):
        same_columns(frame(NUMBERS), NUMBERS[:, :2], name="X_test")


def unnamed(values: Any) -> pd.DataFrame:
    return pd.DataFrame(values)


KINDS = [*FRAMES, unnamed, np.asarray, sp.csr_array, sp.csr_matrix]


@pytest.mark.parametrize("given", KINDS)
@pytest.mark.parametrize("trained", KINDS)
def test_numbers_in_another_kind_of_table_become_the_kind_of_training(trained: Any, given: Any) -> None:
    train, other = trained(NUMBERS), given(NUMBERS[:2])
    if {trained, given} <= {*FRAMES, unnamed} and (trained is unnamed) != (given is unnamed):
        return  # other names
    again = same_columns(train, as_table(other, name="X_test"), name="X_test")
    assert sp.issparse(again) == sp.issparse(train)
    assert (column_names(again) is None) == (column_names(train) is None)
    if (names := column_names(train)) is not None:
        assert column_names(again) == names
    np.testing.assert_array_equal(dense(again), NUMBERS[:2])


@pytest.mark.parametrize(
    ("train", "other"),
    [
        (pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]}), np.ones((2, 2))),
        (np.ones((2, 2)), pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]})),
        (pd.DataFrame({"a": [1.0, 2.0]}), np.array([["x"], ["y"]], dtype=object)),
        (sp.csr_array(np.eye(2)), pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]})),
    ],
)
def test_tables_of_two_kinds_that_are_no_numbers_are_refused(train: Any, other: Any) -> None:
    with pytest.raises(UnsupportedFeatures, match=r"X_train is an? .* and X_test an? .*one kind of table"):
        same_columns(as_table(train, name="X_train"), as_table(other, name="X_test"), name="X_test")


def test_texts_and_numbers_are_not_the_same_columns() -> None:
    with pytest.raises(ShapeMismatch, match=r"\(2,\)"):
        same_columns(as_table(["a", "b"], name="X_train"), np.ones((2, 1)), name="X_test")


def hole(value: float) -> npt.NDArray[np.float64]:
    X = NUMBERS.copy()
    X[2, 1] = value
    return X


@pytest.mark.parametrize("kind", [np.asarray, lambda X: X.astype(object), sp.csr_array])
@pytest.mark.parametrize(("value", "told"), [(np.nan, "NaN"), (np.inf, "infinity")])
def test_nan_and_infinity_are_placed_in_a_matrix(kind: Any, value: float, told: str) -> None:
    with pytest.raises(MissingValues, match=rf"X_train has {told} in column 1 \(1 values, first in row 2\).*imputer"):
        check_finite(kind(hole(value)), name="X_train")


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize(("value", "told"), [(np.nan, "NaN"), (-np.inf, "infinity")])
def test_nan_and_infinity_are_placed_in_a_frame(frame: Any, value: float, told: str) -> None:
    with pytest.raises(MissingValues, match=rf"X_test has {told} in column 'b' \(1 values, first in row 2\)"):
        check_finite(frame(hole(value)), name="X_test")


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame({"b": pd.array([1, None], dtype="Int64")}),
        pd.DataFrame({"b": pd.array([True, None], dtype="boolean")}),
        pd.DataFrame({"b": pd.array(["x", None], dtype="string")}),
        pd.DataFrame({"b": pd.Categorical(["x", None])}),
        pl.DataFrame({"b": [1, None]}),
        pl.DataFrame({"b": ["x", None]}),
        pa.table({"b": [1.0, None]}),
    ],
)
def test_nulls_of_every_type_are_missing_values(table: Any) -> None:
    with pytest.raises(MissingValues, match=r"NaN in column 'b'.*first in row 1"):
        check_finite(table, name="X_train")


@pytest.mark.parametrize("missing", [None, pd.NA, float("nan")])
def test_a_missing_object_is_a_missing_value(missing: Any) -> None:
    with pytest.raises(MissingValues, match="column 1"):
        check_finite(np.array([["x", "y"], ["z", missing]], dtype=object), name="X_train")


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array, lambda X: X.astype(object), lambda X: X > 3, *FRAMES])
def test_finite_tables_pass(kind: Any) -> None:
    check_finite(kind(NUMBERS), name="X_train")


def test_columns_are_numbers_or_values() -> None:
    found = columns(pd.DataFrame({"n": [1, 2], "s": ["x", "y"], "b": [True, False], "c": pd.Categorical(["u", "v"])}))
    assert [(column.name, column.numeric) for column in found] == [
        ("n", True),
        ("s", False),
        ("b", False),
        ("c", False),
    ]
    assert [column.values.tolist() for column in found] == [[1, 2], ["x", "y"], [True, False], ["u", "v"]]


def test_objects_that_are_numbers_are_cut_like_numbers() -> None:
    (numbers, words) = columns(np.array([[1, "x"], [2.5, "y"], [None, "z"]], dtype=object))
    assert numbers.numeric
    np.testing.assert_array_equal(numbers.values, [1.0, 2.5, np.nan])
    assert not words.numeric


def test_columns_without_names_are_numbered() -> None:
    assert [column.name for column in columns(NUMBERS)] == ["x0", "x1", "x2"]
    assert [column.name for column in columns(NUMBERS, unnamed="m")] == ["m0", "m1", "m2"]
    assert columns(sp.csr_array(NUMBERS)) == []


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array, *FRAMES])
def test_one_column_is_found_by_its_name(kind: Any) -> None:
    table = as_table(kind(NUMBERS), name="X_train")
    name = "b" if kind in FRAMES else "x1"
    np.testing.assert_array_equal(column_of(table, name).values, NUMBERS[:, 1])
    np.testing.assert_array_equal(column_of(NUMBERS, "m1", unnamed="m").values, NUMBERS[:, 1])


def test_the_column_of_texts_is_the_texts() -> None:
    assert column_of(as_table(["one", "two"], name="X_train"), "text").values.tolist() == ["one", "two"]


DAYS = [date(2024, 2, 29), None]


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame({"d": pd.to_datetime(DAYS)}),
        pd.DataFrame({"d": pd.to_datetime(DAYS).tz_localize("Asia/Tokyo")}),
        pd.DataFrame({"d": pd.Series(DAYS, dtype=object)}),
        pl.DataFrame({"d": DAYS}),
        np.array(DAYS, dtype=object)[:, None],
        np.array(DAYS, dtype="datetime64[D]")[:, None],
    ],
)
def test_dates_are_dates_in_every_library(table: Any) -> None:
    (found,) = columns(table)
    assert found.dated
    assert not found.numeric
    assert np.datetime_as_string(found.values, unit="D").tolist() == ["2024-02-29", "NaT"]


@pytest.mark.parametrize(
    ("example", "kind"), [(as_pandas, pd.DataFrame), (as_polars, pl.DataFrame), (as_arrow, pa.Table)]
)
def test_a_result_is_a_frame_of_the_users_library(example: Any, kind: Any) -> None:
    made = frame_like({"row": np.array(["p", "q"]), "ps": np.array([0.5, 0.25])}, example(NUMBERS))
    assert isinstance(made, kind)
    frame = nw.from_native(made, eager_only=True)
    assert frame.to_dict(as_series=False) == {"row": ["p", "q"], "ps": [0.5, 0.25]}


def test_a_result_for_a_matrix_is_a_pandas_frame_where_pandas_is_installed() -> None:
    assert isinstance(frame_like({"row": [1]}, NUMBERS), pd.DataFrame)


@pytest.mark.parametrize("example", FRAMES)
@pytest.mark.parametrize("values", [[1, "one"], [(1, "a"), (2, "b")], [frozenset({1}), frozenset({2})], [2**70, 1]])
def test_values_that_fit_no_column_become_text_except_in_pandas(example: Any, values: list[Any]) -> None:
    data = np.fromiter(values, dtype=object, count=len(values))
    frame = nw.from_native(frame_like({"row": data}, example(NUMBERS)), eager_only=True)
    assert frame["row"].to_list() == (values if example is as_pandas else [str(value) for value in values])


@pytest.mark.parametrize("example", FRAMES)
def test_an_empty_result_keeps_its_columns(example: Any) -> None:
    empty = {"row": np.empty(0, dtype=object), "given": np.empty(0, dtype="U1"), "ps": np.empty(0)}
    frame = nw.from_native(frame_like(empty, example(NUMBERS)), eager_only=True)
    assert frame.columns == ["row", "given", "ps"]
    assert len(frame) == 0


# ── numbers of rare sizes and types ──


@pytest.mark.parametrize("kind", [np.longdouble, ">f8", ">i4", ">f4"], ids=str)
def test_numbers_of_rare_types_become_plain_ones(kind: Any) -> None:
    given = np.arange(6).reshape(3, 2).astype(kind)
    table = as_table(given, name="X_train")
    assert table.dtype.isnative
    assert table.dtype.itemsize <= 8
    assert table.tolist() == given.tolist()


@pytest.mark.parametrize("make", [np.asarray, pd.DataFrame, sp.csr_matrix], ids=["array", "frame", "sparse"])
@pytest.mark.parametrize("number", [1e160, -1e307, 1.7e308])
def test_numbers_too_large_to_compute_with_are_told(make: Any, number: float) -> None:
    """Their squares are infinite, and that was called NaN in another column."""
    cells = np.ones((4, 3))
    cells[2, 1] = number
    with pytest.raises(UnsupportedFeatures, match=r"X_train has .* in column '?1'?, row 2, which is too large"):
        as_table(make(cells), name="X_train")
    cells[2, 1] = np.inf
    as_table(make(cells), name="X_train")  # some learners take it, and others say so
