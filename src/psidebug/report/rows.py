"""How one row is shown to a person, as plain data: a picture, a text with the words that matter marked, or cells."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal
from weakref import WeakKeyDictionary

import narwhals as nw
import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from psidebug.display import Display
from psidebug.findings.findings import Findings
from psidebug.report.cells import Cell, Order, cells_of
from psidebug.report.distinctive import is_constant, telling_words, worth_of_column, worth_of_entries
from psidebug.report.pictures import Range, picture_of_array, picture_of_file, spread_of
from psidebug.slices.conditions import UNNAMED, Condition, Home
from psidebug.task.columns import column_of, columns
from psidebug.task.data import Data
from psidebug.task.tables import Table, column_names, is_frame, is_missing, take

CELLS, LETTERS = 12, 600
"""Cells of a row, and characters of a text, that are shown."""
ROWS_LOOKED_AT, LEAST_LOOKED_AT, MOST_NUMBERS = 5_000, 500, 4_000_000
"""Rows on which it is found what tells the labels apart: the first number, down to the second where tables are wide."""
WORD = re.compile(r"\b\w\w+\b")

Part = Literal["train", "test"]


@dataclass(frozen=True)
class Segment:
    """A piece of a text."""

    text: str
    why: str | None = None
    """Why it is marked; None if it is not."""
    deciding: bool = False
    """Whether a slice is about this word."""


@dataclass(frozen=True)
class RowView:
    """What is shown of a row; every part may be empty."""

    id: str
    picture: str | None = None
    """A ``data:`` address."""
    text: tuple[Segment, ...] = ()
    cells: tuple[Cell, ...] = ()
    """Columns that a slice is about first, then those that tell the given labels apart, constant ones last."""
    more: int = 0
    """Number of columns that are not among the cells."""
    note: str | None = None
    """Why a picture is missing."""


def views(
    findings: Findings,
    data: Data,
    part: Part,
    positions: npt.ArrayLike,
    *,
    cells: int = CELLS,
    letters: int = LETTERS,
) -> list[RowView]:
    """The training or test rows at these positions, as they are shown.

    Which columns and words come first is found once for a diagnosis, on a part of its training rows: those in the
    conditions of slices, then those that tell the given labels apart best (see :mod:`psidebug.report.distinctive`).
    """
    if findings not in _known:
        conditions = tuple(one for each in findings.slices for one in each.conditions)
        ids = findings.origin.source.get("id")
        _known[findings] = _ShownRows(data, findings.predictions.rows, conditions, findings.display, ids)
    return _known[findings].views(part, np.asarray(positions, dtype=np.intp), cells, letters)


@dataclass(frozen=True, eq=False)
class _ShownRows:
    """The rows of one diagnosis, and which of their columns and words to show first."""

    data: Data
    test_rows: npt.NDArray[Any]
    conditions: tuple[Condition, ...]
    """Those of the slices, the best slice first."""
    display: Display
    ids: str | None
    """The column of ids, which are the names of the rows."""
    _orders: dict[Home, Any] = field(default_factory=dict)

    def views(self, part: Part, positions: npt.NDArray[np.intp], cells: int, letters: int) -> list[RowView]:
        data = self.data
        names = data.rows if part == "train" else self.test_rows
        ids = [str(each) for each in names[positions].tolist()]
        own = data.train if part == "train" else data.test
        tables: dict[Home, Table] = {"features": take(own.features, positions)}
        about = data.metadata if part == "train" else data.test_metadata
        if about is not None:
            tables = {"metadata": take(about, positions), **tables}
        pictures = self._pictures(tables)
        texts = self._texts(tables)
        found = [cells_of(table, self.order(home), cells) for home, table in tables.items()]
        each_row = []
        for place, name in enumerate(ids):
            parts = [lines[place] for lines in found]
            every = sorted((cell for line, _ in parts for cell in line), key=lambda cell: cell.constant - cell.deciding)
            left = sum(count for _, count in parts) + len(every[cells:])
            picture, note = pictures[place]
            text = () if texts is None else self._marked(texts[place], letters)
            each_row.append(RowView(name, picture, text, tuple(every[:cells]), left, note))
        return each_row

    # ── what comes first ──

    def order(self, home: Home) -> Order:
        """The columns of the features or the metadata, those to show first at the beginning."""
        if home not in self._orders:
            self._orders[home] = self._ordered(home)
        found: Order = self._orders[home]
        return found

    def _ordered(self, home: Home) -> Order:
        table, display = self.data.home(home), self.display
        named = [str(each) for each in column_names(table) or []]
        deciding = list(dict.fromkeys(one.column for one in self.conditions if one.home == home))
        unnamed = UNNAMED[home]
        if len(table.shape) == 1:
            return Order(named, unnamed, [], [], np.empty(0))
        places = [named.index(each) if named else int(each.removeprefix(unnamed)) for each in deciding]
        shown_otherwise = {named.index(each) for each in (display.text, display.images, self.ids) if each in named}
        if isinstance(display.images, tuple) and home == "features":  # pixels are no columns to read
            return Order(named, unnamed, places, [], np.zeros(table.shape[1]))
        rows = self._looked_at(table.shape[1])
        part, codes = take(table, rows), self.data.train.codes[rows]
        if sp.issparse(part):
            return Order(named, unnamed, places, [], worth_of_entries(part, codes))
        found = columns(part)
        worth = np.array([worth_of_column(each, codes) for each in found])
        constant = frozenset(place for place, each in enumerate(found) if is_constant(each))
        rest = [place for place in np.argsort(-worth, kind="stable").tolist() if place not in {*places}]
        rest = sorted((place for place in rest if place not in shown_otherwise), key=lambda place: place in constant)
        return Order(named, unnamed, [each for each in places if each not in shown_otherwise], rest, worth, constant)

    def _looked_at(self, width: int) -> npt.NDArray[np.intp]:
        most = min(ROWS_LOOKED_AT, max(LEAST_LOOKED_AT, MOST_NUMBERS // width))
        rows = len(self.data.train)
        return np.arange(rows) if rows <= most else np.sort(np.random.default_rng(0).choice(rows, most, replace=False))

    # ── texts ──

    def _texts(self, tables: dict[Home, Table]) -> list[Any] | None:
        home = self._text_home
        return None if home is None or home not in tables else _column(tables[home], self.display.text)

    @cached_property
    def _text_home(self) -> Home | None:
        plain = len(self.data.train.features.shape) == 1
        return _home_of(self.data, self.display.text) or ("features" if plain else None)

    @cached_property
    def _telling(self) -> dict[str, Any]:
        data, rows = self.data, self._looked_at(200)
        table = take(data.home(str(self._text_home)), rows)
        texts = np.fromiter(_column(table, self.display.text), dtype=object, count=len(rows))
        return telling_words(texts, data.train.codes[rows], data.encoding)

    @cached_property
    def _deciding_words(self) -> set[str]:
        return {str(one.values[0]) for one in self.conditions if one.operator == "contains"}

    def _marked(self, text: Any, letters: int) -> tuple[Segment, ...]:
        """The text, or the part of it that begins before the first word that a slice is about, in segments."""
        text = "" if is_missing(text) else str(text)
        begin = next((m.start() for m in WORD.finditer(text) if m[0].lower() in self._deciding_words), 0)
        begin = 0 if len(text) <= letters or begin < letters // 2 else text.find(" ", begin - letters // 4) + 1
        shown = text[begin : begin + letters]
        segments, done = [Segment("…")] if begin else [], 0
        for match in WORD.finditer(shown):
            word = match[0].lower()
            if word not in self._deciding_words and word not in self._telling:
                continue
            own = word in self._deciding_words
            why = "in the condition of a slice" if own else f"more often in rows labelled {self._telling[word]}"
            segments += [Segment(shown[done : match.start()]), Segment(match[0], why, own)]
            done = match.end()
        end = "…" if begin + letters < len(text) else ""
        return tuple(each for each in (*segments, Segment(shown[done:] + end)) if each.text)

    # ── pictures ──

    def _pictures(self, tables: dict[Home, Table]) -> list[tuple[str | None, str | None]]:
        images, count = self.display.images, tables["features"].shape[0]
        if isinstance(images, tuple):
            pixels = matrix_of(tables["features"])
            return [(picture_of_array(row, shape=images, spread=self._spread), None) for row in pixels]
        home = _home_of(self.data, images)
        if home is None or home not in tables:
            return [(None, None)] * count
        return [self._picture(each) for each in _column(tables[home], images)]

    def _picture(self, value: Any) -> tuple[str | None, str | None]:
        if isinstance(value, np.ndarray | list | tuple):
            return picture_of_array(value, spread=self._spread), None
        return picture_of_file(value)

    @cached_property
    def _spread(self) -> Range:
        images, features = self.display.images, self.data.train.features
        if isinstance(images, tuple):
            return spread_of([matrix_of(take(features, self._looked_at(features.shape[1])))])
        home = _home_of(self.data, images)
        return spread_of(_column(take(self.data.home(str(home)), self._looked_at(1000)), images))


_known: WeakKeyDictionary[Findings, _ShownRows] = WeakKeyDictionary()


def _home_of(data: Data, name: Any) -> Home | None:
    """Which table has a column of this name."""
    homes: list[tuple[Home, Table | None]] = [("features", data.train.features), ("metadata", data.metadata)]
    for home, table in homes:
        if isinstance(name, str) and table is not None and name in map(str, column_names(table) or []):
            return home
    return None


def _column(table: Table, name: Any) -> list[Any]:
    """The values of a column as they are; of a table of texts, the texts."""
    if not is_frame(table):
        return list(table if len(table.shape) == 1 else column_of(table, str(name)).values)
    frame = nw.from_native(table, eager_only=True)
    values: list[Any] = frame[:, [str(each) for each in frame.columns].index(str(name))].to_list()
    return values


def matrix_of(table: Table) -> npt.NDArray[Any]:
    """The values of a table of numbers, whatever holds them."""
    if sp.issparse(table):
        return np.asarray(table.toarray())
    return np.asarray(nw.from_native(table, eager_only=True).to_numpy() if is_frame(table) else table)
