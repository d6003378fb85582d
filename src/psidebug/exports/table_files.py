"""Tables as files of the common kinds; each appears whole or not at all."""

from __future__ import annotations

import base64
import gzip
import io
import json
import math
from datetime import date, datetime, time
from os import PathLike
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pyarrow.types as kinds

from psidebug.errors import OutputError
from psidebug.files import check_place, write_whole

SUFFIXES = {".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet", ".arrow": "arrow"}
"""The format that the name of a file tells."""


def kind_of(path: str | PathLike[str]) -> tuple[str, bool]:
    """What a file of this name holds (csv, jsonl, parquet, arrow), and whether it is packed by gzip."""
    name = Path(path).name.lower()
    packed = name.endswith(".gz")
    kind = SUFFIXES.get(Path(name.removesuffix(".gz")).suffix)
    if kind is None or (packed and kind in ("parquet", "arrow")):
        raise OutputError(
            f"could not write {path}: its name tells no format. Choose one that ends in .csv, .jsonl, .csv.gz, "
            f".jsonl.gz, .parquet or .arrow."
        )
    return kind, packed


def write_table(table: Any, path: str | PathLike[str]) -> None:
    """Write a table as the name of the file says: .csv, .jsonl, .csv.gz, .jsonl.gz, .parquet, .arrow."""
    kind, _ = kind_of(path)
    write_content(encoded(table, kind), path)


def write_content(content: bytes, path: str | PathLike[str]) -> None:
    """Write the bytes of a table, packed if the name of the file says so."""
    _, packed = kind_of(path)
    check_place(path)
    write_whole(path, gzip.compress(content, mtime=0) if packed else content)


def write_json(data: Any, path: str | PathLike[str]) -> None:
    """Write plain data as one JSON document."""
    check_place(path)
    write_whole(path, json.dumps(plain(data), indent=1, ensure_ascii=False) + "\n")


def encoded(table: Any, kind: str) -> bytes:
    """The bytes of a table as a file of this kind.

    In CSV a missing value is an empty cell and an empty text is two quotes; texts are written as they are, even if a
    spreadsheet would read a formula. What CSV or JSON cannot hold becomes text: dates in ISO form, bytes in base64;
    lists in CSV are JSON.
    """
    sink = io.BytesIO()
    if kind == "parquet":
        pq.write_table(table, sink, compression="zstd")
    elif kind == "arrow":
        with pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
    elif kind == "csv":
        pyarrow.csv.write_csv(_flat(table), sink)
    else:
        for line in table.to_pylist():
            sink.write(json.dumps(plain(line), ensure_ascii=False).encode("utf-8") + b"\n")
    return sink.getvalue()


def plain(value: Any) -> Any:
    """The value as JSON can hold it: NaN and infinity as null, other types as text."""
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(each) for each in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    return value.isoformat() if isinstance(value, date | datetime | time) else str(value)


def _flat(table: Any) -> Any:
    """The table with columns that CSV can hold."""
    for index, field in enumerate(table.schema):
        kind = field.type
        if kinds.is_dictionary(kind):
            flat = table.column(index).cast(kind.value_type)
        elif kinds.is_nested(kind):
            values = table.column(index).to_pylist()
            flat = pa.array(
                [None if v is None else json.dumps(plain(v), ensure_ascii=False) for v in values], pa.string()
            )
        elif kinds.is_binary(kind) or kinds.is_large_binary(kind) or kinds.is_duration(kind) or kinds.is_decimal(kind):
            flat = pa.array([v if v is None else str(plain(v)) for v in table.column(index).to_pylist()], pa.string())
        else:
            continue
        table = table.set_column(index, field.name, flat)
    return table
