"""Repairs of the rows, and test labels that are probably wrong, as plain data and back."""

from __future__ import annotations

from dataclasses import fields

import numpy as np

from psidebug.changes import Blank, Change, Mask, Rescale, Shift, Swap
from psidebug.findings.findings import SuspectTests
from psidebug.store.values import Json, as_json, from_json

CHANGES: dict[str, type[Change]] = {each.__name__: each for each in (Blank, Mask, Rescale, Shift, Swap)}
"""Those that findings carry."""


def change_record(change: Change) -> Json:
    """The kind of a change, and its fields."""
    parts = {each.name: getattr(change, each.name) for each in fields(change)}
    written = {name: part.tolist() if isinstance(part, np.ndarray) else as_json(part) for name, part in parts.items()}
    return {"change": type(change).__name__, **written}


def change_of(record: Json) -> Change:
    """The change that was written."""
    parts = {name: from_json(part) for name, part in record.items() if name != "change"}
    if parts.get("rows") is not None:
        parts["rows"] = np.array(parts["rows"], dtype=np.intp)
    return CHANGES[record["change"]](**parts)


def suspect_tests_record(found: SuspectTests | None) -> Json:
    """The arrays as lists; they are short."""
    if found is None:
        return None
    lists = {name: getattr(found, name).tolist() for name in ("rows", "proposed", "p_wrong")}
    return {**lists, "why": list(found.why)}


def suspect_tests_of(record: Json) -> SuspectTests | None:
    """What was written."""
    if record is None:
        return None
    rows, proposed = (np.array(record[name], dtype=np.intp) for name in ("rows", "proposed"))
    return SuspectTests(rows, proposed, np.array(record["p_wrong"], dtype=np.float64), tuple(record["why"]))
