"""CSV and JSON lines with other cells: they are replaced in the text, which is not parsed into values."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from psidebug.exports.cells import NewCells, OtherRows
from psidebug.exports.table_files import plain
from psidebug.file_kinds import DELIMITERS, decimal_mark

MARKS = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be", b"\xef\xbb\xbf": "utf-8"}
"""Byte-order marks, and the encoding that each tells."""
WHOLE = re.compile(r"\s*[+-]?\d+\s*")


@dataclass(frozen=True)
class Record:
    """Where in the text a row begins, where the cells in question begin and stop, and where its last cell ends."""

    begin: int
    cells: Mapping[str, tuple[int, int]]
    """By column; a line of JSON may lack some."""
    end: int


@dataclass(frozen=True)
class Style:
    """How values are written: as JSON, or between delimiters."""

    delimiter: str = ""
    decimal: str = "."

    def cell(self, value: Any, old: str = "") -> str:
        """The value, quoted where it must be, empty or null if it is missing; a whole number as the ``old`` cell is."""
        value = plain(value)
        if isinstance(value, float) and value.is_integer() and WHOLE.fullmatch(old):
            value = int(value)
        if not self.delimiter or isinstance(value, bool):
            return json.dumps(value, ensure_ascii=False)
        if value is None:
            return ""
        if isinstance(value, float):
            value = repr(value).replace(".", self.decimal)
        sink = io.StringIO()
        csv.writer(sink, delimiter=self.delimiter, lineterminator="").writerow([value])
        return sink.getvalue()

    def tail(self, name: str, cell: str) -> str:
        """A cell after the last one of a row."""
        return f"{self.delimiter}{cell}" if self.delimiter else f", {self.cell(name)}: {cell}"


def changed_text(content: bytes, kind: str, new: NewCells) -> bytes:
    """The text with the new cells and the added columns, without the rows that are left out."""
    mark = next((each for each in MARKS if content.startswith(each)), b"")
    codec = MARKS.get(mark, new.encoding)
    text = content[len(mark) :].decode(codec)
    start, style = 0, Style()
    if kind == "csv":
        delimiter, start = _header(text, list(new.columns))
        style = Style(delimiter, decimal_mark(text, delimiter))
        records = list(_delimited(text, start, delimiter, new))
    else:
        records = list(_json_lines(text, new))
    labels = _texts(text, records, new.label)
    codes: dict[str, int] = {}  # one label a row, and the same text is the same label; else the rows are others
    same = len(labels) == len(new.given)
    if not same or any(codes.setdefault(c, int(g)) != g for c, g in zip(labels, new.given, strict=True)):
        raise OtherRows
    added = {
        name: _texts(text, records, each) if isinstance(each, str) else [style.cell(one) for one in each.to_pylist()]
        for name, each in new.added.items()
    }
    pieces = [text[:start], *(style.tail(name, style.cell(name)) for name in added)] if kind == "csv" else []
    done = start
    for place, each in enumerate(records):
        pieces.append(text[done : each.begin])
        if place in new.dropped:
            done = records[place + 1].begin if place + 1 < len(records) else len(text)
            continue
        cells = {
            name: style.cell(rows[place], _at(text, each, name)) for name, rows in new.cells.items() if place in rows
        }
        if place in new.donors:
            cells[new.label] = labels[new.donors[place]]
        tails = (style.tail(name, column[place]) for name, column in added.items())
        pieces += [_with(text, each, cells, style), *tails]
        done = each.end
    return mark + "".join([*pieces, text[done:]]).encode(codec)


def _texts(text: str, records: list[Record], name: str) -> list[str]:
    return [_at(text, each, name) for each in records]


def _at(text: str, record: Record, name: str) -> str:
    start, stop = record.cells.get(name, (0, 0))
    return text[start:stop] if name in record.cells else "null"


def _with(text: str, record: Record, cells: Mapping[str, str], style: Style) -> str:
    """The row with other cells; those that its line lacks come last."""
    pieces, done = [], record.begin
    for name in sorted(cells, key=lambda each: record.cells.get(each, (record.end, 0))):
        if name not in record.cells:
            continue
        start, stop = record.cells[name]
        pieces += [text[done:start], cells[name]]
        done = stop
    lacking = [style.tail(name, cell) for name, cell in cells.items() if name not in record.cells]
    return "".join([*pieces, text[done : record.end], *lacking])


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


def _delimited(text: str, start: int, delimiter: str, new: NewCells) -> Iterator[Record]:
    places = {name: new.columns.index(name) for name in new.concerned}
    row: list[tuple[int, int]] = []
    for begin, stop, last in _fields(text, start, delimiter):
        row.append((begin, stop))
        if last:
            if len(row) != len(new.columns):
                raise OtherRows
            yield Record(row[0][0], {name: row[place] for name, place in places.items()}, stop)
            row = []


def _json_lines(text: str, new: NewCells) -> Iterator[Record]:
    """One object per line; its keys and values are decoded one by one, to find where the cells are."""
    decoder, space = json.JSONDecoder(), re.compile(r"[ \t\r]*[,:{]?[ \t\r]*")
    begin, names = 0, new.concerned
    for line in text.split("\n"):
        found, place = {}, _after(space, line, 0)
        try:
            while line.strip() and line[place] != "}":
                key, stop = decoder.raw_decode(line, place)
                place = _after(space, line, stop)
                _, stop = decoder.raw_decode(line, place)
                if key in names:
                    found[key] = begin + place, begin + stop
                place = _after(space, line, stop)
        except (ValueError, IndexError):
            raise OtherRows from None
        if line.strip() and new.label not in found:
            raise OtherRows
        if line.strip():
            yield Record(begin, found, begin + len(line[:place].rstrip()))
        begin += len(line) + 1


def _after(pattern: re.Pattern[str], text: str, place: int) -> int:
    match = pattern.match(text, place)
    return place if match is None else match.end()
