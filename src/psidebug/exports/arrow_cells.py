"""Label cells of Parquet and Arrow files, replaced in the column's own type."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.types as kinds

from psidebug.errors import OutputError
from psidebug.exports.relabelling import OtherRows, Relabelling


def relabelled_table(content: bytes, kind: str, change: Relabelling) -> bytes:
    """The file with the new label cells and the added columns.

    Schema, metadata and every other column are those of the file. Of the added columns ``given`` is the label column.
    """
    table = _read(content, kind)
    label = change.source["label"]
    if table.num_rows != len(change.given) or table.column_names.count(label) != 1:
        raise OtherRows
    index = table.column_names.index(label)
    field, old = table.schema.field(index), _one_chunk(table.column(index))
    columns, schema = list(table.columns), table.schema
    columns[index] = _replaced(old, change.donors, change.labels, name=field.name)
    for name, values in change.added.items():
        values = old if values is None else values
        columns, schema = [*columns, values], schema.append(pa.field(name, values.type))
    return _written(pa.Table.from_arrays(columns, schema=schema), content, kind)


def _read(content: bytes, kind: str) -> Any:
    if kind == "parquet":
        return pq.read_table(pa.BufferReader(content))
    reader = pa.ipc.open_file if _is_file(content) else pa.ipc.open_stream
    return reader(pa.BufferReader(content)).read_all()


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
    with (pa.ipc.new_file if _is_file(content) else pa.ipc.new_stream)(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def _is_file(content: bytes) -> bool:
    return content.startswith(b"ARROW1")


def _one_chunk(column: Any) -> Any:
    """The column as one array; chunks of a dictionary may number its values differently."""
    return pa.table({"": column}).unify_dictionaries().column(0).combine_chunks()


def _replaced(old: Any, donors: Mapping[int, int | None], labels: Mapping[int, Any], *, name: str) -> Any:
    places = np.arange(len(old))
    for place, donor in donors.items():
        places[place] = place if donor is None else donor
    new = old.take(pa.array(places))
    if not labels:
        return new
    kind = old.type
    values: list[Any] = new.to_pylist()
    for place, label in labels.items():
        values[place] = label
    try:
        if kinds.is_dictionary(kind):
            return pa.array(values, kind.value_type).cast(kind)
        return pa.array(values, kind)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        label = next(iter(labels.values()))
        raise OutputError(
            f"could not write the label {label!r}: it does not fit the column {name!r}, which holds {kind}. Write CSV "
            f"or JSON lines, or give the column a type that has room for it."
        ) from None
