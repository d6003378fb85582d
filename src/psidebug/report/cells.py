"""The cells of a row: which columns are shown, in which order, and how their values are written."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, time
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from psidebug.task.tables import Table, is_frame, is_missing

LONGEST = 80
"""Characters of a cell's value, and of a column's name."""


@dataclass(frozen=True)
class Cell:
    """One value of a row."""

    name: str
    value: str
    deciding: bool
    """Whether a slice is about this column."""
    constant: bool = False
    """Whether every row has this value: nothing to look at."""


@dataclass(frozen=True, eq=False)
class Order:
    """The columns of a table by place: those of conditions first, then the rest, most telling first, constant last."""

    names: list[str]
    """Empty for a matrix."""
    unnamed: str
    deciding: list[int]
    rest: list[int]
    worth: npt.NDArray[np.float64]
    constant: frozenset[int] = frozenset()
    """Columns in which all rows are alike."""

    def name(self, place: int) -> str:
        """What a column is called."""
        return _cut(self.names[place]) if self.names else f"{self.unnamed}{place}"


def cells_of(table: Table, order: Order, most: int) -> list[tuple[list[Cell], int]]:
    """The first cells of every row, and the number of columns left out."""
    if len(table.shape) == 1:
        return [([], 0)] * table.shape[0]
    if sp.issparse(table):
        return [_entries(table[[place]], order, most) for place in range(table.shape[0])]
    places = [*order.deciding, *order.rest]
    shown = places[:most]
    own = {*order.deciding}
    if not is_frame(table):
        lines = [table[:, place].tolist() for place in shown]
    else:
        frame = nw.from_native(table, eager_only=True)
        lines = [frame[:, place].to_list() for place in shown]
    named = [(order.name(place), place in own, place in order.constant) for place in shown]
    each_row = zip(*lines, strict=True) if lines else [()] * table.shape[0]
    return [
        (
            [Cell(name, _told(value), *kind) for (name, *kind), value in zip(named, row, strict=True)],
            len(places) - len(shown),
        )
        for row in each_row
    ]


def _entries(row: Any, order: Order, most: int) -> tuple[list[Cell], int]:
    """The entries of one sparse row; columns of conditions also where they are 0."""
    entries = sp.coo_array(row)
    values = dict(zip(entries.coords[1].tolist(), entries.data.tolist(), strict=True))
    rest = [place for place in values if place not in order.deciding]
    rest.sort(key=lambda place: -order.worth[place])
    places = [*order.deciding, *rest]
    cells = [Cell(order.name(place), _told(values.get(place, 0.0)), place in order.deciding) for place in places[:most]]
    return cells, len(places) - len(cells)


def _told(value: Any) -> str:
    value = value.item() if isinstance(value, np.generic) else value
    if is_missing(value):
        return "–"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else f"{value:.4g}"
    if isinstance(value, datetime) and value.time() == time():
        return str(value.date())
    return _cut(str(value))


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
