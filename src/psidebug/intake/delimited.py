"""Text with a delimiter: which one it is, which mark decimals have, and which line does not fit."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.csv

from psidebug.errors import UnreadableTable

DELIMITERS = (",", ";", "\t", "|")
LOOKED_AT = 65_536
"""Characters that tell the delimiter and the decimal mark."""


def read_delimited(text: bytes, name: str, *, as_text: Sequence[str] = ()) -> Any:
    """A pyarrow table from UTF-8 text whose first line is the header."""
    start = text[:LOOKED_AT].decode("utf-8", "ignore")
    delimiter = _delimiter(start.lstrip("\r\n").splitlines()[0])
    ragged: list[Any] = []

    def noted(row: Any) -> str:
        ragged.append(row)
        return "skip"

    table = pa.csv.read_csv(
        pa.BufferReader(text),
        # One block, so that the types fit every row; one thread, so that rows are counted.
        read_options=pa.csv.ReadOptions(use_threads=False, block_size=min(len(text) + 1, 2**31 - 1)),
        parse_options=pa.csv.ParseOptions(
            delimiter=delimiter,
            newlines_in_values=True,
            ignore_empty_lines=delimiter in start,
            invalid_row_handler=noted,
        ),
        convert_options=pa.csv.ConvertOptions(
            strings_can_be_null=True,
            decimal_point=_decimal_mark(start, delimiter),
            timestamp_parsers=[pa.csv.ISO8601],  # other ways to write dates: psidebug.intake.dates
            column_types=dict.fromkeys(as_text, pa.string()),
        ),
    )
    if ragged:
        raise _ragged(ragged[0], name)
    return table


def _delimiter(header: str) -> str:
    """The one that the header has most, outside of quotes."""
    outside = re.sub(r'"[^"]*"', "", header)
    return max(DELIMITERS, key=outside.count)


def _decimal_mark(start: str, delimiter: str) -> str:
    """A comma where it stands between digits more often than a point does, and does not delimit."""
    if delimiter == ",":
        return "."
    commas, points = (len(re.findall(rf"\d{mark}\d", start)) for mark in (",", r"\."))
    return "," if commas > points else "."


def _ragged(row: Any, name: str) -> UnreadableTable:
    """Which row it is: quoted values may hold line breaks, so lines are not counted."""
    where = "a row" if row.number is None else f"row {row.number - 1}"
    values = "1 value" if row.actual_columns == 1 else f"{row.actual_columns} values"
    shown = row.text if len(row.text) <= 60 else row.text[:57] + "…"
    return UnreadableTable(
        f"{name} is ragged: {where} after the header has {values} where the header has "
        f"{row.expected_columns} ({shown!r}). Mend the row, or quote values that hold the delimiter."
    )
