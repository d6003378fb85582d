"""Rows found by their id, by a word of their text, or by a value.

Every word of a search must be found in the row: in its id, in a text or value that contains it, or as a number that
equals it. ``column=value`` looks in one column only, for a value that is just that.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from psidebug.display import Display
from psidebug.task.columns import Column, columns
from psidebug.task.tables import Table

Mask = npt.NDArray[np.bool_]
WORD = re.compile(r'"([^"]*)"|(\S+)')
"""A word, or several in double quotes."""
REMEMBERED = 16
"""Searches whose rows are kept, since every page of a review asks for them again."""


class Search:
    """Looks for words in the rows of one set."""

    def __init__(self, ids: npt.NDArray[np.generic], tables: list[Table], display: Display) -> None:
        """``tables`` are features and metadata; the pixels of pictures are no values to look for."""
        self._ids = [str(each).casefold() for each in ids.tolist()]
        pixels = isinstance(display.images, tuple)
        self._columns = [each for table in tables[int(pixels) :] for each in _readable(table)]
        self._texts: dict[int, list[str]] = {}
        self.rows = lru_cache(maxsize=REMEMBERED)(self._rows)
        """Which rows have every word of a search."""

    def _rows(self, asked: str) -> Mask:
        found = np.ones(len(self._ids), dtype=bool)
        for quoted, plain in WORD.findall(asked.casefold()):
            found &= self._having(quoted or plain)
        return found

    def _having(self, word: str) -> Mask:
        name, equals, value = word.partition("=")
        own = [place for place, each in enumerate(self._columns) if equals and each.name.casefold() == name]
        if own:
            return np.asarray(np.logical_or.reduce([self._is(place, value) for place in own]))
        found = np.fromiter((word in each for each in self._ids), dtype=bool, count=len(self._ids))
        for place, column in enumerate(self._columns):
            found |= self._is(place, word) if column.numeric else self._contains(place, word)
        return found

    def _is(self, place: int, value: str) -> Mask:
        """Which rows have just this value in a column."""
        column = self._columns[place]
        if column.numeric:
            return np.asarray(column.values == number) if (number := _number(value)) is not None else self._none()
        return self._each(each == value for each in self._text(place))

    def _contains(self, place: int, word: str) -> Mask:
        return self._each(word in each for each in self._text(place))

    def _text(self, place: int) -> list[str]:
        if place not in self._texts:
            self._texts[place] = [str(each).casefold() for each in self._columns[place].values.tolist()]
        return self._texts[place]

    def _each(self, found: Iterator[bool]) -> Mask:
        return np.fromiter(found, dtype=bool, count=len(self._ids))

    def _none(self) -> Mask:
        return np.zeros(len(self._ids), dtype=bool)


def _readable(table: Table) -> list[Column]:
    """The columns of a table; texts are one column."""
    return [Column("text", table)] if len(table.shape) == 1 else columns(table)


def _number(word: str) -> float | None:
    try:
        return float(word)
    except ValueError:
        return None
