"""Changes as values: applied to data, counted, told apart; what they were applied to stays as it was."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression

from psidebug.changes import NOTHING, Blank, Drop, InTurn, Join, Mask, Relabel, Rescale, Swap, Weigh
from psidebug.errors import UnknownOption, UnknownRow
from psidebug.task.columns import column_of
from psidebug.task.data import Data
from psidebug.task.tables import is_missing

X = np.array([[1.0, -9.0], [2.0, 5.0], [3.0, -9.0], [4.0, 7.0]])
TABLES: dict[str, Any] = {
    "numpy": X,
    "sparse": sp.csr_array(X),
    "pandas": pd.DataFrame(X, columns=["x0", "x1"], index=[9, 7, 5, 3]),
    "polars": pl.DataFrame({"x0": X[:, 0], "x1": X[:, 1]}),
    "pyarrow": pa.table({"x0": X[:, 0], "x1": X[:, 1]}),
}


def data_of(table: Any = X, **more: Any) -> Data:
    return Data.of(LogisticRegression(), table, list("abab"), table, list("abba"), rows=list("wxyz"), **more)


def values(table: Any, name: str) -> list[Any]:
    return list(column_of(table, name).values.tolist())


def test_labels_change_and_the_data_before_stay() -> None:
    data = data_of()
    change = Relabel.of(data, np.array([1, 1, 0, 0]))
    assert change.rows.tolist() == [0, 3]
    assert change.count(data) == 2
    changed = change.applied(data)
    assert changed.train.codes.tolist() == [1, 1, 0, 0]
    assert changed.given_labels.tolist() == ["b", "b", "a", "a"]
    assert changed.test is data.test
    assert data.train.codes.tolist() == [0, 1, 0, 1]
    back = Relabel.of(changed, data.train.codes)
    assert back.applied(changed).train.codes.tolist() == data.train.codes.tolist()
    assert change.count(changed) == 0, "done already"


def test_rows_are_named_by_id_or_position() -> None:
    data = data_of()
    proposed = 1 - data.train.codes
    assert Relabel.of_rows(data, ["x", "w"], proposed).labels(data).tolist() == [1, 0, 0, 1]
    assert Relabel.of_rows(data, {"x": "b", "w": "b"}, proposed).rows.tolist() == [0]
    assert Relabel.of_positions(data, {2: "b"}).labels(data).tolist() == [0, 1, 1, 1]
    with pytest.raises(UnknownRow, match="0 to 3"):
        Relabel.of_positions(data, {4: "b"})
    with pytest.raises(UnknownRow):
        Relabel.of_rows(data, ["v"], proposed)


def test_equal_changes_have_equal_keys_and_others_do_not() -> None:
    data = data_of()
    codes = np.array([1, 1, 0, 1])
    same = [Relabel.of(data, codes), Relabel.of(data, codes.astype(np.int8))]
    others: list[Any] = [
        NOTHING,
        Relabel.of(data, np.array([0, 0, 0, 1])),
        Drop(np.array([0])),
        Drop(np.array([1])),
        Weigh(np.ones(4)),
        Weigh(2 * np.ones(4)),
        Rescale("x0", factor=2.0),
        Rescale("x1", factor=2.0),
        Rescale("x0", factor=3.0),
        Rescale("x0", test=True, factor=2.0),
        Mask("x0", code=2.0),
        Mask("x0", code=2.0, fill=1.0),
        Rescale("x0", factor=2.0, rows=np.array([0])),
        Rescale("x0", factor=2.0, rows=np.array([1])),
        Blank("x0"),
        Blank("x1"),
        Swap("x0", "x1"),
    ]
    assert same[0].key == same[1].key
    assert len({each.key for each in [*others, *same]}) == len(others) + 1


def test_rows_that_are_dropped_take_all_that_is_theirs_along() -> None:
    about = pd.DataFrame({"who": list("pqrs")})
    data = data_of(metadata=about, sample_weight=[1, 2, 3, 4], known=["y"])
    changed = Drop(np.array([1, 1])).applied(data)
    assert Drop(np.array([1, 1])).count(data) == 1
    assert changed.rows.tolist() == ["w", "y", "z"]
    assert changed.train.codes.tolist() == [0, 0, 1]
    assert changed.train.features[:, 0].tolist() == [1.0, 3.0, 4.0]
    assert changed.sample_weight is not None
    assert changed.sample_weight.tolist() == [1.0, 3.0, 4.0]
    assert changed.known is not None
    assert changed.known.tolist() == [False, True, False]
    assert changed.metadata is not None
    assert changed.metadata["who"].tolist() == ["p", "r", "s"]
    assert changed.positions(["z"]).tolist() == [2]
    with pytest.raises(UnknownOption, match="nothing is left"):
        Drop(np.arange(4)).applied(data)


def test_weights_are_counted_against_those_before() -> None:
    data = data_of()
    change = Weigh(np.array([1.0, 0.5, 1.0, 0.0]))
    assert change.count(data) == 2
    assert change.applied(data).sample_weight is not None
    assert change.count(change.applied(data)) == 0


@pytest.mark.parametrize("kind", TABLES)
def test_a_column_changes_in_any_kind_of_table(kind: str) -> None:
    data = data_of(TABLES[kind])
    scaled = Rescale("x0", factor=10.0)
    changed = scaled.applied(data)
    assert type(changed.train.features) is type(data.train.features)
    assert values(changed.train.features, "x0") == [10.0, 20.0, 30.0, 40.0]
    assert values(changed.train.features, "x1") == [-9.0, 5.0, -9.0, 7.0]
    assert values(changed.test.features, "x0") == [1.0, 2.0, 3.0, 4.0], "the test set is as it was"
    assert values(data.train.features, "x0") == [1.0, 2.0, 3.0, 4.0], "and so are the data before"
    assert scaled.count(data) == 4
    masked = Mask("x1", code=-9.0)
    np.testing.assert_array_equal(values(masked.applied(data).train.features, "x1"), [np.nan, 5.0, np.nan, 7.0])
    assert masked.count(data) == 2
    assert masked.count(masked.applied(data)) == 0


@pytest.mark.parametrize("kind", TABLES)
def test_some_rows_of_a_column_change_and_a_code_is_filled(kind: str) -> None:
    data = data_of(TABLES[kind])
    part = Rescale("x0", test=True, factor=10.0, rows=np.array([0, 3]))
    changed = part.applied(data)
    assert values(changed.test.features, "x0") == [10.0, 2.0, 3.0, 40.0]
    assert values(changed.train.features, "x0") == [1.0, 2.0, 3.0, 4.0]
    assert part.count(data) == 2
    back = Rescale("x0", test=True, factor=0.1, rows=part.rows).applied(changed)
    np.testing.assert_allclose(values(back.test.features, "x0"), values(data.test.features, "x0"))
    filled = Mask("x1", code=-9.0, fill=6.0)
    assert values(filled.applied(data).train.features, "x1") == [6.0, 5.0, 6.0, 7.0]
    assert filled.count(data) == 2


@pytest.mark.parametrize("kind", TABLES)
def test_a_column_is_blanked_in_all_sets_and_two_change_places(kind: str) -> None:
    table = TABLES[kind]
    data = data_of(table, X_validation=table, y_validation=list("abab"))
    blank = Blank("x0").applied(data)
    assert blank.validation is not None
    for part in (blank.train, blank.test, blank.validation):
        assert type(part.features) is type(table)
        assert set(values(part.features, "x0")) == {np.median(X[:, 0])}
        assert values(part.features, "x1") == X[:, 1].tolist()
    swap = Swap("x0", "x1")
    swapped = swap.applied(data)
    assert swapped.validation is not None
    for part in (swapped.test, swapped.validation):
        assert values(part.features, "x0") == X[:, 1].tolist()
        assert values(part.features, "x1") == X[:, 0].tolist()
    assert values(swapped.train.features, "x0") == X[:, 0].tolist(), "training is as it was"
    assert swap.count(data) == 8
    again = swap.applied(swapped)
    assert values(again.test.features, "x0") == values(data.test.features, "x0"), "twice is nothing"
    assert values(data.test.features, "x0") == X[:, 0].tolist()


WORDS: dict[str, Any] = {
    "pandas": pd.DataFrame({"w": ["a", "b", "b", None], "x": [1, 2, 3, 4]}),
    "polars": pl.DataFrame({"w": ["a", "b", "b", None], "x": [1, 2, 3, 4]}),
    "pandas, own words": pd.DataFrame({"w": ["a", "b", "b", None], "x": [1, 2, 3, 4]}).astype({"w": "string"}),
    "numpy": np.array([["a", 1], ["b", 2], ["b", 3], [None, 4]], dtype=object),
}


@pytest.mark.parametrize("kind", WORDS)
def test_words_are_blanked_by_the_most_frequent_one(kind: str) -> None:
    data = data_of(WORDS[kind])
    name = "x0" if kind == "numpy" else "w"
    blank = Blank(name)
    assert blank.count(data) == 2
    changed = blank.applied(data)
    for part in (changed.train, changed.test):
        assert set(column_of(part.features, name).values.tolist()) == {"b"}
    assert blank.count(changed) == 0


def test_a_column_without_any_value_can_be_blanked() -> None:
    data = data_of(np.column_stack([np.full(4, np.nan), X[:, 0]]))
    assert values(Blank("x0").applied(data).train.features, "x0") == [0.0] * 4


def test_columns_that_numbers_name_can_be_changed() -> None:
    data = data_of(pd.DataFrame(X, index=[9, 7, 5, 3]))
    changed = Rescale("0", factor=2.0).applied(data)
    assert changed.train.features.columns.tolist() == [0, 1]
    assert changed.train.features[0].tolist() == (2 * X[:, 0]).tolist()
    assert changed.train.features.index.tolist() == [9, 7, 5, 3]


def test_rows_of_the_test_set_are_no_rows_of_validation() -> None:
    data = data_of(X_validation=X[:2], y_validation=list("ab"))
    changed = Rescale("x0", test=True, factor=2.0, rows=np.array([3])).applied(data)
    assert changed.validation is not None
    assert values(changed.validation.features, "x0") == [1.0, 2.0]
    assert values(changed.test.features, "x0") == [1.0, 2.0, 3.0, 8.0]


def test_a_change_of_the_test_column_reaches_the_validation_rows() -> None:
    data = data_of(X_validation=X, y_validation=list("abab"))
    changed = Rescale("x0", test=True, factor=2.0).applied(data)
    assert changed.validation is not None
    assert values(changed.validation.features, "x0") == [2.0, 4.0, 6.0, 8.0]


@pytest.mark.parametrize("kind", TABLES)
def test_test_rows_join_the_training_rows(kind: str) -> None:
    data = data_of(TABLES[kind], sample_weight=[1.0, 3.0, 1.0, 3.0])
    joined = Join(np.array([3, 0])).applied(data)
    assert type(joined.train.features) is type(data.train.features)
    assert values(joined.train.features, "x0") == [1.0, 2.0, 3.0, 4.0, 4.0, 1.0]
    assert joined.train.codes.tolist() == [0, 1, 0, 1, 0, 0]
    assert joined.sample_weight is not None
    assert joined.sample_weight.tolist() == [1.0, 3.0, 1.0, 3.0, 2.0, 2.0], "as much as a training row in the mean"
    assert joined.known is not None
    assert joined.known.tolist() == [False] * 4 + [True] * 2
    assert len(set(joined.rows.tolist())) == 6
    assert len(joined.test) == 4, "they are still there to be asked about"
    assert Join(np.array([3, 0])).count(data) == 2


def test_changes_in_turn() -> None:
    data = data_of()
    relabel, weigh = Relabel.of(data, np.array([1, 1, 0, 0])), Weigh(np.array([1.0, 2.0, 2.0, 1.0]))
    both = InTurn((relabel, weigh))
    changed = both.applied(data)
    assert changed.train.codes.tolist() == [1, 1, 0, 0]
    assert changed.sample_weight is not None
    assert changed.sample_weight.tolist() == [1.0, 2.0, 2.0, 1.0]
    assert both.count(data) == 4
    assert both.keeps_features
    assert not InTurn((relabel, Join(np.array([0])))).keeps_features
    assert both.key != InTurn((weigh, relabel)).key
    assert both.key == InTurn((Relabel(relabel.rows.copy(), relabel.codes.copy()), Weigh(weigh.weights.copy()))).key
    alone = InTurn((Join(np.array([1, 2])), Drop(np.arange(4)))).applied(data)
    assert alone.train.codes.tolist() == [1, 1]
    assert values(alone.train.features, "x1") == [5.0, -9.0]


KINDS = ["box", "?", "bag", "?"]
CODED: dict[str, Any] = {
    "numpy": np.array([[each] for each in KINDS], dtype=object),
    "pandas": pd.DataFrame({"x0": KINDS}, index=[9, 7, 5, 3]),
    "pandas, categories": pd.DataFrame({"x0": pd.Categorical(KINDS)}),
    "polars": pl.DataFrame({"x0": pl.Series(KINDS, dtype=pl.Enum(["box", "bag", "?", "tube"]))}),
}


@pytest.mark.parametrize("kind", CODED)
def test_a_word_for_no_value_becomes_a_missing_one_in_a_column_of_the_same_type(kind: str) -> None:
    data = data_of(CODED[kind])
    change = Mask("x0", code="?")
    changed = change.applied(data)
    assert [None if is_missing(each) else each for each in values(changed.train.features, "x0")] == [
        "box",
        None,
        "bag",
        None,
    ]
    assert change.count(data) == 2
    assert change.count(changed) == 0
    before, after = data.train.features, changed.train.features
    assert type(after) is type(before)
    if kind != "numpy":
        assert after["x0"].dtype == before["x0"].dtype
    if "pandas" in kind:
        assert after.index.tolist() == before.index.tolist()
    assert values(changed.test.features, "x0") == KINDS, "the test set is as it was"
    one = Mask("x0", rows=np.array([2]))
    assert [is_missing(each) for each in values(one.applied(data).train.features, "x0")] == [False, False, True, False]


def test_whole_numbers_stay_whole_and_decimals_short() -> None:
    table = pd.DataFrame({"x0": [5000, 7000, 1009000, 3000], "x1": [5.1, 70.3, 0.7, 2.9]})
    by = Rescale("x0", factor=1 / 1000)
    changed = by.applied(data_of(table)).train.features["x0"]
    assert changed.tolist() == [5, 7, 1009, 3]
    assert changed.dtype == np.int64
    assert by.applied(data_of(table + 1)).train.features["x0"].tolist() == [5.001, 7.001, 1009.001, 3.001]
    small = data_of(table.assign(x0=np.array([1, 2, 3, 4], dtype=np.int8)))
    assert Rescale("x0", factor=1000.0).applied(small).train.features["x0"].tolist() == [1000, 2000, 3000, 4000]
