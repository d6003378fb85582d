"""Repairs of the rows, and test labels that are probably wrong, as plain data and back."""

from __future__ import annotations

from dataclasses import fields

import numpy as np

from psidebug.changes import Blank, Change, Drop, Mask, Relabel, Rescale, Swap
from psidebug.findings.findings import FoundCause, SuspectTests
from psidebug.store.values import Json, as_json, from_json, read_record, record_of

CHANGES: dict[str, type[Change]] = {each.__name__: each for each in (Blank, Drop, Mask, Relabel, Rescale, Swap)}
"""Those that findings carry."""


def change_record(change: Change) -> Json:
    """The kind of a change, and its fields."""
    parts = {each.name: getattr(change, each.name) for each in fields(change)}
    written = {name: part.tolist() if isinstance(part, np.ndarray) else as_json(part) for name, part in parts.items()}
    return {"change": type(change).__name__, **written}


def change_of(record: Json) -> Change:
    """The change that was written."""
    parts = {name: from_json(part) for name, part in record.items() if name != "change"}
    for name in ("rows", "codes"):
        if parts.get(name) is not None:
            parts[name] = np.array(parts[name], dtype=np.intp)
    return CHANGES[record["change"]](**parts)


def cause_record(cause: FoundCause) -> Json:
    """A cause, with the change that repairs it."""
    return record_of(cause) | {"change": None if cause.change is None else change_record(cause.change)}


def cause_of(record: Json) -> FoundCause:
    """The cause that was written."""
    change = record.get("change")
    found: FoundCause = read_record(FoundCause, record, change=None if change is None else change_of(change))
    return found


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
