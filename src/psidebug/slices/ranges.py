"""Ranges of numbers and dates: where to cut a column, and the condition that says so."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from functools import partial
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from psidebug import policy
from psidebug.slices.conditions import Condition, Home, Ints, Plain

UNITS = ("Y", "M", "D", "h", "m", "s", "us")
"""Precisions of a date, coarsest first."""


Cells = npt.NDArray[np.unsignedinteger[Any] | np.intp]
Told = Condition | Callable[[], Condition]
"""A condition, or what makes it: the ends of a range in few digits take longer to find than its rows to count, and of
thousands of ranges a few are told."""


class Block(NamedTuple):
    """Cells of one column, or of many words, and the conditions that hold in ranges [first, last) of them."""

    cells: Cells | sp.csr_array
    """Of a column the cell of every row (N,); of words (N, words), 1 where the row has the word."""
    size: int
    """Number of cells."""
    atoms: list[tuple[Told, int, int]]


def cut(values: npt.NDArray[Any], name: str, home: Home, *, share: int) -> Block:
    """Cells of a column of numbers or dates, the last for missing ones, and about ``share`` atoms.

    The atoms are the single values of a column that has few, and all ranges between its quantiles.
    """
    dated = values.dtype.kind == "M"
    values = values if dated else values.astype(np.float64)
    absent = np.isnat(values) if dated else np.isnan(values)
    ordered = np.sort(values)[: np.count_nonzero(~absent)]  # missing ones are the last
    is_last = np.append(ordered[1:] != ordered[:-1], True)[: len(ordered)]
    distinct, counted = ordered[is_last], np.flatnonzero(is_last) + 1
    end = len(distinct) - 1
    apart = len(distinct) <= min(policy.MOST_VALUES, share // 2)  # they may be codes
    cuts = [each for each in _quantiles(counted, share) if dated or np.isfinite(distinct[each : each + 2]).all()]
    tops = list(range(end)) if apart else cuts  # the highest value of each cell but the last
    cells = np.zeros(len(values), dtype=np.uint8)
    for top in tops:
        cells += values > distinct[top]
    cells[absent] = len(tops) + 1

    spans = dict.fromkeys((low + 1, high) for low, high in combinations([-1, *cuts, end], 2))
    if apart:
        spans |= dict.fromkeys((each, each) for each in range(len(distinct)) if dated or np.isfinite(distinct[each]))
    spans.pop((0, end), None)
    edges = _Edges(distinct)
    atoms: list[tuple[Told, int, int]] = [
        (partial(edges.named, name, home, low, high), bisect_left(tops, low), bisect_left(tops, high) + 1)
        for low, high in spans
    ]
    return Block(cells, len(tops) + 2, atoms)


def _quantiles(counted: Ints, share: int) -> list[int]:
    """Where to cut, after the value of this index: quantiles, so few that their ranges are ≤ ``share``.

    ``counted`` says of every value how many rows have it or a lower one.
    """
    cuts = next((c for c in range(policy.MOST_CUTS, 1, -1) if (c + 1) * (c + 2) // 2 <= share), 1)
    wanted = np.arange(1, cuts + 1) / (cuts + 1) * counted[-1:].sum()
    found = np.unique(np.searchsorted(counted, wanted))
    return [int(each) for each in found if each < len(counted) - 1]


class _Edges:
    """Ranges of the sorted values of a column, in words with as few digits as tell them from their neighbours."""

    def __init__(self, distinct: npt.NDArray[Any]) -> None:
        self._distinct = distinct
        self._written: dict[tuple[int, int], Plain] = {}

    def named(self, name: str, home: Home, low: int, high: int) -> Condition:
        """That a column is in this range."""
        return Condition(name, *self.condition(low, high), home)

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
