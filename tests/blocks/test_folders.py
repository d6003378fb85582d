"""What a path, a pattern or a ``pyarrow.dataset`` may be, and what is said of others."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.fs as fs
import pyarrow.parquet as pq
import pytest

from psidebug.blocks import Blocks, parquet_blocks
from psidebug.blocks.dask import DaskBlocks
from psidebug.diagnosis.block_columns import Columns
from psidebug.diagnosis.first_reading import check_labelled, read_first
from psidebug.errors import InvalidWeights, MissingLabels, ShapeMismatch, UnreadableTable, UnsupportedFeatures

TABLE = pa.table({"x": [1.0, 2.0, 3.0], "y": ["a", "b", "a"]})


def test_a_folder_without_parquet_files_says_what_it_has(tmp_path: Path) -> None:
    with pytest.raises(UnreadableTable, match="and without anything else"):
        parquet_blocks(tmp_path)
    (tmp_path / "rows.csv").write_text("x,y\n")
    with pytest.raises(UnreadableTable, match=r"\(it has rows\.csv\): rows are read in blocks from Parquet alone"):
        parquet_blocks(tmp_path)


def test_files_deeper_inside_are_found_by_a_pattern(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / "day" / name).mkdir(parents=True)
        pq.write_table(TABLE, tmp_path / "day" / name / "0.parquet")
    with pytest.raises(UnreadableTable, match=r"deeper inside: give the pattern '.*/\*/\*/\*\.parquet'"):
        parquet_blocks(tmp_path)
    for pattern in ("*/*/*.parquet", "**/*.parquet"):
        assert len(parquet_blocks(tmp_path / pattern)) == 6


def test_a_dataset_is_its_files_and_nothing_else(tmp_path: Path) -> None:
    pq.write_table(TABLE, tmp_path / "0.parquet")
    whole = ds.dataset(tmp_path)
    assert len(parquet_blocks(whole)) == 3
    with pytest.raises(UnsupportedFeatures, match="has a filter"):
        parquet_blocks(whole.filter(pc.field("x") > 1))
    elsewhere = ds.dataset(".", filesystem=fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem()))
    with pytest.raises(UnsupportedFeatures, match="lies in a file system of type subtree"):
        parquet_blocks(elsewhere)


@pytest.mark.parametrize(
    ("second", "error", "says"),
    [
        ({"y": ["a", None]}, MissingLabels, r"row 4 \(row 1 of 1\.parquet\) has no label"),
        ({"key": ["a", None]}, ShapeMismatch, r"row 4 \(row 1 of 1\.parquet\) has no id in 'key'"),
        ({"w": [1.0, -1.0]}, InvalidWeights, r"the weight of row 4 \(row 1 of 1\.parquet\) is -1"),
    ],
)
def test_the_row_that_is_wrong_is_named_by_its_file(
    tmp_path: Path, second: dict[str, list[object]], error: type[Exception], says: str
) -> None:
    good = {"x": [1.0, 2.0], "y": ["a", "b"], "key": ["r", "s"], "w": [1.0, 1.0]}
    pq.write_table(pa.table(good | {"key": ["p", "q"]}).slice(0, 2), tmp_path / "0.parquet")
    pq.write_table(pa.table(good).slice(0, 1), tmp_path / "00.parquet")
    pq.write_table(pa.table(good | second), tmp_path / "1.parquet", write_statistics=False)
    blocks = parquet_blocks(tmp_path)
    columns = Columns.of(blocks, "y", ids="key", weight="w")
    with pytest.raises(error, match=says):
        read_first(blocks, columns, 0, complete=False)


def _table(blocks: Blocks, columns: list[str] | None = None) -> pa.Table:
    return pa.concat_tables(block.table for block in blocks.map(lambda block: block, columns))


def _partitioned(folder: Path) -> pa.Table:
    """Rows of two years and two cities, one of them unknown, written as Spark and pandas write partitions."""
    rows = [(2020, "o'Hara, Rome", 1.0), (2020, None, 2.0), (2021, "o'Hara, Rome", 3.0)]
    for year, city, x in rows:
        place = f"year={year}/city={'__HIVE_DEFAULT_PARTITION__' if city is None else 'o%27Hara%2C%20Rome'}"
        (folder / place).mkdir(parents=True)
        pq.write_table(pa.table({"x": [x], "y": ["a"]}), folder / place / "part-0.parquet")
    cities = [city for _, city, _ in rows]
    return pa.table({"x": [1.0, 2.0, 3.0], "y": ["a"] * 3, "year": [2020, 2020, 2021], "city": cities})


@pytest.mark.parametrize("kind", ["folder", "pattern", "dataset", "workers"])
def test_folders_tell_columns(tmp_path: Path, kind: str) -> None:
    wanted = _partitioned(tmp_path)
    files = parquet_blocks(ds.dataset(tmp_path, partitioning="hive") if kind == "dataset" else tmp_path)
    blocks: Blocks = files
    if kind == "pattern":
        blocks = parquet_blocks(tmp_path / "*/*/*.parquet")
    elif kind == "workers":
        blocks = DaskBlocks.of_files(files, None)
    assert _table(blocks).sort_by("x").cast(wanted.schema).equals(wanted)
    assert set(blocks.schema.names) == {"x", "y", "year", "city"}
    assert _table(blocks, ["year", "x"]).sort_by("x").column("year").to_pylist() == [2020, 2020, 2021]
    assert len(_table(blocks, ["year"])) == 3


def test_folders_of_one_file_tell_nothing_and_all_must_tell_the_same(tmp_path: Path) -> None:
    _partitioned(tmp_path)
    assert parquet_blocks(tmp_path / "year=2021" / "*/*.parquet").schema.names == ["x", "y", "city"]
    pq.write_table(pa.table({"x": [1.0], "y": ["a"]}), tmp_path / "year=2021" / "1.parquet")
    with pytest.raises(ShapeMismatch, match="name other columns than those of year=2020"):
        parquet_blocks(tmp_path)


def test_a_column_may_be_stored_in_several_ways(tmp_path: Path) -> None:
    """Another order, categories of any number, long texts, or no value at all: the values are the same."""
    y = pa.array(["a", "b", "a"])
    pq.write_table(pa.table({"x": [1.0, 2.0, 3.0], "y": y}), tmp_path / "0.parquet")
    pq.write_table(pa.table({"y": y.dictionary_encode(), "x": pa.nulls(3)}), tmp_path / "1.parquet")
    short = y.dictionary_encode().cast(pa.dictionary(pa.int8(), pa.large_string()))
    pq.write_table(pa.table({"x": [1.0, 2.0, 3.0], "y": short}), tmp_path / "2.parquet")
    pq.write_table(pa.table({"x": [1.0, 2.0, 3.0], "y": y.cast(pa.large_string())}), tmp_path / "3.parquet")
    for blocks in (parquet_blocks(tmp_path), DaskBlocks.of_files(parquet_blocks(tmp_path), None)):
        told = _table(blocks)
        assert told.schema == pa.schema({"x": pa.float64(), "y": pa.string()})
        assert told.column("y").to_pylist() == ["a", "b", "a"] * 4
        assert told.column("x").null_count == 3
    check_labelled(parquet_blocks(tmp_path), "y")  # the second file has the empty column where the first has labels


def test_a_footer_tells_of_the_label_wherever_it_stands(tmp_path: Path) -> None:
    """Lists and records are stored as several columns, and a name with a dot is none of them."""
    record = pa.array([{"a": 1, "b": None}] * 2)
    pq.write_table(pa.table({"r": record, "y": ["a", "b"], "y.1": pa.array([None, 1.0])}), tmp_path / "0.parquet")
    check_labelled(parquet_blocks(tmp_path), "y")
    without = pa.array([None], pa.string())
    pq.write_table(pa.table({"y.1": [1.0], "r": record[:1], "y": without}), tmp_path / "1.parquet")
    with pytest.raises(MissingLabels, match=r"1\.parquet has rows without a label"):
        check_labelled(parquet_blocks(tmp_path), "y")


def test_a_file_that_is_another_one_at_the_next_reading_is_refused(tmp_path: Path) -> None:
    pq.write_table(TABLE, tmp_path / "0.parquet")
    blocks = parquet_blocks(tmp_path)
    assert len(_table(blocks)) == 3
    pq.write_table(TABLE.slice(1), tmp_path / "0.parquet")
    with pytest.raises(UnreadableTable, match=r"0\.parquet has changed since the work began: begin again"):
        _table(blocks)


def test_columns_of_one_name_are_refused(tmp_path: Path) -> None:
    pq.write_table(pa.table([[1.0], [2.0]], names=["x", "x"]), tmp_path / "0.parquet")
    with pytest.raises(ShapeMismatch, match="has several columns 'x'"):
        parquet_blocks(tmp_path)
