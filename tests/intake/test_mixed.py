"""Mixed columns: the same matrix from every data-frame library, as scikit-learn's own encoders make it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from datetime import date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
import skops.io
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from threadpoolctl import threadpool_limits

import psidebug
from psidebug.errors import UnknownOption
from psidebug.intake import LEARNERS, MixedColumns, learner_for, plan_for
from psidebug.intake.mixed import presence, vocabulary
from psidebug.models import as_skops, from_skops
from psidebug.models.skops_files import TRUSTED
from tests.cli.folder import fill, psi

FRAMES: dict[str, Callable[[Any], Any]] = {
    "pyarrow": lambda table: table,
    "pandas": lambda table: table.to_pandas(),
    "polars": lambda table: pl.from_arrow(table),
}


def mixed_table(rows: int = 80) -> pa.Table:
    rng = np.random.default_rng(0)
    words = np.array(["good", "bad", "fine", "poor", "loud", "calm", "long", "dull", "warm", "cold"])
    return pa.table(
        {
            "x": [
                None if lost else value
                for value, lost in zip(rng.normal(size=rows), rng.random(rows) < 0.1, strict=True)
            ],
            "n": rng.integers(0, 9, rows),
            "city": [None if k == 3 else ["Lima", "Oslo", "Pune"][k] for k in rng.integers(0, 4, rows)],
            "flag": [None if k == 2 else bool(k) for k in rng.integers(0, 3, rows)],
            "day": [None if k % 9 == 0 else date(2020, 1 + k % 12, 1 + k % 28) for k in range(rows)],
            "at": [datetime(2021, 5, 1 + k % 28, k % 24) for k in range(rows)],
            "note": [" ".join(rng.choice(words, 7)) for _ in range(rows)],
        }
    )


MIXED = MixedColumns(numbers=["x", "n"], dates=["day", "at"], categories=["city", "flag"], texts=["note"])


@pytest.mark.parametrize("library", FRAMES)
@pytest.mark.parametrize("for_trees", [False, True])
def test_every_library_gives_the_same_matrix(library: str, for_trees: bool) -> None:
    table = mixed_table()
    encoder = clone(MIXED).set_params(for_trees=for_trees)
    expected = encoder.fit_transform(table)
    found = clone(encoder).fit_transform(FRAMES[library](table))
    np.testing.assert_array_equal(found, expected)
    other = encoder.fit(FRAMES[library](table)).transform(table[:10])
    np.testing.assert_array_equal(other, expected[:10])


def test_it_is_what_scikit_learns_column_transformer_makes() -> None:
    frame = mixed_table().to_pandas()
    ours = MixedColumns(numbers=["x", "n"], categories=["city"], texts=["note"]).fit_transform(frame)
    theirs = make_column_transformer(
        (make_pipeline(SimpleImputer(strategy="median", add_indicator=True), StandardScaler()), ["x", "n"]),
        (OneHotEncoder(), ["city"]),
        (CountVectorizer(binary=True, min_df=3), "note"),
        sparse_threshold=0.0,
    ).fit_transform(frame.assign(city=frame["city"].fillna("(missing)")))
    np.testing.assert_allclose(ours, theirs)


def test_a_date_is_its_day_month_weekday_and_hour() -> None:
    moments = [datetime(1970, 1, 1), datetime(2024, 2, 29, 18, 30), datetime(1969, 12, 31, 23)]
    found = MixedColumns(dates=["t"], for_trees=True).fit_transform(pa.table({"t": moments}))
    for row, moment in zip(found, moments, strict=True):
        days = (moment - datetime(1970, 1, 1)).total_seconds() / 86_400
        assert row.tolist() == [days, moment.month, moment.weekday(), moment.hour + moment.minute / 60]


def test_what_training_never_saw_is_no_error() -> None:
    fitted = clone(MIXED).fit(mixed_table())
    strange = pa.table(
        {
            "x": [float("inf"), None],
            "n": pa.array([None, 10**12], pa.int64()),
            "city": ["Atlantis", None],
            "flag": pa.array([None, None], pa.bool_()),
            "day": pa.array([None, date(1900, 1, 1)]),
            "at": pa.array([None, datetime(2400, 1, 1)]),
            "note": [None, "unheard of"],
        }
    )
    assert np.isfinite(fitted.transform(strange)).all()


def test_words_stay_sparse_and_a_limit_makes_them_dense() -> None:
    rng = np.random.default_rng(0)
    table = pa.table({"t": [" ".join(f"w{k}" for k in rng.integers(0, 2000, 60)) for _ in range(200)]})
    wide = MixedColumns(texts=["t"]).fit_transform(table)
    assert sp.issparse(wide)
    assert wide.shape[1] > 600
    few = MixedColumns(texts=["t"], most_words=50).fit_transform(table)
    assert isinstance(few, np.ndarray)
    assert few.shape == (200, 50)


@pytest.mark.parametrize("most", [None, 7])
def test_words_are_those_of_scikit_learn(most: int | None) -> None:
    texts = [
        "The Cat sat, the cat!",
        "a naïve cat's café",
        "",
        "cat SAT on 12 mats",
        "été à Łódź: cat café",
        "THE end",
    ] * 3
    theirs = CountVectorizer(binary=True, min_df=3, max_features=most)
    expected = theirs.fit_transform(texts).toarray()
    words = vocabulary(texts, most=most)
    assert most is not None or list(words) == theirs.get_feature_names_out().tolist()
    assert len(words) == expected.shape[1]
    if most is None:
        np.testing.assert_array_equal(presence(texts, words).toarray(), expected)


def test_texts_without_a_common_word_give_no_column() -> None:
    found = MixedColumns(numbers=["x"], texts=["t"]).fit_transform(pa.table({"x": [1.0, 2.0], "t": ["one", "two"]}))
    assert found.shape == (2, 1)


@pytest.mark.parametrize("name", LEARNERS)
def test_every_learner_takes_mixed_columns_repeats_itself_and_can_be_saved(name: str) -> None:
    table = mixed_table()
    labels = (np.array(table["n"]) > 4).astype(np.intp)  # XGBoost takes no other classes; a task translates
    learner = learner_for(name, plan_for(table), seed=3)
    with threadpool_limits(limits=1):  # small fits; threads would only wait for each other
        first, second = (clone(learner).fit(table, labels) for _ in range(2))
    np.testing.assert_array_equal(first.predict_proba(table), second.predict_proba(table))
    assert first.score(table, labels) > 0.9
    with threadpool_limits(limits=1):
        again = from_skops(as_skops(learner), name="it").fit(table, labels)
    np.testing.assert_array_equal(again.predict_proba(table), first.predict_proba(table))


def test_a_fitted_pipeline_comes_back_from_a_file_as_it_was() -> None:
    table = mixed_table()
    fitted = learner_for("logistic", plan_for(table)).fit(table, np.array(table["n"]) > 4)
    loaded = skops.io.loads(skops.io.dumps(fitted), trusted=sorted(TRUSTED))
    np.testing.assert_array_equal(loaded.predict_proba(table), fitted.predict_proba(table))


@pytest.mark.parametrize(
    ("name", "error"), [("steam", "is not one of logistic"), ("lightgbm", "pip install 'psidebug")]
)
def test_a_learner_that_is_not_there(monkeypatch: pytest.MonkeyPatch, name: str, error: str) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(UnknownOption, match=error):
        learner_for(name, plan_for(mixed_table()))


def test_the_gray_box_follows_the_built_logistic_regression() -> None:
    table = mixed_table(200)
    rng = np.random.default_rng(1)
    truth = np.where(np.array(table["n"]) + rng.normal(size=200) > 4, "many", "few")
    given = np.where(np.array(table["n"])[:120] == 6, "few", truth[:120])
    found = psidebug.debug(
        learner_for("logistic", plan_for(table)), table[:120], given, table[120:], truth[120:], rng=0
    )
    assert found.settings["gray box"] == "newton"
    assert found.fidelity is not None
    assert found.fidelity.trustworthy


WITHOUT = """
import importlib.machinery, sys
found = importlib.machinery.PathFinder.find_spec
hidden = ("pandas", "polars", "lightgbm", "xgboost", "skrub", "catboost")
def find_spec(name, *rest):
    return None if name.split(".")[0] in hidden else found(name, *rest)
importlib.machinery.PathFinder.find_spec = find_spec
"""
"""As if only the base install were there."""


def test_nothing_but_the_base_install_is_needed(tmp_path: Path) -> None:
    """Without pandas and polars the same command gives the same answer."""
    fill(tmp_path)
    arguments = ["debug", "train.csv", "test.csv", "--label", "label", "--id", "id", "--json", "-o", "run"]
    command = "from psidebug.cli import main; main()\n"
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT + command, *arguments], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == json.loads(psi(*arguments[:-1], "other", folder=tmp_path).out) | {"run": "run"}


@pytest.mark.parametrize("for_trees", [False, True])
def test_numbers_as_good_as_infinite_are_missing(for_trees: bool) -> None:
    """Their squares overflow, and trees of 32 bits refuse them."""
    table = pa.table({"x": [1e308, -1e308, 1e39, float("inf"), 3.0, 4.0]})
    none = pa.table({"x": [None, None, None, None, 3.0, 4.0]})
    found, wanted = (MixedColumns(numbers=["x"], for_trees=for_trees).fit_transform(each) for each in (table, none))
    np.testing.assert_array_equal(found, wanted)
    assert np.isfinite(found[4:]).all()
