"""Diagnoses of the planted task with tables and labels of many kinds."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_digits
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import psidebug
from tests.conftest import Planted, with_changes


def debugged(planted: Planted, **changes: Any) -> psidebug.Diagnosis:
    data, options = with_changes(planted, {"check_fidelity": False, "effort": "prove", "rng": 0, **changes})
    return psidebug.debug(*data, **options)


def told(found: psidebug.Diagnosis, note: str) -> psidebug.Diagnosis:
    """The same diagnosis of the same inputs, told apart by a note."""
    return replace(found, found=replace(found.found, notes=(*found.notes, note)))


def both(planted: Planted, make: Callable[[Any], Any]) -> dict[str, Any]:
    return {"X_train": make(planted.X_train), "X_test": make(planted.X_test)}


def labelled(planted: Planted, make: Callable[[str], Any]) -> dict[str, Any]:
    return {"y_train": [make(each) for each in planted.y_train], "y_test": [make(each) for each in planted.y_test]}


def mixed_frame(X: Any) -> pd.DataFrame:
    """Numbers that the model takes, beside what only a model of missing values and categories takes."""
    frame = pd.DataFrame(X, columns=["a", "label", "c", "row"])
    frame.loc[::7, "a"] = np.nan
    frame["kind"] = pd.Categorical(np.where(X[:, 2] >= 2, "web", "desk"), categories=["none", "web", "desk"])
    return frame


def mixed_encoder() -> Any:
    encoder = OneHotEncoder(handle_unknown="ignore")
    return make_column_transformer((encoder, ["kind"]), remainder=SimpleImputer())


def texts(X: Any) -> list[str]:
    words = np.array(["bad0 awful", "plain", "good nice"])
    return [f"{words[int(np.sign(a + b)) + 1]} w{int(c)} <b>" for a, b, c, _ in X]


def digits() -> dict[str, Any]:
    X, y = load_digits(return_X_y=True)
    y = y.copy()
    y[:300:10] = (y[:300:10] + 1) % 10
    return {"X_train": X[:300] / 16, "y_train": y[:300], "X_test": X[300:500] / 16, "y_test": y[300:500]}


CASES: dict[str, Callable[[Planted], dict[str, Any]]] = {
    "numpy": lambda p: {"X_validation": p.X_test[:30], "y_validation": p.y_test[:30], "check_fidelity": True},
    "pandas": lambda p: {
        **both(p, mixed_frame),
        "model": make_pipeline(mixed_encoder(), LogisticRegression()),
        "y_train": pd.Series(p.y_train, dtype="category", index=range(1000, 1120), name="y"),
        "rows": [dt.date(2024, 1, 1) + dt.timedelta(days=i) for i in range(120)],
        "metadata": pd.DataFrame({"when": pd.date_range("2024-01-01", periods=120), "by": ["ann", None] * 60}),
    },
    "polars": lambda p: {
        **both(p, lambda X: pl.DataFrame(X, schema=list("abcd"))),
        "y_train": pl.Series("y", p.y_train.tolist()),
        "metadata": pl.DataFrame({"by": pl.Series(np.where(p.wrong, "web", "desk").tolist(), dtype=pl.Categorical)}),
        "rows": [f"id {i}" for i in range(120)],
    },
    "pyarrow": lambda p: {
        **both(p, lambda X: pa.table(dict(zip("abcd", X.T, strict=True)))),
        "y_train": pa.chunked_array([p.y_train[:50].tolist(), p.y_train[50:].tolist()]),
        "rows": [i if i % 2 else str(i) for i in range(120)],
    },
    "sparse": lambda p: {**both(p, sp.csr_matrix), "sample_weight": np.linspace(0.5, 1.5, 120)},
    "texts": lambda p: {**both(p, texts), "model": make_pipeline(CountVectorizer(), LogisticRegression())},
    "digits": lambda p: digits(),
    "tuple labels": lambda p: labelled(p, lambda label: (str(label), 1)),
    "mixed labels": lambda p: labelled(p, lambda label: 1 if label == "good" else "1"),
    "boolean labels": lambda p: {"y_train": p.y_train == "good", "y_test": p.y_test == "good"},
    "dates as labels": lambda p: labelled(p, lambda label: dt.date(2024, 1, 1 + (label == "good"))),
    "labels that are no unicode": lambda p: labelled(p, lambda label: "\ud800" if label == "good" else "ok"),
    "whole numbers in float": lambda p: {"y_train": 1.0 * (p.y_train == "good"), "y_test": 1.0 * (p.y_test == "good")},
    "nothing to debug": lambda p: {"bugs": []},
    "no correction": lambda p: {"y_train": np.where(p.X_train[:, 0] + p.X_train[:, 1] > 0, "good", "bad")},
    "few test rows": lambda p: {"X_test": p.X_test[-25:], "y_test": p.y_test[-25:]},
}  # fmt: skip


@pytest.fixture(scope="session")
def diagnosis(planted: Planted) -> psidebug.Diagnosis:
    return debugged(planted, **CASES["numpy"](planted))
