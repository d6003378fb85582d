"""The user's own columns, as Arrow."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from psidebug.findings.findings import Findings
from psidebug.store.stored import stored
from psidebug.store.values import TAGGED, column, values_at
from psidebug.task.data import Data
from psidebug.task.tables import plain_text

Columns = dict[str, Any]
"""Arrow arrays by name."""


def own_columns(findings: Findings, data: Data, *, test: bool = False) -> Columns:
    """Features and metadata by name, features first; none of a sparse matrix, whose columns have no names.

    Embeddings and probabilities in the place of a model came from files of their own: they are none of the user's
    columns.
    """
    found: Columns = {}
    of_table = findings.origin.source.get("learner") != "head"
    tables = (data.test.features, data.test_metadata) if test else (data.train.features, data.metadata)
    for own in tables if of_table else tables[1:]:
        if own is not None and not sp.issparse(own):
            table, form = stored(own)
            notes = form.get("columns", [{}] * table.num_columns)
            for index, note in enumerate(notes):
                if not note.get("index", False):
                    found.setdefault(table.schema.field(index).name, _readable(table, index))
    return found


def labels_of(findings: Findings, codes: Any) -> Any:
    """Labels of these codes as Arrow; classes of several types become text."""
    return array_of_values(findings.encoding.decode(codes).tolist())


def array_of_values(values: list[Any]) -> Any:
    """Values of one type, and lists of them, as they are; others as text."""
    field, array = column("values", values, text=True)
    if field.metadata != TAGGED:
        return array
    try:
        return pa.array(values)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return pa.array([None if value is None else plain_text(str(value)) for value in values], pa.string())


def _readable(table: Any, index: int) -> Any:
    """A column as other programs read it: what only Psi can read becomes text."""
    if (table.schema.field(index).metadata or {}).get(b"psi") != TAGGED[b"psi"]:
        return table.column(index).combine_chunks()
    return array_of_values(values_at(table, index))


def taken(columns: Columns, rows: Any) -> Columns:
    """The columns at these rows."""
    places = pa.array(np.asarray(rows, dtype=np.int64))
    return {name: each.take(places) for name, each in columns.items()}


def free_name(name: str, taken_names: Any) -> str:
    """The name, with the prefix psi_ as often as it takes to be free."""
    while name in taken_names:
        name = f"psi_{name}"
    return name
