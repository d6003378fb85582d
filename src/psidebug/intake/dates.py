"""Columns of text that are dates: told by all values of all files together, and only where they can be read one way.

Files with types, and CSV in ISO form, have their dates read already. What is left are ISO dates kept as text, and days
and months in one order or the other: 31/01/2020 says which, 02/01/2020 alone does not, and a column without any that
does stays a category.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as kinds

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


def with_dates(tables: list[Any], names: Iterable[str]) -> list[Any]:
    """The tables with these columns as dates, where they are text that reads as dates in every table that has them."""
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
    """The column as moments; None if some value is no date, or all can be read in two orders."""
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
