"""Atoms: all conditions on one column that a slice may be made of, in a form that counts thousands of them at once.

Every column is cut into *cells*, sets of rows that do not overlap (its values, bins of numbers or dates, "missing"); a
word is a cell of its own. Cells of one column are next to each other, so an atom is a range of cells [first, last): one
of them for ``city = Lima``, several for ``age ≤ 30``. The counts of all atoms are one sparse product over the cells and
sums over ranges, and the matrix has one entry for a row and column however many atoms overlap there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from psidebug import policy
from psidebug.slices.conditions import UNNAMED, Condition, Home, Ints, Plain, coded, missing, words_of
from psidebug.slices.ranges import cut
from psidebug.task.tables import Column, Table, column_of, columns

Floats = npt.NDArray[np.float64]

MOST_ATOMS = 20_000
"""Numbers are cut less finely where there are so many columns that their ranges would be more than this."""


@dataclass(frozen=True, eq=False)
class Atoms:
    """Conditions, each a range of cells, over N rows."""

    cells: sp.csr_array
    """(N, C), 1 where the row is in the cell."""
    conditions: Sequence[Condition]
    first: Ints
    last: Ints
    """Cells of each atom: first, and the one after the last."""
    column: Ints
    """Which column an atom is about; each word counts as a column of its own."""

    @cached_property
    def _by_cell(self) -> sp.csc_array:
        return self.cells.tocsc()

    def tally(self, rows: Ints, scores: Floats) -> tuple[Floats, Floats]:
        """For every atom the number of these rows that it has, and the sum of their scores."""
        sums = self.cells[rows].T @ np.column_stack([np.ones(len(rows)), scores[rows]])
        padded = np.vstack([sums, np.zeros((1, 2))])  # reduceat takes no index after the end
        ranges = np.add.reduceat(padded, np.column_stack([self.first, self.last]).ravel(), axis=0)[::2]
        return ranges[:, 0], ranges[:, 1]

    def members(self, atom: int, *others: int) -> Ints:
        """The rows of an atom, or of all of several, in order."""
        part = slice(self._by_cell.indptr[self.first[atom]], self._by_cell.indptr[self.last[atom]])
        rows = np.sort(self._by_cell.indices[part]).astype(np.intp)
        return np.intersect1d(rows, self.members(*others), assume_unique=True) if others else rows


Block = tuple[sp.csr_array, list[tuple[Condition, int, int]]]
"""Cells of one column, and the ranges of them that make an atom."""


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
    offsets = np.cumsum([0, *(cells.shape[1] for cells, _ in blocks)])
    found = [
        (condition, offset + first, offset + last)
        for (_, atoms), offset in zip(blocks, offsets.tolist(), strict=False)
        for condition, first, last in atoms
    ]
    about: dict[tuple[Plain, ...], int] = {}
    column = [about.setdefault(_subject(condition), len(about)) for condition, _, _ in found]
    return Atoms(
        cells=sp.csr_array(sp.hstack([sp.csr_array((rows, 0)), *(cells for cells, _ in blocks)], format="csr")),
        conditions=[condition for condition, _, _ in found],
        first=np.array([first for _, first, _ in found], dtype=np.intp),
        last=np.array([last for _, _, last in found], dtype=np.intp),
        column=np.array(column, dtype=np.intp),
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
    """Missing values, and what the kind of the column offers."""
    name, absent = str(column.name), missing(column)
    if absent.sum() >= least:
        yield _single(sp.csr_array(absent[:, None]), [Condition(name, "missing", (), home)])
    if absent.all():
        return
    if column.dated or column.numeric:
        codes, size, atoms = cut(column.values, name, home, share=share)
        yield _cells(codes, size), atoms
    if column.dated:
        yield from _calendar(column.values, name, home)
    elif not column.numeric:
        yield from _values(column, home, least=least)


def _values(column: Column, home: Home, *, least: int) -> Iterator[Block]:
    """``column = value``; where there are too many values the frequent ones, and words if they are texts."""
    codes, distinct = coded(column.values)
    name, counts = str(column.name), np.bincount(codes[codes >= 0], minlength=len(distinct))
    many = len(distinct) > policy.MOST_VALUES
    frequent = counts >= (_frequent(len(codes), least) if many else least)
    kept = np.append(np.where(frequent, np.cumsum(frequent) - 1, -1), -1)  # and a place for code -1
    named = [Condition(name, "=", (value,), home) for value, keep in zip(distinct, frequent, strict=True) if keep]
    yield _single(_cells(kept[codes], len(named)), named)
    if many and any(isinstance(value, str) for value in distinct):
        yield _words(name, column.values, home, least=least)


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
    codes = np.empty(len(ids), dtype=np.intp)
    codes[order] = np.arange(len(ids)) * size // len(ids)
    atoms, width = [], size // 2
    while width > 1:
        for first in range(0, size - width + 1, width // 2):
            rows = order[starts[first] : starts[first + width]]
            if len(rows):
                ends = (int(ids[rows[0]]), int(ids[rows[-1]]))
                atoms.append((Condition("row", "between", ends, "rows"), first, first + width))
        width //= 2
    return _cells(codes, size), atoms


def _calendar(dates: npt.NDArray[Any], name: str, home: Home) -> Iterator[Block]:
    """``date = 2024-03``: months and years."""
    for unit in ("M", "Y"):
        distinct, codes = np.unique(dates.astype(f"datetime64[{unit}]"), return_inverse=True)
        count = int((~np.isnat(distinct)).sum())  # NaT is the last, if it is there
        if 1 < count <= policy.MOST_VALUES:
            named = [Condition(name, "=", (str(each),), home) for each in distinct[:count]]
            yield _single(_cells(np.where(codes < count, codes, -1), count), named)


def _cells(codes: Ints, size: int) -> sp.csr_array:
    """Rows × cells from the cell of each row, -1 for none."""
    inside = codes >= 0
    indptr = np.concatenate([[0], np.cumsum(inside)])
    return sp.csr_array((np.ones(indptr[-1]), codes[inside], indptr), shape=(len(codes), size))


def _single(cells: sp.csr_array, conditions: list[Condition]) -> Block:
    """Cells that are an atom each."""
    return cells.astype(np.float64), [(condition, cell, cell + 1) for cell, condition in enumerate(conditions)]
