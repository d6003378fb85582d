"""Mixed tables in numbers, for predictors that take nothing else: boosted trees read categories themselves.

Numbers stay as they are, a date is its days since 1970, and of a category each of its frequent values is a column of 0
and 1. Values that are in hardly any row, as most texts are, say nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from psidebug import policy
from psidebug.slices.conditions import coded
from psidebug.task.columns import Column, columns
from psidebug.task.tables import Table

Floats = npt.NDArray[np.float64]
DAY = np.timedelta64(1, "D")
MOST_COLUMNS = 300
"""Of 0 and 1, for all categories together, unless these are more."""


@dataclass(frozen=True)
class InNumbers:
    """How the rows of a data frame are told in numbers."""

    categories: Mapping[str, tuple[Any, ...]]
    """The values of columns that are no numbers and no dates, most frequent first."""

    @classmethod
    def of(cls, table: Table) -> InNumbers | None:
        """As the rows of this table are; None if it has no columns to tell."""
        described = columns(table)
        named = [each for each in described if not (each.numeric or each.dated)]
        most = min(policy.MOST_VALUES, max(1, MOST_COLUMNS // max(1, len(named))))
        kept = {each.name: _frequent(each, most) for each in named}
        return cls(kept) if any(kept.get(each.name, True) for each in described) else None

    def __call__(self, table: Table) -> Floats:
        """The rows of a table with the same columns (n, D)."""
        return np.hstack([self._numbers(each) for each in columns(table)])

    def _numbers(self, column: Column) -> Floats:
        if (values := self.categories.get(column.name)) is not None:
            codes, distinct = coded(column.values)
            return np.asarray(codes[:, None] == [distinct.get(each, -2) for each in values], dtype=np.float64)
        if column.dated:
            return ((column.values - np.datetime64(0, "D")) / DAY)[:, None]
        numbers = column.values if column.numeric else np.full(len(column.values), np.nan)
        numbers = numbers.astype(np.float64)
        return np.where(np.isfinite(numbers), numbers, np.nan)[:, None]


def _frequent(column: Column, most: int) -> tuple[Any, ...]:
    codes, distinct = coded(column.values)
    counts = np.bincount(codes[codes >= 0], minlength=len(distinct))
    order = np.argsort(-counts, kind="stable")[:most]
    values = list(distinct)
    return tuple(values[each] for each in order if counts[each] >= policy.LEAST_ROWS)
