"""The form of a saved run: the version of its schema, and the parts of a diagnosis as plain data and back."""

from __future__ import annotations

import dataclasses
import importlib.util
from collections.abc import Mapping
from types import UnionType
from typing import Any, TypeVar

import narwhals as nw
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from psidebug.diagnosis.verification import ErrorRate, Verification
from psidebug.store.stored import LIBRARIES
from psidebug.store.values import Json, as_json, from_json
from psidebug.task.tables import frame_like

SCHEMA = 1
"""Rises when something changes its meaning or goes away; new fields alone do not raise it, readers ignore them."""
RUN_FILE = "run.json"
PARTS: Mapping[str, type | UnionType] = {
    "schema": int,
    "psidebug": str,
    "created": str,
    "fingerprint": dict,
    "seed": int,
    "frames": str,
    "task": dict,
    "settings": dict,
    "notes": list,
    "verdict": str,
    "explanations": list,
    "slices": list,
    "conditions": list,
    "curve": dict | None,
    "correction": dict | None,
    "controls": dict | None,
    "fidelity": dict | None,
    "rounds": list,
    "explained": list,
    "files": dict,
}
"""What every ``run.json`` has, each part with its type."""
FINGERPRINT = ("train", "test", "rows", "learner")
"""What every fingerprint says, each in a text."""

T = TypeVar("T")
Mask = npt.NDArray[np.bool_]


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


def read_record(kind: type[T], record: Json, **parts: Any) -> T:
    """A dataclass from its record; fields that it does not know are ignored, ``parts`` are given by the caller."""
    names = {each.name for each in dataclasses.fields(kind)}  # type: ignore[arg-type]
    known = {name: from_json(value) for name, value in record.items() if name in names}
    return kind(**{**known, **parts})


def verification_of(record: Json, wrong_after: Mask) -> Verification:
    """A verification from its record; the margins of the retrained model are not kept."""
    rates = ("test_before", "test_after", "validation_before", "validation_after")
    parts = {name: None if record[name] is None else read_record(ErrorRate, record[name]) for name in rates}
    return read_record(Verification, record, wrong_after=wrong_after, **parts)


def frame_record(frame: Any) -> Json:
    """A data frame of results, column by column, with the types of its numbers."""
    columns = []
    for series in nw.from_native(frame, eager_only=True).iter_columns():
        kind = series.to_numpy().dtype
        plain = list(map(as_json, series.to_list()))
        columns.append({"name": series.name, "dtype": kind.str if kind.kind in "biuf" else "object", "values": plain})
    return columns


def frame_of(record: Json, library: str) -> Any:
    """The data frame in that library; in pyarrow where it is not installed."""
    data = {}
    for each in record:
        values = [from_json(value) for value in each["values"]]
        objects = np.fromiter(values, dtype=object, count=len(values))
        data[each["name"]] = objects if each["dtype"] == "object" else np.array(values, dtype=each["dtype"])
    return frame_like(data, example_of(library))


def library_of(frame: Any) -> str:
    """Name of the library that a data frame belongs to."""
    return str(nw.get_native_namespace(frame).__name__)


def example_of(library: str) -> Any:
    """An empty data frame of this library; of pyarrow where it is not installed, or not known."""
    if library not in LIBRARIES or importlib.util.find_spec(library) is None:
        return pa.table({})
    backend: Any = library
    return nw.from_dict({"row": []}, backend=backend).to_native()
