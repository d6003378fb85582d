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
from psidebug.exports.cells import OtherRows, Relabelling, relabelled_table, relabelled_text
from psidebug.exports.columns import array_of_values, free_name, labels_of, own_columns
from psidebug.exports.table_files import encoded
from psidebug.file_kinds import kind_of_content, unpacked
from psidebug.findings.findings import Findings
from psidebug.task.data import Data

NAMES = {"csv": "CSV", "jsonl": "JSON lines", "parquet": "Parquet", "arrow": "Arrow"}


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
    columns = _in_order(findings, data, labels_of(findings, codes))
    given = labels_of(findings, findings.labels.given)
    added = added_columns(findings, data, codes, made, columns, trace=trace, weights=weights)
    return pa.table(columns | {name: given if each is None else each for name, each in added.items()})


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


def _in_order(findings: Findings, data: Data, labels: Any) -> dict[str, Any]:
    source = findings.origin.source
    label, row = source.get("label") or "label", source.get("id")
    columns, ids = own_columns(data), findings.labels.rows.tolist()
    if row is not None or ids != list(range(len(ids))):  # more than positions
        name = row or free_name("row", columns)
        columns.pop(name, None)
        columns = {name: array_of_values(ids), **columns}
    columns[label if source else free_name(label, columns)] = labels
    order = [name for name in source.get("columns") or [] if name in columns]
    return {name: columns[name] for name in [*order, *(each for each in columns if each not in order)]}


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
    """The columns of the trace, and weights, with names not among ``names``; None stands for the given labels."""

    def told(name: str) -> Any:
        values = [getattr(made[place], name) if place in made else None for place in range(len(codes))]
        return pa.array(values, pa.string())

    added: dict[str, Any] = {}
    if trace:
        added = {"given": None, "corrected": pa.array(codes != findings.labels.given)}
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
    content, why = training_file(findings, kind)
    if content is not None:
        codes, made = decided(findings, decisions)
        names = findings.origin.source["columns"]
        added = added_columns(findings, data, codes, made, names, trace=trace, weights=weights)
        try:
            return _relabelled(findings, content, kind, codes, added), None
        except OtherRows:
            why = f"the rows of {findings.origin.source['train']} could not be matched to those of the run"
    remark = why and f"{why}; written from the run's copy, so types and spellings of values may differ"
    return encoded(corrected_table(findings, data, decisions, trace=trace, weights=weights), kind), remark


def training_file(findings: Findings, kind: str) -> tuple[bytes | None, str | None]:
    """The training file, unpacked, if it has this kind and its old sha256; else None, and why if there was a file."""
    source = findings.origin.source
    if "train" not in source:  # the data came from Python
        return None, None
    name, path = source["train"], source.get("path")
    if path is None:
        return None, "the run names no training file" if name != "stdin" else "the training data came from stdin"
    try:
        content = Path(path).read_bytes() if Path(path).is_file() else None
    except (OSError, ValueError):
        content = None
    if content is None:
        return None, f"the training file {path} is gone"
    if hashlib.sha256(content).hexdigest() != source.get("sha256"):
        return None, f"the training file {path} has changed"
    content = unpacked(content)
    found = kind_of_content(content)
    return (content, None) if found == kind else (None, f"{name} is {NAMES[found]}, not {NAMES[kind]}")


def _relabelled(findings: Findings, content: bytes, kind: str, codes: Any, added: Mapping[str, Any]) -> bytes:
    """Each corrected row gets the label cell of the first row with that label: written as the file writes it."""
    source, given = findings.origin.source, findings.labels.given
    first = {int(code): int(place) for code, place in zip(*np.unique(given, return_index=True), strict=True)}
    changed = np.flatnonzero(codes != given).tolist()
    donors = {place: first.get(int(codes[place])) for place in changed}
    labels = {place: findings.encoding.classes[codes[place]] for place in changed if donors[place] is None}
    replace = relabelled_table if kind in ("parquet", "arrow") else relabelled_text
    return replace(content, kind, Relabelling(source, given, donors, labels, added))
