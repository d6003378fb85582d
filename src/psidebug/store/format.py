"""The form of a saved run: the version of its schema, and values as plain data and back."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
from typing import Any

import numpy as np

from psidebug.store.values import Json, as_json, from_json

SCHEMA = 2
"""Rises when something changes its meaning or goes away; new fields alone do not raise it, readers ignore them."""
RUN_FILE = "run.json"
PARTS: Mapping[str, type] = {
    "schema": int,
    "psidebug": str,
    "fingerprint": dict,
    "findings": dict,
    "data": dict,
    "spec": dict,
    "files": dict,
}
"""What every ``run.json`` has, each part with its type."""
FINGERPRINT = ("train", "test", "rows", "learner")
"""What every fingerprint says, each in a text."""


def record_of(value: Any) -> Json:
    """A value as plain data: a dataclass by its fields, without arrays, which belong into tables."""
    if dataclasses.is_dataclass(value):
        parts = {each.name: getattr(value, each.name) for each in dataclasses.fields(value)}
        return {name: record_of(part) for name, part in parts.items() if not isinstance(part, np.ndarray)}
    if isinstance(value, Mapping):
        return {str(name): record_of(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [record_of(each) for each in value]
    return as_json(value)


def read_record(kind: Any, record: Json, **parts: Any) -> Any:
    """The value of this type that :func:`record_of` wrote.

    Fields of a dataclass that this version does not know are ignored; ``parts``, as arrays, are given by the caller.
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
