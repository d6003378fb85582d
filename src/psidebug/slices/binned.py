"""The columns of a task in cells: cut once, for every search of either set, and for the words of what is found.

The features of both sets are cut together, so that a condition means the same in both, and the training rows and the
test rows can change places (:mod:`psidebug.evidence.which_set`). Only training rows have metadata.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from psidebug import policy
from psidebug.slices.atoms import Atoms, blocks_of, blocks_of_columns, frequent, joined, stretches
from psidebug.slices.conditions import Ints
from psidebug.slices.ranges import Block
from psidebug.task.columns import Column, columns
from psidebug.task.tables import Table, take
from psidebug.task.task import Task

MOST_CELLS, LEAST_SEARCHED = 4_000_000, 5_000
"""Rows × columns to search in; of more rows a part is searched, and what is found is measured on all of them."""
LETTERS = 6.0
"""Of a word and the space after it, to guess the number of words."""


class Side(NamedTuple):
    """The rows of one set that are searched, and the conditions on them."""

    rows: Ints
    """Positions in the set."""
    before: list[Block]
    """Of the metadata."""
    features: list[Block]
    after: list[Block]
    """Of the order of the rows."""


@dataclass(frozen=True, eq=False)
class Binned:
    """What searches look at; it does not depend on the labels."""

    train: Side
    test: Side
    features_of_both: list[Block]
    """Over the training rows and then the test rows."""
    least: int
    """Rows that a slice must have."""

    @classmethod
    def of(cls, task: Task, *, least: int = policy.LEAST_ROWS) -> Binned:
        """Cut every column of a task."""
        rows, others = searched_rows(task), _some(np.arange(len(task.test)), [task.test.features])
        both, of_rows, of_others = _cut(take(task.train.features, rows), take(task.test.features, others), least)
        metadata = task.data.metadata
        before = [] if metadata is None else blocks_of(take(metadata, rows), "metadata", least=least)
        train = Side(rows, before, of_rows, stretches(task.rows[rows], least=least))
        test = Side(others, [], of_others, stretches(others, least=least))
        return cls(train, test, both, least)

    @property
    def rows(self) -> Ints:
        """The training rows that are searched."""
        return self.train.rows

    @property
    def exchanged(self) -> Binned:
        """Those of the sets in each other's place."""
        count, total = len(self.train.rows), len(self.train.rows) + len(self.test.rows)
        order = np.roll(np.arange(total), -count)
        train = self.test
        return Binned(train, self.train, [each.at(order) for each in self.features_of_both], self.least)

    @cached_property
    def atoms(self) -> Atoms:
        """All conditions on the searched training rows."""
        return joined([*self.train.before, *self.train.features, *self.train.after], len(self.rows))

    @cached_property
    def of_both(self) -> Atoms:
        """The conditions on the features, over the searched training rows and then the test rows."""
        return joined(self.features_of_both, len(self.train.rows) + len(self.test.rows))


def _cut(first: Table, second: Table, least: int) -> tuple[list[Block], list[Block], list[Block]]:
    """The features of both sets, of the first, and of the second; in each what is frequent there.

    A column of which the libraries made different kinds is one of objects in both, and cut in each by what it is there.
    """
    split = int(first.shape[0])
    if sp.issparse(first) or len(first.shape) == 1:
        together = sp.vstack([first, second], format="csr") if sp.issparse(first) else np.concatenate([first, second])
        return _views(blocks_of(together, "features", least=least, split=split), split, least)
    one, other = columns(first), columns(second)
    both = blocks_of_columns(list(map(_appended, one, other)), "features", least=least, split=split)
    both, of_one, of_other = _views(both, split, least)
    if all(map(_alike, one, other)):
        return both, of_one, of_other
    return both, blocks_of_columns(one, "features", least=least), blocks_of_columns(other, "features", least=least)


def _views(blocks: list[Block], split: int, least: int) -> tuple[list[Block], list[Block], list[Block]]:
    parts = slice(None), slice(0, split), slice(split, None)
    both, first, second = ([_frequent(each.at(rows), least) for each in blocks] for rows in parts)
    return both, first, second


def _frequent(block: Block, least: int) -> Block:
    return block.frequent(frequent(block.cells.shape[0], least))


def _alike(first: Column, second: Column) -> bool:
    """Whether they are of one kind."""
    return first.values.dtype.kind == second.values.dtype.kind or (first.numeric and second.numeric)


def _appended(first: Column, second: Column) -> Column:
    """One column of both; as objects where they are of different kinds."""
    parts = [first.values, second.values]
    if not _alike(first, second):
        parts = [each.astype(object) for each in parts]
    return Column(first.name, np.concatenate(parts))


def searched_rows(task: Task) -> Ints:
    """Positions of the training rows to search, by chance but always the same."""
    tables = [task.train.features] if task.data.metadata is None else [task.train.features, task.data.metadata]
    return _some(task.data.in_order_of_ids, tables)


def _some(order: Ints, tables: list[Table]) -> Ints:
    """All rows of these tables, or as many as can be held."""
    rows = len(order)
    most = max(LEAST_SEARCHED, int(MOST_CELLS / sum(map(_width, tables))))
    if rows <= most:
        return np.arange(rows)
    return np.sort(order[np.random.default_rng(0).choice(rows, most, replace=False)])


def _width(table: Table) -> float:
    """About how many cells a row is in: one of each column, or one for each entry or word."""
    if sp.issparse(table):
        return max(1.0, float(table.nnz / table.shape[0]))
    if len(table.shape) == 2:
        return float(table.shape[1])
    return max(1.0, float(np.mean([len(text) for text in table[:1000]])) / LETTERS)
