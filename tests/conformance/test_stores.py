"""The same rows in memory, in Parquet files, in Dask and in Spark: the same findings, and right ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.linear_model import LogisticRegression

from psidebug.blocks import ROWS, ArrayBlocks, Block, Blocks, parquet_blocks
from psidebug.inference.closed_form import closed_form
from psidebug.inference.linear import LinearSymptom
from psidebug.priors import noise
from tests.blocks.block_findings import NAMES, RATE, BlockFindings, findings_of, mislabelled_rows
from tests.blocks.kinds import dask_blocks, in_parts, spark_blocks

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas")
SIZES = [ROWS - 40, 100, 2 * ROWS - 60, 777]
KINDS = ["files", "dask", pytest.param("spark", marks=pytest.mark.thorough)]


@pytest.fixture(scope="module")
def in_memory(tmp_path_factory: pytest.TempPathFactory) -> tuple[BlockFindings, Path]:
    table, test, truth = mislabelled_rows()
    path = tmp_path_factory.mktemp("memory") / "ps.parquet"
    return findings_of(ArrayBlocks(table), test, truth, path), path


def blocks_of(kind: str, table: pa.Table, folder: Path, request: pytest.FixtureRequest) -> Blocks:
    if kind == "dask":
        return dask_blocks(table, SIZES)
    if kind == "spark":
        return spark_blocks(request.getfixturevalue("spark"), table, SIZES)
    folder.mkdir()
    for number, part in enumerate(in_parts(table, SIZES)):
        pq.write_table(part, folder / f"{number}.parquet")
    return parquet_blocks(folder)


@pytest.mark.parametrize("kind", KINDS)
def test_the_findings_are_the_same_to_the_last_bit(
    kind: str, in_memory: tuple[BlockFindings, Path], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    table, test, truth = mislabelled_rows()
    blocks = blocks_of(kind, table, tmp_path / "rows", request)
    expected, written = in_memory
    findings_of(blocks, test, truth, tmp_path / "ps").same_bits(expected)
    assert pq.read_table(tmp_path / "ps").equals(pq.read_table(written))


def test_they_are_those_of_the_closed_form_and_of_scikit_learn(in_memory: tuple[BlockFindings, Path]) -> None:
    found, written = in_memory
    table, _, _ = mislabelled_rows()
    model = LogisticRegression(C=1.0, tol=1e-10, solver="newton-cholesky")
    model.fit(Block(0, table).matrix(NAMES), table.column("y").to_numpy())
    np.testing.assert_allclose(found.fit.theta[0], [*model.coef_[0], *model.intercept_], atol=1e-6)
    scored = pq.read_table(written)
    c = scored.column("effect").to_numpy()
    prior = noise(np.zeros(len(c), dtype=np.intp), 2, RATE)
    truth = closed_form(LinearSymptom(prior, np.column_stack([np.zeros(len(c)), c]), found.threshold)).ps
    ps = scored.column("ps").to_numpy()
    np.testing.assert_allclose(ps, truth, atol=1e-4)
    assert found.ps.error < 1e-4
    exact = np.argsort(-truth, kind="stable")[: len(found.suspects)]
    assert len(np.intersect1d(exact, found.suspects.column("row"))) >= 0.99 * len(exact)
    assert np.ptp(truth[c > 0]) > 0.9  # PS tells labels apart here
