"""Parquet files as blocks: larger than memory, on one machine, read anew for every pass.

What a look at the footers can tell is told before the first row is read: files without rows or that end early, columns
that differ between files, a column that is not there.
"""

from __future__ import annotations

import glob
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from psidebug.blocks.block import ROWS, Block, cut
from psidebug.blocks.blocks import Blocks
from psidebug.blocks.ordered import in_order
from psidebug.errors import ShapeMismatch, UnreadableTable, UnsupportedFeatures, first_line
from psidebug.file_kinds import NAME_IS_NO_TEXT, check_values

T = TypeVar("T")
READ_AT_ONCE = 2**26
"""Bytes of a file that are held while it is read."""


class ParquetBlocks(Blocks):
    """The rows of Parquet files, in the order of their names.

    ``seen`` is called with the bytes read so far, over all readings.
    """

    def __init__(
        self, paths: Sequence[str | Path], *, workers: int = 1, seen: Callable[[int], None] | None = None
    ) -> None:
        self.paths: Sequence[Path] = [Path(path) for path in paths]
        self._workers, self.seen = workers, seen
        footers = [_footer(path) for path in self.paths]
        self.schema = footers[0].schema.to_arrow_schema().remove_metadata()
        for path, footer in zip(self.paths, footers, strict=True):
            _check_same(self.paths[0], self.schema, path, footer.schema.to_arrow_schema().remove_metadata())
        self._footers = footers
        self._count = sum(int(footer.num_rows) for footer in footers)

    def __len__(self) -> int:
        return self._count

    def map(self, function: Callable[[Block], T], columns: Sequence[str] | None = None) -> Iterator[T]:
        """``function`` of every block, in the order of rows."""
        self.readings += 1
        return in_order(function, cut(self._batches(columns)), self._workers)

    def without(self, column: str) -> list[Path]:
        """Files in which the footer says that this column has empty cells."""
        place = self.schema.get_field_index(column)
        return [
            path
            for path, footer in zip(self.paths, self._footers, strict=True)
            if any(_empty_cells(footer.row_group(group).column(place)) for group in range(footer.num_row_groups))
        ]

    def place(self, row: int) -> str:
        """Where this row of all is."""
        for path, footer in zip(self.paths, self._footers, strict=True):
            if row < footer.num_rows:
                return f"row {row} of {path.name}"
            row -= footer.num_rows
        raise IndexError(row)

    def row_groups(self) -> Iterator[tuple[Path, int, int]]:
        """File, number in it, and rows of each row group, in the order of rows."""
        for path, footer in zip(self.paths, self._footers, strict=True):
            for group in range(footer.num_row_groups):
                yield path, group, int(footer.row_group(group).num_rows)

    def _batches(self, columns: Sequence[str] | None) -> Iterator[pa.RecordBatch]:
        names = list(self.schema.names if columns is None else columns)
        places = [self.schema.get_field_index(name) for name in names]
        for path, footer in zip(self.paths, self._footers, strict=True):
            try:
                with pq.ParquetFile(path, buffer_size=READ_AT_ONCE // 16, pre_buffer=False) as file:
                    for group in range(footer.num_row_groups):
                        for batch in file.iter_batches(ROWS, row_groups=[group], columns=names, use_threads=False):
                            check_values(batch)
                            yield batch.select(names)
                        stored = footer.row_group(group)
                        self.bytes_read += sum(stored.column(place).total_compressed_size for place in places)
                        if self.seen is not None:
                            self.seen(self.bytes_read)
            except (OSError, pa.ArrowException) as error:
                raise UnreadableTable(
                    f"{path.name} cannot be read to its end: {first_line(error)}. Write or copy the file again."
                ) from error


def parquet_blocks(where: Any, *, workers: int = 1, seen: Callable[[int], None] | None = None) -> ParquetBlocks:
    """The files of a path, a folder, a pattern such as ``train/*.parquet``, or a ``pyarrow.dataset``."""
    if isinstance(where, ds.FileSystemDataset):
        _check_plain(where)
        return ParquetBlocks(where.files, workers=workers, seen=seen)
    path = Path(where).expanduser()
    pattern = glob.iglob(str(path), recursive=True)
    found = sorted(path.glob("*.parquet")) if path.is_dir() else sorted(map(Path, pattern))
    if path.is_file():
        found = [path]
    if not found and path.is_dir():
        raise UnreadableTable(f"{where} is a folder without *.parquet files{_instead(path)}")
    if not found:
        raise UnreadableTable(f"no file matches {where}: give a Parquet file, a folder of them or a pattern.")
    return ParquetBlocks(found, workers=workers, seen=seen)


def _check_plain(dataset: ds.FileSystemDataset) -> None:
    """Refuse a dataset of which the files alone say too much, or that are not here."""
    if (getattr(dataset, "_scan_options", None) or {}).get("filter") is not None:
        raise UnsupportedFeatures(
            "the pyarrow.dataset has a filter, and its files are read whole: write the filtered rows to Parquet files."
        )
    if dataset.filesystem.type_name != "local":
        raise UnsupportedFeatures(
            f"the pyarrow.dataset lies in a file system of type {dataset.filesystem.type_name}: copy its files here, "
            f"or read them by Dask or Spark."
        )


def _instead(folder: Path) -> str:
    """What a folder without Parquet files has, and what to do."""
    inside = next((each for each in sorted(folder.rglob("*.parquet")) if each.is_file()), None)
    if inside is not None:
        depth = "/".join("*" for _ in inside.relative_to(folder).parts[:-1])
        return f", but has some deeper inside: give the pattern '{folder}/{depth}/*.parquet', in quotes."
    others = sorted(each.name for each in folder.iterdir() if not each.name.startswith("."))
    if not others:
        return " and without anything else: give a file, or a folder of Parquet files."
    return (
        f" (it has {', '.join(others[:3])}): rows are read in blocks from Parquet alone. Give one file that fits in "
        f"memory, or write Parquet files."
    )


def _footer(path: Path) -> Any:
    if path.exists() and not path.is_file():  # a pipe would be waited for
        raise UnreadableTable(f"{path.name} is no file: take it out of the folder, or narrow the pattern.")
    try:
        footer = pq.read_metadata(path)
        _ = footer.schema.names
    except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
        what = NAME_IS_NO_TEXT if isinstance(error, UnicodeDecodeError) else first_line(error)
        raise UnreadableTable(f"{path.name} is no whole Parquet file: {what}. Write or copy it again.") from error
    if footer.num_rows == 0:
        raise UnsupportedFeatures(f"{path.name} has no rows: take it out, or write its rows.")
    return footer


def _check_same(first: Path, schema: pa.Schema, path: Path, other: pa.Schema) -> None:
    if schema.equals(other):
        return
    missing = [name for name in schema.names if name not in other.names]
    more = [name for name in other.names if name not in schema.names]
    if missing or more:
        what = f"has no column {missing[0]!r}" if missing else f"has a column {more[0]!r}"
        raise ShapeMismatch(
            f"{path.name} {what}, {first.name} {'has' if missing else 'has not'}: all files need the same columns."
        )
    name = next((each for each in schema.names if schema.field(each).type != other.field(each).type), None)
    if name is not None:
        raise ShapeMismatch(
            f"column {name!r} is {other.field(name).type} in {path.name} and {schema.field(name).type} in "
            f"{first.name}: write all files with the same types."
        )


def _empty_cells(column: Any) -> int:
    statistics = column.statistics
    return int(statistics.null_count) if statistics is not None and statistics.has_null_count else 0
