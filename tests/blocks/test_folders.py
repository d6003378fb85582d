"""What a path, a pattern or a ``pyarrow.dataset`` may be, and what is said of others."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.fs as fs
import pyarrow.parquet as pq
import pytest

from psidebug.blocks import parquet_blocks
from psidebug.diagnosis.block_columns import Columns
from psidebug.diagnosis.first_reading import read_first
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
