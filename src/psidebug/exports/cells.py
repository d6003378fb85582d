"""The training file with other label cells; every other cell stays as it is written.

In CSV and JSON lines the cells are replaced in the text, which is not parsed into values; in Parquet and Arrow the
label column is replaced in its own type.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.types as kinds

from psidebug.errors import OutputError
from psidebug.exports.table_files import plain
from psidebug.file_kinds import ARROW_FILE, DELIMITERS, typed_table
from psidebug.task.labels import Codes

MARKS = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be", b"\xef\xbb\xbf": "utf-8"}
"""Byte-order marks, and the encoding that each tells."""


class OtherRows(Exception):
    """The rows of the file are not those of the run; the run's copy is written instead."""


@dataclass(frozen=True)
class Relabelling:
    """New label cells by row: copies of the cell of another row (``donors``), else labels that no row has."""

    source: Mapping[str, Any]
    """Where the data came from: the names of the label column and of all columns."""
    given: Codes
    """The labels as the run read them."""
    donors: Mapping[int, int | None]
    labels: Mapping[int, Any]
    added: Mapping[str, Any]
    """Columns to add; None is the label column as it was."""


def relabelled_table(content: bytes, kind: str, change: Relabelling) -> bytes:
    """The file with the new label cells and the added columns.

    Schema, metadata and every other column are those of the file. Of the added columns ``given`` is the label column.
    """
    table = typed_table(content, kind)
    label = change.source["label"]
    if table.num_rows != len(change.given) or table.column_names.count(label) != 1:
        raise OtherRows
    index = table.column_names.index(label)
    # As one array; chunks of a dictionary may number its values differently.
    old = table.select([index]).unify_dictionaries().column(0).combine_chunks()
    columns, schema = list(table.columns), table.schema
    columns[index] = _replaced(old, change.donors, change.labels, name=label)
    for name, values in change.added.items():
        values = old if values is None else values
        columns, schema = [*columns, values], schema.append(pa.field(name, values.type))
    return _written(pa.Table.from_arrays(columns, schema=schema), content, kind)


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
            f"or JSON lines, or give the column a wider type."
        ) from None


# ── CSV and JSON lines ──


@dataclass(frozen=True)
class Record:
    """Where in the text the label cell of a row is, and where its last cell ends."""

    start: int
    stop: int
    end: int


def relabelled_text(content: bytes, kind: str, change: Relabelling) -> bytes:
    """The text with the new label cells and the added columns."""
    columns, label, added = change.source["columns"], change.source["label"], change.added
    mark = next((each for each in MARKS if content.startswith(each)), b"")
    codec = MARKS.get(mark, "utf-8")
    text = content[len(mark) :].decode(codec)
    if kind == "csv":
        delimiter, start = _header(text, columns)
        records = list(_delimited(text, start, delimiter, columns.index(label), len(columns)))
    else:
        delimiter, start = "", 0
        records = list(_json_lines(text, label))
    cells = [text[each.start : each.stop] for each in records]
    codes: dict[str, int] = {}  # one label a row, and the same text is the same label; else the rows are others
    same = len(cells) == len(change.given)
    if not same or any(codes.setdefault(c, int(g)) != g for c, g in zip(cells, change.given, strict=True)):
        raise OtherRows
    new = {place: cells[donor] for place, donor in change.donors.items() if donor is not None}
    new |= {place: _cell(plain(label), delimiter) for place, label in change.labels.items()}
    tails = _tails(added, cells, delimiter)
    pieces, done = [], 0
    if kind == "csv" and added:
        pieces, done = [text[:start], *(delimiter + _cell(name, delimiter) for name in added)], start
    for place, each in enumerate(records):
        pieces += [text[done : each.start], new.get(place, cells[place]), text[each.stop : each.end], tails[place]]
        done = each.end
    return mark + "".join([*pieces, text[done:]]).encode(codec)


def _header(text: str, columns: list[str]) -> tuple[str, int]:
    """The delimiter by which the header has these columns, and where the rows begin."""
    for delimiter in DELIMITERS:
        names = []
        for start, stop, last in _fields(text, 0, delimiter):
            names.append(_value(text[start:stop]))
            if last and names == columns:
                return delimiter, stop
            if last:
                break
    raise OtherRows


def _fields(text: str, place: int, delimiter: str) -> Iterator[tuple[int, int, bool]]:
    """Where each field begins and stops, and whether it is the last of its row; empty lines are skipped."""
    pattern = re.compile(rf'(?:"(?:[^"]|"")*+")?[^{re.escape(delimiter)}\r\n]*')
    breaks = re.compile(r"[\r\n]*")
    place = _after(breaks, text, place)
    while place < len(text):
        stop = _after(pattern, text, place)
        last = stop == len(text) or text[stop] != delimiter
        yield place, stop, last
        place = _after(breaks, text, stop) if last else stop + 1
        if not last and place == len(text):  # the file ends in an empty field
            yield place, place, True


def _value(field: str) -> str:
    quoted = re.fullmatch(r'"((?:[^"]|"")*)"(.*)', field, re.DOTALL)
    return field if quoted is None else quoted[1].replace('""', '"') + quoted[2]


def _delimited(text: str, start: int, delimiter: str, label: int, width: int) -> Iterator[Record]:
    row: list[tuple[int, int]] = []
    for begin, stop, last in _fields(text, start, delimiter):
        row.append((begin, stop))
        if last:
            if len(row) != width:
                raise OtherRows
            yield Record(*row[label], stop)
            row = []


def _json_lines(text: str, label: str) -> Iterator[Record]:
    """One object per line; its keys and values are decoded one by one, to find where the label is."""
    decoder, space = json.JSONDecoder(), re.compile(r"[ \t\r]*[,:{]?[ \t\r]*")
    begin = 0
    for line in text.split("\n"):
        found, place = None, _after(space, line, 0)
        try:
            while line.strip() and line[place] != "}":
                key, stop = decoder.raw_decode(line, place)
                place = _after(space, line, stop)
                _, stop = decoder.raw_decode(line, place)
                if key == label:
                    found = begin + place, begin + stop
                place = _after(space, line, stop)
        except (ValueError, IndexError):
            raise OtherRows from None
        if found is not None:
            yield Record(*found, begin + len(line[:place].rstrip()))
        elif line.strip():
            raise OtherRows
        begin += len(line) + 1


def _after(pattern: re.Pattern[str], text: str, place: int) -> int:
    match = pattern.match(text, place)
    return place if match is None else match.end()


def _tails(added: Mapping[str, Any], cells: list[str], delimiter: str) -> list[str]:
    """What the added columns append to each row; the given label is the cell itself."""
    tails = [""] * len(cells)
    for name, values in added.items():
        before = delimiter or f", {_cell(name, '')}: "
        shown = cells if values is None else [_cell(each, delimiter) for each in values.to_pylist()]
        tails = [tail + before + one for tail, one in zip(tails, shown, strict=True)]
    return tails


def _cell(value: Any, delimiter: str) -> str:
    """The value as JSON, or, with a delimiter, as CSV: quoted where it must be, empty if it is missing."""
    if not delimiter or isinstance(value, bool):
        return json.dumps(value, ensure_ascii=False)
    if value is None:
        return ""
    sink = io.StringIO()
    csv.writer(sink, delimiter=delimiter, lineterminator="").writerow([value])
    return sink.getvalue()
