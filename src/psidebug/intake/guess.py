"""Which column is probably what: the label, the id and the texts of a table that nobody has described."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow.compute as pc
import pyarrow.types as kinds

from psidebug.errors import InputError
from psidebug.intake.plan import plan_for
from psidebug.intake.splits import Roles

LABEL_NAMES = ("label", "labels", "target", "class", "y", "outcome", "category", "sentiment", "given_label")
ID_NAMES = ("id", "row_id", "uuid", "guid", "key", "index", "row")
MOST_CLASSES = 20
"""A column whose name tells nothing is taken for the label only with so few different values."""


def guessed_roles(train: Any, test: Any, *, label: str | None = None) -> Roles:
    """The roles of the columns of two tables, by their names and values; ``label`` where it is known."""
    shared = [name for name in train.column_names if name in test.column_names]
    found = label if label is not None else _label(train, shared)
    if found not in shared:
        raise InputError(
            f"both files must have the column {found!r}; they share {_listed(shared)}. Give --label COLUMN."
        )
    identity = _id(train, [name for name in train.column_names if name != found])
    others = [name for name in train.column_names if name not in (found, identity)]
    return Roles(found, identity, plan_for(train.select(others)).texts)


def _label(table: Any, names: Sequence[str]) -> str:
    """A column that is called so; else the last one, or the first, if its values look like classes."""
    called = {name.strip().lower(): name for name in reversed(names)}
    for name in LABEL_NAMES:
        if name in called:
            return called[name]
    for name in (*names[-1:], *names[:1]):
        if _like_classes(table[name]):
            return name
    raise InputError(f"no column is called as labels are: give --label COLUMN, one of {_listed(names)}.")


def _like_classes(column: Any) -> bool:
    """Few different values, each several times, and no measurements."""
    distinct = pc.count_distinct(column, mode="only_valid").as_py()
    return 2 <= distinct <= min(MOST_CLASSES, len(column) / 3) and not kinds.is_floating(column.type)


def _id(table: Any, names: Sequence[str]) -> str | None:
    """The first column that is called as ids are and tells all rows apart; None if there is none."""
    for name in names:
        called = name.strip().lower()
        if (called in ID_NAMES or called.endswith(("_id", " id"))) and not table[name].null_count:
            if kinds.is_floating(table[name].type) or kinds.is_nested(table[name].type):
                continue
            if pc.count_distinct(table[name]).as_py() == len(table):
                return name
    return None


def _listed(names: Sequence[str], most: int = 8) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "") or "no column"
