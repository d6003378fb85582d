"""Labels of every kind in, codes inside, the same labels out."""

from __future__ import annotations

import datetime
from collections.abc import Hashable
from enum import StrEnum
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from psidebug.errors import ContinuousLabels, LabelError, MissingLabels, SingleClass, UnseenClass
from psidebug.task.labels import array_of, compressed, encoding_of, listed


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


SAME_VALUES: list[tuple[Any, list[Hashable]]] = [
    (["a", "b"], ["a", "b"]),
    (("a", "b"), ["a", "b"]),
    (np.array(["a", "b"]), ["a", "b"]),
    (np.array(["a", "b"], dtype=object), ["a", "b"]),
    (np.array([0, 1], dtype=np.int8), [0, 1]),
    (np.array([True, False]), [True, False]),
    (np.array([[1], [2]]), [1, 2]),
    ([np.int64(3), np.str_("x")], [3, "x"]),
    (range(2), [0, 1]),
    ((value for value in "ab"), ["a", "b"]),
    (pd.Series(["a", "b"], index=[7, 3]), ["a", "b"]),
    (pd.Series(["a", "b"], dtype="category"), ["a", "b"]),
    (pd.Categorical(["a", "b"]), ["a", "b"]),
    (pd.Index([1, 2]), [1, 2]),
    (pd.Series([1, 2], dtype="Int64"), [1, 2]),
    (pd.Series(["a", "b"], dtype="string"), ["a", "b"]),
    (pd.DataFrame({"y": ["a", "b"]}), ["a", "b"]),
    (pl.Series(["a", "b"]), ["a", "b"]),
    (pl.Series(["a", "b"], dtype=pl.Categorical), ["a", "b"]),
    (pl.DataFrame({"y": [1, 2]}), [1, 2]),
    (pa.array(["a", "b"]), ["a", "b"]),
    (pa.chunked_array([["a"], ["b"]]), ["a", "b"]),
    (pa.array(["a", "b"]).dictionary_encode(), ["a", "b"]),
    (pa.table({"y": ["a", "b"]}), ["a", "b"]),
    ([(1, 2), (3, 4)], [(1, 2), (3, 4)]),
    ([1, "one"], [1, "one"]),
]


@pytest.mark.parametrize(("labels", "values"), SAME_VALUES, ids=lambda value: type(value).__name__)
def test_labels_of_any_container_are_the_same_python_values(labels: Any, values: list[Hashable]) -> None:
    found = listed(labels, name="y_train")
    assert found == values
    assert [type(value) for value in found] == [type(value) for value in values]


def test_dates_keep_their_type_whatever_their_unit() -> None:
    days = np.array(["2024-01-01", "2024-01-02"], dtype="datetime64[ns]")
    assert listed(days, name="y_train") == list(days)


@pytest.mark.parametrize(
    "labels",
    [
        ["a", None, "b"],
        [1.0, float("nan"), 2.0],
        np.array([0.0, np.nan, 1.0]),
        pd.Series([1, None, 2], dtype="Int64"),
        pd.Series(["a", None, "b"], dtype="string"),
        pd.Series([True, None, False], dtype="boolean"),
        pd.Categorical(["a", None, "b"]),
        ["a", pd.NA, "b"],
        ["a", pd.NaT, "b"],
        np.array(["2024-01-01", "NaT", "2024-01-02"], dtype="datetime64[D]"),
        pl.Series(["a", None, "b"]),
        pa.array(["a", None, "b"]),
        np.ma.MaskedArray([1, 2, 3], mask=[False, True, False]),
    ],
)
def test_missing_labels_are_counted_and_placed(labels: Any) -> None:
    with pytest.raises(MissingLabels, match=r"y_test has no label in 1 of 3 rows \(first at position 1\)"):
        listed(labels, name="y_test")


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        (None, "NoneType"),
        ("good", "table['good']"),
        (b"good", "not bytes"),
        ({"a": 1}, "not dict"),
        ({"a", "b"}, "not set"),
        (7, "not int"),
        (object(), "not object"),
        (np.array(7), "single value"),
        (np.eye(3), "argmax"),
        ([[1, 2], [3, 4]], "argmax"),
        ([np.array([1, 2]), np.array([3, 4])], "argmax"),
        ([{"a": 1}], "argmax"),
        (pd.DataFrame({"a": [1], "b": [2]}), "table of 2 columns"),
        (pl.Series([[1], [2, 3]]), "argmax"),
    ],
)
def test_what_cannot_be_labels_is_named(labels: Any, said: str) -> None:
    with pytest.raises(LabelError, match="y_train") as caught:
        listed(labels, name="y_train")
    assert said in str(caught.value)
    assert not isinstance(caught.value, MissingLabels)


def test_one_class_is_named_and_so_is_the_remedy() -> None:
    with pytest.raises(SingleClass, match=r"one class only \('spam'\).*right column"):
        encoding_of(["spam"] * 5)


def test_a_measurement_is_recognised_even_with_whole_numbers_among_its_values() -> None:
    values = [*np.linspace(0.1, 9.9, 40).tolist(), 1.0, 2.0]
    with pytest.raises(ContinuousLabels, match=r"42 different values.*y > threshold"):
        encoding_of(values)


def test_a_few_fractions_are_classes() -> None:
    assert encoding_of([0.5, 1.5, 0.5]).classes == (0.5, 1.5)


def test_an_unseen_class_is_named_beside_those_of_training() -> None:
    with pytest.raises(
        UnseenClass, match=r"y_test has 'junk', which no training label has \(training has 'ham', 'spam'\)"
    ):
        encoding_of(["ham", "spam"]).encode(["ham", "junk"], where="y_test")


@pytest.mark.parametrize(
    ("known", "unseen", "told"),
    [
        (["ham", "spam"], "Spam", "'Spam' where training has 'spam'"),
        (["ham", "spam"], " spam", "' spam' where training has 'spam'"),
        (["no", "new\u00a0york"], "New York", "'New York' where training has 'new"),
        ([0, 1], "1", "'1' where training has 1"),
    ],
)
def test_a_class_that_is_only_spelled_differently_is_told_beside_the_known_one(
    known: list[Any], unseen: Any, told: str
) -> None:
    with pytest.raises(UnseenClass, match=f"y_test has {told}.*: the same class, spelled differently. Spell"):
        encoding_of(known).encode([known[0], unseen], where="y_test")


def test_one_class_that_is_like_none_is_no_matter_of_spelling() -> None:
    with pytest.raises(UnseenClass, match="which no training label has"):
        encoding_of(["ham", "spam"]).encode(["Spam", "junk"], where="y_test")


def test_a_long_list_of_unseen_classes_is_cut() -> None:
    with pytest.raises(UnseenClass, match="and 14 more"):
        encoding_of([100, 200]).encode(list(range(20)), where="y_test")


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (["b", "a", "b"], ("a", "b")),
        ([10, 9, 10], (9, 10)),
        ([True, False], (False, True)),
        ([2.0, 1.0], (1.0, 2.0)),
        (["b", 1, "a"], (1, "a", "b")),
        ([(2, 0), (1, 9)], ((1, 9), (2, 0))),
    ],
)
def test_classes_are_sorted(labels: list[Hashable], classes: tuple[Hashable, ...]) -> None:
    assert encoding_of(labels).classes == classes


def test_a_fitted_learner_gives_the_order_of_the_classes() -> None:
    assert encoding_of(["a", "b"], order=["b", "a"]).classes == ("b", "a")


@pytest.mark.parametrize("labels", [["a", "b"], [1, 2], [True, False], [1.0, 2.0], [2**40, -1], ["é", "日本"]])
def test_the_learner_sees_plain_labels_as_they_are(labels: list[Hashable]) -> None:
    encoding = encoding_of(labels)
    assert encoding.native.tolist() == list(encoding.classes)


@pytest.mark.parametrize(
    "labels",
    [[0.5, 1.5], [b"a", b"b"], [(1, 2), (3, 4)], [1, "1"], [2**70, 1], ["a\0", "a"], [Colour.RED, Colour.BLUE]],
)
def test_the_learner_sees_codes_where_scikit_learn_or_numpy_would_change_the_labels(labels: list[Hashable]) -> None:
    encoding = encoding_of(labels)
    assert encoding.native.tolist() == [0, 1]
    again = encoding.decode(encoding.encode(labels, where="y_train")).tolist()
    assert again == labels
    assert [type(value) for value in again] == [type(value) for value in labels]


LABEL = st.one_of(
    st.text(max_size=4),
    st.integers(),
    st.booleans(),
    st.floats(allow_nan=False),
    st.binary(max_size=3),
    st.tuples(st.integers(0, 3), st.integers(0, 3)),
    st.dates(min_value=datetime.date(1900, 1, 1)),
)


@settings(derandomize=True, max_examples=200, deadline=None)
@given(st.lists(LABEL, min_size=2, max_size=12))
def test_decoding_undoes_encoding(labels: list[Hashable]) -> None:
    if len(dict.fromkeys(labels)) < 2:
        with pytest.raises(SingleClass):
            encoding_of(labels)
        return
    encoding = encoding_of(labels)
    codes = encoding.encode(labels, where="y_train")
    assert encoding.decode(codes).tolist() == labels
    assert sorted(set(codes.tolist())) == list(range(encoding.size))
    assert [encoding.native_codes[value] for value in encoding.native.tolist()] == list(range(encoding.size))


@settings(derandomize=True, max_examples=200, deadline=None)
@given(st.lists(LABEL, max_size=6))
def test_an_array_holds_the_values_it_was_given(values: list[Hashable]) -> None:
    array = array_of(values)
    assert array.shape == (len(values),)
    assert array.tolist() == values
    if len({type(value) for value in values}) == 1:
        assert [type(value) for value in array.tolist()] == [type(value) for value in values]


@pytest.mark.parametrize(
    "labels",
    [
        np.array([100, -100, 127, -128, 100], dtype=np.int8),
        np.array([2**64 - 1, 2**64 - 5, 2**64 - 1], dtype=np.uint64),
        np.array([-(2**63), -(2**63) + 7]),
        np.array([7, 0, 10**6]),
        np.array([3], dtype=np.uint16),
    ],
    ids=["small", "large", "lowest", "far apart", "one"],
)
def test_whole_numbers_that_are_counted_are_the_same_as_sorted_ones(labels: Any) -> None:
    distinct, places = compressed(labels, name="y_train")
    expected, at = np.unique(labels, return_inverse=True)
    assert distinct == expected.tolist()
    assert all(type(each) is int for each in distinct)
    assert places.tolist() == at.tolist()
    assert places.dtype == np.intp
