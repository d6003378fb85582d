"""Ranges of numbers and dates: where to cut a column, and the condition that says so."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from psidebug import policy
from psidebug.slices.conditions import Condition, Home, Ints, Plain

UNITS = ("Y", "M", "D", "h", "m", "s", "us")
"""Precisions of a date, coarsest first."""


def cut(
    values: npt.NDArray[Any], name: str, home: Home, *, share: int
) -> tuple[Ints, int, list[tuple[Condition, int, int]]]:
    """Cell of every row (-1: missing), number of cells, and about ``share`` atoms as ranges [first, last) of cells.

    The atoms are the single values of a column that has few, and all ranges between its quantiles.
    """
    dated = values.dtype.kind == "M"
    values = values if dated else values.astype(np.float64)
    absent = np.isnat(values) if dated else np.isnan(values)
    distinct, index, counts = np.unique(values[~absent], return_inverse=True, return_counts=True)
    end = len(distinct) - 1
    apart = len(distinct) <= min(policy.MOST_VALUES, share // 2)  # they may be codes
    cuts = [each for each in _quantiles(counts, share) if dated or np.isfinite(distinct[each : each + 2]).all()]
    cell_of = np.arange(len(distinct)) if apart else np.searchsorted(cuts, np.arange(len(distinct)))

    spans = dict.fromkeys((low + 1, high) for low, high in combinations([-1, *cuts, end], 2))
    if apart:
        spans |= dict.fromkeys((each, each) for each in range(len(distinct)) if dated or np.isfinite(distinct[each]))
    spans.pop((0, end), None)
    edges = _Edges(distinct)
    atoms = [
        (Condition(name, *edges.condition(low, high), home), int(cell_of[low]), int(cell_of[high]) + 1)
        for low, high in spans
    ]
    codes = np.full(len(values), -1, dtype=np.intp)
    codes[~absent] = cell_of[index]
    return codes, int(cell_of[-1]) + 1, atoms


def _quantiles(counts: Ints, share: int) -> list[int]:
    """Where to cut, after the value of this index: quantiles, so few that their ranges are ≤ ``share``."""
    cuts = next((c for c in range(policy.MOST_CUTS, 1, -1) if (c + 1) * (c + 2) // 2 <= share), 1)
    wanted = np.arange(1, cuts + 1) / (cuts + 1) * counts.sum()
    found = np.unique(np.searchsorted(np.cumsum(counts), wanted))
    return [int(each) for each in found if each < len(counts) - 1]


class _Edges:
    """Ranges of the sorted values of a column, in words with as few digits as tell them from their neighbours."""

    def __init__(self, distinct: npt.NDArray[Any]) -> None:
        self._distinct = distinct
        self._written: dict[tuple[int, int], Plain] = {}

    def condition(self, low: int, high: int) -> tuple[Any, tuple[Plain, ...]]:
        """Operator and values for the range from one index to another, both in it."""
        if low == high:
            return "=", (self._exact(low),)
        if low == 0:
            return "≤", (self._edge(high, high + 1),)
        if high == len(self._distinct) - 1:
            return ">", (self._edge(low - 1, low),)
        return "between", (self._edge(low, low - 1), self._edge(high, high + 1))

    def _exact(self, index: int) -> Plain:
        value = self._distinct[index]
        if self._distinct.dtype.kind == "M":
            return short_date(value, self._distinct[max(index - 1, 0) : index + 2])
        return float(value) + 0.0  # -0 is 0

    def _edge(self, inside: int, outside: int) -> Plain:
        if (inside, outside) not in self._written:
            value, other = self._distinct[inside], self._distinct[outside]
            dated = self._distinct.dtype.kind == "M"
            self._written[inside, outside] = short_date(value, [other]) if dated else short_number(value, other)
        return self._written[inside, outside]


def short_number(inside: float, outside: float) -> float:
    """The number with the fewest digits between the two, or the first of them, so that a cut there can be read."""
    low, high = min(inside, outside), max(inside, outside)
    for digits in range(1, 17):
        for near in (inside, low + (high - low) / 2):
            t = float(f"{near:.{digits}g}")
            if low < t < high or t == inside:
                return t + 0.0
    return float(inside)


def short_date(value: Any, others: Any) -> str:
    """The date at the coarsest precision that tells it from the other ones (itself does not count)."""
    for unit in UNITS:
        at = value.astype(f"datetime64[{unit}]")
        if all(other == value or other.astype(at.dtype) != at for other in others):
            return str(at)
    return str(value)
