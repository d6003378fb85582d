"""A run whose columns hold what breaks careless writers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import psidebug
from psidebug.store import Run, load_run
from tests.conftest import Planted, planted_rows
from tests.store.conftest import debugged

ODD = [
    "",
    "=1+1",
    "+cmd|' /C calc'!A0",
    "two\nlines",
    'say "hi", she said',
    "<script>alert(1)</script>",
    "Ψ → 汉字",
    "a\tb",
]
ODD += ["\r\n", "NULL", "nan", " blank ", "@SUM(A1)", "-2", "'quoted'"]


def odd_frame(X: object) -> pd.DataFrame:
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    frame["note"] = [None if place % 16 == 15 else ODD[place % 16] for place in range(len(frame))]
    frame.loc[::7, "a"] = np.nan
    frame["when"] = pd.date_range("2024-01-01", periods=len(frame), freq="h")
    return frame


@pytest.fixture(scope="session")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Run:
    planted: Planted = planted_rows(train=120, test=60)
    model = make_pipeline(make_column_transformer((SimpleImputer(), ["a", "b", "c", "d"])), LogisticRegression())
    found = psidebug.debug(
        model,
        odd_frame(planted.X_train),
        planted.y_train,
        odd_frame(planted.X_test),
        planted.y_test,
        rows=[f"r{place}" for place in range(120)],
        metadata=pd.DataFrame({"by": ["ann", "bob", None] * 40, "given": range(120)}),
        check_fidelity=False,
        rng=0,
    )
    path = tmp_path_factory.mktemp("exports") / "run"
    columns = ["name", "a", "quality", "by", "b", "c", "d", "note", "when", "given"]
    source = {"label": "quality", "id": "name", "columns": columns, "train": "train.csv"}
    found.described(source=source).save(path)
    return load_run(path)


@pytest.fixture(scope="session")
def diagnosis(planted: Planted) -> psidebug.Diagnosis:
    return debugged(planted)
