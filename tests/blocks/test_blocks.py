"""Blocks: the same answer, to the last bit, however rows are stored and whoever works on them."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from psidebug.blocks import ROWS, ArrayBlocks, Block, Blocks, Node, cut, drawn, lots, merged, nodes_of, parquet_blocks
from psidebug.blocks.passes import Sums, sums, top
from psidebug.errors import ShapeMismatch, UnreadableTable, UnsupportedFeatures

COUNT = 5 * ROWS + 123


@pytest.fixture(scope="module")
def table() -> pa.Table:
    rng = np.random.default_rng(0)
    scale = 10.0 ** rng.integers(-8, 8, COUNT)  # so that the order of adding shows
    return pa.table({"a": rng.normal(size=COUNT) * scale, "b": rng.normal(size=COUNT), "y": rng.integers(0, 2, COUNT)})


def in_parts(table: pa.Table, borders: list[int]) -> list[pa.Table]:
    ends = [*borders, table.num_rows]
    return [table.slice(start, end - start) for start, end in zip([0, *borders], ends, strict=True)]


def files(table: pa.Table, folder: Path, borders: list[int]) -> str:
    folder.mkdir()
    for number, part in enumerate(in_parts(table, borders)):
        pq.write_table(part, folder / f"part-{number}.parquet", row_group_size=10_000)
    return str(folder / "*.parquet")


KINDS: dict[str, Callable[[pa.Table, Path], Blocks]] = {
    "one part": lambda table, _: ArrayBlocks(table),
    "three parts, two workers": lambda table, _: ArrayBlocks(*in_parts(table, [17, 40_001]), workers=2),
    "one file": lambda table, path: parquet_blocks(files(table, path / "one", [])),
    "three files, three workers": lambda table, path: parquet_blocks(
        files(table, path / "three", [ROWS - 1, ROWS + 1]), workers=3
    ),
}


@pytest.fixture(params=KINDS)
def blocks(request: pytest.FixtureRequest, table: pa.Table, tmp_path: Path) -> Blocks:
    return KINDS[request.param](table, tmp_path)


def moments(block: Block) -> Sums:
    x = block.matrix(["a", "b"])
    return {"count": len(block), "sum": x.sum(axis=0), "gram": x.T @ x}


def scored(block: Block) -> pa.Table:
    return pa.table({"row": block.rows, "score": np.round(block.column("b"), 1)})


def test_blocks_have_the_same_rows_however_they_are_stored(blocks: Blocks, table: pa.Table) -> None:
    assert len(blocks) == COUNT
    found = list(blocks.map(lambda block: block))
    assert [each.start for each in found] == list(range(0, COUNT, ROWS))
    assert pa.concat_tables(each.table for each in found).equals(table)


def test_sums_are_bit_equal(blocks: Blocks, table: pa.Table) -> None:
    expected = sums(ArrayBlocks(table), moments)
    found = sums(blocks, moments)
    assert found["count"] == COUNT
    np.testing.assert_array_equal(found["gram"], expected["gram"])
    np.testing.assert_array_equal(found["sum"], expected["sum"])
    np.testing.assert_allclose(found["sum"][1], table.column("b").to_numpy().sum())


def test_the_first_rows_by_a_score_are_those_of_a_sort(blocks: Blocks, table: pa.Table) -> None:
    scores = np.round(table.column("b").to_numpy(), 1)
    expected = np.sort(np.argsort(-scores, kind="stable")[:200])
    assert top(blocks, scored, 200, by="score", columns=["b"]).column("row").to_pylist() == expected.tolist()


def test_the_same_rows_are_drawn(blocks: Blocks, table: pa.Table) -> None:
    rows = np.sort(np.argsort(-lots(np.arange(COUNT), 7), kind="stable")[:500])
    found = drawn(blocks, 500, 7)
    np.testing.assert_array_equal(found.column("row").to_numpy(), rows)
    assert found.select(["a", "b", "y"]).equals(table.take(rows))


def test_what_is_written_is_in_the_order_of_rows(blocks: Blocks, tmp_path: Path, table: pa.Table) -> None:
    blocks.write(lambda block: block.table.select(["y"]), tmp_path / "y.parquet", ["y"])
    assert pq.read_table(tmp_path / "y.parquet").column("y").to_pylist() == table.column("y").to_pylist()


def test_readings_and_bytes_are_counted(table: pa.Table, tmp_path: Path) -> None:
    seen: list[int] = []
    blocks = parquet_blocks(files(table, tmp_path / "few", [100]), seen=seen.append)
    for _ in range(2):
        sums(blocks, moments)
    stored = sum(path.stat().st_size for path in blocks.paths)
    assert blocks.readings == 2
    assert seen[-1] == blocks.bytes_read
    assert 0.9 < blocks.bytes_read / (2 * stored) <= 1.0


@pytest.mark.parametrize("count", [1, 2, 3, 7, 8, 13, 64, 100])
def test_runs_of_blocks_can_be_merged_anywhere(count: int) -> None:
    """A text of brackets shows the order of merging."""

    def bracket(left: str, right: str) -> str:
        return f"({left}{right})"

    leaves = [Node(0, number, f"{number}.") for number in range(count)]
    whole = merged(leaves, bracket)
    assert whole is not None
    assert [int(each) for each in whole.replace("(", "").replace(")", "").split(".")[:-1]] == list(range(count))
    rng = np.random.default_rng(count)
    for _ in range(20):
        borders = [0, *np.sort(rng.integers(0, count + 1, 3)).tolist(), count]
        parts = [nodes_of(leaves[a:b], bracket) for a, b in pairwise(borders)]
        assert merged((node for part in parts for node in part), bracket) == whole


def test_lots_are_even_and_differ_by_seed() -> None:
    a, b = lots(np.arange(100_000), 0), lots(np.arange(100_000), 1)
    counts = np.bincount((a * 16).astype(int), minlength=16)
    assert abs(counts - 6250).max() < 6 * np.sqrt(6250)
    assert abs(np.corrcoef(a, b)[0, 1]) < 0.02
    assert abs(np.corrcoef(a[1:], a[:-1])[0, 1]) < 0.02


def test_tables_without_rows_are_passed_over(table: pa.Table) -> None:
    found = list(cut([table.slice(0, 0), table.slice(0, 5), table.slice(0, 0), table.slice(5, 5)]))
    assert [len(each) for each in found] == [10]


class TestWrongFiles:
    """Each has its sentence, from the footers alone: no row is read."""

    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        pq.write_table(pa.table({"a": [1.0, 2.0], "y": ["no", "yes"]}), tmp_path / "1.parquet")
        return tmp_path

    def refused(self, folder: Path, error: type[Exception], says: str) -> None:
        with pytest.raises(error, match=says):
            parquet_blocks(folder)

    def test_another_column(self, folder: Path) -> None:
        pq.write_table(pa.table({"b": [1.0], "y": ["no"]}), folder / "2.parquet")
        self.refused(folder, ShapeMismatch, r"2\.parquet has no column 'a', 1\.parquet has")

    def test_a_column_more(self, folder: Path) -> None:
        pq.write_table(pa.table({"a": [1.0], "y": ["no"], "b": [1]}), folder / "2.parquet")
        self.refused(folder, ShapeMismatch, r"2\.parquet has a column 'b', 1\.parquet has not")

    def test_another_type(self, folder: Path) -> None:
        pq.write_table(pa.table({"a": [1], "y": ["no"]}), folder / "2.parquet")
        self.refused(folder, ShapeMismatch, r"column 'a' is int64 in 2\.parquet and double in 1\.parquet")

    def test_the_order_of_columns_is_free(self, folder: Path) -> None:
        pq.write_table(pa.table({"y": ["no"], "a": [3.0]}), folder / "2.parquet")
        whole = pa.concat_tables(parquet_blocks(folder).map(lambda block: block.table))
        assert whole.to_pydict() == {"a": [1.0, 2.0, 3.0], "y": ["no", "yes", "no"]}

    def test_no_rows(self, folder: Path) -> None:
        pq.write_table(
            pa.table({"a": pa.array([], pa.float64()), "y": pa.array([], pa.string())}), folder / "2.parquet"
        )
        self.refused(folder, UnsupportedFeatures, r"2\.parquet has no rows")

    def test_an_end_that_is_missing(self, folder: Path) -> None:
        whole = (folder / "1.parquet").read_bytes()
        (folder / "2.parquet").write_bytes(whole[: len(whole) // 2])
        self.refused(folder, UnreadableTable, r"2\.parquet is no whole Parquet file")

    def test_texts_that_are_none_are_told_in_blocks_too(self, tmp_path: Path) -> None:
        """Parquet says that a column is text, and pyarrow believes it."""
        pq.write_table(pa.table({"a": pa.array([b"\xff\xfe"] * 9).view(pa.string())}), tmp_path / "a.parquet")
        with pytest.raises(UnreadableTable, match=r"a\.parquet cannot be read to its end"):
            list(parquet_blocks(tmp_path).map(len))

    def test_the_name_of_a_column_that_is_no_text(self, folder: Path) -> None:
        pq.write_table(pa.table({"qqqq": [1.0], "y": ["no"]}), folder / "2.parquet")
        content = (folder / "2.parquet").read_bytes()
        (folder / "2.parquet").write_bytes(content.replace(b"qqqq", b"q\xffqq"))
        self.refused(folder, UnreadableTable, r"2\.parquet is no whole Parquet file")

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names")
    def test_a_pipe_is_not_waited_for(self, folder: Path) -> None:
        os.mkfifo(folder / "2.parquet")
        self.refused(folder, UnreadableTable, r"2\.parquet is no file")

    def test_no_file(self, tmp_path: Path) -> None:
        with pytest.raises(UnreadableTable, match="no file matches"):
            parquet_blocks(str(tmp_path / "*.parquet"))

    def test_empty_cells_are_told_by_file(self, folder: Path) -> None:
        pq.write_table(pa.table({"a": [None, 1.0], "y": ["no", None]}), folder / "2.parquet")
        assert [path.name for path in parquet_blocks(folder).without("y")] == ["2.parquet"]


def test_a_dataset_is_its_files(table: pa.Table, tmp_path: Path) -> None:
    files(table, tmp_path / "some", [100])
    blocks = parquet_blocks(ds.dataset(tmp_path / "some"))
    assert len(blocks) == COUNT
    assert [path.name for path in blocks.paths] == ["part-0.parquet", "part-1.parquet"]


def test_an_error_in_a_block_is_raised(blocks: Blocks) -> None:
    def fails(block: Block, at: int) -> int:
        if block.number == at:
            raise ValueError("here")
        return block.number

    with pytest.raises(ValueError, match="here"):
        list(blocks.map(partial(fails, at=2)))
