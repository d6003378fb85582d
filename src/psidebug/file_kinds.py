"""The format of a table file: its first bytes tell, not its name."""

from __future__ import annotations

import re
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pyarrow.types as kinds

from psidebug.errors import UnreadableTable

PACKED = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bz2", b"\x04\x22\x4d\x18": "lz4"}
ARROW_FILE, ARROW_STREAM = b"ARROW1", b"\xff\xff\xff\xff"
LARGEST, MOST_TIMES = 2_000_000_000, 50
"""Bytes that a packed file may unpack to, and how many times its size where that is more."""
PIECE = 2**24
"""Bytes that are unpacked at a time."""

DELIMITERS = (",", ";", "\t", "|")
LOOKED_AT = 65_536
"""Characters that tell the delimiter and the decimal mark."""
DEEPEST = 50
"""Levels of lists and records in JSON lines; a table of pictures has four."""
NOT_BRACKETS = re.compile(rb'"(?:[^"\\]++|\\.)*+"?|[^"\[\]{}]+', re.DOTALL)
"""Texts in JSON, and whatever else is no bracket."""

NAME_IS_NO_TEXT = "the name of a column is no text"
Kind = Literal["parquet", "arrow", "jsonl", "json", "csv"]
ARRAY = re.compile(rb"\[\s*[{\]]")
"""How an array of records begins, or one of none; a header may begin with a bracket, too."""


def codec_of(content: bytes) -> str | None:
    """What it is packed by; None if it is not."""
    return next((codec for magic, codec in PACKED.items() if content.startswith(magic)), None)


def unpacked(content: bytes) -> bytes:
    """The content as it was before it was packed; pyarrow's errors if it is damaged.

    Raises :class:`UnreadableTable` if it is far larger than any table: a small file may unpack to more than the memory.
    """
    codec = codec_of(content)
    if codec is None:
        return content
    stream, found = pa.CompressedInputStream(pa.BufferReader(content), codec), bytearray()
    while (piece := stream.read_buffer(PIECE)).size:  # read() would keep its memory where the file is damaged
        found += piece
        if len(found) > max(LARGEST, MOST_TIMES * len(content)):
            raise UnreadableTable(
                f"the file would unpack to more than {LARGEST / 1e9:.0f} GB and {MOST_TIMES} times its size, as no "
                f"table does. Unpack it first, if it is one."
            )
    return bytes(found)


def kind_of_content(content: bytes) -> Kind:
    """The format of an unpacked file, if it is a table; text that begins with a brace is JSON lines."""
    if content.startswith(b"PAR1"):
        return "parquet"
    if content.startswith((ARROW_FILE, ARROW_STREAM)):
        return "arrow"
    start = content[:4096].lstrip(b"\xff\xfe\xef\xbb\xbf\0 \t\r\n")
    if ARRAY.match(start.replace(b"\0", b"")):
        return "json"
    return "jsonl" if start.startswith(b"{") else "csv"


def decimal_mark(text: str, delimiter: str) -> str:
    """A comma if it is between digits more often than a point is, and is not the delimiter; the start tells."""
    if delimiter == ",":
        return "."
    commas, points = (len(re.findall(rf"\d{mark}\d", text[:LOOKED_AT])) for mark in (",", r"\."))
    return "," if commas > points else "."


def typed_table(content: bytes, kind: str) -> Any:
    """The table of an unpacked Parquet or Arrow file, or Arrow stream; pyarrow's errors if it is damaged.

    Every value is checked by :func:`check_values`.
    """
    try:
        if kind == "parquet":
            table = pq.read_table(pa.BufferReader(content))
        else:
            opened = pa.ipc.open_file if content.startswith(ARROW_FILE) else pa.ipc.open_stream
            table = opened(pa.BufferReader(content)).read_all()
        check_values(table)
    except UnicodeDecodeError as error:
        raise pa.ArrowInvalid(NAME_IS_NO_TEXT) from error
    return table


def check_values(table: Any) -> None:
    """Raise pyarrow's error if a table or batch has values that pyarrow believes without a look, and nobody can show.

    An Arrow file says where its texts begin and end; a date is any number of days or microseconds.
    """
    table.validate(full=True)
    for name, column in zip(table.schema.names, table.columns, strict=True):
        kind = column.type
        if kinds.is_timestamp(kind) or kinds.is_date(kind):
            plain = (
                column.cast(pa.timestamp(kind.unit)) if kinds.is_timestamp(kind) else column
            )  # any zone may be named
            try:
                pc.min_max(plain).as_py()
            except (OverflowError, ValueError):
                raise pa.ArrowInvalid(f"column {name!r} has dates beyond the years 1 to 9999") from None


def is_nested_too_deep(text: bytes) -> bool:
    """Whether lists and records of JSON lie in each other more than :data:`DEEPEST` times.

    pyarrow's reader calls itself at every level, and would run out of stack.
    """
    brackets = np.frombuffer(NOT_BRACKETS.sub(b"", text), dtype=np.uint8)
    steps = np.where((brackets == ord("[")) | (brackets == ord("{")), 1, -1)
    return bool(len(steps)) and int(np.cumsum(steps).max()) > DEEPEST
