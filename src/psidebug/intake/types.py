"""Columns in few types: truth values, whole numbers, numbers, text, dates; and lists, which only pictures may be.

A text column holds dates if the values of all files together can be read as dates in only one way. Typed files and CSV
in ISO form have their dates read already. What is left are ISO dates kept as text, and days and months in one order or
the other: 31/01/2020 tells which, 02/01/2020 alone does not, and a column without a telling value stays a category.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as kinds

from psidebug.errors import UnreadableTable

ISO = r"^\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d:?\d\d)?)?$"
ORDERS = {
    r"\d{4}/\d{1,2}/\d{1,2}": ("%Y/%m/%d",),
    r"\d{1,2}\.\d{1,2}\.\d{4}": ("%d.%m.%Y",),
    r"\d{1,2}/\d{1,2}/\d{4}": ("%d/%m/%Y", "%m/%d/%Y"),
    r"\d{1,2}-\d{1,2}-\d{4}": ("%d-%m-%Y", "%m-%d-%Y"),
}
"""Shapes of a day, and the orders in which it can be read."""
TIMES = {"": "", r" \d{1,2}:\d\d": " %H:%M", r" \d{1,2}:\d\d:\d\d": " %H:%M:%S"}
MOMENT = pa.timestamp("us")


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
    for name in names:
        having = [place for place, table in enumerate(tables) if name in table.column_names]
        columns = [tables[place][name] for place in having]
        if not all(kinds.is_string(column.type) for column in columns):
            continue
        joined = pa.chunked_array([chunk for column in columns for chunk in column.chunks], type=pa.string())
        dates = _dates(joined)
        for place, column in zip(having, columns, strict=True):
            if dates is None:
                break
            own, dates = dates.slice(0, len(column)), dates.slice(len(column))
            index = tables[place].column_names.index(name)
            tables = [*tables[:place], tables[place].set_column(index, name, own), *tables[place + 1 :]]
    return tables


def _dates(column: Any) -> Any | None:
    """The column as timestamps; None if a value is no date, or if all can be read in two orders."""
    if column.null_count == len(column):
        return None
    if _all_match(column, ISO):
        return _cast(column, MOMENT) or _cast(column, pa.timestamp("us", "UTC"))
    for day, orders in ORDERS.items():
        for clock, form in TIMES.items():
            if _all_match(column, f"^{day}{clock}$"):
                read = [pc.strptime(column, order + form, unit="us", error_is_null=True) for order in orders]
                whole = [each for each in read if each.null_count == column.null_count]
                return whole[0] if len(whole) == 1 else None
    return None


def _all_match(column: Any, shape: str) -> bool:
    return bool(pc.all(pc.match_substring_regex(column, shape)).as_py())


def _cast(column: Any, kind: Any) -> Any | None:
    try:
        return column.cast(kind).cast(MOMENT)
    except pa.ArrowException:  # no such day, or with a zone
        return None
