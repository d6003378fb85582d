"""The file with the answers of annotators, as the table that :func:`psidebug.debug` takes."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Any

import pyarrow as pa

from psidebug.errors import InvalidAnnotations
from psidebug.intake.read import read_table
from psidebug.intake.splits import Roles
from psidebug.task.annotations import ANNOTATOR, LABEL, ROW


def read_answers(path: str | PathLike[str], roles: Roles, *, ids: Sequence[Any] | None, labels: Sequence[Any]) -> Any:
    """A long table (id, annotator, label) or a wide one (id, then a column for each annotator).

    The id column is named as in the training file, or ``row``; so is the label column of a long table, or ``label``.
    Without an id column a wide table has the order of the training file. Ids and answers are written like the ids and
    labels of the training file.
    """
    known = [name for name in (roles.id, ROW) if name is not None]
    table = read_table(path, as_text=known)
    names = table.column_names
    own = next((name for name in known if name in names), None)
    answer = next((name for name in (roles.label, LABEL) if name in names), None)
    if ANNOTATOR in names and answer is not None and own is None:
        raise InvalidAnnotations(
            f"{path} has a column {ANNOTATOR!r} but none that names the row: call it {known[0]!r}, with the ids of the "
            f"training rows{'' if roles.id else ', or their positions from 0'}."
        )
    columns = {} if own is None else {ROW: _ids(table[own].to_pylist(), ids)}
    if ANNOTATOR in names and answer is not None:
        columns |= {ANNOTATOR: table[ANNOTATOR].to_pylist(), LABEL: _like(table[answer], labels)}
    else:
        columns |= {name: _like(table[name], labels) for name in names if name != own}
    return pa.table(columns)


def _ids(values: list[Any], ids: Sequence[Any] | None) -> list[Any]:
    """As numbers where those of the training file are; positions where it has none."""
    if ids is not None and not isinstance(ids[0], int):
        return values
    return [int(each) if isinstance(each, str) and each.lstrip("-").isdigit() else each for each in values]


def _like(column: Any, labels: Sequence[Any]) -> list[Any]:
    """As texts where the labels of the training file are."""
    values: list[Any] = column.to_pylist()
    if not isinstance(labels[0], str):
        return values
    return [each if each is None else str(each) for each in values]
