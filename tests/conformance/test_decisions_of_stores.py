"""``psi.debug`` of the same rows as an array, Parquet files, Dask and Spark: the same findings."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.linear_model import LogisticRegression

import psidebug
from psidebug.blocks import ROWS
from psidebug.diagnosis.diagnosis import Diagnosis
from psidebug.errors import MissingLabels, PsiError, ShapeMismatch, UnreadableTable, UnsupportedFeatures
from psidebug.store.manifest import ALL_LABELS
from tests.blocks.block_findings import NAMES
from tests.blocks.kinds import dask_frame, in_parts, spark_frame

pytestmark = [
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas"),
    pytest.mark.filterwarnings("ignore:The inplace keyword"),  # Dask, in threads, about pandas 3.1
]
SIZES = [ROWS - 40, 100, 777]
"""Two blocks, and as many rows as are all diagnosed: nothing is drawn, so an array has the same findings."""
KINDS = [
    "files",
    "dask",
    pytest.param("dask array", marks=pytest.mark.thorough),
    pytest.param("spark", marks=pytest.mark.thorough),
]


def mislabelled() -> tuple[pa.Table, pa.Table, list[str]]:
    """Training rows of which most with d > 1 are labelled 'no', and test rows with their labels."""
    rng, count = np.random.default_rng(3), sum(SIZES)
    x = rng.normal(size=(count + 400, len(NAMES)))
    right = np.array(["no", "yes"])[(x @ [2.0, -2.0, 1.0, 2.0] + rng.logistic(size=len(x)) > 0).astype(int)]
    given = np.where((x[:, 3] > 1.0) & (rng.random(len(x)) < 0.8), "no", right)
    table = pa.table({name: x[:, place] for place, name in enumerate(NAMES)})
    return table.slice(0, count).append_column("y", pa.array(given[:count])), table.slice(count), right[count:].tolist()


def debugged(rows: Any, label: Any, **options: Any) -> Diagnosis:
    _, test, right = mislabelled()
    return psidebug.debug(LogisticRegression(tol=1e-10), rows, label, test, right, causes="labels", rng=1, **options)


@pytest.fixture(scope="module")
def in_memory() -> Diagnosis:
    table, _, _ = mislabelled()
    return debugged(table.select(NAMES), table.column("y").to_pylist())


def stored(kind: str, folder: Path, request: pytest.FixtureRequest) -> tuple[Any, Any]:
    """The rows and labels, as ``psi.debug`` takes them."""
    table, _, _ = mislabelled()
    if kind == "dask":
        return dask_frame(table, SIZES), "y"
    if kind == "spark":
        return spark_frame(request.getfixturevalue("spark"), table, SIZES), "y"
    if kind == "dask array":
        import dask.array as da

        x, y = matrix(table), np.array(table.column("y").to_pylist())
        return da.from_array(x, chunks=(7_000, 3)), da.from_array(y, chunks=5_000)
    for number, part in enumerate(in_parts(table, SIZES)):
        pq.write_table(part, folder / f"{number}.parquet")
    return folder, "y"


def matrix(table: pa.Table) -> npt.NDArray[np.float64]:
    return np.column_stack([table.column(name).to_numpy() for name in NAMES])


@pytest.mark.parametrize("kind", KINDS)
def test_the_decision_is_that_about_an_array(
    kind: str, in_memory: Diagnosis, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    (tmp_path / "rows").mkdir()
    rows, label = stored(kind, tmp_path / "rows", request)
    if kind == "dask array":  # whose columns have no names: the test rows need none either
        _, test, right = mislabelled()
        found = psidebug.debug(
            LogisticRegression(tol=1e-10),
            rows,
            label,
            matrix(test),
            right,
            causes="labels",
            rng=1,
            run=tmp_path / "run",
        )
    else:
        found = debugged(rows, label, run=tmp_path / "run")
    labels, expected = pq.read_table(tmp_path / "run" / ALL_LABELS), in_memory.findings
    assert np.abs(labels.column("ps").to_numpy() - expected.labels.ps).max() < 1e-4
    assert np.ptp(expected.labels.ps) > 0.5  # it tells labels apart here
    assert found.cause == in_memory.cause == "training_labels"
    if kind != "dask array":
        assert found.verdict == in_memory.verdict
        assert [each.conditions for each in found.findings.slices] == [each.conditions for each in expected.slices]
    given, repaired = (np.array(labels.column(name).to_pylist()) for name in ("given", "repaired"))
    mine, theirs = repaired != given, in_memory.repaired_labels != given
    assert (mine & theirs).sum() >= 0.99 * (mine | theirs).sum() > 100


def test_nobody_imports_an_engine_for_who_does_not_use_it() -> None:
    looks = "import numpy, psidebug, sys; from psidebug.blocks import comes_in_blocks; comes_in_blocks(numpy.ones(2)); "
    done = subprocess.run(
        [sys.executable, "-c", looks + "sys.exit(any(each in sys.modules for each in ('dask', 'pyspark')))"],
        check=False,
    )
    assert done.returncode == 0


def with_another_type(parts: list[Any]) -> None:
    parts[1] = parts[1].assign(a=["one", "two"])


def with_another_column(parts: list[Any]) -> None:
    parts[1] = parts[1].rename(columns={"a": "z"})


def without_a_label(parts: list[Any]) -> None:
    parts[1] = parts[1].assign(y=["no", None])


def without_rows(parts: list[Any]) -> None:
    parts[:] = [each.iloc[:0] for each in parts]


@pytest.mark.parametrize(
    ("spoil", "error", "says"),
    [
        (with_another_type, ShapeMismatch, "column 'a' is double in one partition and"),
        (with_another_column, ShapeMismatch, "partitions have different columns"),
        (without_a_label, MissingLabels, "row 4 has no label"),
        (without_rows, UnsupportedFeatures, "the training data have no rows"),
    ],
)
def test_dask_partitions_that_cannot_be_used_have_their_sentence(
    tmp_path: Path, spoil: Any, error: type[PsiError], says: str
) -> None:
    import dask
    import dask.dataframe as dd
    import pandas as pd

    parts = [
        pd.DataFrame({"a": [1.0, 2.0, 0.5], "y": ["no", "yes", "no"]}),
        pd.DataFrame({"a": [1, 2.5], "y": ["no"] * 2}),
    ]
    meta = parts[0].iloc[:0]
    spoil(parts)
    frame = dd.from_delayed([dask.delayed(each) for each in parts], meta=meta, verify_meta=False)
    with pytest.raises(error, match=says):
        debugged(frame, "y", run=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_file_that_ends_early_has_its_sentence_in_dask_too(tmp_path: Path) -> None:
    import dask.dataframe as dd

    table, _, _ = mislabelled()
    for name in ("0", "1"):
        pq.write_table(table.slice(0, 500), tmp_path / f"{name}.parquet")
    frame = dd.read_parquet(tmp_path)
    whole = (tmp_path / "1.parquet").read_bytes()
    (tmp_path / "1.parquet").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(UnreadableTable, match="a partition of the Dask data frame cannot be read"):
        debugged(frame, "y", run=tmp_path / "run")


def test_labels_beside_a_frame_are_refused(tmp_path: Path) -> None:
    frame = dask_frame(mislabelled()[0].slice(0, 50), [50])
    with pytest.raises(UnsupportedFeatures, match="give the name of the label column"):
        debugged(frame[NAMES], frame["y"], run=tmp_path / "run")


@pytest.mark.thorough
def test_spark_speaks_in_psis_words(spark: Any, tmp_path: Path) -> None:
    table, _, _ = mislabelled()
    table = table.slice(0, 40)
    labels = pa.array([*table.column("y").to_pylist()[:-1], None], pa.string())
    unlabelled = table.set_column(table.column_names.index("y"), "y", labels)
    with pytest.raises(MissingLabels, match="row 39 has no label"):
        debugged(spark_frame(spark, unlabelled, [15, 25]), "y", run=tmp_path / "run")
    for number in range(2):
        pq.write_table(table, tmp_path / f"{number}.parquet")
    frame = spark.read.parquet(str(tmp_path / "0.parquet"), str(tmp_path / "1.parquet"))
    (tmp_path / "1.parquet").unlink()
    with pytest.raises(UnreadableTable, match="Spark cannot read the data frame to its end"):
        debugged(frame, "y", run=tmp_path / "run")
    assert not (tmp_path / "run").exists()
