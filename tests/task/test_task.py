"""The door: every kind of data in, one task behind it; every wrong input its own error that names it."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import psidebug
from psidebug import errors
from psidebug.errors import PsiError
from psidebug.task.data import LabelledSet
from psidebug.task.task import Task
from tests.conftest import (
    Planted,
    assert_same_suspects,
    planted_rows,
    precise_logistic,
    refit,
    suspects_of,
    with_changes,
)

# ── the same data in every kind of table ────────────────────────────────────────────────────────────────────────────

NAMES = ["a", "b", "c", "d"]


def pandas_frame(X: npt.NDArray[Any]) -> pd.DataFrame:
    return pd.DataFrame(X, columns=NAMES, index=np.arange(len(X))[::-1] + 1000)


def nullable_frame(X: npt.NDArray[Any]) -> pd.DataFrame:
    return pandas_frame(X.astype(int)).astype({"a": "Int64", "b": "Float64", "c": "int32[pyarrow]"})


KINDS: dict[str, Callable[[npt.NDArray[Any]], Any]] = {
    "fortran": np.asfortranarray,
    "int": lambda X: X.astype(np.int64),
    "int8": lambda X: X.astype(np.int8),
    "object": lambda X: X.astype(object),
    "matrix": lambda X: np.asmatrix(X),
    "lists": lambda X: X.tolist(),
    "tuples": lambda X: tuple(map(tuple, X.tolist())),
    "csr array": sp.csr_array,
    "csr matrix": sp.csr_matrix,
    "csc array": sp.csc_array,
    "csc matrix": sp.csc_matrix,
    "coo array": sp.coo_array,
    "coo matrix": sp.coo_matrix,
    "pandas": pandas_frame,
    "pandas nullable": nullable_frame,
    "polars": lambda X: pl.DataFrame(X, schema=NAMES),
    "pyarrow": lambda X: pa.table(dict(zip(NAMES, X.T, strict=True))),
}


SMALL = planted_rows(seed=11, train=48, test=48)
DOUBTFUL = np.where(SMALL.wrong | (np.arange(48) % 12 == 0), 0.2, 0.0)


@pytest.fixture(scope="module")
def small() -> Planted:
    return SMALL


def quick(*data: Any, **options: Any) -> psidebug.Diagnosis:
    """A diagnosis that doubts a dozen rows only, so that its answer is exact and soon there."""
    return psidebug.debug(*data, prior=DOUBTFUL, **options)


@pytest.fixture(scope="module")
def reference(small: Planted) -> psidebug.Diagnosis:
    return quick(precise_logistic(), small.X_train, small.y_train, small.X_test, small.y_test)


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
def test_the_same_data_in_every_kind_of_table_has_the_same_suspects(
    small: Planted, reference: psidebug.Diagnosis, kind: Callable[[npt.NDArray[Any]], Any]
) -> None:
    found = quick(precise_logistic(), kind(small.X_train), small.y_train, kind(small.X_test), small.y_test)
    assert_same_suspects(found, reference)
    if not sp.issparse(found.task.train.features):  # whose columns are too many, and too empty, to describe rows by
        np.testing.assert_array_equal(found.repaired_labels, reference.repaired_labels)


def test_single_precision_is_left_to_the_learner_and_finds_the_same_causes(
    small: Planted, reference: psidebug.Diagnosis
) -> None:
    X_train, X_test = small.X_train.astype(np.float32), small.X_test.astype(np.float32)
    found = quick(LogisticRegression(), X_train, small.y_train, X_test, small.y_test)
    assert set(suspects_of(found)[0][:10]) == set(suspects_of(reference)[0][:10])


def test_booleans_are_the_numbers_zero_and_one(small: Planted) -> None:
    train, test = small.X_train > 0, small.X_test > 0
    yes_no = psidebug.debug(precise_logistic(), train, small.y_train, test, small.y_test)
    numbers = psidebug.debug(precise_logistic(), train.astype(float), small.y_train, test.astype(float), small.y_test)
    assert_same_suspects(yes_no, numbers)


def test_training_and_test_may_be_tables_of_different_libraries(small: Planted, reference: psidebug.Diagnosis) -> None:
    found = quick(
        precise_logistic(),
        pandas_frame(small.X_train),
        small.y_train,
        KINDS["polars"](small.X_test),
        small.y_test,
    )
    assert_same_suspects(found, reference)


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_test_columns_in_another_order_change_nothing(small: Planted, reference: psidebug.Diagnosis, kind: str) -> None:
    test = KINDS[kind](small.X_test)
    shuffled = test[["d", "b", "a", "c"]] if kind != "pyarrow" else test.select(["d", "b", "a", "c"])
    found = quick(precise_logistic(), KINDS[kind](small.X_train), small.y_train, shuffled, small.y_test)
    assert_same_suspects(found, reference)


# ── mixed columns and texts, through pipelines ──────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def mixed(small: Planted) -> tuple[dict[str, list[Any]], dict[str, list[Any]]]:
    def table(X: npt.NDArray[np.float64]) -> dict[str, list[Any]]:
        return {
            "size": X[:, 0].tolist(),
            "weight": X[:, 1].tolist(),
            "city": np.array(["Oslo", "Rome", "Lima"])[np.digitize(X[:, 2], [-1, 2])].tolist(),
            "note": [
                ("heavy " if b > 0 else "light ") + ("old stock" if c >= 2 else "new stock") for b, c in X[:, 1:3]
            ],
        }

    return table(small.X_train), table(small.X_test)


def pipeline() -> Any:
    columns = ColumnTransformer(
        [
            ("city", OneHotEncoder(handle_unknown="ignore"), ["city"]),
            ("numbers", StandardScaler(), ["size", "weight"]),
            ("note", TfidfVectorizer(), "note"),
        ]
    )
    return make_pipeline(columns, precise_logistic())


FRAMES: dict[str, Callable[[dict[str, list[Any]]], Any]] = {
    "pandas categorical": lambda data: pd.DataFrame(data, index=range(50, 50 + len(data["size"]))).astype(
        {"city": "category", "note": "string"}
    ),
    "pandas object": lambda data: pd.DataFrame(data).astype({"city": object, "note": object}),
    "polars": pl.DataFrame,
    "polars categorical": lambda data: pl.DataFrame(data).with_columns(pl.col("city").cast(pl.Categorical)),
    "pyarrow": pa.table,
}


@pytest.fixture(scope="module")
def plain_frames(small: Planted, mixed: Any) -> psidebug.Diagnosis:
    return quick(pipeline(), pd.DataFrame(mixed[0]), small.y_train, pd.DataFrame(mixed[1]), small.y_test)


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
def test_pipelines_of_columns_work_in_every_library(
    small: Planted, mixed: Any, plain_frames: psidebug.Diagnosis, frame: Any
) -> None:
    found = quick(pipeline(), frame(mixed[0]), small.y_train, frame(mixed[1]), small.y_test)
    assert_same_suspects(found, plain_frames)
    np.testing.assert_array_equal(found.repaired_labels, plain_frames.repaired_labels)
    conditions = list(found.slices["condition"])
    assert conditions == list(plain_frames.slices["condition"])
    assert any(str(each).startswith(("city", "size", "weight", "note")) for each in conditions)


TEXTS: dict[str, Callable[[list[str]], Any]] = {
    "list": list,
    "tuple": tuple,
    "array of str": np.array,
    "array of objects": lambda texts: np.array(texts, dtype=object),
    "pandas": lambda texts: pd.Series(texts, index=range(7, 7 + len(texts))),
    "pandas string": lambda texts: pd.Series(texts, dtype="string"),
    "polars": pl.Series,
    "pyarrow": lambda texts: pa.chunked_array([texts]),
}


def told_of_texts(small: Planted, mixed: Any, kind: Callable[[list[str]], Any]) -> psidebug.Diagnosis:
    model = make_pipeline(TfidfVectorizer(), precise_logistic())
    return psidebug.debug(model, kind(mixed[0]["note"]), small.y_train, kind(mixed[1]["note"]), small.y_test)


@pytest.fixture(scope="module")
def plain_texts(small: Planted, mixed: Any) -> psidebug.Diagnosis:
    return told_of_texts(small, mixed, list)


@pytest.mark.parametrize("kind", TEXTS.values(), ids=TEXTS)
def test_texts_of_every_kind_have_the_same_suspects(
    small: Planted, mixed: Any, plain_texts: psidebug.Diagnosis, kind: Any
) -> None:
    assert_same_suspects(told_of_texts(small, mixed, kind), plain_texts)


# ── labels ──────────────────────────────────────────────────────────────────────────────────────────────────────────

LABELS: dict[str, tuple[Any, Callable[[list[Any]], Any]]] = {
    "str": (("bad", "good"), np.array),
    "list of str": (("bad", "good"), list),
    "tuple": (("bad", "good"), tuple),
    "bool": ((False, True), np.array),
    "int": ((3, 7), np.array),
    "int8": ((-1, 1), lambda values: np.array(values, dtype=np.int8)),
    "whole floats": ((1.0, 2.0), np.array),
    "fractions": ((0.25, 0.75), np.array),
    "bytes": ((b"bad", b"good"), np.array),
    "objects": (("bad", "good"), lambda values: np.array(values, dtype=object)),
    "column": ((0, 1), lambda values: np.array(values)[:, None]),
    "pandas": (("bad", "good"), lambda values: pd.Series(values, index=range(9, 9 + len(values)))),
    "pandas categorical": (("bad", "good"), lambda values: pd.Series(pd.Categorical(values))),
    "bare categorical": (("bad", "good"), pd.Categorical),
    "pandas Int64": ((1, 2), lambda values: pd.Series(values, dtype="Int64")),
    "pandas boolean": ((False, True), lambda values: pd.Series(values, dtype="boolean")),
    "pandas string": (("bad", "good"), lambda values: pd.Series(values, dtype="string")),
    "pandas frame": (("bad", "good"), lambda values: pd.DataFrame({"y": values})),
    "polars": (("bad", "good"), pl.Series),
    "polars categorical": (("bad", "good"), lambda values: pl.Series("y", values, dtype=pl.Categorical)),
    "polars enum": (("bad", "good"), lambda values: pl.Series("y", values, dtype=pl.Enum(["good", "bad"]))),
    "pyarrow": (("bad", "good"), pa.array),
    "pyarrow chunked": (("bad", "good"), lambda values: pa.chunked_array([values[:7], values[7:]])),
    "pyarrow dictionary": (("bad", "good"), lambda values: pa.chunked_array([pa.array(values).dictionary_encode()])),
    "tuples": ((("b", 0), ("g", 1)), list),
    "mixed": ((0, "good"), list),
    "dates": ((pd.Timestamp("2024-01-01"), pd.Timestamp("2024-01-02")), pd.Series),
}


def plain(labels: Any) -> list[Any]:
    if isinstance(labels, pd.DataFrame):
        return list(labels.iloc[:, 0])
    values = labels.to_pylist() if hasattr(labels, "to_pylist") else list(labels)
    return [value[0] if isinstance(value, np.ndarray) else value for value in values]


@pytest.mark.parametrize(("names", "kind"), LABELS.values(), ids=LABELS)
def test_labels_of_every_kind_have_the_same_suspects_and_come_back_as_they_were(
    small: Planted, reference: psidebug.Diagnosis, names: tuple[Any, Any], kind: Callable[[list[Any]], Any]
) -> None:
    def renamed(labels: npt.NDArray[Any]) -> Any:
        return kind([names[int(label == "good")] for label in labels])

    y_train = renamed(small.y_train)
    found = quick(precise_logistic(), small.X_train, y_train, small.X_test, renamed(small.y_test))
    assert_same_suspects(found, reference)
    assert set(found.suspects["given"]) <= set(names)
    proposed = [names[int(label == "good")] for label in reference.suspects["proposed"]]
    assert list(found.suspects["proposed"]) == proposed

    repaired = found.repaired_labels
    assert reference.corrected > 0
    assert plain(repaired) == [names[int(label == "good")] for label in reference.repaired_labels]
    if isinstance(y_train, np.ndarray | pd.Series | pl.Series | pa.ChunkedArray):
        assert type(repaired) is type(y_train)
        assert getattr(repaired, "dtype", None) == getattr(y_train, "dtype", None)
    if isinstance(y_train, np.ndarray):
        assert repaired.shape == y_train.shape
    if isinstance(y_train, pd.Series):
        assert repaired.index.equals(y_train.index)


@pytest.mark.parametrize("kind", ["list", "pandas", "polars", "pyarrow"])
def test_three_classes_of_strange_labels(small: Planted, kind: str) -> None:
    names: list[Any] = [None, ("a", 1), "b", 3]
    y = [names[1 + code] for code in np.digitize(small.X_train[:, 0], [-1, 1])]
    y_test = [names[1 + code] for code in np.digitize(small.X_test[:, 0], [-2, 1])]
    make = KINDS.get(kind, np.asarray)
    found = psidebug.debug(LogisticRegression(), make(small.X_train), y, make(small.X_test), y_test)
    assert found.task.encoding.size == 3
    assert len(found.suspects) > 0
    assert set(found.repaired_labels.tolist()) <= set(names[1:])


# ── ids, fitted learners, and what must never change ────────────────────────────────────────────────────────────────

IDS: dict[str, Callable[[int], Any]] = {
    "str": lambda n: [f"row-{i}" for i in range(n)],
    "int": lambda n: np.arange(n) * 10 + 5,
    "pandas index": lambda n: pd.Index([f"k{i}" for i in range(n)]),
    "polars": lambda n: pl.Series([f"k{i}" for i in range(n)]),
    "tuples": lambda n: [("page", i) for i in range(n)],
    "mixed": lambda n: [i if i % 2 else f"k{i}" for i in range(n)],
    "large": lambda n: [2**64 + i for i in range(n)],
}


@pytest.mark.parametrize("ids", IDS.values(), ids=IDS)
def test_ids_survive_to_suspects_and_explanations(
    small: Planted, reference: psidebug.Diagnosis, ids: Callable[[int], Any]
) -> None:
    rows = ids(len(small.X_train))
    found = quick(precise_logistic(), small.X_train, small.y_train, small.X_test, small.y_test, rows=rows)
    named = list(rows)
    label_of = dict(zip(named, small.y_train, strict=True))
    # Folds go by the order of the ids, so that near-equal suspects may change places.
    assert set(found.suspects["row"]) == {named[position] for position in reference.suspects["row"]}
    assert list(found.suspects["given"]) == [label_of[row] for row in found.suspects["row"]]
    bug = int(found.task.bugs[0])
    causes, by_position = found.explain(bug).causes, reference.explain(bug).causes
    assert set(causes["row"]) == {named[position] for position in by_position["row"]}
    assert list(causes["given"]) == [label_of[row] for row in causes["row"]]


@pytest.mark.parametrize("kind", ["polars", "pyarrow"])
@pytest.mark.parametrize("ids", ["tuples", "mixed", "large"])
def test_ids_that_fit_no_column_of_the_users_library_are_written_as_text(small: Planted, kind: str, ids: str) -> None:
    rows = IDS[ids](len(small.X_train))
    found = quick(
        LogisticRegression(), KINDS[kind](small.X_train), small.y_train, KINDS[kind](small.X_test), small.y_test,
        rows=rows,
    )  # fmt: skip
    assert set(suspects_of(found)[0]) <= {str(row) for row in rows}


@pytest.mark.parametrize("make", [precise_logistic, lambda: make_pipeline(StandardScaler(), precise_logistic())])
def test_a_fitted_and_an_unfitted_learner_have_the_same_diagnosis(small: Planted, make: Callable[[], Any]) -> None:
    fitted = make().fit(small.X_train, small.y_train)
    data = small.X_train, small.y_train, small.X_test, small.y_test
    one, other = quick(fitted, *data), quick(make(), *data)
    assert_same_suspects(one, other)
    assert one.verdict == other.verdict


@pytest.mark.parametrize("fitted", [False, True])
def test_nothing_of_the_users_is_changed(small: Planted, fitted: bool) -> None:
    model = make_pipeline(StandardScaler(), LogisticRegression())
    frame = pandas_frame(small.X_train)
    if fitted:
        model.fit(frame, small.y_train)
    y_train = pd.Series(small.y_train, index=frame.index)
    meta = pd.DataFrame({"source": np.arange(len(frame)) % 3})
    given = [model, frame, y_train, pandas_frame(small.X_test), small.y_test.copy(), meta]
    before = [pickle.dumps(each) for each in given]
    found = quick(*given[:5], metadata=meta, rows=frame.index)
    found.explain(found.found.predictions.rows[found.task.bugs[0]])
    assert found.corrected > 0
    repaired = found.repaired_labels
    repaired.iloc[0] = "bad"
    assert [pickle.dumps(each) for each in given] == before


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array, pandas_frame])
def test_arrays_that_cannot_be_written_to_are_enough(small: Planted, kind: Any) -> None:
    X_train, X_test = small.X_train.copy(), small.X_test.copy()
    X_train.setflags(write=False)
    X_test.setflags(write=False)
    y_train = small.y_train.copy()
    y_train.setflags(write=False)
    found = quick(LogisticRegression(), kind(X_train), y_train, kind(X_test), small.y_test)
    assert len(found.suspects) > 0


# ── bugs ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def of(planted: Planted, **changes: Any) -> Task:
    """The task with some of its parts replaced."""
    data, options = with_changes(planted, changes)
    return Task.of(*data, **options)


@pytest.mark.parametrize(
    "kind", [list, np.array, pd.Series, pl.Series, lambda values: np.array(values, dtype=np.uint8)]
)
def test_bugs_are_positions_in_any_container_sorted_and_once(planted: Planted, kind: Any) -> None:
    bugs = of(planted).bugs.tolist()
    assert of(planted, bugs=kind([bugs[3], bugs[0], bugs[3]])).bugs.tolist() == [bugs[0], bugs[3]]


@pytest.mark.parametrize("kind", [list, np.array, pd.Series, pl.Series])
def test_bugs_may_be_a_mask(planted: Planted, kind: Any) -> None:
    bugs = of(planted).bugs
    mask = np.isin(np.arange(len(planted.y_test)), bugs[1:4])
    assert of(planted, bugs=kind(mask.tolist())).bugs.tolist() == bugs[1:4].tolist()


def test_one_bug_needs_no_list(planted: Planted) -> None:
    bug = int(of(planted).bugs[2])
    assert of(planted, bugs=bug).bugs.tolist() == [bug]


# ── wrong inputs ────────────────────────────────────────────────────────────────────────────────────────────────────


def holed(X: npt.NDArray[np.float64], value: float) -> npt.NDArray[np.float64]:
    X = X.copy()
    X[5, 2] = value
    return X


WRONG: list[tuple[type[PsiError], str, Callable[[Planted], dict[str, Any]]]] = [
    (errors.ShapeMismatch, "X_train has 120 rows but y_train has 119 labels", lambda p: {"y_train": p.y_train[1:]}),
    (errors.ShapeMismatch, "X_test has 80 rows but y_test has 79 labels", lambda p: {"y_test": p.y_test[1:]}),
    (
        errors.ShapeMismatch,
        r"X_test has shape \(80, 3\), X_train has \(120, 4\)",
        lambda p: {"X_test": p.X_test[:, 1:]},
    ),
    (errors.ShapeMismatch, "X_validation and y_validation go together", lambda p: {"X_validation": p.X_test}),
    (errors.ShapeMismatch, "X_validation and y_validation go together", lambda p: {"y_validation": p.y_test}),
    (
        errors.ShapeMismatch,
        r"X_validation has shape \(80, 2\)",
        lambda p: {"X_validation": p.X_test[:, :2], "y_validation": p.y_test},
    ),
    (
        errors.ShapeMismatch,
        "X_validation has 80 rows but y_validation has 3 labels",
        lambda p: {"X_validation": p.X_test, "y_validation": p.y_test[:3]},
    ),
    (errors.ShapeMismatch, "rows has 3 ids but X_train has 120 rows", lambda p: {"rows": ["a", "b", "c"]}),
    (errors.ShapeMismatch, "rows are missing", lambda p: {"rows": [None, *range(119)]}),
    (errors.ShapeMismatch, "rows must be a sequence with one id", lambda p: {"rows": "abc"}),
    (errors.ShapeMismatch, "rows must be a sequence with one id", lambda p: {"rows": np.zeros((120, 2))}),
    (errors.ShapeMismatch, "metadata has 80 rows but X_train has 120", lambda p: {"metadata": p.X_test}),
    (
        errors.ShapeMismatch,
        "bugs is a mask of 3 values but the test set has 80",
        lambda p: {"bugs": [True, False, True]},
    ),
    (errors.DuplicateIds, "2 duplicate ids, for instance 'x'", lambda p: {"rows": ["x", "x", "x", *range(117)]}),
    (errors.UnsupportedFeatures, "X_train has no rows", lambda p: {"X_train": p.X_train[:0], "y_train": []}),
    (errors.UnsupportedFeatures, "X_test has no rows", lambda p: {"X_test": p.X_test[:0], "y_test": []}),
    (errors.UnsupportedFeatures, "X_train has no columns", lambda p: {"X_train": p.X_train[:, :0]}),
    (errors.UnsupportedFeatures, "3 dimensions", lambda p: {"X_train": p.X_train[:, :, None]}),
    (errors.UnsupportedFeatures, "metadata is one column without a name", lambda p: {"metadata": ["a"] * 120}),
    (errors.UnsupportedFeatures, "metadata is a builtins.dict", lambda p: {"metadata": {"source": [1] * 120}}),
    (errors.MissingValues, "X_train has NaN in column 2.*row 5", lambda p: {"X_train": holed(p.X_train, np.nan)}),
    (errors.MissingValues, "X_train has infinity in column 2", lambda p: {"X_train": holed(p.X_train, np.inf)}),
    (errors.MissingValues, "X_test has NaN in column 2.*row 5", lambda p: {"X_test": holed(p.X_test, np.nan)}),
    (
        errors.MissingValues,
        "X_validation has NaN in column 2",
        lambda p: {"X_validation": holed(p.X_test, np.nan), "y_validation": p.y_test},
    ),
    (
        errors.MissingValues,
        "X_train has NaN in column 2",
        lambda p: {"model": LogisticRegression().fit(p.X_train, p.y_train), "X_train": holed(p.X_train, np.nan)},
    ),
    (errors.MissingLabels, "y_train has no label in 1 of 120 rows", lambda p: {"y_train": [None, *p.y_train[1:]]}),
    (errors.MissingLabels, "y_test has no label in 1 of 80", lambda p: {"y_test": [pd.NA, *p.y_test[1:]]}),
    (errors.LabelError, r"If 'bad' is a column of your table, give table\['bad'\]", lambda p: {"y_train": "bad"}),
    (errors.LabelError, "y_test must be a sequence", lambda p: {"y_test": None}),
    (errors.ContinuousLabels, "120 different values", lambda p: {"y_train": np.linspace(0.01, 0.99, 120)}),
    (errors.SingleClass, r"one class only \('bad'\)", lambda p: {"y_train": ["bad"] * 120}),
    (
        errors.SingleClass,
        "one class only",
        lambda p: {"model": LogisticRegression().fit(p.X_train, p.y_train), "y_train": ["bad"] * 120},
    ),
    (errors.UnseenClass, "y_test has 'ugly', which no training label has", lambda p: {"y_test": ["ugly"] * 80}),
    (
        errors.UnseenClass,
        "y_test has 'False' where training has False",
        lambda p: {"y_train": p.y_train == "bad", "y_test": ["False", "True"] * 40},
    ),
    (
        errors.UnseenClass,
        "y_validation has 3",
        lambda p: {"X_validation": p.X_test, "y_validation": [3] * 80},
    ),
    (errors.UnknownRow, "bugs names test row 80, but the test set has rows 0 to 79", lambda p: {"bugs": [80]}),
    (errors.UnknownRow, "bugs names test row -1", lambda p: {"bugs": [-1]}),
    (errors.UnknownRow, "bugs takes positions", lambda p: {"bugs": ["first"]}),
    (errors.UnknownRow, "bugs takes positions", lambda p: {"bugs": [1.5]}),
    (errors.UnknownRow, "bugs takes positions", lambda p: {"bugs": [[1, 2], [3, 4]]}),
    (errors.UnknownRow, "bugs takes positions", lambda p: {"bugs": [[1, 2], [3]]}),
    (errors.UnknownRow, "bugs takes positions", lambda p: {"bugs": {3: True}}),
    (errors.UnknownRow, "bugs takes positions", lambda p: {"bugs": "all"}),
    (errors.NotMisclassified, "and 79 more|which the classifier gets right", lambda p: {"bugs": range(80)}),
    (errors.NotAClassifier, "a regressor", lambda p: {"model": LinearRegression()}),
    (errors.NotAClassifier, r"Give an instance: LogisticRegression\(\)", lambda p: {"model": LogisticRegression}),
    (errors.NotAClassifier, "model is None", lambda p: {"model": None, "X_train": None, "X_test": None}),
    (
        errors.InvalidProbabilities,
        "add up to 1",
        lambda p: {"pred_probs": p.X_train[:, :2], "pred_probs_test": p.X_test[:, :2]},
    ),
    (
        errors.LearnerMismatch,
        "fitted on 3 columns but X_train has 4",
        lambda p: {"model": LogisticRegression().fit(p.X_train[:, :3], p.y_train)},
    ),
    (
        errors.LearnerMismatch,
        r"fitted on classes \['no', 'yes'\], but y_train has \[\"'bad'\", \"'good'\"\]",
        lambda p: {"model": LogisticRegression().fit(p.X_train, np.where(p.y_train == "bad", "no", "yes"))},
    ),
    (
        errors.LearnerMismatch,
        r"columns that X_train does not have: \['z'\]",
        lambda p: {
            "model": LogisticRegression().fit(pd.DataFrame(p.X_train, columns=list("zbcd")), p.y_train),
            "X_train": pandas_frame(p.X_train),
            "X_test": pandas_frame(p.X_test),
        },
    ),
    (
        errors.LearnerFailed,
        "could not be fitted: could not convert string to float",
        lambda p: {"X_train": np.where(p.X_train > 0, "yes", "no"), "X_test": np.where(p.X_test > 0, "yes", "no")},
    ),
    (
        errors.LearnerFailed,
        r"could not predict on X_test: Found unknown categories .*-?\d",
        lambda p: {"model": make_pipeline(OneHotEncoder(), LogisticRegression()), "X_test": p.X_test + 100.0},
    ),
    (errors.InvalidWeights, "sample_weight of training row 0 is -1", lambda p: {"sample_weight": [-1.0] * 120}),
    (errors.InvalidWeights, r"sample_weight of training row 0 is 1e\+308", lambda p: {"sample_weight": [1e308] * 120}),
]


@pytest.mark.parametrize(
    ("error", "said", "changes"), WRONG, ids=[f"{e.__name__}: {said[:40]}" for e, said, _ in WRONG]
)
def test_every_wrong_input_has_its_own_error_that_names_it(
    planted: Planted, error: type[PsiError], said: str, changes: Callable[[Planted], dict[str, Any]]
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        with pytest.raises(error, match=said) as caught:
            of(planted, **changes(planted))
    assert type(caught.value) is error
    assert str(caught.value)[-1] in ".)", "a message is whole sentences"


def test_names_of_the_misclassified_rows_help_after_a_wrong_bug(planted: Planted) -> None:
    task = of(planted)
    right = int(np.setdiff1d(np.arange(80), task.bugs)[0])
    with pytest.raises(
        errors.NotMisclassified, match=rf"test row {right}, which .*Misclassified rows: \[{task.bugs[0]},"
    ):
        of(planted, bugs=[right])


@pytest.mark.parametrize(
    "model", [HistGradientBoostingClassifier(max_iter=5), make_pipeline(SimpleImputer(), LogisticRegression())]
)
def test_nan_is_welcome_where_the_learner_takes_it(planted: Planted, model: Any) -> None:
    task = of(planted, model=model, X_train=holed(planted.X_train, np.nan), X_test=holed(planted.X_test, np.nan))
    assert len(task.train) == 120


def test_a_diagnosis_through_an_imputer(planted: Planted) -> None:
    model = make_pipeline(SimpleImputer(), LogisticRegression())
    X_train, X_test = holed(planted.X_train, np.nan), holed(planted.X_test, np.nan)
    found = psidebug.debug(model, X_train, planted.y_train, X_test, planted.y_test)
    assert len(found.suspects) > 0


def test_the_sign_of_a_margin_is_the_models_own_verdict(planted: Planted) -> None:
    """NearestCentroid's decision function does not agree with its own predictions; Psi goes by these."""
    y = np.digitize(planted.X_train[:, 0], [0.0, 2.0])
    y_test = np.digitize(planted.X_test[:, 0], [0.0, 2.0])
    task = of(planted, model=NearestCentroid(), y_train=y, y_test=y_test)
    scores = task.learner.decision_function(planted.X_test)
    assert np.any(scores.argmax(axis=1) != task.learner.predict(planted.X_test)), "the test needs a disagreement"
    margins = task.margins(task.learner, task.test)
    np.testing.assert_array_equal(margins.min(axis=1) < 0, task.predicted != y_test)


# ── garbage ─────────────────────────────────────────────────────────────────────────────────────────────────────────

VALUE = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.floats(width=32),
    st.text(max_size=2),
    st.sampled_from(["a", "b"]),
    st.tuples(st.integers(0, 1)),
)
NUMBER = st.one_of(st.integers(-3, 3), st.floats(-3, 3), st.sampled_from([np.nan, np.inf, 1e308, 0]))


@st.composite
def matrices(draw: st.DrawFn, rows: int) -> Any:
    """Mostly a matrix of this many rows, sometimes anything at all."""
    width = draw(st.integers(0, 3))
    count = draw(st.sampled_from([rows, rows, rows, rows, rows + 1, 0]))
    numbers = [[draw(NUMBER) for _ in range(width)] for _ in range(count)]
    return draw(
        st.sampled_from(
            [
                numbers,
                np.array(numbers, dtype=float).reshape(count, width),
                sp.csr_array(np.array(numbers, dtype=float).reshape(count, width)),
                pd.DataFrame(numbers, columns=list("abc")[:width]),
                pl.DataFrame({name: [float(row[i]) for row in numbers] for i, name in enumerate("abc"[:width])}),
                np.ones((count, width, 2)),
                [[1.0] * (i % 2) for i in range(count)],
                {"a": numbers},
                iter(numbers),
                None,
                "text",
                np.arange(count),
                [f"word {i}" for i in range(count)],
            ]
        )
        if draw(st.integers(0, 3)) == 0
        else st.just(np.array(numbers, dtype=float).reshape(count, width))
    )


@st.composite
def labels(draw: st.DrawFn, rows: int) -> Any:
    count = draw(st.sampled_from([rows, rows, rows, rows, rows + 1]))
    if draw(st.integers(0, 3)):
        return draw(st.lists(st.sampled_from(["a", "b"]), min_size=count, max_size=count))
    values = draw(st.lists(VALUE, min_size=count, max_size=count))
    return draw(
        st.sampled_from([values, np.array(values, dtype=object), pd.Series(values, dtype=object), None, 3, "a"])
    )


OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "rows": st.one_of(st.none(), st.lists(VALUE, max_size=9), st.just(range(8)), st.just("ids")),
        "bugs": st.one_of(
            st.none(), st.integers(-2, 9), st.lists(VALUE, max_size=3), st.lists(st.booleans(), max_size=8)
        ),
        "symptom": st.sampled_from(["log_loss", "misclassified", "half", "errors", "mood", 3, None, ["log_loss"], {}]),
        "prior": st.one_of(st.none(), st.floats(), st.lists(NUMBER, max_size=9), st.text(max_size=3), st.booleans()),
        "graybox": st.sampled_from(["auto", "newton", "retrain", "magic", 3, None, []]),
        "engine": st.sampled_from(["auto", "closed_form", "enumeration", "steam", 3, None, []]),
        "rng": st.sampled_from([0, 7, -1, 1.5, "seed", None, [1]]),
        "metadata": st.sampled_from([None, np.ones((8, 1)), pd.DataFrame({"s": list("aabbccdd")}), {"s": 1}, [1]]),
    },
)


@settings(derandomize=True, max_examples=250, deadline=None)
@given(st.data())
def test_garbage_gets_a_diagnosis_or_an_error_of_psis_own(data: st.DataObject) -> None:
    train, test = data.draw(st.sampled_from([8, 6])), data.draw(st.sampled_from([5, 3]))
    model = data.draw(
        st.sampled_from(
            [LogisticRegression(), LogisticRegression(), LogisticRegression, LinearRegression(), None, "model"]
        )
    )
    X_train, X_test = data.draw(matrices(train)), data.draw(matrices(test))
    y_train, y_test = data.draw(labels(train)), data.draw(labels(test))
    options = data.draw(OPTIONS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = psidebug.debug(model, X_train, y_train, X_test, y_test, **options)
        except PsiError:
            return
    assert isinstance(found, psidebug.Diagnosis)
    assert next(iter(found.suspects.columns)) == "row"
    assert len(found.repaired_labels) == train


@settings(derandomize=True, max_examples=60, deadline=None)
@given(st.data())
def test_small_whole_tasks_always_end_in_a_diagnosis_or_an_inference_error(data: st.DataObject) -> None:
    """Nothing is wrong with these inputs but their size, ties and duplicates."""
    seed, width = data.draw(st.integers(0, 10_000)), data.draw(st.integers(1, 2))
    task = planted_rows(seed=seed, train=data.draw(st.integers(4, 14)), test=data.draw(st.integers(1, 6)))
    y_train = task.y_train.copy()
    y_train[:2] = ["bad", "good"]
    try:
        found = psidebug.debug(
            LogisticRegression(),
            np.sign(task.X_train[:, :width]),
            y_train,
            np.sign(task.X_test[:, :width]),
            task.y_test,
        )
    except errors.InferenceError:
        return
    assert len(found.repaired_labels) == len(y_train)
    assert found.verdict.endswith(".")


@pytest.mark.parametrize("classes", [("no", "yes"), (1, 2), (False, True), (("a", 1), ("b", 2))])
def test_xgboost_takes_labels_of_any_kind(classes: tuple[Any, Any]) -> None:
    import xgboost

    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    wrong = (X[:, 0] > 0) ^ (rng.random(60) < 0.2)
    y = [classes[int(value)] for value in wrong]
    task = Task.of(xgboost.XGBClassifier(n_estimators=3), X[:40], y[:40], X[40:], y[40:])
    assert task.encoding.classes == classes
    again = refit(task, task.train.codes)
    assert np.array_equal(task.predict(again, task.test), task.predicted)


def test_margins_of_the_tasks_own_model_are_looked_up_and_cannot_be_spoilt() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(120, 3)), rng.integers(2, size=120)
    task = Task.of(LogisticRegression(), X, y, X[:40], y[:40])
    first = task.margins(task.learner, task.test)
    np.testing.assert_array_equal(first, task.margins(task.learner, LabelledSet(task.test.features, task.test.codes)))
    first[:] = 0.0
    assert task.margins(task.learner, task.test).any()
