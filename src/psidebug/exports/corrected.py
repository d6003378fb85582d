"""The training data with corrected labels: as the user's own table, and as the training file itself, in which every
other cell stays as it was written."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from psidebug.errors import UnknownRow
from psidebug.exports.cells import NewCells, OtherRows, changed_file
from psidebug.exports.columns import array_of_values, free_name, labels_of, own_columns
from psidebug.exports.table_files import encoded
from psidebug.exports.text_cells import changed_text
from psidebug.file_kinds import kind_of_content, unpacked
from psidebug.findings.findings import Findings
from psidebug.task.data import Data
from psidebug.task.labels import Codes

NAMES = {"csv": "CSV", "jsonl": "JSON lines", "json": "a JSON array", "parquet": "Parquet", "arrow": "Arrow"}


@dataclass(frozen=True)
class Decision:
    """What was decided about one training row."""

    label: Any
    """The label that it gets; the given one if it is kept."""
    verdict: str | None = None
    """In a word: correct, keep, …"""
    reviewer: str | None = None
    time: str | None = None
    """When, in ISO form."""


def corrected_table(
    findings: Findings, data: Data, decisions: Mapping[int, Any], *, trace: bool = False, weights: bool = False
) -> Any:
    """The training rows with these labels (or :class:`Decision`) by position; the others keep the given label.

    The columns are the user's own: those of the file in their order if known, else the id if rows have one, features,
    metadata, and ``label``. ``trace`` adds ``given`` (the label before), ``corrected`` (whether it changed),
    ``verdict``, ``reviewer`` and ``time``; ``weights`` adds ``weight``, how likely the label is right. They are named
    ``psi_given`` … if the user has columns of these names.
    """
    codes, made = decided(findings, decisions)
    columns, _ = own_table(findings, data, codes)
    given = labels_of(findings, findings.labels.given)
    added = added_columns(findings, data, codes, made, columns, trace=trace, weights=weights)
    return pa.table(columns | {name: given if isinstance(each, str) else each for name, each in added.items()})


def decided(findings: Findings, decisions: Mapping[int, Any]) -> tuple[Any, dict[int, Decision]]:
    """The codes of all labels after these decisions, and each as a :class:`Decision`."""
    made = {place: each if isinstance(each, Decision) else Decision(each) for place, each in decisions.items()}
    codes = findings.labels.given.copy()
    outside = [place for place in made if not 0 <= place < len(codes)]
    if outside:
        raise UnknownRow(f"no training row is at position {outside[0]}: there are 0 to {len(codes) - 1}.")
    if made:
        labels = [each.label for each in made.values()]
        codes[np.fromiter(made, dtype=np.intp)] = findings.encoding.encode(labels, where="the decisions")
    return codes, made


def own_table(findings: Findings, data: Data, codes: Codes, *, test: bool = False) -> tuple[dict[str, Any], str]:
    """The run's copy of the training or test rows with these labels, as in the file, and the name of the label."""
    source = findings.origin.source
    row, rows = source.get("id"), findings.predictions.rows if test else findings.labels.rows
    columns, ids = own_columns(findings, data, test=test), rows.tolist()
    if ids != list(range(len(ids))) or (row is not None and (findings.predictions.ids is not None or not test)):
        name = row or free_name("row", columns)
        columns.pop(name, None)
        columns = {name: array_of_values(ids), **columns}
    label = source.get("label") or "label" if source else free_name("label", columns)
    columns[label] = labels_of(findings, codes)
    order = [name for name in source.get("test_columns" if test else "columns") or [] if name in columns]
    return {name: columns[name] for name in [*order, *(each for each in columns if each not in order)]}, label


def added_columns(
    findings: Findings,
    data: Data,
    codes: Any,
    made: Mapping[int, Decision],
    names: Iterable[str],
    *,
    trace: bool,
    weights: bool,
) -> dict[str, Any]:
    """The columns of the trace, and weights, with names not among ``names``; a text stands for the label column."""

    def told(name: str) -> Any:
        values = [getattr(made[place], name) if place in made else None for place in range(len(codes))]
        return pa.array(values, pa.string())

    added: dict[str, Any] = {}
    if trace:
        added = {
            "given": findings.origin.source.get("label", "label"),
            "corrected": pa.array(codes != findings.labels.given),
        }
        added |= {name: told(name) for name in ("verdict", "reviewer", "time")}
    if weights:
        right = findings.labels.right(codes)
        right[[place for place, each in made.items() if each.verdict is not None]] = 1.0  # a person has decided
        added["weight"] = pa.array(right if data.sample_weight is None else right * data.sample_weight)
    return {free_name(name, names): each for name, each in added.items()}


def corrected_file(
    findings: Findings,
    data: Data,
    decisions: Mapping[int, Any],
    kind: str,
    *,
    trace: bool = False,
    weights: bool = False,
) -> tuple[bytes, str | None]:
    """The bytes of the corrected training data as a file of this kind, and a remark if more than labels may differ.

    If the training file is unchanged and of this kind, only its label cells are replaced. Otherwise the table is the
    run's own copy, :func:`corrected_table`, and the remark says why.
    """
    content, why = source_file(findings, kind)
    if content is not None:
        codes, made = decided(findings, decisions)
        names = findings.origin.source["columns"]
        added = added_columns(findings, data, codes, made, names, trace=trace, weights=weights)
        try:
            return _relabelled(findings, content, kind, codes, added), None
        except OtherRows:
            why = f"the rows of {findings.origin.source['train']} could not be matched to those of the run"
    return encoded(corrected_table(findings, data, decisions, trace=trace, weights=weights), kind), from_copy(why)


def from_copy(why: str | None) -> str | None:
    """What is said of a table that is not the file itself, if there was a file."""
    return why and f"{why}; written from the run's copy, so types and spellings of values may differ"


def source_file(findings: Findings, kind: str, *, test: bool = False) -> tuple[bytes | None, str | None]:
    """The training or test file, unpacked, if it is of this kind and as it was; else None, and why if there was one."""
    source, what, of = findings.origin.source, "test" if test else "training", "test_" if test else ""
    name, path = source.get("test" if test else "train"), source.get(f"{of}path")
    if name is None:  # the data came from Python
        return None, None
    if path is None:
        return None, f"the run names no {what} file" if name != "stdin" else f"the {what} data came from stdin"
    try:
        content = Path(path).read_bytes() if Path(path).is_file() else None
    except (OSError, ValueError):
        content = None
    if content is None:
        return None, f"the {what} file {path} is gone"
    if hashlib.sha256(content).hexdigest() != source.get(f"{of}sha256"):
        return None, f"the {what} file {path} has changed"
    content = unpacked(content)
    found = kind_of_content(content)
    return (content, None) if found == kind else (None, f"{name} is {NAMES[found]}, not {NAMES[kind]}")


def _relabelled(findings: Findings, content: bytes, kind: str, codes: Any, added: Mapping[str, Any]) -> bytes:
    source, given = findings.origin.source, findings.labels.given
    donors, labels = label_cells(findings, codes)
    cells = {source["label"]: labels} if labels else {}
    new = NewCells(source["columns"], source["label"], given, donors, cells, added, encoding=encoding_of(findings))
    return with_new_cells(content, kind, new)


def encoding_of(findings: Findings) -> str:
    """Of the files that the run was made from."""
    return findings.origin.source.get("encoding") or "utf-8"


def label_cells(findings: Findings, codes: Codes) -> tuple[dict[int, int], dict[int, Any]]:
    """Rows that get the label cell of the first row with that label, written as the file writes it; else labels."""
    given = findings.labels.given
    first = {int(code): int(place) for code, place in zip(*np.unique(given, return_index=True), strict=True)}
    changed = {int(place): int(codes[place]) for place in np.flatnonzero(codes != given)}
    donors = {place: first[code] for place, code in changed.items() if code in first}
    return donors, {place: findings.encoding.classes[code] for place, code in changed.items() if code not in first}


def with_new_cells(content: bytes, kind: str, new: NewCells) -> bytes:
    """A file of this kind with other cells; :class:`OtherRows` if its rows are not those of the run."""
    if kind in ("parquet", "arrow"):
        return changed_file(content, kind, new)
    try:
        return changed_text(content, kind, new)
    except (UnicodeError, LookupError):  # a label that the encoding of the file has no letters for
        raise OtherRows from None
