"""What each column is to the learner: a number, a date, a category, a text, or hidden from it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import pyarrow.compute as pc
import pyarrow.types as kinds

from psidebug.checks.useless import like_names, mean_words, numbers_the_rows
from psidebug.intake.types import is_date, is_number

TEXT_WORDS = 5.0
"""Values of more words than this, on average, are text."""
TEXT_DISTINCT = 20
"""Columns with no more different values than this are categories, however long the values are."""


@dataclass(frozen=True)
class Plan:
    """The columns of the training table by kind, each in the table's order."""

    numbers: tuple[str, ...] = ()
    dates: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    kept: tuple[tuple[str, str], ...] = ()
    """Columns that Psi hides from the learner, and why."""

    @property
    def features(self) -> tuple[str, ...]:
        """All columns that the learner sees."""
        return (*self.numbers, *self.dates, *self.categories, *self.texts)

    def sentences(self) -> list[str]:
        """The columns of each kind, one line per kind."""
        made = {
            "numbers": self.numbers,
            "dates (day, month, weekday, hour)": self.dates,
            "categories": self.categories,
            "texts (their words)": self.texts,
        }
        lines = [f"{kind}: {_listed(names)}" for kind, names in made.items() if names]
        return lines + [f"hidden from it: {name or 'the column without a name'}, {why}" for name, why in self.kept]


def plan_for(table: Any, *, texts: Collection[str] = (), categories: Collection[str] = ()) -> Plan:
    """The kind of each column of the training table; ``texts`` and ``categories`` are what they are called."""
    found: dict[str, list[str]] = {"numbers": [], "dates": [], "categories": [], "texts": []}
    kept: list[tuple[str, str]] = []
    for name in table.column_names:
        column = table[name]
        if name in texts:
            found["texts"].append(name)
        elif name in categories:
            found["categories"].append(name)
        elif why := _useless(column):
            kept.append((name, why))
        else:
            found[_kind(column)].append(name)
    return Plan(**{kind: tuple(names) for kind, names in found.items()}, kept=tuple(kept))


def _kind(column: Any) -> str:
    if is_number(column.type):
        return "numbers"
    if is_date(column.type):
        return "dates"
    return "texts" if _is_text(column) else "categories"


def _is_text(column: Any) -> bool:
    if not kinds.is_string(column.type) or pc.count_distinct(column).as_py() <= TEXT_DISTINCT:
        return False
    return mean_words(column) > TEXT_WORDS


def _useless(column: Any) -> str | None:
    """Why nothing about other rows can be learned from the column; None if something can."""
    distinct = pc.count_distinct(column, mode="only_valid").as_py()
    if distinct == 0:
        return "it is empty"
    if distinct == 1 and column.null_count == 0:
        return "it has one value"
    if kinds.is_string(column.type) and like_names(column, distinct, most_words=TEXT_WORDS):
        return "nearly every row has its own value, like names and ids"
    if kinds.is_integer(column.type) and column.null_count == 0 and numbers_the_rows(column.to_numpy()):
        return "it numbers the rows"
    return None


def _listed(names: tuple[str, ...], most: int = 8) -> str:
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most:,} more"
