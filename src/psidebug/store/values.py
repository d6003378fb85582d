"""Labels and ids of any kind as JSON values and as Parquet columns, from which they come back equal.

What JSON or Parquet hold by themselves (text, numbers, booleans, dates) is written as it is, for any program to read.
Other values are written as ``{"type": …, "value": …}``; a column that needs this is JSON text and says so in its field.
Dataclasses are written as records of their fields.
"""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import math
import types
import typing
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Literal

import numpy as np
import pyarrow as pa

Json = Any  # None, bool, int, float, str, and lists and dictionaries of them

TAGGED = {b"psi": b"json"}
"""Metadata of the field of a column whose texts are JSON values."""
_ARROW: dict[type, Any] = {
    str: pa.string(),
    bool: pa.bool_(),
    int: pa.int64(),
    float: pa.float64(),
    date: pa.date32(),
    datetime: pa.timestamp("us"),
    bytes: pa.binary(),
}


def _by_pandas(name: str, *arguments: Any) -> Any:
    """A value of a type that only pandas has; its text where pandas is not installed."""
    if importlib.util.find_spec("pandas") is None:
        return str(arguments[0]) if arguments else None
    import pandas

    found = getattr(pandas, name)
    return found(*arguments) if arguments else found


# Type name → how it is written, and how it is read. Types of pandas go by their names, since it need not be there.
_TAGS: dict[str, tuple[Callable[[Any], Json], Callable[[Any], Any]]] = {
    "float": (repr, float),
    "tuple": (lambda value: [as_json(each) for each in value], lambda each: tuple(map(from_json, each))),
    "list": (lambda value: [as_json(each) for each in value], lambda each: list(map(from_json, each))),
    "frozenset": (lambda value: sorted(map(as_json, value), key=repr), lambda each: frozenset(map(from_json, each))),
    "dict": (lambda value: [as_json(list(each)) for each in value.items()], lambda each: dict(map(from_json, each))),
    "date": (date.isoformat, date.fromisoformat),
    "datetime": (datetime.isoformat, datetime.fromisoformat),
    "time": (time.isoformat, time.fromisoformat),
    "timedelta": (
        lambda value: [value.days, value.seconds, value.microseconds],
        lambda each: timedelta(each[0], each[1], each[2]),
    ),
    "bytes": (bytes.hex, bytes.fromhex),
    "Decimal": (str, Decimal),
    "UUID": (str, uuid.UUID),
    "complex": (str, complex),
    "datetime64": (lambda value: [str(value), value.dtype.str], lambda each: np.array(each[0], each[1])[()]),
    "timedelta64": (
        lambda value: [int(value.astype(np.int64)), value.dtype.str],
        lambda each: np.array(each[0]).astype(each[1])[()],
    ),
    "Timestamp": (lambda value: value.isoformat(), lambda each: _by_pandas("Timestamp", each)),
    "Timedelta": (lambda value: value.isoformat(), lambda each: _by_pandas("Timedelta", each)),
    "Period": (lambda value: [str(value), value.freqstr], lambda each: _by_pandas("Period", *each)),
    "Interval": (
        lambda value: [as_json(value.left), as_json(value.right), value.closed],
        lambda each: _by_pandas("Interval", from_json(each[0]), from_json(each[1]), each[2]),
    ),
    "NAType": (lambda value: None, lambda each: _by_pandas("NA")),
    "NaTType": (lambda value: None, lambda each: _by_pandas("NaT")),
}


def as_json(value: Any) -> Json:
    """The value for ``json.dumps``; a value of an unknown type becomes text."""
    value = _python(value)
    if value is None or type(value) in (str, bool, int) or (type(value) is float and math.isfinite(value)):
        return value
    name = type(value).__name__
    if name not in _TAGS:
        return str(value)
    return {"type": name, "value": _TAGS[name][0](value)}


def from_json(written: Json) -> Any:
    """The value that :func:`as_json` wrote; a type of a later version of Psi stays as it is written."""
    if isinstance(written, Mapping) and written.keys() == {"type", "value"} and written["type"] in _TAGS:
        return _TAGS[written["type"]][1](written["value"])
    return written


def record_of(value: Any) -> Json:
    """A value as plain data; arrays among the fields of a dataclass are left out, they belong in tables."""
    if dataclasses.is_dataclass(value):
        parts = {each.name: getattr(value, each.name) for each in dataclasses.fields(value)}
        return {name: record_of(part) for name, part in parts.items() if not isinstance(part, np.ndarray)}
    if isinstance(value, Mapping):
        return {str(name): record_of(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [record_of(each) for each in value]
    return as_json(value)


def read_record(kind: Any, record: Json, **parts: Any) -> Any:
    """The value of this type that :func:`record_of` wrote, with ``parts``, such as arrays, from the caller.

    Unknown fields of a dataclass are ignored. A value of another type than its field's is a :class:`TypeError`.
    """
    inner = typing.get_args(kind)
    if typing.get_origin(kind) in (types.UnionType, typing.Union):
        known = [each for each in inner if each is not type(None)]
        return None if record is None else read_record(known[0] if len(known) == 1 else Any, record, **parts)
    if typing.get_origin(kind) is tuple:
        return tuple(read_record(inner[0], each) for each in record)
    if not dataclasses.is_dataclass(kind):
        return _of_type(kind, from_json(record))
    hints = typing.get_type_hints(kind)
    names = [each.name for each in dataclasses.fields(kind) if each.name in record and each.name not in parts]
    return typing.cast(type, kind)(**{name: read_record(hints[name], record[name]) for name in names}, **parts)


def _of_type(kind: Any, value: Any) -> Any:
    """The value, if it is of this type of a field."""
    if kind is float and type(value) in (int, float):
        return float(value)
    if kind in (bool, float, int, str) and type(value) is not kind:
        raise TypeError(f"{value!r:.40} is no {kind.__name__}")
    if typing.get_origin(kind) is Literal and value not in typing.get_args(kind):
        raise TypeError(f"{value!r:.40} is not among the choices")
    if typing.get_origin(kind) is Mapping:
        texts = typing.get_args(kind)[1] is str
        if not isinstance(value, dict) or (texts and not all(isinstance(each, str) for each in value.values())):
            raise TypeError(f"{value!r:.40} is no record")
    return value


def column(name: str, values: Iterable[Any], *, text: bool = False) -> tuple[Any, Any]:
    """Field and array of a Parquet column of these values; None is null.

    A column without values is one of numbers, or with ``text`` one of text.
    """
    listed = [_python(value) for value in values]
    kinds = {type(value) for value in listed if value is not None}
    kind = kinds.pop() if len(kinds) == 1 else ((str if text else float) if not kinds else None)
    try:
        if kind is list and (array := pa.array(listed)).to_pylist() == listed:  # pictures, as any program reads them
            return pa.field(name, array.type), array
        if kind not in _ARROW or (kind is datetime and any(each is not None and each.tzinfo for each in listed)):
            raise pa.ArrowInvalid("no one type of Arrow")
        array = pa.array(listed, type=_ARROW[kind])
        return pa.field(name, array.type), array
    except (pa.ArrowException, OverflowError, UnicodeEncodeError):  # large integers, half characters
        written = [None if value is None else json.dumps(as_json(value)) for value in listed]
        return pa.field(name, pa.string(), metadata=TAGGED), pa.array(written, type=pa.string())


def values_of(table: Any, name: str) -> list[Any]:
    """The values of a column, as they were given to :func:`column`."""
    return values_at(table, table.schema.get_field_index(name))


def values_at(table: Any, index: int) -> list[Any]:
    """The values of the column at this place."""
    listed: list[Any] = table.column(index).to_pylist()
    if (table.schema.field(index).metadata or {}).get(b"psi") != TAGGED[b"psi"]:
        return listed
    return [None if text is None else from_json(json.loads(text)) for text in listed]


def table_of(columns: Sequence[tuple[Any, Any]]) -> Any:
    """A table of fields with their arrays."""
    return pa.table([array for _, array in columns], schema=pa.schema([field for field, _ in columns]))


def _python(value: Any) -> Any:
    """Numpy's numbers, texts, booleans and arrays as Python's; not its dates, which are more precise than Python's."""
    if isinstance(value, np.ndarray) and value.dtype.kind not in "mM":
        return [_python(each) for each in value]
    return value.item() if isinstance(value, np.generic) and value.dtype.kind in "biufcUS" else value
