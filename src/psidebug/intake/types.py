"""Columns in few types: truth values, whole numbers, numbers, text, dates; and lists, which only pictures may be."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.types as kinds

from psidebug.errors import UnreadableTable


def plain_types(table: Any, name: str) -> Any:
    """The table with dictionaries, decimals, times, zones and views turned into the few types that Psi looks at."""
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
    """Whether the values are dates or moments."""
    return bool(kinds.is_date(kind) or kinds.is_timestamp(kind))


def as_text(column: Any) -> Any:
    """The column as text."""
    return column.cast(pa.string())


def _plain(column: Any) -> Any:
    kind = column.type
    if kinds.is_dictionary(kind):
        return _plain(column.cast(kind.value_type))
    if kinds.is_null(kind):
        return column.cast(pa.float64())
    if kinds.is_decimal(kind) or kinds.is_float16(kind):
        return column.cast(pa.float64())
    if kinds.is_timestamp(kind):
        # UTC for moments with a zone; microseconds are what every data-frame library has.
        return column.cast(pa.timestamp("us", kind.tz), safe=False).cast(pa.timestamp("us"))
    if kinds.is_date64(kind):
        return column.cast(pa.date32())
    if kinds.is_time(kind):  # seconds of the day
        return column.cast(pa.time32("s"), safe=False).cast(pa.int32()).cast(pa.int64())
    if kinds.is_duration(kind):
        return column.cast(pa.int64())
    if _is_other_text(kind):
        return as_text(column)
    return column


def _is_other_text(kind: Any) -> bool:
    view = getattr(kinds, "is_string_view", None)
    return bool(kinds.is_large_string(kind) or (view is not None and view(kind)))
