"""The training data with corrected labels, as the user's own table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from psidebug.errors import UnknownRow
from psidebug.exports.columns import array_of_values, free_name, labels_of, own_columns
from psidebug.findings import Findings
from psidebug.task.data import Data


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


def corrected_table(findings: Findings, data: Data, decisions: Mapping[int, Any], *, trace: bool = False) -> Any:
    """The training rows with these labels (or :class:`Decision`) by position; the others keep the given label.

    The columns are the user's own: those of the file in their order if known, else the id if rows have one, features,
    metadata, and ``label``. ``trace`` adds ``given`` (the label before), ``corrected`` (whether it changed),
    ``verdict``, ``reviewer`` and ``time``; named ``psi_given`` … if the user has columns of these names.
    """
    codes, made = decided(findings, decisions)
    columns = _in_order(findings, data, labels_of(findings, codes))
    if trace:
        given = labels_of(findings, findings.labels.given)
        added = added_columns(findings, codes, made, columns)
        columns |= {name: given if each is None else each for name, each in added.items()}
    return pa.table(columns)


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


def added_columns(findings: Findings, codes: Any, made: Mapping[int, Decision], names: Iterable[str]) -> dict[str, Any]:
    """The columns of the trace, with names that are not among ``names``; None stands for the given labels."""

    def told(name: str) -> Any:
        values = [getattr(made[place], name) if place in made else None for place in range(len(codes))]
        return pa.array(values, pa.string())

    added = {
        "given": None,
        "corrected": pa.array(codes != findings.labels.given),
        **{name: told(name) for name in ("verdict", "reviewer", "time")},
    }
    return {free_name(name, names): each for name, each in added.items()}
