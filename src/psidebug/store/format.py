"""Dataclasses as plain data for ``run.json``, and back."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
from typing import Any

import numpy as np

from psidebug.store.values import Json, as_json, from_json


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

    Unknown fields of a dataclass are ignored.
    """
    inner = typing.get_args(kind)
    if typing.get_origin(kind) in (types.UnionType, typing.Union):
        known = [each for each in inner if each is not type(None)]
        return None if record is None else read_record(known[0] if len(known) == 1 else Any, record, **parts)
    if typing.get_origin(kind) is tuple:
        return tuple(read_record(inner[0], each) for each in record)
    if not dataclasses.is_dataclass(kind):
        return from_json(record)
    hints = typing.get_type_hints(kind)
    names = [each.name for each in dataclasses.fields(kind) if each.name in record and each.name not in parts]
    return typing.cast(type, kind)(**{name: read_record(hints[name], record[name]) for name in names}, **parts)
