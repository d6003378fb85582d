"""Parquet files as blocks: larger than memory, on one machine, read anew for every pass.

What a look at the footers can tell is told before the first row is read: files without rows or that end early, columns
that differ between files, a column that is not there. Columns may stand in another order, be dictionaries (categories)
in some files and plain in others, and be without any value in some.
"""

from __future__ import annotations

import glob
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from psidebug.blocks.block import ROWS, Block, cut, plain
from psidebug.blocks.blocks import Blocks
from psidebug.blocks.folders import Keys, below_pattern, keys_of
from psidebug.blocks.ordered import in_order
from psidebug.errors import ShapeMismatch, UnreadableTable, UnsupportedFeatures, first_line
from psidebug.file_kinds import NAME_IS_NO_TEXT, check_values

T = TypeVar("T")
READ_AT_ONCE = 2**26
"""Bytes of a file that are held while it is read."""


class ParquetBlocks(Blocks):
    """The rows of Parquet files, in the order of their names.

    ``keys`` are columns that the folders of each file tell, beside its own; ``seen`` is called with the bytes read so
    far, over all readings.
    """

    def __init__(
        self,
        paths: Sequence[str | Path],
        *,
        keys: Sequence[Keys] | None = None,
        workers: int = 1,
        seen: Callable[[int], None] | None = None,
    ) -> None:
        self.paths: Sequence[Path] = [Path(path) for path in paths]
        self._workers, self.seen = workers, seen
        self._footers = [_footer(path) for path in self.paths]
        own = [footer.schema.to_arrow_schema() for footer in self._footers]
        fields = _same_fields(self.paths, [plain(schema) for schema in own])
        told = [{} for _ in self.paths] if keys is None else keys
        self.keys: Sequence[Keys] = [
            {name: value for name, value in each.items() if name not in fields} for each in told
        ]
        self.schema = pa.schema([*fields.items(), *((name, value.type) for name, value in self.keys[0].items())])
        self._count = sum(int(footer.num_rows) for footer in self._footers)

    def __len__(self) -> int:
        return self._count

    def map(self, function: Callable[[Block], T], columns: Sequence[str] | None = None) -> Iterator[T]:
        """``function`` of every block, in the order of rows."""
        self.readings += 1
        return in_order(function, cut(self._batches(columns)), self._workers)

    def without(self, column: str) -> list[Path]:
        """Files in which the footer says that this column has empty cells."""
        return [
            path
            for path, footer in zip(self.paths, self._footers, strict=True)
            if any(
                each.path_in_schema == column and _empty_cells(each)
                for group in range(footer.num_row_groups)
                for each in _stored(footer, group, [column])
            )
        ]

    def place(self, row: int) -> str:
        """Where this row of all is."""
        for path, footer in zip(self.paths, self._footers, strict=True):
            if row < footer.num_rows:
                return f"row {row} of {path.name}"
            row -= footer.num_rows
        raise IndexError(row)

    def row_groups(self) -> Iterator[tuple[Path, Keys, int, int]]:
        """File, what its folders tell, number in it, and rows of each row group, in the order of rows."""
        for path, keys, footer in zip(self.paths, self.keys, self._footers, strict=True):
            for group in range(footer.num_row_groups):
                yield path, keys, group, int(footer.row_group(group).num_rows)

    def _batches(self, columns: Sequence[str] | None) -> Iterator[pa.Table]:
        wanted = self.schema if columns is None else pa.schema([self.schema.field(name) for name in columns])
        for path, keys, footer in zip(self.paths, self.keys, self._footers, strict=True):
            own = [name for name in wanted.names if name not in keys] or self.schema.names[:1]  # rows are counted
            try:
                with pq.ParquetFile(path, buffer_size=READ_AT_ONCE // 16, pre_buffer=False) as file:
                    if not file.metadata.equals(footer):
                        raise UnreadableTable(f"{path.name} has changed since the work began: begin again.")
                    for group in range(footer.num_row_groups):
                        for batch in file.iter_batches(ROWS, row_groups=[group], columns=own, use_threads=False):
                            check_values(batch)
                            yield with_keys(pa.Table.from_batches([batch]), keys, wanted)
                        self.bytes_read += sum(each.total_compressed_size for each in _stored(footer, group, own))
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
        told = [_typed_keys(each.partition_expression, where.schema) for each in where.get_fragments()]
        return ParquetBlocks(where.files, keys=told, workers=workers, seen=seen)
    path = Path(where).expanduser()
    below = path.parent if path.is_file() else path if path.is_dir() else below_pattern(path)
    found = (
        sorted(path.glob("*.parquet")) if path.is_dir() else sorted(map(Path, glob.iglob(str(path), recursive=True)))
    )
    if path.is_file():
        found = [path]
    elif not found and path.is_dir():
        found = sorted(each for each in path.rglob("*.parquet") if "=" in each.relative_to(path).parts[0])
    if not found and path.is_dir():
        raise UnreadableTable(f"{where} is a folder without *.parquet files{_instead(path)}")
    if not found:
        raise UnreadableTable(f"no file matches {where}: give a Parquet file, a folder of them or a pattern.")
    return ParquetBlocks(found, keys=keys_of(found, below), workers=workers, seen=seen)


def with_keys(table: pa.Table, keys: Keys, wanted: pa.Schema) -> pa.Table:
    """These columns of rows of a file: its own, and those that its folders tell."""
    for name, value in keys.items():
        if name in wanted.names:
            table = table.append_column(name, pa.repeat(value, len(table)))
    table = table.select(wanted.names).replace_schema_metadata(None)
    return table if table.schema.equals(wanted) else table.cast(wanted)


def _typed_keys(expression: Any, schema: pa.Schema) -> Keys:
    """What the partitions of a ``pyarrow.dataset`` tell of a file."""
    found = ds.get_partition_keys(expression)
    return {field.name: pa.scalar(found[field.name], field.type) for field in plain(schema) if field.name in found}


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


def _same_fields(paths: Sequence[Path], schemas: Sequence[pa.Schema]) -> dict[str, pa.DataType]:
    """Names and types of the columns of all files, which must be the same; one without any value has any type."""
    first, fields, known = schemas[0], dict.fromkeys(schemas[0].names, pa.null()), dict.fromkeys(schemas[0].names, "")
    twice = next((name for name in first.names if first.names.count(name) > 1), None)
    if twice is not None:
        raise ShapeMismatch(f"{paths[0].name} has several columns {twice!r}: give each a name of its own.")
    for path, other in zip(paths, schemas, strict=True):
        missing = [name for name in first.names if name not in other.names]
        more = [name for name in other.names if name not in fields]
        if missing or more:
            what = f"has no column {missing[0]!r}" if missing else f"has a column {more[0]!r}"
            raise ShapeMismatch(
                f"{path.name} {what}, {paths[0].name} {'has' if missing else 'has not'}: all files need the same "
                f"columns."
            )
        for name, kind in zip(other.names, other.types, strict=True):
            if pa.types.is_null(fields[name]):
                fields[name], known[name] = kind, path.name
            elif not pa.types.is_null(kind) and kind != fields[name]:
                raise ShapeMismatch(
                    f"column {name!r} is {kind} in {path.name} and {fields[name]} in {known[name]}: write all files "
                    f"with the same types."
                )
    return fields


def _stored(footer: Any, group: int, names: Sequence[str]) -> Iterator[Any]:
    """What the footer says of these columns of a row group; a column of lists or records is stored as several."""
    own = footer.row_group(group)
    for place in range(own.num_columns):
        column = own.column(place)
        if column.path_in_schema in names or column.path_in_schema.partition(".")[0] in names:
            yield column


def _empty_cells(column: Any) -> int:
    statistics = column.statistics
    return int(statistics.null_count) if statistics is not None and statistics.has_null_count else 0
