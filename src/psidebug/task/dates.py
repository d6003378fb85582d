"""Dates that are written as text: read where all values of a column can be read in one way only.

ISO dates can; of days and months in one order or the other, 31/01/2020 tells which, and 02/01/2020 alone does not.
"""

from __future__ import annotations

import re
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as kinds

from psidebug.task.columns import changed_column, columns
from psidebug.task.tables import Table, is_frame, is_missing

ISO = r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d:?\d\d)?)?"
ORDERS = {
    r"\d{4}/\d{1,2}/\d{1,2}": ("%Y/%m/%d",),
    r"\d{1,2}\.\d{1,2}\.\d{4}": ("%d.%m.%Y",),
    r"\d{1,2}/\d{1,2}/\d{4}": ("%d/%m/%Y", "%m/%d/%Y"),
    r"\d{1,2}-\d{1,2}-\d{4}": ("%d-%m-%Y", "%m-%d-%Y"),
}
"""Shapes of a day, and the orders in which it can be read."""
TIMES = {"": "", r" \d{1,2}:\d\d": " %H:%M", r" \d{1,2}:\d\d:\d\d": " %H:%M:%S"}
SHAPES: dict[str, tuple[str, ...]] = {f"^{ISO}$": ()} | {
    f"^{day}{clock}$": tuple(order + form for order in orders)
    for day, orders in ORDERS.items()
    for clock, form in TIMES.items()
}
"""No text has two of these shapes; one in ISO form needs no order."""
MOMENT = pa.timestamp("us")


def dates_in(texts: Any) -> Any | None:
    """A column of text as timestamps; None if a value is no date, or if all can be read in two orders."""
    first = next((text for text in texts.drop_null()[:1].to_pylist()), None)
    shape = None if first is None else next((each for each in SHAPES if re.match(each, first)), None)
    if shape is None or not pc.all(pc.match_substring_regex(texts, shape)).as_py():
        return None
    if not SHAPES[shape]:
        return _cast(texts, MOMENT) or _cast(texts, pa.timestamp("us", "UTC"))
    read = [pc.strptime(texts, order, unit="us", error_is_null=True) for order in SHAPES[shape]]
    whole = [each for each in read if each.null_count == texts.null_count]
    return whole[0] if len(whole) == 1 else None


def look_like_dates(texts: Any) -> Any:
    """Which texts have the shape of a date, whether or not there is such a day."""
    return pc.match_substring_regex(texts, "|".join(SHAPES))


def with_dates(table: Table) -> Table:
    """A table of the same kind, with dates in the columns of text that can be read as dates."""
    for name, texts in text_columns(table):
        dates = dates_in(texts)
        if dates is None:
            continue
        moments = dates.to_numpy(zero_copy_only=False)
        if is_frame(table):
            table = changed_column(table, name, moments, unnamed="m")
        else:
            table = table.astype(object)
            table[:, int(name.removeprefix("m"))] = moments.astype("datetime64[us]").astype(object)
    return table


def text_columns(table: Table) -> list[tuple[str, Any]]:
    """Columns that hold nothing but text and missing values, as Arrow, by the name that conditions know them by."""
    if is_frame(table):
        frame = nw.from_native(table, eager_only=True)
        plain = [kind.is_numeric() or kind.is_temporal() for kind in frame.schema.dtypes()]
        others = [place for place, is_plain in enumerate(plain) if not is_plain]
        described = columns(frame[:, others].to_native()) if others else []
    else:
        described = [] if getattr(table, "dtype", np.dtype(float)).kind not in "OU" else columns(table, unnamed="m")
    found = ((str(column.name), as_text(column.values)) for column in described)
    return [(name, texts) for name, texts in found if texts is not None]


def as_text(values: Any) -> Any | None:
    """The values as Arrow text; None if one of them is neither text nor missing."""
    if not isinstance(next((value for value in values if not is_missing(value)), None), str):
        return None  # nor are pictures turned into Arrow only to find that they are no text
    try:
        texts = pa.array(values, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):  # of several types, or half a character
        return None
    return texts.cast(pa.string()) if kinds.is_string(texts.type) or kinds.is_large_string(texts.type) else None


def _cast(texts: Any, kind: Any) -> Any | None:
    try:
        return texts.cast(kind).cast(MOMENT)
    except pa.ArrowException:  # no such day, or with a zone
        return None
