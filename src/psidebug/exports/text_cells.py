"""Label cells of CSV and JSON lines, replaced in the text; the rest of the text is not read as values at all."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from psidebug.exports.relabelling import OtherRows, Relabelling
from psidebug.exports.written import plain

DELIMITERS = (",", ";", "\t", "|")
MARKS = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be", b"\xef\xbb\xbf": "utf-8"}
"""What text may begin with, and the encoding that this tells."""


@dataclass(frozen=True)
class Record:
    """Where in the text the label cell of a row is, and where its last cell ends."""

    start: int
    stop: int
    end: int


def relabelled_text(content: bytes, kind: str, change: Relabelling) -> bytes:
    """The text with the new label cells and the added columns."""
    source, added = change.source, change.added
    mark = next((each for each in MARKS if content.startswith(each)), b"")
    codec = MARKS.get(mark, "utf-8")
    text = content[len(mark) :].decode(codec)
    if kind == "csv":
        delimiter, start = _header(text, source["columns"])
        records = list(_delimited(text, start, delimiter, source["columns"].index(source["label"]), source["columns"]))
    else:
        delimiter, start = "", 0
        records = list(_json_lines(text, source["label"]))
    cells = [text[each.start : each.stop] for each in records]
    _check(cells, change.given)
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


def _check(cells: list[str], given: Any) -> None:
    """One label a row, and the same text is the same label; else the rows are not those of the run."""
    codes: dict[str, int] = {}
    if len(cells) != len(given) or any(codes.setdefault(c, int(g)) != g for c, g in zip(cells, given, strict=True)):
        raise OtherRows


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
    """Where each field begins and stops, and whether it is the last of its row; rows without anything are passed."""
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


def _delimited(text: str, start: int, delimiter: str, label: int, columns: list[str]) -> Iterator[Record]:
    row: list[tuple[int, int]] = []
    for begin, stop, last in _fields(text, start, delimiter):
        row.append((begin, stop))
        if last:
            if len(row) != len(columns):
                raise OtherRows
            yield Record(*row[label], stop)
            row = []


def _json_lines(text: str, label: str) -> Iterator[Record]:
    """One object a line; its keys and values are passed one by one, to see where the label's value is."""
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
    """What the added columns put after each row; the label that was given is the cell itself."""
    tails = [""] * len(cells)
    for name, values in added.items():
        before = delimiter or f", {_cell(name, '')}: "
        shown = cells if values is None else [_cell(each, delimiter) for each in values.to_pylist()]
        tails = [tail + before + one for tail, one in zip(tails, shown, strict=True)]
    return tails


def _cell(value: Any, delimiter: str) -> str:
    """The value as JSON has it, or, with a delimiter, as CSV: quoted where it must be, nothing where there is none."""
    if not delimiter or isinstance(value, bool):
        return json.dumps(value, ensure_ascii=False)
    if value is None:
        return ""
    sink = io.StringIO()
    csv.writer(sink, delimiter=delimiter, lineterminator="").writerow([value])
    return sink.getvalue()
