"""Workers of a Dask cluster are killed in the middle of a pass: the findings do not change by a bit."""

from __future__ import annotations

import os
import signal
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from sklearn.linear_model import LogisticRegression

import psidebug
from psidebug.blocks import ROWS, ArrayBlocks, Block
from psidebug.graybox.logistic.over_blocks import Rows
from psidebug.store.manifest import ALL_LABELS
from tests.blocks.block_findings import NAMES, findings_of, mislabelled_rows, read
from tests.blocks.kinds import in_parts

KILLED = (2, 8)


def read_or_die(block: Block, folder: Path) -> Rows:
    """The third and the ninth time that block 2 is read, in the fit and when PS is written, its reader is killed."""
    if block.number == 2:
        seen = len(list(folder.iterdir()))
        (folder / str(seen)).write_text(str(os.getpid()))
        if seen in KILLED:
            os.kill(os.getpid(), signal.SIGKILL)
    return read(block)


@pytest.mark.thorough
def test_a_worker_that_is_killed_changes_nothing(tmp_path: Path) -> None:
    import dask.dataframe as dd
    from distributed import Client, LocalCluster

    from psidebug.blocks.dask import DaskBlocks

    table, test, truth = mislabelled_rows()
    for name in ("rows", "deaths"):
        (tmp_path / name).mkdir()
    for number, part in enumerate(in_parts(table, [ROWS + 9, 2 * ROWS - 100, ROWS + 868])):
        pq.write_table(part, tmp_path / "rows" / f"{number}.parquet")
    expected = findings_of(ArrayBlocks(table), test, truth, tmp_path / "expected.parquet")
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", memory_limit="1GiB") as cluster,
        Client(cluster) as client,
    ):
        blocks = DaskBlocks(dd.read_parquet(tmp_path / "rows"), client)
        found = findings_of(blocks, test, truth, tmp_path / "found", partial(read_or_die, folder=tmp_path / "deaths"))
        alive = {str(process) for process in client.run(os.getpid).values()}
    assert not alive & {(tmp_path / "deaths" / str(each)).read_text() for each in KILLED}
    found.same_bits(expected)
    assert pq.read_table(tmp_path / "found").equals(pq.read_table(tmp_path / "expected.parquet"))


def rows_or_death(path: Path, folder: Path) -> Any:
    """The rows of a file; who reads the first one the third and the seventh time, in the fit and later, is killed."""
    if path.name == "0.parquet":
        seen = len(list(folder.iterdir()))
        (folder / str(seen)).write_text(str(os.getpid()))
        if seen in (2, 6):
            os.kill(os.getpid(), signal.SIGKILL)
    return pq.read_table(path).to_pandas()


@pytest.mark.thorough
def test_a_decision_is_the_same_though_workers_are_killed_in_it(tmp_path: Path) -> None:
    import dask.dataframe as dd
    from distributed import Client, LocalCluster

    table, test, truth = mislabelled_rows(ROWS + 2_000)
    for name in ("rows", "deaths"):
        (tmp_path / name).mkdir()
    for number, part in enumerate(in_parts(table, [ROWS - 9, 2_009])):
        pq.write_table(part, tmp_path / "rows" / f"{number}.parquet")
    paths = sorted((tmp_path / "rows").iterdir())
    tested = table.slice(0, 0).to_pandas()[NAMES].reindex(range(len(test)))
    tested[NAMES] = test
    given: dict[str, Any] = {"causes": "labels", "rng": 1, "progress": False}
    sets = tested, truth.astype(int)
    alone = psidebug.debug(LogisticRegression(), tmp_path / "rows", "y", *sets, run=tmp_path / "alone", **given)
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", memory_limit="1GiB") as cluster,
        Client(cluster),
    ):
        meta = table.slice(0, 0).to_pandas()
        frame = dd.from_map(rows_or_death, paths, folder=tmp_path / "deaths", meta=meta)
        found = psidebug.debug(LogisticRegression(), frame, "y", *sets, run=tmp_path / "found", **given)
    assert len(list((tmp_path / "deaths").iterdir())) > 7  # both have died
    assert found.verdict == alone.verdict
    assert pq.read_table(tmp_path / "found" / ALL_LABELS).equals(pq.read_table(tmp_path / "alone" / ALL_LABELS))
