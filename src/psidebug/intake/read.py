"""``read_table``: a table from CSV, Parquet, JSON or Arrow, packed or not, from a path or stdin.

The first bytes of a file tell its format, not its name. pyarrow infers the types from the whole file.
"""

from __future__ import annotations

import codecs
import json
import re
import sys
from collections import Counter
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.json

from psidebug.errors import UnknownOption, UnreadableTable
from psidebug.file_kinds import (
    DEEPEST,
    DELIMITERS,
    LOOKED_AT,
    codec_of,
    decimal_mark,
    is_nested_too_deep,
    kind_of_content,
    typed_table,
    unpacked,
)
from psidebug.intake.types import plain_types

FOREIGN = {
    b"PK\x03\x04": "a zip archive or a spreadsheet; unpack it, or save the sheet as CSV",
    b"\xd0\xcf\x11\xe0": "an old spreadsheet; save it as CSV",
    b"\x80\x04\x95": "a pickle; save the table as Parquet",
    b"\x80\x05\x95": "a pickle; save the table as Parquet",
    b"\xfd7zXZ": "packed by xz; unpack it, or pack it by gzip",
    b"FEA1": "Feather of version 1; save it as Parquet",
    b"SQLite": "a database; export the table as CSV",
}

MIXED = re.compile(
    r"Column\(/(?P<column>.*)\) changed from (?P<first>\w+) to (?P<second>\w+) in row (?P<row>\d+)", re.S
)
"""pyarrow's message where JSON lines disagree about a column."""
KINDS = {"number": "numbers", "string": "text", "boolean": "true and false", "array": "lists", "object": "records"}


def read_table(path: str | PathLike[str], *, as_text: Sequence[str] = (), encoding: str | None = None) -> Any:
    """The table at ``path``, or from stdin for ``-``, as a pyarrow table with rows, columns and distinct names.

    Columns named in ``as_text`` stay text where the format has no types: ids may begin with 0. ``encoding`` is that of
    text files without a byte-order mark; UTF-8 if it is left out.
    """
    name = "stdin" if str(path) == "-" else str(path)
    content = _content(path, name)
    try:
        table = _parsed(_unpacked(content, name), name, as_text, encoding)
    except (pa.ArrowException, OSError) as error:
        raise _unread(name, error) from error
    return _checked(plain_types(table, name), name)


def _content(path: str | PathLike[str], name: str) -> bytes:
    try:
        return sys.stdin.buffer.read() if name == "stdin" else Path(path).read_bytes()
    except FileNotFoundError:
        raise UnreadableTable(f"there is no file {name}. Check the name.") from None
    except IsADirectoryError:
        raise UnreadableTable(f"{name} is a directory. Give one file: CSV, Parquet, JSON lines or Arrow.") from None
    except (OSError, ValueError) as error:
        raise UnreadableTable(f"{name!r} cannot be read: {getattr(error, 'strerror', None) or error}.") from None


def _unpacked(content: bytes, name: str) -> bytes:
    codec = codec_of(content)
    if codec is not None and not pa.Codec.is_available(codec):
        raise UnreadableTable(f"{name} is packed by {codec}, which this pyarrow cannot unpack. Unpack it first.")
    try:
        return unpacked(content)
    except UnreadableTable as error:
        raise UnreadableTable(str(error).replace("the file", name, 1)) from None
    except (pa.ArrowException, OSError):
        raise UnreadableTable(f"{name} is packed by {codec}, and is damaged or incomplete. Copy it again.") from None


def _parsed(content: bytes, name: str, as_text: Sequence[str], encoding: str | None) -> Any:
    """The table, in the format that the first bytes tell."""
    for magic, what in FOREIGN.items():
        if content.startswith(magic):
            raise UnreadableTable(f"{name} is {what}. Psi reads CSV, Parquet, JSON lines and Arrow.")
    kind = kind_of_content(content)
    if kind in ("parquet", "arrow"):
        return typed_table(content, kind)
    text = _utf8(content, name, encoding)
    if not text.strip():
        raise UnreadableTable(f"{name} is empty. Give a table with a header and rows.")
    if kind in ("json", "jsonl"):
        if is_nested_too_deep(text):
            raise UnreadableTable(
                f"{name} is nested more than {DEEPEST} deep, as no table is. Give one record per line."
            )
        text = _lines_of_array(text, name) if kind == "json" else text
        options = pa.json.ReadOptions(use_threads=False, block_size=min(len(text) + 1, 2**31 - 1))
        return pa.json.read_json(pa.BufferReader(text), read_options=options)
    return _delimited(text, name, as_text)


def _lines_of_array(text: bytes, name: str) -> bytes:
    """JSON lines of an array of records."""
    try:
        found = json.loads(text)
    except ValueError as error:
        raise UnreadableTable(f"{name} begins as a JSON array but is damaged: {error}. Write it again.") from None
    other = next((place for place, each in enumerate(found) if not isinstance(each, dict)), None)
    if other is not None:
        raise UnreadableTable(f"{name} is a JSON array whose row {other} is no record. Give one record per row.")
    return "\n".join(json.dumps(each, ensure_ascii=False) for each in found).encode("utf-8", "surrogatepass")


def _delimited(text: bytes, name: str, as_text: Sequence[str]) -> Any:
    """A pyarrow table from UTF-8 text whose first line is the header."""
    start = text[:LOOKED_AT].decode("utf-8", "ignore")
    header = re.sub(r'"[^"]*"', "", start.lstrip("\r\n").splitlines()[0])
    delimiter = max(DELIMITERS, key=header.count)
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
            decimal_point=decimal_mark(start, delimiter),
            timestamp_parsers=[pa.csv.ISO8601],  # other ways to write dates: psidebug.intake.types
            column_types=dict.fromkeys(as_text, pa.string()),
        ),
    )
    if ragged:
        raise _ragged(ragged[0], name)
    return table


def _ragged(row: Any, name: str) -> UnreadableTable:
    """Says which row: quoted values may hold line breaks, so lines are not counted."""
    where = "a row" if row.number is None else f"row {row.number - 2}"  # the header is the first
    values = "1 value" if row.actual_columns == 1 else f"{row.actual_columns} values"
    shown = row.text if len(row.text) <= 60 else row.text[:57] + "…"
    return UnreadableTable(
        f"{name} is ragged: {where} has {values} where the header has {row.expected_columns} ({shown!r}; "
        f"rows count from 0). Repair the row, or quote values that contain the delimiter."
    )


def _utf8(content: bytes, name: str, encoding: str | None) -> bytes:
    """The text as UTF-8 without a byte-order mark; UTF-16 is known by its mark, other encodings are not guessed."""
    if encoding is not None:
        _check_encoding(encoding)
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        try:
            return content.decode("utf-16").encode("utf-8")
        except UnicodeError:
            raise UnreadableTable(f"{name} begins as UTF-16 text but is not. Save it as UTF-8.") from None
    text = content.removeprefix(b"\xef\xbb\xbf")
    if encoding is not None and text is content:
        try:
            return content.decode(encoding).encode("utf-8")
        except UnicodeError as error:
            raise UnreadableTable(f"{name} is not {encoding}: {error}. Give another --encoding, or none.") from None
    if b"\0" in text[:65536]:
        raise UnreadableTable(f"{name} is not a table that Psi can read. Give CSV, Parquet, JSON lines or Arrow.")
    try:
        text.decode("utf-8")
    except UnicodeDecodeError as error:
        line = text.count(b"\n", 0, error.start) + 1
        raise UnreadableTable(
            f"{name} is not UTF-8: byte 0x{text[error.start]:02x} in line {line}. If it was written on Windows, or in "
            f"Western Europe, add --encoding cp1252; else the one that it was written in, or save it as UTF-8."
        ) from None
    return text


def _check_encoding(encoding: str) -> None:
    """Refuse what Python does not know as an encoding of text."""
    try:
        "".encode(codecs.lookup(encoding).name)
    except LookupError:  # also of codecs that are none of text, such as hex
        raise UnknownOption(
            f"there is no encoding {encoding!r}: name one such as cp1252, latin-1 or shift_jis."
        ) from None


def _unread(name: str, error: Exception) -> UnreadableTable:
    """pyarrow's error in one line."""
    mixed = MIXED.search(str(error))
    if mixed is not None:
        column, (first, second) = mixed["column"], (KINDS.get(mixed[kind], mixed[kind]) for kind in ("first", "second"))
        return UnreadableTable(
            f"column {column!r} of {name} holds {first}, but {second} in row {int(mixed['row'])}, from 0. Write all "
            f"its values alike."
        )
    said = " ".join(str(error).split())[:200].rstrip(".")
    return UnreadableTable(f"{name} is damaged or incomplete: {said}. Copy or write it again.")


def _checked(table: Any, name: str) -> Any:
    names = table.column_names
    if not names:
        raise UnreadableTable(f"{name} has no columns. Give a table with a header and rows.")
    often, times = Counter(names).most_common(1)[0]
    if times > 1:
        raise UnreadableTable(f"{name} has more than one column {often!r}. Give every column its own name.")
    if table.num_rows == 0:
        raise UnreadableTable(f"{name} has a header but no rows. Give a table with rows.")
    return table.combine_chunks()
