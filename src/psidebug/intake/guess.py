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
ABOUT_LABELS = ("annotator", "labeler", "labeller", "rater", "reviewer", "worker", "source", "split", "fold", "batch")
"""Names of columns that tell who or what made a label: they have few values too."""
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
    """A column that is called so; else the last one, or the first, if its values look like classes.

    Columns about the label, such as who gave it, and dates may stand behind it: they are passed over.
    """
    called = {name.strip().lower(): name for name in reversed(names)}
    for name in LABEL_NAMES:
        if name in called:
            return called[name]
    rest = [name for name in names if not _about_labels(name) and not kinds.is_temporal(table[name].type)]
    for name in (*rest[-1:], *rest[:1]):
        if _like_classes(table[name]):
            return name
    raise InputError(f"no column is called as labels are: give --label COLUMN, one of {_listed(names)}.")


def _about_labels(name: str) -> bool:
    return name.strip().lower().removesuffix("_id").removesuffix("_name") in ABOUT_LABELS


def _like_classes(column: Any) -> bool:
    """Few different values, each several times, and no measurements."""
    distinct = pc.count_distinct(column, mode="only_valid").as_py()
    return 2 <= distinct <= min(MOST_CLASSES, len(column) / 3) and not kinds.is_floating(column.type)


def _id(table: Any, names: Sequence[str]) -> str | None:
    """The first column that is called as ids are and tells all rows apart; else the very first, if it is short.

    None if neither does.
    """
    called = [
        name for name in names if name.strip().lower() in ID_NAMES or name.strip().lower().endswith(("_id", " id"))
    ]
    first = [name for name in names[:1] if _short(table[name])]
    return next((name for name in (*called, *first) if _tells_rows_apart(table[name])), None)


def _short(column: Any) -> bool:
    """Whole numbers, or texts without a space: what names a row, and is no sentence."""
    if kinds.is_integer(column.type):
        return True
    texts = kinds.is_string(column.type) or kinds.is_large_string(column.type)
    return texts and not pc.any(pc.match_substring(column, " ")).as_py()


def _tells_rows_apart(column: Any) -> bool:
    if column.null_count or kinds.is_floating(column.type) or kinds.is_nested(column.type):
        return False
    return bool(pc.count_distinct(column).as_py() == len(column))


def _listed(names: Sequence[str], most: int = 8) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "") or "no column"
