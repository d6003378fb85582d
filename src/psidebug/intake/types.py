"""Columns in few types: truth values, whole numbers, numbers, text, dates; and lists, which only pictures may be.

A text column holds dates if the values of all files together can be read as dates in only one way
(:mod:`psidebug.task.dates`), else it stays a category. Typed files and CSV in ISO form have their dates read already.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa
import pyarrow.types as kinds

from psidebug.errors import UnreadableTable
from psidebug.task.dates import dates_in


def plain_types(table: Any, name: str) -> Any:
    """The table with dictionaries, decimals, times, zones and views cast to the few types that Psi knows."""
    try:
        made = [_plain(column) for column in table.columns]
    except pa.ArrowException as error:
        raise UnreadableTable(
            f"{name} has values that cannot be read: {' '.join(str(error).split())[:200]}."
        ) from error
    return pa.Table.from_arrays(made, names=table.column_names)


def is_nested(kind: Any) -> bool:
    """Whether the values are lists, records or bytes, which no model of Psi takes as they are."""
    binary = kinds.is_binary(kind) or kinds.is_large_binary(kind) or kinds.is_fixed_size_binary(kind)
    return bool(kinds.is_nested(kind) or binary)


def is_number(kind: Any) -> bool:
    """Whether the values are quantities."""
    return bool(kinds.is_integer(kind) or kinds.is_floating(kind))


def is_date(kind: Any) -> bool:
    """Whether the values are dates or timestamps."""
    return bool(kinds.is_date(kind) or kinds.is_timestamp(kind))


def _plain(column: Any) -> Any:
    kind = column.type
    if kinds.is_dictionary(kind):
        return _plain(column.cast(kind.value_type))
    if kinds.is_null(kind) or kinds.is_decimal(kind) or kinds.is_float16(kind):
        return column.cast(pa.float64())
    if kinds.is_timestamp(kind):
        # In UTC if they have a zone; microseconds are what every data-frame library has.
        return column.cast(pa.timestamp("us", kind.tz), safe=False).cast(pa.timestamp("us"))
    if kinds.is_date64(kind):
        return column.cast(pa.date32())
    if kinds.is_time(kind):  # seconds of the day
        return column.cast(pa.time32("s"), safe=False).cast(pa.int32()).cast(pa.int64())
    if kinds.is_duration(kind):
        return column.cast(pa.int64())
    if str(kind) in ("large_string", "string_view"):
        return column.cast(pa.string())
    return column


def with_dates(tables: list[Any], names: Iterable[str]) -> list[Any]:
    """The tables with these columns as dates, where they are text that can be read as dates in every table."""
    found = [dict(zip(table.column_names, table.columns, strict=True)) for table in tables]
    for name in names:
        having = [columns for columns in found if name in columns]
        texts = [columns[name] for columns in having]
        if not all(kinds.is_string(column.type) for column in texts):
            continue
        dates = dates_in(pa.chunked_array([chunk for column in texts for chunk in column.chunks], type=pa.string()))
        if dates is not None:
            for columns in having:
                columns[name], dates = dates.slice(0, len(columns[name])), dates.slice(len(columns[name]))
    return [pa.table(columns) for columns in found]
