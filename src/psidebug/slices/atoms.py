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


class Conditions(Sequence[Condition]):
    """Those of the atoms, each made when it is first asked for."""

    def __init__(self, told: list[Told]) -> None:
        self._told = told

    def __len__(self) -> int:
        return len(self._told)

    def __getitem__(self, place: Any) -> Any:
        if not isinstance(told := self._told[place], Condition):
            told = self._told[place] = told()
        return told


@dataclass(frozen=True, eq=False)
class Atoms:
    """Conditions, each a range of cells, over N rows."""

    codes: Cells
    """(columns, N), the cell of every row in every column."""
    words: sp.csr_array
    """(N, words), 1 where the row has the word."""
    size: int
    """Number of cells."""
    conditions: Conditions
    first: Ints
    last: Ints
    """Cells of each atom: first, and the one after the last."""
    place: Ints
    """Which row of ``codes`` has the cells of an atom; of words -1, -2, … in their order, each a cell."""
    column: Ints
    """Which column an atom is about; each word counts as a column of its own."""

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


def _joined(blocks: list[Block], rows: int) -> Atoms:
    starts = np.cumsum([0, *(block.size for block in blocks)]).tolist()
    of_words = [block.cells for block in blocks if sp.issparse(block.cells)]
    codes = np.empty((len(blocks) - len(of_words), rows), dtype=np.min_scalar_type(starts[-1]))
    about: dict[tuple[Plain, ...], int] = {}
    conditions = Conditions([told for block in blocks for told, _, _ in block.atoms])
    numbers: list[tuple[int, int, int, int]] = []
    place, words = 0, 0
    for block, start in zip(blocks, starts, strict=False):
        of_column = not sp.issparse(block.cells)
        if of_column:
            codes[place] = block.cells
            codes[place] += start
        for number, (_, first, last) in enumerate(block.atoms):
            if number == 0 or not of_column:
                column = about.setdefault(_subject(conditions[len(numbers)]), len(about))
            numbers.append((start + first, start + last, place if of_column else -1 - words - number, column))
        place, words = place + of_column, words + (0 if of_column else block.size)
    return Atoms(
        codes,
        sp.csr_array(sp.hstack([sp.csr_array((rows, 0)), *of_words], format="csr")),
        starts[-1],
        conditions,
        *np.array(numbers, dtype=np.intp).reshape(-1, 4).T,
    )


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


def _entries(table: Table, home: Home, *, least: int) -> Iterator[Block]:
    """What tables without columns to look at have: the entries of a sparse matrix, the words of texts."""
    if sp.issparse(table):
        present = sp.csr_array(table != 0)
        counts = present.sum(axis=0)
        chosen = np.flatnonzero((counts >= least) & (counts <= table.shape[0] / 2))
        names = [f"{UNNAMED[home]}{index}" for index in chosen.tolist()]
        yield _single(present[:, chosen], [Condition(name, "≠", (0,), home) for name in names])
    elif len(table.shape) == 1:
        yield _words("text", table, home, least=least)


def _blocks_of(column: Column, home: Home, *, least: int, share: int) -> Iterator[Block]:
    """What the kind of the column offers, with missing values before it."""
    name = str(column.name)
    if column.dated or column.numeric:
        block, many = cut(column.values, name, home, share=share), False
    else:
        block, many = _values(column, home, least=least)
    missing = block.size - 1
    if np.count_nonzero(block.cells == missing) >= least:
        block.atoms.insert(0, (Condition(name, "missing", (), home), missing, missing + 1))
    yield block
    if column.dated:
        yield from _calendar(column.values, name, home)
    elif many:
        yield _words(name, column.values, home, least=least)


def _values(column: Column, home: Home, *, least: int) -> tuple[Block, bool]:
    """``column = value``, of too many values for the frequent ones; and whether there are so many, and texts."""
    codes, distinct = coded(column.values)
    name, counts = str(column.name), np.bincount(codes[codes >= 0], minlength=len(distinct))
    many = len(distinct) > policy.MOST_VALUES
    frequent = counts >= (_frequent(len(codes), least) if many else least)
    named = [Condition(name, "=", (value,), home) for value, keep in zip(distinct, frequent, strict=True) if keep]
    cell_of = np.append(np.where(frequent, np.cumsum(frequent) - 1, len(named)), len(named) + 1)  # -1, missing, is last
    return _single(cell_of[codes], named, others=2), many and any(isinstance(value, str) for value in distinct)


def _words(name: str, texts: npt.NDArray[Any], home: Home, *, least: int) -> Block:
    cells, words = words_of(texts, least=_frequent(len(texts), least))
    return _single(cells, [Condition(name, "contains", (word,), home) for word in words])


def _frequent(rows: int, least: int) -> int:
    return max(least, int(np.ceil(policy.FREQUENT * rows)))


def _stretches(ids: npt.NDArray[Any], *, least: int) -> Block:
    """``row a to b``: a half, a quarter, … of the rows in the order of their ids, each in half steps."""
    order = np.argsort(ids, kind="stable")
    size = 64 if len(ids) >= 64 * least else 8
    starts = -(-np.arange(size + 1) * len(ids) // size)  # so that a half, a quarter, … of the rows end where they end
    codes = np.empty(len(ids), dtype=np.uint8)
    codes[order] = np.arange(len(ids)) * size // len(ids)
    atoms: list[tuple[Told, int, int]] = []
    width = size // 2
    while width > 1:
        for first in range(0, size - width + 1, width // 2):
            rows = order[starts[first] : starts[first + width]]
            if len(rows):
                ends = (int(ids[rows[0]]), int(ids[rows[-1]]))
                atoms.append((Condition("row", "between", ends, "rows"), first, first + width))
        width //= 2
    return Block(codes, size, atoms)


def _calendar(dates: npt.NDArray[Any], name: str, home: Home) -> Iterator[Block]:
    """``date = 2024-03``: months and years."""
    for unit in ("M", "Y"):
        distinct, codes = np.unique(dates.astype(f"datetime64[{unit}]"), return_inverse=True)
        count = int((~np.isnat(distinct)).sum())  # NaT is the last, if it is there
        if 1 < count <= policy.MOST_VALUES:
            yield _single(codes, [Condition(name, "=", (str(each),), home) for each in distinct[:count]], others=1)


def _single(cells: Cells | sp.csr_array, conditions: list[Condition], others: int = 0) -> Block:
    """Cells that are an atom each, and after them others that are none."""
    atoms: list[tuple[Told, int, int]] = [(each, cell, cell + 1) for cell, each in enumerate(conditions)]
    return Block(cells, len(conditions) + others, atoms)
