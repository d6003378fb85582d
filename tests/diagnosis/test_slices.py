"""What suspects have in common: the score of a slice by brute force, and which slices there are."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from psidebug.diagnosis.slices import Slice, common_slices
from psidebug.task import Task
from tests.conftest import Planted


def task_of(planted: Planted, metadata: Any = None) -> Task:
    return Task.of(
        LogisticRegression(), planted.X_train, planted.y_train, planted.X_test, planted.y_test, metadata=metadata
    )


def found(planted: Planted, metadata: Any, ps: npt.NDArray[np.float64], *, most: int = 50) -> dict[str, Slice]:
    return {each.column: each for each in common_slices(task_of(planted, metadata), ps, most=most)}


def exact_z(scores: list[float], inside: list[int]) -> float:
    """The mean of a sample without replacement, standardised by the moments over all samples of its size."""
    means = [np.mean([scores[i] for i in chosen]) for chosen in itertools.combinations(range(len(scores)), len(inside))]
    return float((np.mean([scores[i] for i in inside]) - np.mean(means)) / np.std(means))


@settings(derandomize=True, max_examples=25, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=8, max_size=8), st.integers(3, 5))
def test_z_is_the_standard_score_over_all_samples_of_that_size(scores: list[float], size: int) -> None:
    """Every sample of that size, by enumeration: no formula of ours on the other side."""
    X = np.zeros((16, 1))
    y = np.array(["a"] * 8 + ["b"] * 8)
    source = np.array(["in"] * size + ["out"] * (8 - size) + ["out"] * 8)
    X[8:] = 1.0
    task = Task.of(LogisticRegression(), X, y, X[::8], ["a", "b"], metadata=pd.DataFrame({"source": source}))
    ps = np.concatenate([scores, np.zeros(8)])
    slices = [each for each in common_slices(task, ps, most=9) if each.condition == "source = in"]
    if np.std(scores) < 1e-6:
        return
    expected = exact_z(scores, list(range(size)))
    if expected > 1e-9:
        assert slices[0].z == pytest.approx(expected, rel=1e-6)
        assert slices[0].members.tolist() == list(range(size))
    else:
        assert not slices


def brute_force(planted: Planted, values: npt.NDArray[Any], ps: npt.NDArray[np.float64]) -> float:
    """Largest z over the conditions "value equals v" of one column, by its definition."""
    best = -math.inf
    for given_label in ("bad", "good"):
        rows = [i for i in range(len(ps)) if planted.y_train[i] == given_label]
        everything = [ps[i] for i in rows]
        mean = sum(everything) / len(rows)
        spread = math.sqrt(sum((value - mean) ** 2 for value in everything) / len(rows))
        for value in set(values.tolist()):
            inside = [ps[i] for i in rows if values[i] == value]
            n, total = len(inside), len(rows)
            if 3 <= n < total:
                error = spread * math.sqrt((total - n) / (n * (total - 1)))
                best = max(best, (sum(inside) / n - mean) / error)
    return best


@pytest.mark.parametrize("seed", range(5))
def test_the_best_condition_of_a_column_is_found(planted: Planted, seed: int) -> None:
    rng = np.random.default_rng(seed)
    source = rng.choice(["web", "desk", "phone", "post"], size=len(planted.y_train))
    ps = rng.uniform(size=len(source)) + 0.3 * (source == "web")
    slice_ = found(planted, pd.DataFrame({"source": source}), ps)["source"]
    assert slice_.z == pytest.approx(brute_force(planted, source, ps), rel=1e-9)
    label = ["bad", "good"][slice_.given]
    value = slice_.condition.removeprefix("source = ")
    expected = [i for i in range(len(ps)) if source[i] == value and planted.y_train[i] == label]
    assert slice_.members.tolist() == expected


def test_slices_are_sorted_by_z_and_one_of_each_column(planted: Planted) -> None:
    ps = np.where(planted.wrong, 0.9, 0.1)
    metadata = pd.DataFrame({"wrong": planted.wrong, "noise": np.arange(len(ps)) % 5})
    slices = common_slices(task_of(planted, metadata), ps, most=50)
    assert [each.z for each in slices] == sorted((each.z for each in slices), reverse=True)
    assert len({each.column for each in slices}) == len(slices)
    assert slices[0].condition == "wrong = True"
    assert slices[0].members.tolist() == np.flatnonzero(planted.wrong).tolist()
    assert len(common_slices(task_of(planted, metadata), ps, most=2)) == 2


def test_equal_ps_have_nothing_in_common(planted: Planted) -> None:
    assert found(planted, None, np.full(len(planted.y_train), 0.5)) == {}


def test_every_condition_says_which_rows_it_means(planted: Planted) -> None:
    """The words of a condition, applied to the column, give its members."""
    ps = np.random.default_rng(2).uniform(size=len(planted.y_train))
    years = np.random.default_rng(3).integers(100_000, 900_000, size=len(ps))
    for each in found(planted, pd.DataFrame({"serial": years}), ps).values():
        column = years if each.column == "serial" else planted.X_train[:, int(each.column[1:])]
        _, sign, number = each.condition.split()
        holds = {"=": np.equal, "≤": np.less_equal, ">": np.greater}[sign](column, float(number))
        rows = np.flatnonzero(holds & (task_of(planted).train.codes == each.given))
        assert each.members.tolist() == rows.tolist()


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_columns_of_every_kind(planted: Planted, make: Any) -> None:
    count = len(planted.y_train)
    ps = np.where(planted.wrong, 0.9, 0.1) + 0.01 * np.random.default_rng(0).uniform(size=count)
    few = np.where(planted.wrong, 1.0, 2.0).tolist()
    columns = {
        "boolean": planted.wrong.tolist(),
        "text": ["web" if wrong else "desk" for wrong in planted.wrong],
        "number": few,
        "holes": [None if wrong else 2.0 for wrong in planted.wrong],
        "missing": [None if wrong else "x" for wrong in planted.wrong],
        "lists": [[1, 2]] * count,
        "names": [f"row {i}" for i in range(count)],
        "empty": [None] * count,
    }
    slices = found(planted, make(columns), ps)
    assert slices["boolean"].condition == "boolean = True"
    assert slices["text"].condition == "text = web"
    assert slices["number"].condition in {"number = 1", "number ≤ 1"}
    assert slices["missing"].condition == "missing = None"
    for name in ("lists", "names", "empty"):
        assert name not in slices, f"{name} cannot say what rows have in common"
    for name in ("boolean", "text", "number", "missing"):
        assert slices[name].members.tolist() == np.flatnonzero(planted.wrong).tolist()


def test_a_matrix_as_metadata_is_not_mistaken_for_the_features(planted: Planted) -> None:
    ps = np.where(planted.wrong, 0.9, 0.1)
    slices = found(planted, planted.wrong.astype(float)[:, None], ps)
    assert slices["m0"].members.tolist() == np.flatnonzero(planted.wrong).tolist()
    assert {"x0", "x1", "x2", "x3"} & slices.keys()


def test_infinite_and_missing_numbers_are_cut_around(planted: Planted) -> None:
    values = np.random.default_rng(1).normal(size=len(planted.y_train))
    values[:5] = [np.nan, np.inf, -np.inf, np.nan, np.inf]
    ps = np.random.default_rng(2).uniform(size=len(values))
    slice_ = found(planted, pd.DataFrame({"v": values}), ps)["v"]
    assert "nan" not in slice_.condition
    assert "inf" not in slice_.condition
