"""Two runs side by side, and the fingerprint that says whether they are of the same inputs."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.feature_selection import SelectKBest, f_classif
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import psidebug
from psidebug.store import Run, compare, fingerprint_of, load_run
from tests.conftest import Planted, with_changes
from tests.store.conftest import CASES, debugged


@pytest.fixture(scope="module")
def runs(planted: Planted, diagnosis: psidebug.Diagnosis, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    place = tmp_path_factory.mktemp("runs")
    repaired = debugged(planted, **CASES["numpy"](planted) | {"y_train": diagnosis.repaired_labels})
    for name, found in (("first", diagnosis), ("repaired", repaired)):
        found.save(place / name)
    return {name: load_run(place / name) for name in ("first", "repaired")}


def test_a_run_is_the_same_as_itself(runs: dict[str, Run]) -> None:
    found = compare(runs["first"], runs["first"])
    assert found.same_inputs
    assert found.overlap == 1.0
    assert found.shared == found.top == runs["first"].corrected
    assert found.settings == {}
    assert str(found).startswith("The inputs are the same; the verdict is the same.")


def test_what_changes_when_labels_are_repaired(runs: dict[str, Run]) -> None:
    first, second = runs["first"], runs["repaired"]
    found = compare(first, second, top=10)
    assert found.same == {"learner": True, "rows": True, "test": True, "train": False}
    assert not found.same_inputs
    ids = [set(run.suspects["row"].head(10)) for run in (first, second)]
    assert found.shared == len(ids[0] & ids[1])
    assert found.overlap == len(ids[0] & ids[1]) / len(ids[0] | ids[1])
    assert found.overlap < 1
    assert first.correction is not None
    effect = first.correction.verified
    assert found.effects[0].test_before == effect.test_before.rate
    assert found.effects[0].test_after == effect.test_after.rate
    assert effect.validation_after is not None
    assert found.effects[0].validation_after == effect.validation_after.rate
    assert found.verdicts == (first.verdict, second.verdict)
    assert "gray box" not in found.settings
    assert "symptom" in found.settings
    assert "differ in: train" in str(found)
    assert asdict(found)["top"] == 10


def test_without_suspects_the_lists_are_the_same(planted: Planted, tmp_path: Path) -> None:
    debugged(planted, bugs=[]).save(tmp_path / "run")
    run = load_run(tmp_path / "run")
    found = compare(run, run)
    assert found.overlap == 1.0
    assert "no correction" in str(found)


# ── fingerprints ────────────────────────────────────────────────────────────────────────────────────────────────────


def print_of(planted: Planted, **changes: Any) -> dict[str, str]:
    data, options = with_changes(planted, changes)
    return fingerprint_of(psidebug.Task.of(*data, **options))


def test_the_same_values_have_the_same_fingerprint_in_every_library(planted: Planted) -> None:
    def made(make: Any) -> dict[str, str]:
        return print_of(planted, X_train=make(planted.X_train), X_test=make(planted.X_test))

    names = [f"x{index}" for index in range(4)]
    plain = made(np.asarray)
    assert made(lambda X: pd.DataFrame(X, columns=names)) == plain
    assert made(lambda X: pl.DataFrame(X, schema=names)) == plain
    assert made(lambda X: pa.table(dict(zip(names, X.T, strict=True)))) == plain
    assert made(lambda X: X.astype(np.int8)) == plain
    assert print_of(planted, y_train=planted.y_train.tolist()) == plain


@pytest.mark.parametrize(
    ("part", "make"),
    [
        ("train", lambda p: {"X_train": p.X_train + (np.arange(480).reshape(120, 4) == 77)}),
        ("train", lambda p: {"y_train": np.where(np.arange(120) == 5, np.roll(p.y_train, 1), p.y_train)[::-1]}),
        ("test", lambda p: {"X_test": p.X_test + (np.arange(320).reshape(80, 4) == 77)}),
        ("test", lambda p: {"y_test": np.where(p.y_test == "bad", "good", "bad")}),
        ("rows", lambda p: {"rows": [str(i) for i in range(120)]}),
        ("learner", lambda p: {"model": LogisticRegression(C=2.0)}),
        ("learner", lambda p: {"model": LogisticRegression(random_state=1)}),
    ],
)
def test_each_part_has_its_own_digest(planted: Planted, part: str, make: Any) -> None:
    plain, other = print_of(planted), print_of(planted, **make(planted))
    assert {name for name in plain if plain[name] != other[name]} == {part}


def test_chance_that_was_left_open_is_no_part_of_the_learner(planted: Planted) -> None:
    assert print_of(planted, seed=1) == print_of(planted, seed=2)


def test_the_learner_is_the_same_text_in_every_process(planted: Planted) -> None:
    def model() -> Any:
        return make_pipeline(FunctionTransformer(lambda X: X), SelectKBest(f_classif, k=2), LogisticRegression())

    one, other = (print_of(planted, model=model())["learner"] for _ in range(2))
    assert one == other
    assert "0x" not in one
    assert "selectkbest__k=2" in one
    assert one != print_of(planted, model=make_pipeline(SelectKBest(k=2), LogisticRegression()))["learner"]
