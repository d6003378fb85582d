"""The training file itself with corrected labels: every other cell stays as it was written."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from psidebug.exports.cells import OtherRows, Relabelling, relabelled_table, relabelled_text
from psidebug.exports.corrected_table import added_columns, corrected_table, decided
from psidebug.exports.table_files import encoded
from psidebug.file_kinds import kind_of_content, unpacked
from psidebug.findings import Findings
from psidebug.task.data import Data

NAMES = {"csv": "CSV", "jsonl": "JSON lines", "parquet": "Parquet", "arrow": "Arrow"}


def corrected_file(
    findings: Findings, data: Data, decisions: Mapping[int, Any], kind: str, *, trace: bool = False
) -> tuple[bytes, str | None]:
    """The bytes of the corrected training data as a file of this kind, and a remark if more than labels may differ.

    If the training file is unchanged and of this kind, only its label cells are replaced. Otherwise the table is the
    run's own copy, :func:`corrected_table`, and the remark says why.
    """
    content, why = training_file(findings, kind)
    if content is not None:
        try:
            return _relabelled(findings, content, decisions, kind, trace=trace), None
        except OtherRows:
            why = f"the rows of {findings.origin.source['train']} could not be matched to those of the run"
    remark = why and f"{why}; written from the run's copy, so types and spellings of values may differ"
    return encoded(corrected_table(findings, data, decisions, trace=trace), kind), remark


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


def _relabelled(findings: Findings, content: bytes, decisions: Mapping[int, Any], kind: str, *, trace: bool) -> bytes:
    """Each corrected row gets the label cell of the first row with that label: written as the file writes it."""
    codes, made = decided(findings, decisions)
    source, given = findings.origin.source, findings.labels.given
    first = {int(code): int(place) for code, place in zip(*np.unique(given, return_index=True), strict=True)}
    changed = np.flatnonzero(codes != given).tolist()
    donors = {place: first.get(int(codes[place])) for place in changed}
    labels = {place: findings.encoding.classes[codes[place]] for place in changed if donors[place] is None}
    added = added_columns(findings, codes, made, source["columns"]) if trace else {}
    replace = relabelled_table if kind in ("parquet", "arrow") else relabelled_text
    return replace(content, kind, Relabelling(source, given, donors, labels, added))
