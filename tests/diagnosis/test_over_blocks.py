"""A diagnosis over blocks: the same bits for any storage, the findings of the diagnosis in memory, sentences early."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import psidebug
from psidebug.blocks import ArrayBlocks, Blocks, ParquetBlocks
from psidebug.diagnosis.debug_blocks import debug_blocks
from psidebug.diagnosis.diagnosis import Diagnosis
from psidebug.errors import (
    MissingLabels,
    MissingValues,
    PsiError,
    ShapeMismatch,
    SingleClass,
    UnknownOption,
    UnreadableTable,
    UnsupportedFeatures,
    UnsupportedLearner,
)
from psidebug.store.manifest import ALL_LABELS

COUNT = 24_000
"""More than are drawn."""
NAMES = [f"x{j}" for j in range(5)]
SIZES = [17, 15_000, COUNT - 15_017]


def drawn(classes: int = 2) -> tuple[pa.Table, pa.Table]:
    """Training rows, of which those with x0 > 1 have one label, and test rows."""
    rng = np.random.default_rng(classes)
    x = rng.normal(size=(COUNT + 500, 5)) * [1, 2, 3, 4, 5] + 3
    y = ((x - 3) / [1, 2, 3, 4, 5] @ rng.normal(size=(5, classes)) * 2 + rng.gumbel(size=(len(x), classes))).argmax(
        axis=1
    )
    y[:COUNT][x[:COUNT, 0] > 4] = 0
    labels = np.array(["a", "b", "c"])[y]
    table = pa.table({name: x[:, j] for j, name in enumerate(NAMES)} | {"y": labels})
    return table.slice(0, COUNT), table.slice(COUNT)


def files(table: pa.Table, folder: Path) -> str:
    start = 0
    for number, size in enumerate(SIZES):
        pq.write_table(table.slice(start, size), folder / f"{number}.parquet", row_group_size=7_000)
        start += size
    return str(folder / "*.parquet")


def model() -> Any:
    return make_pipeline(StandardScaler(), LogisticRegression(tol=1e-10))


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> tuple[Diagnosis, Path]:
    train, test = drawn()
    folder = tmp_path_factory.mktemp("files")
    pq.write_table(test, folder / "test")
    found = psidebug.debug(
        model(), files(train, folder), "y", str(folder / "test"), "y", run=folder / "run", rng=1, causes="labels"
    )
    return found, folder / "run"


def test_the_findings_are_those_in_memory(told: tuple[Diagnosis, Path]) -> None:
    """More rows than are drawn: the same ones are, from an array and from its files."""
    found, run = told
    train, test = drawn()
    X, y = train.select(NAMES), np.array(train.column("y").to_pylist())
    memory = psidebug.debug(model(), X, y, test.select(NAMES), test.column("y").to_pylist(), rng=1, causes="labels")
    labels = pq.read_table(run / ALL_LABELS)
    assert labels.column("row").to_pylist() == list(range(COUNT))
    assert found.cause == memory.cause == "training_labels"
    assert [each.conditions[0].column for each in found.findings.slices] == ["x0"]
    assert [each.conditions for each in found.findings.slices] == [each.conditions for each in memory.findings.slices]
    mine, theirs = labels.column("repaired").to_numpy(), memory.repaired_labels
    assert ((mine == theirs) & (mine != y)).sum() >= 0.99 * ((mine != y) | (theirs != y)).sum() > 100
    assert np.abs(labels.column("ps").to_numpy() - memory.findings.labels.ps).max() < 1e-4
    assert int(found.findings.settings["readings"]) <= 12


def test_ps_is_that_in_memory_to_its_stated_error(tmp_path: Path) -> None:
    train, test = drawn()
    y_test = test.column("y").to_pylist()
    debug_blocks(model(), ArrayBlocks(train), "y", test.select(NAMES), y_test, effort="rank", run=tmp_path / "run")
    ps = pq.read_table(tmp_path / "run" / ALL_LABELS).column("ps").to_numpy()
    y = np.array(train.column("y").to_pylist())
    memory = psidebug.debug(model(), train.select(NAMES), y, test.select(NAMES), y_test, effort="rank")
    assert np.abs(ps - memory.findings.labels.ps).max() < 1e-5


def test_rows_of_categories_whose_effects_are_alike_have_their_ps(tmp_path: Path) -> None:
    """Sixteen different rows: their effects are 32 numbers, of which sums tie."""
    rng = np.random.default_rng(4)
    x = rng.integers(0, 2, (2_500, 4)).astype(float)
    y = np.where(x @ [1, 1, -1, 0.5] - 0.7 + 0.5 * rng.logistic(size=len(x)) > 0, "a", "b")
    y[:2_000][x[:2_000, :2].all(axis=1)] = "b"
    table = pa.table({f"x{j}": x[:, j] for j in range(4)} | {"y": y})
    train, test = table.slice(0, 2_000), table.slice(2_000)
    names, y_test = table.column_names[:4], y[2_000:].tolist()
    learner = LogisticRegression(tol=1e-10)
    debug_blocks(learner, ArrayBlocks(train), "y", test.select(names), y_test, effort="rank", run=tmp_path / "run")
    ps = pq.read_table(tmp_path / "run" / ALL_LABELS).column("ps").to_numpy()
    memory = psidebug.debug(learner, train.select(names), y[:2_000], test.select(names), y_test, effort="rank")
    assert np.abs(ps - memory.findings.labels.ps).max() < 1e-4
    assert ps.max() > 0.1


@pytest.mark.parametrize("classes", [2, 3])
def test_any_number_of_parts_and_workers_give_the_same_bits(tmp_path: Path, classes: int) -> None:
    train, test = drawn(classes)
    parts = [train.slice(0, 20_000), train.slice(20_000)]
    kinds: dict[str, Blocks] = {
        "one": ArrayBlocks(train),
        "parts": ArrayBlocks(*parts, workers=2),
        "files": ParquetBlocks(sorted(tmp_path.glob(files(train, tmp_path).rpartition("/")[2]))),
    }
    learner = LogisticRegression()
    for name, blocks in kinds.items():
        y_test = test.column("y").to_pylist()
        debug_blocks(learner, blocks, "y", test.select(NAMES), y_test, effort="rank", run=tmp_path / name)
    one, several, stored = (pq.read_table(tmp_path / name / ALL_LABELS) for name in kinds)
    assert one.equals(several)
    assert one.equals(stored)


def test_a_decision_from_an_array_is_that_from_files_to_the_last_bit(
    told: tuple[Diagnosis, Path], tmp_path: Path
) -> None:
    found, run = told
    train, test = drawn()
    y_test = test.column("y").to_pylist()
    seed = int(np.random.default_rng(1).integers(2**31))
    again = debug_blocks(
        model(),
        ArrayBlocks(train, workers=2),
        "y",
        test.select(NAMES),
        y_test,
        run=tmp_path / "run",
        seed=seed,
        causes="labels",
    )
    assert again.verdict == found.verdict
    assert pq.read_table(tmp_path / "run" / ALL_LABELS).equals(pq.read_table(run / ALL_LABELS))


def test_a_run_keeps_drawn_rows_and_the_first_suspects_for_as_many_as_they_stand_for(
    told: tuple[Diagnosis, Path],
) -> None:
    found, run = told
    labels = pq.read_table(run / ALL_LABELS)
    wrong = labels.column("p_wrong").to_numpy()
    assert set(np.argsort(-wrong, kind="stable")[:100]) <= set(found.findings.labels.rows.tolist())
    assert found.data.sample_weight is not None
    assert found.data.sample_weight.sum() == pytest.approx(COUNT)
    assert found.task.predicted.tolist() == found.findings.predictions.before.tolist()
    assert "24,000" in found.verdict
    assert "drawn" in found.verdict


def _schema(folder: Path) -> None:
    pq.write_table(pa.table({"x0": ["1"], "y": ["a"]}), folder / "1.parquet")


def _more(folder: Path) -> None:
    pq.write_table(pa.table({"x0": [1.0], "z": [1.0], "y": ["a"]}), folder / "1.parquet")


def _empty(folder: Path) -> None:
    pq.write_table(pa.table({"x0": pa.array([], pa.float64()), "y": pa.array([], pa.string())}), folder / "1.parquet")


def _truncated(folder: Path) -> None:
    whole = (folder / "0.parquet").read_bytes()
    (folder / "1.parquet").write_bytes(whole[: len(whole) // 2])


def _unlabelled(folder: Path) -> None:
    pq.write_table(pa.table({"x0": [1.0, 2.0], "y": pa.array(["a", None])}), folder / "1.parquet")


@pytest.mark.parametrize(
    ("spoil", "error", "says"),
    [
        (_schema, ShapeMismatch, "column 'x0' is string in 1.parquet and double in 0.parquet"),
        (_more, ShapeMismatch, "1.parquet has a column 'z', 0.parquet has not"),
        (_empty, UnsupportedFeatures, "1.parquet has no rows"),
        (_truncated, UnreadableTable, "1.parquet is no whole Parquet file"),
        (_unlabelled, MissingLabels, "1.parquet has rows without a label in 'y'"),
    ],
)
def test_files_that_cannot_be_used_are_refused_before_a_row_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spoil: Callable[[Path], None], error: type[PsiError], says: str
) -> None:
    pq.write_table(pa.table({"x0": [1.0, 2.0], "y": ["a", "b"]}), tmp_path / "0.parquet")
    spoil(tmp_path)
    monkeypatch.setattr(ParquetBlocks, "map", lambda *_: pytest.fail("a row was read"))
    with pytest.raises(error, match=says):
        psidebug.debug(LogisticRegression(), tmp_path, "y", pa.table({"x0": [1.0]}), ["a"], run=tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("learner", "columns", "error", "says"),
    [
        (
            RandomForestClassifier(),
            {"x": [1.0, 2.0], "y": ["a", "b"]},
            UnsupportedLearner,
            "not RandomForestClassifier",
        ),
        (
            LogisticRegression(solver="liblinear"),
            {"x": [1.0], "y": ["a"]},
            UnsupportedLearner,
            "liblinear, which penalises",
        ),
        (LogisticRegression(), {"x": [1.0, None], "y": ["a", "b"]}, MissingValues, "'x' has an empty or infinite cell"),
        (LogisticRegression(), {"x": ["1", "2"], "y": ["a", "b"]}, UnsupportedFeatures, "column 'x' is string"),
        (LogisticRegression(), {"x": [1.0, 2.0], "y": ["a", "a"]}, SingleClass, "have the same class"),
        (LogisticRegression(), {"x": [1.0, 2.0], "z": ["a", "a"]}, ShapeMismatch, "there is no column 'y'"),
    ],
)
def test_what_cannot_be_used_has_its_sentence(
    tmp_path: Path, learner: Any, columns: dict[str, Any], error: type[PsiError], says: str
) -> None:
    with pytest.raises(error, match=says):
        debug_blocks(learner, ArrayBlocks(pa.table(columns)), "y", pa.table({"x": [1.0]}), ["a"], run=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_options_that_blocks_do_not_have_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UnknownOption, match="rounds=3 is not for rows that are read in blocks"):
        psidebug.debug(LogisticRegression(), tmp_path, "y", pa.table({"x": [1.0]}), ["a"], rounds=3)
    with pytest.raises(UnknownOption, match="run is for rows that are read in blocks"):
        psidebug.debug(LogisticRegression(), [[1.0]], ["a"], [[1.0]], ["a"], run=tmp_path)
