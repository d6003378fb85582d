"""Answers of annotators at the door: the same from every kind of table, and a sentence for what is none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from psidebug.errors import InputError, InvalidAnnotations, UnknownRow
from psidebug.task.annotations import Annotations
from psidebug.task.labels import Encoding

CLASSES = Encoding(("cat", "dog"))
IDS = np.array(["r0", "r1", "r2"])
WIDE = {"ann": ["cat", None, "dog"], "bob": ["dog", "dog", ""], "cid": [None, None, None]}
ANSWERS = [("r0", "ann", "cat"), ("r0", "bob", "dog"), ("r1", "bob", "dog"), ("r2", "ann", "dog")]
LONG = {name: [each[place] for each in ANSWERS] for place, name in enumerate(("row", "annotator", "label"))}


def told(found: Annotations, ids: Any = IDS, classes: Encoding = CLASSES) -> list[tuple[Any, Any, Any]]:
    return [
        (ids[row], found.names[who], classes.classes[code])
        for row, who, code in zip(found.rows, found.annotators, found.codes, strict=True)
    ]


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
@pytest.mark.parametrize("content", [WIDE, LONG, {"row": list(IDS), **WIDE}])
def test_wide_and_long_tables_of_any_library_say_the_same(make: Any, content: dict[str, list[Any]]) -> None:
    found = Annotations.of(make(content), IDS, CLASSES)
    assert told(found) == ANSWERS
    assert found.names.tolist() == ["ann", "bob"], "who gave no answer is no annotator"
    assert (found.count, len(found)) == (3, 4)


def test_the_order_of_a_long_table_does_not_matter() -> None:
    backwards = pd.DataFrame(LONG).iloc[::-1]
    assert told(Annotations.of(backwards, IDS, CLASSES)) == ANSWERS


def test_a_matrix_with_minus_one_or_nan_for_no_answer() -> None:
    classes, ids = Encoding((0, 1, 2)), np.arange(2)
    whole = Annotations.of(np.array([[0, -1, 2], [-1, 1, 1]]), ids, classes)
    parts = Annotations.of(np.array([[0.0, np.nan, 2.0], [np.nan, 1.0, 1.0]]), ids, classes)
    assert told(whole, ids, classes) == told(parts, ids, classes) == [(0, 0, 0), (0, 2, 2), (1, 1, 1), (1, 2, 1)]


def test_minus_one_is_an_answer_where_it_is_a_class() -> None:
    classes, ids = Encoding((-1, 1)), np.arange(2)
    assert len(Annotations.of(np.array([[-1, 1], [1, -1]]), ids, classes)) == 4


def test_answers_follow_their_rows() -> None:
    whole = Annotations.of(pd.DataFrame(WIDE), IDS, CLASSES)
    found, alone = whole.of_rows(np.array([1, 2])), whole.of_rows(np.array([1]))
    assert found is not None
    assert alone is not None
    assert told(found, IDS[1:]) == ANSWERS[2:]
    assert found.answered.tolist() == [True, True]
    assert alone.names.tolist() == ["bob"]
    assert alone.of_rows(np.empty(0, dtype=np.intp)) is None


@pytest.mark.parametrize(
    ("table", "error", "says"),
    [
        (pd.DataFrame(LONG | {"row": ["r0", "r0", "r1", "r9"]}), UnknownRow, "'r9', which is no id"),
        (pd.DataFrame(LONG | {"label": ["cat", "dog", "dog", "cow"]}), InvalidAnnotations, "the answer 'cow'"),
        (pd.DataFrame(WIDE | {"bob": ["hen", "dog", ""]}), InvalidAnnotations, "column 'bob'.* 'hen'"),
        (pd.concat([pd.DataFrame(LONG)] * 2), InvalidAnnotations, "two answers of 'ann' on the row r0"),
        (pd.DataFrame({"row": ["r0", "r0"], "ann": ["cat", "cat"]}), InvalidAnnotations, "two answers"),
        (pd.DataFrame(LONG | {"annotator": ["ann", None, "bob", "ann"]}), InvalidAnnotations, "no annotator"),
        (pd.DataFrame(WIDE).head(2), InvalidAnnotations, "2 lines but X_train has 3 rows"),
        (pd.DataFrame({"ann": [None, None, None]}), InvalidAnnotations, "no answer"),
        (pd.DataFrame({"row": IDS}), InvalidAnnotations, "no column of an annotator"),
        (["cat", "dog", "dog"], InvalidAnnotations, "takes a table"),
        (pd.DataFrame(WIDE).head(0), InputError, "no rows"),
        (7, InputError, "annotations is a builtins.int"),
    ],
)
def test_what_is_no_table_of_answers_gets_a_sentence(table: Any, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        Annotations.of(table, IDS, CLASSES)
