"""Atoms: all conditions on one column that a slice may be made of, in a form that counts thousands of them at once.

Every column is cut once into *cells*, sets of rows that do not overlap (its values, bins of numbers or dates,
"missing"), and each row gets the number of its cell; a word is a cell of its own. Cells of one column are next to each
other, so an atom is a range of cells [first, last): one of them for ``city = Lima``, several for ``age ≤ 30``. The
counts of all atoms are a histogram of these numbers and sums over ranges of it, as in trees that learn from histograms.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from psidebug import policy
from psidebug.slices.conditions import UNNAMED, Condition, Home, Ints, Mask, Plain, coded, words_of
from psidebug.slices.ranges import Block, Cells, Told, cut
from psidebug.task.columns import Column, column_of, columns
from psidebug.task.tables import Table

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
    conditions: Told
    first: Ints
    last: Ints
    """Cells of each atom: first, and the one after the last."""
    place: Ints
    """Which row of ``codes`` has the cells of an atom; of words -1, -2, … in their order, each a cell."""
    column: Ints
    """Which column an atom is about; each word counts as a column of its own."""
    seen: Mask
    """Whether the learner sees an atom's column: that is so of features, not of metadata or the order of the rows."""

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
        inside, word = np.zeros(self.words.shape[0], dtype=bool), -1 - place
        inside[self._by_word.indices[slice(*self._by_word.indptr[word : word + 2])]] = True
        return inside

    @cached_property
    def _by_word(self) -> sp.csc_array:
        return self.words.tocsc()

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
            inside = self.words[rows].T @ np.column_stack([np.ones(len(rows)), *weights])
            sums[:, self.first[self.place < 0]] = inside.T
        return list(np.add.reduceat(sums, np.column_stack([self.first, self.last]).ravel(), axis=1)[:, ::2])


def blocks_of(table: Table, home: Home, *, least: int, split: int = 0) -> list[Block]:
    """The conditions on a table: those of its columns, and of its words or entries.

    Its rows are those of two sets, where it is to be ``split``: what is frequent in either has a condition.
    """
    own = blocks_of_columns(_described(table, home), home, least=least, split=split)
    return [*own, *_entries(table, home, least=least, split=split)]


def blocks_of_columns(described: list[Column], home: Home, *, least: int, split: int = 0) -> list[Block]:
    """Those on columns, cut less finely where these are many."""
    share = MOST_ATOMS // max(1, sum(column.numeric or column.dated for column in described))
    return [block for column in described for block in _blocks_of(column, home, least=least, share=share, split=split)]


def joined(blocks: Sequence[Block], rows: int) -> Atoms:
    """All conditions of several blocks over the same rows."""
    starts = np.cumsum([0, *(block.size for block in blocks)])
    of_words = [block for block in blocks if sp.issparse(block.cells)]
    codes = np.empty((len(blocks) - len(of_words), rows), dtype=np.min_scalar_type(starts[-1]))
    told = Told([block.told for block in blocks])
    about: dict[tuple[Plain, ...], int] = {}
    numbers: list[Ints] = [np.empty((4, 0), dtype=np.intp)]
    place = words = atom = 0
    for block, start in zip(blocks, starts.tolist(), strict=False):
        count = len(block.told)
        if sp.issparse(block.cells):
            column = np.array([about.setdefault(_subject(told[atom + each]), len(about)) for each in range(count)])
            places = -1 - words - np.arange(count)
            words += block.size
        else:
            codes[place] = block.cells
            codes[place] += start
            column = np.full(count, about.setdefault(_subject(told[atom]), len(about)) if count else 0)
            places = np.full(count, place)
            place += 1
        numbers.append(np.array([start + block.first, start + block.last, places, column], dtype=np.intp))
        atom += count
    texts = sp.csr_array(sp.hstack([sp.csr_array((rows, 0)), *(each.cells for each in of_words)], format="csr"))
    first, last, places, column = np.concatenate(numbers, axis=1)
    seen = np.array([subject[0] == "features" for subject in about], dtype=bool)[column]
    return Atoms(codes, texts, int(starts[-1]), told, first, last, places, column, seen)


def _subject(condition: Condition) -> tuple[Plain, ...]:
    """What at most one condition of a slice may be about: a column, or one word of a text."""
    word = condition.values if condition.operator == "contains" else ()
    return (condition.home, condition.column, *word)


def _described(table: Table, home: Home) -> list[Column]:
    """The columns with a value in every row; of a sparse matrix those with an entry in most rows."""
    if not sp.issparse(table):
        return columns(table, unnamed=UNNAMED[home])
    filled = np.flatnonzero(table.count_nonzero(axis=0) > table.shape[0] / 2)
    return [column_of(table, f"{UNNAMED[home]}{index}", unnamed=UNNAMED[home]) for index in filled.tolist()]


def _entries(table: Table, home: Home, *, least: int, split: int) -> Iterator[Block]:
    """What tables without columns to look at have: the entries of a sparse matrix, the words of texts."""
    if sp.issparse(table):
        present = sp.csr_array(table != 0)
        counts = present.sum(axis=0)
        chosen = np.flatnonzero((counts >= least) & (counts <= table.shape[0] / 2))
        names = [f"{UNNAMED[home]}{index}" for index in chosen.tolist()]
        yield Block.of_cells(present[:, chosen], [Condition(name, "≠", (0,), home) for name in names])
    elif len(table.shape) == 1:
        yield _words("text", table, home, least=least, split=split)


def _blocks_of(column: Column, home: Home, *, least: int, share: int, split: int) -> Iterator[Block]:
    """What the kind of the column offers, with missing values before it."""
    name = str(column.name)
    if column.dated or column.numeric:
        block, many = cut(column.values, name, home, share=share), False
    else:
        block, many = _values(column, home, least=least, split=split)
    missing = block.size - 1
    if np.count_nonzero(block.cells == missing) >= least:
        block = block.with_first(Condition(name, "missing", (), home), missing)
    yield block
    if column.dated:
        yield from _calendar(column.values, name, home)
    elif many:
        yield _words(name, column.values, home, least=least, split=split)


def _values(column: Column, home: Home, *, least: int, split: int) -> tuple[Block, bool]:
    """``column = value``, of too many values for the frequent ones; and whether there are so many, and texts."""
    codes, distinct = coded(column.values)
    name, many = str(column.name), len(distinct) > policy.MOST_VALUES
    kept = np.zeros(len(distinct), dtype=bool)
    for part in (codes[:split], codes[split:]) if many else (codes,):
        counts = np.bincount(part[part >= 0], minlength=len(distinct))
        kept |= counts >= (frequent(len(part), least) if many else least)
    named = [Condition(name, "=", (value,), home) for value, keep in zip(distinct, kept, strict=True) if keep]
    cell_of = np.append(np.where(kept, np.cumsum(kept) - 1, len(named)), len(named) + 1)  # -1, missing, is last
    block = Block.of_cells(cell_of[codes], named, others=2, many=many)
    return block, many and any(isinstance(value, str) for value in distinct)


def _words(name: str, texts: npt.NDArray[Any], home: Home, *, least: int, split: int) -> Block:
    sizes = [size for size in (split, len(texts) - split) if size]
    cells, words = words_of(texts, least=min(frequent(size, least) for size in sizes))
    return Block.of_cells(cells, [Condition(name, "contains", (word,), home) for word in words], many=True)


def frequent(rows: int, least: int) -> int:
    """In how many of so many rows a value must be, where there are many, or a word."""
    return max(least, int(np.ceil(policy.FREQUENT * rows)))


def stretches(ids: npt.NDArray[Any], *, least: int) -> list[Block]:
    """``row a to b``, if ids are whole numbers: a half, a quarter, … of the rows in their order, each in half steps."""
    if ids.dtype.kind not in "iu":
        return []
    order = np.argsort(ids, kind="stable")
    size = 64 if len(ids) >= 64 * least else 8
    starts = -(-np.arange(size + 1) * len(ids) // size)  # so that a half, a quarter, … of the rows end where they end
    codes = np.empty(len(ids), dtype=np.uint8)
    codes[order] = np.arange(len(ids)) * size // len(ids)
    told: list[Condition] = []
    cells: list[tuple[int, int]] = []
    width = size // 2
    while width > 1:
        for first in range(0, size - width + 1, width // 2):
            rows = order[starts[first] : starts[first + width]]
            if len(rows):
                ends = (int(ids[rows[0]]), int(ids[rows[-1]]))
                told.append(Condition("row", "between", ends, "rows"))
                cells.append((first, first + width))
        width //= 2
    return [Block(codes, size, told, *np.array(cells, dtype=np.intp).reshape(-1, 2).T)]


def _calendar(dates: npt.NDArray[Any], name: str, home: Home) -> Iterator[Block]:
    """``date = 2024-03``: months and years."""
    for unit in ("M", "Y"):
        distinct, codes = np.unique(dates.astype(f"datetime64[{unit}]"), return_inverse=True)
        count = int((~np.isnat(distinct)).sum())  # NaT is the last, if it is there
        if 1 < count <= policy.MOST_VALUES:
            named = [Condition(name, "=", (str(each),), home) for each in distinct[:count]]
            yield Block.of_cells(codes, named, others=1)
