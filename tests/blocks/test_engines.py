"""Dask and Spark against one block of an array: the same bits, wherever partitions end."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from psidebug.blocks import ROWS, ArrayBlocks, Block, Blocks, drawn, sums, top, with_lots
from psidebug.errors import ShapeMismatch, UnsupportedFeatures
from tests.blocks.kinds import dask_blocks, spark_blocks

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas")
Make = Callable[[pa.Table, list[int]], Blocks]


def _rows(count: int, seed: int = 0) -> pa.Table:
    rng = np.random.default_rng(seed)
    words = pa.array(rng.choice(["a", "b", None], count), pa.string())  # type: ignore[arg-type]
    return pa.table({"x": rng.normal(size=count), "z": rng.integers(0, 9, count), "word": words})


@pytest.fixture(params=["dask", pytest.param("spark", marks=pytest.mark.thorough)])
def made(request: pytest.FixtureRequest) -> Make:
    if request.param == "dask":
        return dask_blocks
    return partial(spark_blocks, request.getfixturevalue("spark"))


def _moments(block: Block) -> dict[str, Any]:
    x = block.column("x")
    return {"x": x.sum(), "xx": (x * x).sum(), "count": len(block), "words": block.table.column("word").null_count}


SIZES = [
    [3 * ROWS],
    [10, ROWS - 10, 2 * ROWS],
    [ROWS + 7, 1, 1, 0, ROWS - 4, 5, 20, ROWS // 2],
    [5, 6, 7],
]


@pytest.mark.parametrize("sizes", SIZES)
def test_sums_have_the_same_bits_as_those_of_an_array(made: Make, sizes: list[int]) -> None:
    table = _rows(sum(sizes))
    blocks = made(table, sizes)
    assert len(blocks) == table.num_rows
    assert sums(blocks, _moments) == sums(ArrayBlocks(table), _moments)
    assert blocks.readings == 1
    assert blocks.bytes_read > 0


def test_blocks_come_in_the_order_of_rows(made: Make) -> None:
    table = _rows(sum(SIZES[2]))
    starts = list(made(table, SIZES[2]).map(_start_and_first))
    assert starts == list(ArrayBlocks(table).map(_start_and_first))


def _start_and_first(block: Block) -> tuple[int, float]:
    return block.start, float(block.column("x")[0])


def test_the_first_rows_and_drawn_rows_are_those_of_an_array(made: Make) -> None:
    table = _rows(sum(SIZES[2]))
    blocks, array = made(table, SIZES[2]), ArrayBlocks(table)
    for each in (
        partial(drawn, count=50, seed=3),
        partial(top, function=partial(with_lots, seed=1), count=9, by="x", columns=["x"]),
    ):
        assert each(blocks).to_pydict() == each(array).to_pydict()


def test_workers_write_what_one_file_has(made: Make, tmp_path: Path) -> None:
    table = _rows(sum(SIZES[2]))
    made(table, SIZES[2]).write(_doubled, tmp_path / "many")
    ArrayBlocks(table).write(_doubled, tmp_path / "one.parquet")
    assert pq.read_table(tmp_path / "many").equals(pq.read_table(tmp_path / "one.parquet"))
    assert not list((tmp_path / "many").glob(".*"))


def _doubled(block: Block) -> pa.Table:
    return pa.table({"row": block.rows, "twice": 2.0 * block.column("x")})


def test_no_rows_are_refused(made: Make) -> None:
    with pytest.raises(UnsupportedFeatures, match="no rows"):
        made(_rows(0), [0])


def test_partitions_of_different_types_are_refused() -> None:
    import dask
    import dask.dataframe as dd
    import pandas as pd

    from psidebug.blocks.dask import DaskBlocks

    parts = [pd.DataFrame({"x": [1, 2]}), pd.DataFrame({"x": [0.5]})]
    frame = dd.from_delayed([dask.delayed(each) for each in parts], meta=parts[0].iloc[:0], verify_meta=False)
    with pytest.raises(ShapeMismatch, match="column 'x' is int64 in one partition and double in another"):
        DaskBlocks(frame)


def test_rows_that_change_between_readings_are_refused() -> None:
    import dask
    import dask.dataframe as dd
    import pandas as pd

    from psidebug.blocks.dask import DaskBlocks

    sizes = iter([4, 5])

    def part() -> pd.DataFrame:
        return pd.DataFrame({"x": np.zeros(next(sizes))})

    frame = dd.from_delayed([dask.delayed(part)()], meta=pd.DataFrame({"x": np.zeros(0)}))
    blocks = DaskBlocks(frame)
    with pytest.raises(ShapeMismatch, match="other rows at each reading: persist it"):
        sums(blocks, _count)


def _count(block: Block) -> dict[str, Any]:
    return {"count": len(block)}


@pytest.mark.parametrize("chunks", [(700, 2), (1000, 3)])
def test_arrays_of_dask_are_frames(chunks: tuple[int, int]) -> None:
    import dask.array as da

    from psidebug.blocks.dask import DaskBlocks, frame_of_arrays

    x, y = np.random.default_rng(0).normal(size=(2000, 3)), np.arange(2000) % 3
    labels = da.from_array(y, chunks=450)
    blocks = DaskBlocks(frame_of_arrays(da.from_array(x, chunks=chunks), ["a", "b", "c"], y=labels))
    (block,) = blocks.map(_itself)
    np.testing.assert_array_equal(block.matrix(["a", "b", "c"]), x)
    np.testing.assert_array_equal(block.column("y"), y)
    kept = labels[labels > 0]
    with pytest.raises(ShapeMismatch, match="give one for each of 2000 rows"):
        frame_of_arrays(da.from_array(x, chunks=chunks), ["a", "b", "c"], y=kept)


def _itself(block: Block) -> Block:
    return block


class Counting:
    """A client that counts what comes to it."""

    def __init__(self) -> None:
        self.received = 0

    def compute(self, tasks: list[Any]) -> Any:
        import dask

        return dask.compute(*tasks)

    def gather(self, answers: Any) -> Any:
        self.received += len(pickle.dumps(answers))
        return answers


def test_what_comes_to_the_client_does_not_grow_with_the_rows() -> None:
    received = {}
    for count in (3, 31):
        client, sizes = Counting(), [count * ROWS // 4 + 5] * 4
        blocks = dask_blocks(_rows(sum(sizes)), sizes, client)
        for _ in range(3):
            sums(blocks, _grams)
        top(blocks, partial(with_lots, seed=1), 100, by="x", columns=["x"])
        received[count] = client.received
    assert received[31] < received[3] + 100
    assert received[31] < 31 * ROWS  # a byte for each label would be more


def _grams(block: Block) -> dict[str, Any]:
    x = block.matrix(["x", "z"])
    return {"gram": x.T @ x, "histogram": np.bincount(block.column("z"), minlength=2**12)}
