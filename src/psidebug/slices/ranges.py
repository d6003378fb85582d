"""Ranges of numbers and dates: where to cut a column, and the condition that says so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from psidebug import policy
from psidebug.slices.conditions import Condition, Home, Ints, Plain

UNITS = ("Y", "M", "D", "h", "m", "s", "us")
"""Precisions of a date, coarsest first."""


Cells = npt.NDArray[np.unsignedinteger[Any] | np.intp]


@dataclass(frozen=True, eq=False)
class Block:
    """Cells of one column, or of many words, and the conditions that hold in ranges [first, last) of them."""

    cells: Cells | sp.csr_array
    """Of a column the cell of every row (N,); of words (N, words), 1 where the row has the word."""
    size: int
    """Number of cells."""
    told: Sequence[Condition]
    """The conditions; of thousands of ranges a few are told, so these are put into words when they are asked for."""
    first: Ints
    last: Ints
    many: bool = False
    """Whether they are so many values or words that only frequent ones are worth a condition."""

    @classmethod
    def of_cells(
        cls, cells: Cells | sp.csr_array, told: Sequence[Condition], others: int = 0, *, many: bool = False
    ) -> Block:
        """Cells that are a condition each, and after them others that are none."""
        place = np.arange(len(told))
        return cls(cells, len(told) + others, told, place, place + 1, many)

    def frequent(self, least: int) -> Block:
        """Without the values or words, if there are many, that are in fewer rows than ``least``."""
        if not self.many:
            return self
        if sp.issparse(self.cells):
            kept = np.flatnonzero(self.cells.sum(axis=0) >= least)
            return Block.of_cells(self.cells[:, kept], [self.told[each] for each in kept.tolist()], many=True)
        kept = np.flatnonzero(np.bincount(self.cells, minlength=self.size)[self.first] >= least)
        told = [self.told[each] for each in kept.tolist()]
        return replace(self, told=told, first=self.first[kept], last=self.last[kept])

    def with_first(self, condition: Condition, cell: int) -> Block:
        """The same, with a condition that holds in one cell before all others."""
        told = Told([[condition], self.told])
        return replace(self, told=told, first=np.append(cell, self.first), last=np.append(cell + 1, self.last))

    def at(self, rows: Ints | slice) -> Block:
        """The same over some of the rows."""
        return replace(self, cells=self.cells[rows])


class Told(Sequence[Condition]):
    """The conditions of several blocks, each made once."""

    def __init__(self, parts: Sequence[Sequence[Condition]]) -> None:
        self._parts = parts
        self._starts = np.cumsum([0, *map(len, parts)])
        self._made: dict[int, Condition] = {}

    def __len__(self) -> int:
        return int(self._starts[-1])

    def __getitem__(self, place: Any) -> Any:
        if not 0 <= place < len(self):
            raise IndexError(place)
        if place not in self._made:
            part = int(np.searchsorted(self._starts, place, side="right")) - 1
            self._made[place] = self._parts[part][int(place - self._starts[part])]
        return self._made[place]


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
    tops = np.arange(max(end, 0)) if apart else np.array(cuts, dtype=np.intp)  # highest value of each cell but the last
    cells = np.zeros(len(values), dtype=np.uint8)
    for top in tops:
        cells += values > distinct[top]
    cells[absent] = len(tops) + 1

    edges = np.array([-1, *cuts, end])
    low, high = (edges[each] for each in np.triu_indices(len(edges), 1))
    low = low + 1
    if apart:
        single = np.flatnonzero(np.ones(len(distinct), dtype=bool) if dated else np.isfinite(distinct))
        single = np.setdiff1d(single, low[low == high])
        low, high = np.concatenate([low, single]), np.concatenate([high, single])
    some = (low > 0) | (high < end)  # and not all
    low, high = low[some], high[some]
    told = _Ranges(name, home, distinct, low, high)
    return Block(cells, len(tops) + 2, told, np.searchsorted(tops, low), np.searchsorted(tops, high) + 1)


def _quantiles(counted: Ints, share: int) -> list[int]:
    """Where to cut, after the value of this index: quantiles, so few that their ranges are ≤ ``share``.

    ``counted`` says of every value how many rows have it or a lower one.
    """
    cuts = next((c for c in range(policy.MOST_CUTS, 1, -1) if (c + 1) * (c + 2) // 2 <= share), 1)
    wanted = np.arange(1, cuts + 1) / (cuts + 1) * counted[-1:].sum()
    found = np.unique(np.searchsorted(counted, wanted))
    return [int(each) for each in found if each < len(counted) - 1]


@dataclass(frozen=True, eq=False)
class _Ranges(Sequence[Condition]):
    """Ranges of the sorted values of a column, in words with as few digits as tell them from their neighbours."""

    name: str
    home: Home
    distinct: npt.NDArray[Any]
    low: Ints
    high: Ints
    """The lowest and the highest value of each range, by their place."""

    def __len__(self) -> int:
        return len(self.low)

    def __getitem__(self, place: Any) -> Any:
        low, high = int(self.low[place]), int(self.high[place])
        return Condition(self.name, *self._condition(low, high), self.home)

    @cached_property
    def _written(self) -> dict[tuple[int, int], Plain]:
        return {}

    def _condition(self, low: int, high: int) -> tuple[Any, tuple[Plain, ...]]:
        """Operator and values for the range from one index to another, both in it."""
        if low == high:
            return "=", (self._exact(low),)
        if low == 0:
            return "≤", (self._edge(high, high + 1),)
        if high == len(self.distinct) - 1:
            return ">", (self._edge(low - 1, low),)
        return "between", (self._edge(low, low - 1), self._edge(high, high + 1))

    def _exact(self, index: int) -> Plain:
        value = self.distinct[index]
        if self.distinct.dtype.kind == "M":
            return short_date(value, self.distinct[max(index - 1, 0) : index + 2])
        return float(value) + 0.0  # -0 is 0

    def _edge(self, inside: int, outside: int) -> Plain:
        if (inside, outside) not in self._written:
            value, other = self.distinct[inside], self.distinct[outside]
            dated = self.distinct.dtype.kind == "M"
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
