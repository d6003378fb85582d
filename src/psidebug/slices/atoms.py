"""Atoms: all conditions on one column that a slice may be made of, in a form that counts thousands of them at once.

Every column is cut once into *cells*, sets of rows that do not overlap (its values, bins of numbers or dates,
"missing"), and each row gets the number of its cell; a word is a cell of its own. Cells of one column are next to each
other, so an atom is a range of cells [first, last): one of them for ``city = Lima``, several for ``age ≤ 30``. The
counts of all atoms are a histogram of these numbers and sums over ranges of it, as in trees that learn from histograms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from psidebug import policy
from psidebug.slices.conditions import UNNAMED, Condition, Home, Ints, Mask, Plain, coded, words_of
from psidebug.slices.ranges import Block, Cells, cut
from psidebug.task.tables import Column, Table, column_of, columns

Floats = npt.NDArray[np.float64]

MOST_ATOMS = 20_000
"""Numbers are cut less finely where there are so many columns that their ranges would be more than this."""
AT_ONCE = 100_000
"""Rows × columns that are counted in one step: few rows of many columns would else take many small ones."""


@dataclass(frozen=True, eq=False)
class Atoms:
    """Conditions, each a range of cells, over N rows."""

    codes: Cells
    """(columns, N), the cell of every row in every column."""
    words: sp.csr_array
    """(N, words), 1 where the row has the word."""
    size: int
    """Number of cells."""
    worded: Sequence[tuple[Callable[[int], Condition], int]]
    """What says the condition of each atom, and the number to ask it for."""
    first: Ints
    last: Ints
    """Cells of each atom: first, and the one after the last."""
    place: Ints
    """Which row of ``codes`` has the cells of an atom; -1 for words, each a cell."""
    column: Ints
    """Which column an atom is about, by its first cell; each word counts as a column of its own."""

    def __len__(self) -> int:
        return len(self.first)

    @cached_property
    def conditions(self) -> list[Condition]:
        """All of them."""
        return [self.condition(atom) for atom in range(len(self))]

    def condition(self, atom: int) -> Condition:
        """One of them: of thousands few are ever put in words."""
        in_words, number = self.worded[atom]
        return in_words(number)

    def at(self, rows: Ints) -> Atoms:
        """The same conditions over some of the rows."""
        return replace(self, codes=self.codes.take(rows, axis=1), words=self.words[rows])

    def holds(self, *atoms: int) -> Mask:
        """Where an atom holds (N,), or all of several."""
        return np.asarray(np.logical_and.reduce([self._holds(atom) for atom in atoms]))

    def _holds(self, atom: int) -> Mask:
        first, last, place = int(self.first[atom]), int(self.last[atom]), self.place[atom]
        if place >= 0:
            return np.asarray((self.codes[place] >= first) & (self.codes[place] < last))
        word = np.searchsorted(self._word_cells, first)
        inside = np.zeros(self.words.shape[0], dtype=bool)
        inside[self._by_word.indices[slice(*self._by_word.indptr[word : word + 2])]] = True
        return inside

    def tally(self, rows: Ints, *scores: Floats) -> list[Floats]:
        """For every atom the number of these rows that it has, and the sum of each of their scores."""
        weights = [each[rows] for each in scores]
        sums = np.zeros((1 + len(weights), self.size + 1))  # reduceat takes no index after the end
        step = max(1, AT_ONCE // max(1, len(rows)))
        for start in range(0, len(self.codes), step):
            codes = self.codes[start : start + step].take(rows, axis=1)
            cells = codes.ravel().astype(np.intp)
            sums[0, :-1] += np.bincount(cells, minlength=self.size)
            for total, weight in zip(sums[1:], weights, strict=True):
                total[:-1] += np.bincount(cells, np.tile(weight, len(codes)), minlength=self.size)
        if self.words.shape[1]:
            sums[:, self._word_cells] = (self.words[rows].T @ np.column_stack([np.ones(len(rows)), *weights])).T
        return list(np.add.reduceat(sums, self._bounds, axis=1)[:, ::2])

    @cached_property
    def _bounds(self) -> Ints:
        return np.column_stack([self.first, self.last]).ravel()

    @cached_property
    def _word_cells(self) -> Ints:
        return self.first[self.place < 0]

    @cached_property
    def _by_word(self) -> sp.csc_array:
        return self.words.tocsc()


def atoms_of(features: Table, metadata: Table | None, ids: npt.NDArray[Any], *, least: int) -> Atoms:
    """All atoms: of the metadata first, then of the features, then of the row ids if these are whole numbers."""
    blocks: list[Block] = []
    homes: list[tuple[Home, Table]] = [("metadata", metadata), ("features", features)]
    for home, table in homes if metadata is not None else homes[1:]:
        blocks += _blocks_of_columns(_described(table, home), home, least=least)
        blocks += _entries(table, home, least=least)
    if ids.dtype.kind in "iu":
        blocks.append(_stretches(ids, least=least))
    return _joined(blocks, len(ids))


def atoms_of_both(first: Table, second: Table, *, least: int) -> Atoms:
    """The atoms of two tables of the same columns, over the rows of the first and then of the second."""
    rows = first.shape[0] + second.shape[0]
    if sp.issparse(first) or len(first.shape) == 1:
        both = sp.vstack([first, second], format="csr") if sp.issparse(first) else np.concatenate([first, second])
        return atoms_of(both, None, np.empty(rows, dtype=object), least=least)
    pairs = zip(columns(first, unnamed="x"), columns(second, unnamed="x"), strict=True)
    return _joined(list(_blocks_of_columns([_appended(*pair) for pair in pairs], "features", least=least)), rows)


def _appended(first: Column, second: Column) -> Column:
    """One column of both; as objects where the libraries made different kinds of them."""
    parts = [first.values, second.values]
    if len({column.dtype.kind for column in parts}) > 1 and not (first.numeric and second.numeric):
        parts = [part.astype(object) for part in parts]
    return Column(first.name, np.concatenate(parts))


def _blocks_of_columns(described: list[Column], home: Home, *, least: int) -> Iterator[Block]:
    share = MOST_ATOMS // max(1, sum(column.numeric or column.dated for column in described))
    for column in described:
        yield from _blocks_of(column, home, least=least, share=share)


def _joined(found: list[Block], rows: int) -> Atoms:
    blocks = [block for block in found if block.ranges]
    starts = np.cumsum([0, *(block.size for block in blocks)]).tolist()
    of_columns = [block for block in blocks if not sp.issparse(block.cells)]
    of_words = [block.cells for block in blocks if sp.issparse(block.cells)]
    codes = np.empty((len(of_columns), rows), dtype=np.min_scalar_type(starts[-1]))
    about: dict[tuple[Home, str], int] = {}
    numbers, place = [np.empty((4, 0), dtype=np.intp)], -1
    for block, start in zip(blocks, starts, strict=False):
        first, last = start + np.array(block.ranges, dtype=np.intp).T
        if sp.issparse(block.cells):
            numbers.append(np.stack([first, last, np.full_like(first, -1), first]))
            continue
        place, named = place + 1, block.condition(0)
        codes[place] = block.cells
        codes[place] += start
        column = about.setdefault((named.home, named.column), start)
        numbers.append(np.stack([first, last, np.full_like(first, place), np.full_like(first, column)]))
    words = sp.csr_array(sp.hstack([sp.csr_array((rows, 0)), *of_words], format="csr"))
    worded = [(block.condition, atom) for block in blocks for atom in range(len(block.ranges))]
    return Atoms(codes, words, starts[-1], worded, *np.hstack(numbers))


def _described(table: Table, home: Home) -> list[Column]:
    """The columns with a value in every row; of a sparse matrix those with an entry in most rows."""
    if not sp.issparse(table):
        return columns(table, unnamed=UNNAMED[home])
    filled = np.flatnonzero(table.count_nonzero(axis=0) > table.shape[0] / 2)
    return [column_of(table, f"{UNNAMED[home]}{index}", unnamed=UNNAMED[home]) for index in filled.tolist()]


def _entries(table: Table, home: Home, *, least: int) -> Iterator[Block]:
    """What tables without columns to look at have: the entries of a sparse matrix, the words of texts."""
    if sp.issparse(table):
        present = sp.csr_array(table != 0)
        counts = present.sum(axis=0)
        chosen = np.flatnonzero((counts >= least) & (counts <= table.shape[0] / 2))
        names = [f"{UNNAMED[home]}{index}" for index in chosen.tolist()]
        yield _each(present[:, chosen], names, lambda name: Condition(name, "≠", (0,), home))
    elif len(table.shape) == 1:
        yield _words("text", table, home, least=least)


def _blocks_of(column: Column, home: Home, *, least: int, share: int) -> Iterator[Block]:
    """Missing values, and what the kind of the column offers."""
    name = str(column.name)
    if column.dated or column.numeric:
        yield _with_missing(cut(column.values, name, home, share=share), name, home, least=least)
    else:
        codes, distinct = coded(column.values)
        yield _with_missing(_values(codes, list(distinct), name, home, least=least), name, home, least=least)
        if len(distinct) > policy.MOST_VALUES and any(isinstance(value, str) for value in distinct):
            yield _words(name, column.values, home, least=least)
    if column.dated:
        yield from _calendar(column.values, name, home)


def _with_missing(block: Block, name: str, home: Home, *, least: int) -> Block:
    """The last cell is of missing values; if there are enough of them it is the first atom."""
    last = block.size - 1
    if np.count_nonzero(block.cells == last) < least:
        return block
    missing = Condition(name, "missing", (), home)
    return block._replace(
        ranges=[(last, last + 1), *block.ranges], condition=lambda atom: block.condition(atom - 1) if atom else missing
    )


def _values(codes: Ints, distinct: list[Plain], name: str, home: Home, *, least: int) -> Block:
    """``column = value``; where there are too many values the frequent ones."""
    counts = np.bincount(codes[codes >= 0], minlength=len(distinct))
    frequent = counts >= (_frequent(len(codes), least) if len(distinct) > policy.MOST_VALUES else least)
    kept = [value for value, keep in zip(distinct, frequent, strict=True) if keep]
    cell_of = np.append(np.where(frequent, np.cumsum(frequent) - 1, len(kept)), len(kept) + 1)  # code -1 is the last
    return _each(cell_of[codes], kept, lambda value: Condition(name, "=", (value,), home), others=2)


def _words(name: str, texts: npt.NDArray[Any], home: Home, *, least: int) -> Block:
    cells, words = words_of(texts, least=_frequent(len(texts), least))
    return _each(cells, words, lambda word: Condition(name, "contains", (word,), home))


def _frequent(rows: int, least: int) -> int:
    return max(least, int(np.ceil(policy.FREQUENT * rows)))


def _stretches(ids: npt.NDArray[Any], *, least: int) -> Block:
    """``row a to b``: a half, a quarter, … of the rows in the order of their ids, each in half steps."""
    order = np.argsort(ids, kind="stable")
    size = 64 if len(ids) >= 64 * least else 8
    starts = -(-np.arange(size + 1) * len(ids) // size)  # so that a half, a quarter, … of the rows end where they end
    codes = np.empty(len(ids), dtype=np.uint8)
    codes[order] = np.arange(len(ids)) * size // len(ids)
    ranges, width = [], size // 2
    while width > 1:
        firsts = range(0, size - width + 1, width // 2)
        ranges += [(first, first + width) for first in firsts if starts[first] < starts[first + width]]
        width //= 2
    ends = [(int(ids[order[starts[first]]]), int(ids[order[starts[last] - 1]])) for first, last in ranges]
    return Block(codes, size, ranges, lambda atom: Condition("row", "between", ends[atom], "rows"))


def _calendar(dates: npt.NDArray[Any], name: str, home: Home) -> Iterator[Block]:
    """``date = 2024-03``: months and years."""
    for unit in ("M", "Y"):
        distinct, codes = np.unique(dates.astype(f"datetime64[{unit}]"), return_inverse=True)
        count = int((~np.isnat(distinct)).sum())  # NaT is the last, if it is there
        if 1 < count <= policy.MOST_VALUES:
            written = [str(each) for each in distinct[:count]]
            yield _each(codes, written, lambda date: Condition(name, "=", (date,), home), others=1)


def _each(
    cells: Cells | sp.csr_array, named: Sequence[Any], condition: Callable[[Any], Condition], others: int = 0
) -> Block:
    """Cells that are an atom each, with the condition on what it is named by, and after them others that are none."""
    ranges = [(cell, cell + 1) for cell in range(len(named))]
    return Block(cells, len(named) + others, ranges, lambda atom: condition(named[atom]))
