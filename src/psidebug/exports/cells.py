"""Tables with other cells, and files of typed tables; every other cell stays as it is, in its type."""

from __future__ import annotations

import io
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.types as kinds

from psidebug.errors import OutputError
from psidebug.file_kinds import ARROW_FILE, typed_table
from psidebug.task.labels import Codes


class OtherRows(Exception):
    """The rows of the file are not those of the run; the run's copy is written instead."""


@dataclass(frozen=True)
class NewCells:
    """What differs from a file: some cells, rows that are left out, columns that are added."""

    columns: Sequence[str]
    """All names, in their order."""
    label: str
    """The name of the label column."""
    given: Codes
    """The labels as the run read them."""
    donors: Mapping[int, int] = field(default_factory=dict)
    """Rows whose label cell becomes a copy of that of another row: written as the file writes it."""
    cells: Mapping[str, Mapping[int, Any]] = field(default_factory=dict)
    """New values by column and row; None is a missing one."""
    added: Mapping[str, Any] = field(default_factory=dict)
    """Columns to add; a text is the column of that name, as it was."""
    dropped: Collection[int] = ()
    encoding: str = "utf-8"
    """Of a text file without a byte-order mark."""

    @property
    def concerned(self) -> list[str]:
        """Columns of the file that are looked at."""
        names = [self.label, *self.cells, *(each for each in self.added.values() if isinstance(each, str))]
        return list(dict.fromkeys(names))


def changed_file(content: bytes, kind: str, new: NewCells) -> bytes:
    """A Parquet or Arrow file with the changes; schema, metadata and every other column are those of the file."""
    table = typed_table(content, kind)
    if table.num_rows != len(new.given) or any(table.column_names.count(each) != 1 for each in new.concerned):
        raise OtherRows
    return _written(changed_table(table, new), content, kind)


def changed_table(table: Any, new: NewCells) -> Any:
    """The table with the new cells and the added columns, without the rows that are left out."""
    columns, schema = list(table.columns), table.schema
    changed = [name for name in new.concerned if name in new.cells or (name == new.label and new.donors)]
    for name in changed:
        index = table.column_names.index(name)
        # As one array; chunks of a dictionary may number its values differently.
        old = table.select([index]).unify_dictionaries().column(0).combine_chunks()
        is_label = name == new.label
        columns[index] = _replaced(
            old, new.donors if is_label else {}, new.cells.get(name, {}), name, widen=not is_label
        )
        own = schema.field(index)
        empty = own.nullable or columns[index].null_count > 0
        schema = schema.set(index, own.with_type(columns[index].type).with_nullable(empty))
    for name, each in new.added.items():
        values = table.column(each) if isinstance(each, str) else each
        columns, schema = [*columns, values], schema.append(pa.field(name, values.type))
    made = pa.Table.from_arrays(columns, schema=schema)
    if not new.dropped:
        return made
    return made.take(pa.array(np.setdiff1d(np.arange(table.num_rows), list(new.dropped))))


def _written(table: Any, content: bytes, kind: str) -> bytes:
    """As the file was: Parquet in its compression and row groups, Arrow as a file or as a stream."""
    sink = io.BytesIO()
    if kind == "parquet":
        about = pq.ParquetFile(pa.BufferReader(content)).metadata
        groups = [about.row_group(place) for place in range(about.num_row_groups)]
        codec = groups[0].column(0).compression.lower()
        size = max(group.num_rows for group in groups)
        pq.write_table(table, sink, compression="none" if codec == "uncompressed" else codec, row_group_size=size)
        return sink.getvalue()
    with (pa.ipc.new_file if content.startswith(ARROW_FILE) else pa.ipc.new_stream)(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def _replaced(old: Any, donors: Mapping[int, int], cells: Mapping[int, Any], name: str, *, widen: bool) -> Any:
    """In the type of the column; numbers that do not fit it as floats, where that is allowed."""
    places = np.arange(len(old))
    for place, donor in donors.items():
        places[place] = donor
    new = old.take(pa.array(places))
    if not cells:
        return new
    values: list[Any] = new.to_pylist()
    for place, value in cells.items():
        values[place] = value
    try:
        return _in_type(values, old.type)
    except (pa.ArrowException, ArithmeticError, TypeError, ValueError):
        if widen and all(each is None or isinstance(each, int | float | Decimal) for each in values):
            return pa.array([None if each is None else float(each) for each in values], pa.float64())
        what = "value" if widen else "label"
        raise OutputError(
            f"could not write the {what} {next(iter(cells.values()))!r}: it does not fit the column {name!r}, which "
            f"holds {old.type}. Write CSV or JSON lines, or give the column a wider type."
        ) from None


def _in_type(values: list[Any], kind: Any) -> Any:
    if kinds.is_dictionary(kind):
        return pa.array(values, kind.value_type).cast(kind)
    if kinds.is_decimal(kind):
        values = [Decimal(repr(each)) if isinstance(each, float) else each for each in values]
    if kinds.is_integer(kind) and any(isinstance(each, float) and not each.is_integer() for each in values):
        raise pa.ArrowInvalid("Arrow would cut off what comes after the point")
    return pa.array(values, kind)
