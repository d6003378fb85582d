"""Odd tables: nothing raises, and every change that a claim proposes can be made, counted and told apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import psidebug
from psidebug.causes import represented
from psidebug.causes.claim import Claim
from psidebug.causes.columns import both_sets
from psidebug.diagnosis.causes import claims_of
from psidebug.task.data import Data

N, M = 200, 80
Table = Callable[[np.random.Generator, int, bool], Any]


def plain(rng: np.random.Generator, n: int) -> dict[str, Any]:
    z = rng.normal(size=n)
    return {"u": z + 0.3 * rng.normal(size=n), "v": z + 0.3 * rng.normal(size=n), "i": rng.integers(0, 9, n)}


def with_column(make: Callable[[np.random.Generator, int, bool], Any], frame: Any = pd.DataFrame) -> Table:
    return lambda rng, n, test: frame({**plain(rng, n), "c": make(rng, n, test)})


def words(rng: np.random.Generator, n: int, test: bool = False) -> Any:
    return rng.choice(np.array(["x", "y", None, "?"], dtype=object), n)


def dates(rng: np.random.Generator, n: int, test: bool) -> Any:
    return np.array(["2020-01-01"], dtype="datetime64[us]") + rng.integers(0, 900, n).astype("timedelta64[D]")


TABLES: dict[str, Table] = {
    "a constant": with_column(lambda rng, n, test: np.ones(n)),
    "another constant": with_column(lambda rng, n, test: np.full(n, 1000.0 if test else 1.0)),
    "nothing but zeros": lambda rng, n, test: np.zeros((n, 2)),
    "zeros, then ones": lambda rng, n, test: np.full((n, 2), float(test)),
    "all missing": with_column(lambda rng, n, test: np.full(n, np.nan)),
    "all missing in the test set": with_column(lambda rng, n, test: np.full(n, np.nan) if test else rng.normal(size=n)),
    "all missing in training": with_column(lambda rng, n, test: rng.normal(size=n) if test else np.full(n, np.nan)),
    "one column": lambda rng, n, test: pd.DataFrame({"c": rng.normal(size=n) * (1000 if test else 1)}),
    "one column of words": lambda rng, n, test: pd.DataFrame({"c": words(rng, n)}),
    "booleans": with_column(lambda rng, n, test: rng.random(n) < 0.5),
    "all true in the test set": with_column(lambda rng, n, test: np.ones(n, bool) if test else rng.random(n) < 0.5),
    "a matrix of booleans": lambda rng, n, test: rng.random((n, 3)) < 0.5,
    "booleans and None": with_column(lambda rng, n, test: rng.choice(np.array([True, False, None]), n)),
    "words and None": with_column(words),
    "words, none in the test set": with_column(lambda rng, n, test: [None] * n if test else words(rng, n)),
    "words of pandas": with_column(lambda rng, n, test: pd.array(words(rng, n), dtype="string")),
    "categories": with_column(lambda rng, n, test: pd.Categorical(words(rng, n))),
    "whole numbers of pandas": with_column(
        lambda rng, n, test: pd.array([1000 if test else 1, None] * (n // 2), dtype="Int64")
    ),
    "dates": with_column(dates),
    "dates with a zone": with_column(lambda rng, n, test: pd.Series(dates(rng, n, test)).dt.tz_localize("UTC")),
    "dates, none in the test set": with_column(
        lambda rng, n, test: [None] * n if test else pd.Series(dates(rng, n, test))
    ),
    "times that passed": with_column(lambda rng, n, test: pd.to_timedelta(rng.integers(0, 99, n), unit="s")),
    "values of all kinds": with_column(lambda rng, n, test: ["a", 1, None, 2.5] * (n // 4)),
    "numbers, then words": with_column(lambda rng, n, test: words(rng, n) if test else rng.normal(size=n)),
    "lists": with_column(lambda rng, n, test: [[1, 2]] * n),
    "numbers as names": lambda rng, n, test: pd.DataFrame(rng.normal(size=(n, 3)) * [1, 1000 if test else 1, 1]),
    "polars": with_column(words, pl.DataFrame),
    "polars, dates": with_column(dates, pl.DataFrame),
    "polars, a unit": with_column(lambda rng, n, test: rng.gamma(4, 2, n) * (1000 if test else 1), pl.DataFrame),
    "polars, nulls": with_column(lambda rng, n, test: [None] * n, pl.DataFrame),
    "polars, a code": with_column(lambda rng, n, test: rng.integers(0, 9, n) - 999 * (test & (rng.random(n) < 0.5)),
                                  pl.DataFrame),
    "pyarrow": with_column(lambda rng, n, test: rng.gamma(4, 2, n) * (1000 if test else 1), pa.table),
    "pyarrow, words": with_column(words, pa.table),
    "numpy": lambda rng, n, test: rng.gamma(4, 2, (n, 3)) * (1000 if test else 1),
    "numpy, whole numbers": lambda rng, n, test: rng.integers(1, 99, (n, 3)) * (1000 if test else 1),
    "numpy, small numbers": lambda rng, n, test: rng.integers(0, 2 if test else 200, (n, 3)).astype(np.uint8),
    "numpy, half precision": lambda rng, n, test: rng.gamma(4, 2, (n, 3)).astype(np.float16),
    "numpy, objects": lambda rng, n, test: np.array([[1, "a", None], [2.5, "b", True]] * (n // 2), dtype=object),
    "sparse": lambda rng, n, test: sp.csr_array(rng.poisson(0.3, (n, 9)).astype(float)),
    "sparse, empty": lambda rng, n, test: sp.csr_array((n, 4)),
    "texts": lambda rng, n, test: [" ".join(rng.choice(["good", "bad", "film", "old"], 5)) for _ in range(n)],
    "infinite values": with_column(lambda rng, n, test: np.where(rng.random(n) < 0.4, np.inf, rng.normal(size=n))),
    "nothing finite": with_column(lambda rng, n, test: np.full(n, -np.inf if test else np.inf)),
    "the largest numbers": with_column(
        lambda rng, n, test: np.tanh(rng.normal(size=n)) * (1e38 if test else 1e30)
    ),
    "the smallest numbers": with_column(lambda rng, n, test: rng.normal(size=n) * (1.0 if test else 1e-310)),
}  # fmt: skip


def told(data: Data) -> list[Claim]:
    return [*claims_of(data), *represented.claims(data, both_sets(data))]


def check(data: Data) -> list[Claim]:
    """Everything that is claimed can be done."""
    found = told(data)
    for each in found:
        for change in each.changes:
            changed = change.applied(data)
            assert type(changed.train.features) is type(data.train.features)
            assert changed.test.features.shape == data.test.features.shape
            assert change.count(data) >= 0
            assert change.key == change.key
    return found


@pytest.mark.parametrize("name", TABLES)
def test_no_table_raises(name: str) -> None:
    rng = np.random.default_rng(0)
    X, T = (TABLES[name](rng, n, test) for n, test in ((N, False), (M, True)))
    check(Data.of(LogisticRegression(), X, rng.choice(["a", "b"], N), T, rng.choice(["a", "b"], M)))


@pytest.mark.parametrize("name", ["polars, a unit", "pyarrow", "numpy", "numpy, whole numbers", "one column",
                                  "numbers as names"])  # fmt: skip
def test_a_unit_is_found_in_any_kind_of_table(name: str) -> None:
    rng = np.random.default_rng(0)
    X, T = (TABLES[name](rng, n, test) for n, test in ((N, False), (M, True)))
    data = Data.of(LogisticRegression(), X, rng.choice(["a", "b"], N), T, rng.choice(["a", "b"], M))
    found = next(each for each in check(data) if each.cause == "unit")
    repaired = found.changes[0].applied(data)
    assert (found.cause, found.column) not in [(each.cause, each.column) for each in told(repaired)], "once is enough"


@pytest.mark.parametrize(
    ("train", "test"),
    [
        (["a", "b"] * 100, ["a", "b", "a"]),
        (["a", "b"] * 100, ["a"]),
        (["a", "b", "a"], ["a", "b"] * 40),
        (["a", "b", "c", "b"] * 50, ["a", "b"] * 40),
        (["a", "b", "c", "b"] * 50, ["c"] * 80),
        (["c", *["a", "b"] * 99, "a"], ["a", "b"] * 40),
    ],
)
def test_few_rows_and_classes_that_a_set_lacks(train: list[str], test: list[str]) -> None:
    rng = np.random.default_rng(0)
    X, T = (pd.DataFrame(plain(rng, len(part))) for part in (train, test))
    check(Data.of(LogisticRegression(), X, train, T, test))
    found = psidebug.debug(LogisticRegression(), X, train, T, test, check_fidelity=False)
    assert found.cause in {"none", "cannot_say", "capacity"}, "the features say nothing"
    too_small = len(test) < 30 or len(set(test)) < 2
    assert found.cause == "cannot_say" or found.nothing_to_debug or not too_small
    assert "not to blame" not in found.verdict


LEARNERS: dict[str, Any] = {
    "a constant": LogisticRegression(),
    "numbers as names": LogisticRegression(),
    "polars, a unit": LogisticRegression(),
    "pyarrow": LogisticRegression(),
    "sparse": LogisticRegression(),
    "texts": make_pipeline(TfidfVectorizer(), LogisticRegression()),
    "infinite values": HistGradientBoostingClassifier(max_iter=5),
    "all missing in the test set": HistGradientBoostingClassifier(max_iter=5),
}


@pytest.mark.parametrize("name", LEARNERS)
def test_a_diagnosis_of_them_ends_well(name: str) -> None:
    rng = np.random.default_rng(0)
    X, T = (TABLES[name](rng, n, test) for n, test in ((N, False), (M, True)))
    found = psidebug.debug(
        LEARNERS[name], X, rng.choice(["a", "b"], N), T, rng.choice(["a", "b"], M), check_fidelity=False
    )
    assert found.causes.shape[0] >= 1
    assert found.suspect_tests.shape[1] == 5
