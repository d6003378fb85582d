"""The training data with corrected labels, as the user's own table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from psidebug.errors import UnknownRow
from psidebug.exports.columns import array_of_values, free_name, has_ids, labels_of, own_columns
from psidebug.store import Run


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


def corrected_table(run: Run, decisions: Mapping[int, Any], *, trace: bool = False) -> Any:
    """The training rows with these labels (or :class:`Decision`) by position; the others keep the given label.

    The columns are the user's own: those of the file in their order where the run knows it, else the id if rows have
    one, features, metadata, and ``label``. With ``trace`` there follow ``given`` (the label that a row came with),
    ``corrected`` (whether it is another now), ``verdict``, ``reviewer`` and ``time``; named ``psi_given`` … if the user
    has columns of these names.
    """
    codes, made = decided(run, decisions)
    columns = _in_order(run, labels_of(run, codes))
    if trace:
        added = added_columns(run, codes, made, columns)
        columns |= {name: labels_of(run, run.given) if each is None else each for name, each in added.items()}
    return pa.table(columns)


def decided(run: Run, decisions: Mapping[int, Any]) -> tuple[Any, dict[int, Decision]]:
    """The codes of all labels after these decisions, and each as a :class:`Decision`."""
    made = {place: each if isinstance(each, Decision) else Decision(each) for place, each in decisions.items()}
    outside = [place for place in made if not 0 <= place < len(run.given)]
    if outside:
        raise UnknownRow(f"no training row is at position {outside[0]}: there are 0 to {len(run.given) - 1}.")
    codes = run.given.copy()
    if made:
        labels = [each.label for each in made.values()]
        codes[np.fromiter(made, dtype=np.intp)] = run.encoding.encode(labels, where="the decisions")
    return codes, made


def _in_order(run: Run, labels: Any) -> dict[str, Any]:
    source = run.source or {}
    label, row = source.get("label") or "label", source.get("id")
    columns = own_columns(run)
    if row is not None or has_ids(run):
        name = row or free_name("row", columns)
        columns = {name: array_of_values(run.rows.tolist())} | {k: v for k, v in columns.items() if k != name}
    columns[label if source else free_name(label, columns)] = labels
    order = [name for name in source.get("columns") or [] if name in columns]
    return {name: columns[name] for name in [*order, *(each for each in columns if each not in order)]}


def added_columns(run: Run, codes: Any, made: Mapping[int, Decision], names: Iterable[str]) -> dict[str, Any]:
    """The columns of the trace, named beside these names; None stands for the labels as they were given."""

    def told(name: str) -> Any:
        values = [getattr(made[place], name) if place in made else None for place in range(len(codes))]
        return pa.array(values, pa.string())

    added = {
        "given": None,
        "corrected": pa.array(codes != run.given),
        **{name: told(name) for name in ("verdict", "reviewer", "time")},
    }
    return {free_name(name, names): each for name, each in added.items()}
