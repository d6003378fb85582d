"""Rows that are equal: test rows among the training rows, and training rows with different labels.

Every row has a key, a 64-bit number that is the same for the same values. It is a sum over the columns, so that the
keys of two halves of the columns come for free.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from psidebug import policy
from psidebug.checks.check import Check
from psidebug.checks.pairs import Pair, Values, pairs_of
from psidebug.task.data import Data
from psidebug.task.tables import Table

Keys = npt.NDArray[np.uint64]
FIRST, SECOND = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)
"""Odd numbers without a pattern in their bits."""


@dataclass(frozen=True, eq=False)
class EqualRows:
    """Which training rows are equal to each other, and which test rows are equal to one of them."""

    halves: tuple[Keys, Keys]
    """Keys of the training rows by every other column, from the first and from the second on."""
    test: Keys

    @cached_property
    def train(self) -> Keys:
        """Keys of the training rows by all columns."""
        return self.halves[0] + self.halves[1]

    @cached_property
    def order(self) -> npt.NDArray[np.intp]:
        """The training rows with equal ones next to each other."""
        return np.argsort(self.train)

    @cached_property
    def starts(self) -> npt.NDArray[np.intp]:
        """Where in that order the rows differ from those before."""
        ordered = self.train[self.order]
        return np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))

    @property
    def copied(self) -> bool:
        """Whether equal rows are copies, rather than different things that look alike in a few coarse columns.

        Then half of the columns tell rows apart as well as all of them do.
        """
        found = len(self.starts)
        if found < policy.COPIES_LEAST_DIFFERENT * len(self.train):
            return False
        return any(different(half) >= policy.COPIES_BY_HALF * found for half in self.halves)


def different(keys: Keys) -> int:
    """How many different ones there are; a hash of each, as in ``numpy.unique``, takes several times as long."""
    ordered = np.sort(keys)
    return int(np.count_nonzero(ordered[1:] != ordered[:-1])) + min(len(keys), 1)


_FOUND: WeakKeyDictionary[Data, EqualRows] = WeakKeyDictionary()


def rows_of(data: Data, *, last: bool = False) -> EqualRows:
    """The equal rows of both sets, compared once: causes ask for them, and then the checks, the ``last`` to do so."""
    found = _FOUND.pop(data, None)
    if found is None:
        train, test = data.train.features, data.test.features
        found = equal_rows(train, test, pairs_of(train, test))
    if not last:
        _FOUND[data] = found
    return found


def equal_rows(train: Table, test: Table, pairs: Iterable[Pair]) -> EqualRows:
    """Compare all rows by their features."""
    if sp.issparse(train):
        first, second = _sparse_keys(train), _sparse_keys(test)
    else:
        first, second = (
            (np.zeros(each.shape[0], np.uint64), np.zeros(each.shape[0], np.uint64)) for each in (train, test)
        )
        for place, pair in enumerate(pairs):
            kind = np.result_type(pair.train, pair.test)
            seed = _mixed(np.array([place + 1], dtype=np.uint64))
            first[place % 2][:] += _mixed(_bits(pair.train, kind) ^ seed)
            second[place % 2][:] += _mixed(_bits(pair.test, kind) ^ seed)
    return EqualRows(first, second[0] + second[1])


def overlap(found: EqualRows) -> Check | None:
    """Test rows that are training rows too, if they are more than chance explains.

    The training rows tell what chance explains: where few values are possible, most of them have a twin.
    """
    ordered = found.train[found.order]
    place = np.searchsorted(ordered, found.test).clip(max=len(ordered) - 1)
    shared, rows = int((ordered[place] == found.test).sum()), len(found.test)
    sizes = np.diff(np.append(found.starts, len(ordered)))
    twins = float(sizes[sizes > 1].sum() + 1) / (len(ordered) + 1)  # that there are none may be chance too
    by_chance = policy.OVERLAP_ERRORS * np.sqrt(rows * twins * (1.0 - twins))
    if shared - twins * rows <= max(policy.OVERLAP_SHARE * rows, 1.0, by_chance):
        return None
    return Check(
        "overlapping rows",
        f"{shared:,} of {rows:,} test rows are also training rows: a model is right about rows that it has learned, "
        f"even with wrong labels. Test on held-out rows.",
    )


def contradictions(found: EqualRows, data: Data) -> Check | None:
    """Training rows that are copies of each other and have different labels."""
    rows = len(found.train)
    if len(found.starts) == rows or rows < policy.LEAST_ROWS_CHECKED:
        return None
    labels = data.train.codes[found.order]
    lowest, highest = (each.reduceat(labels, found.starts) for each in (np.minimum, np.maximum))
    split = np.flatnonzero(lowest != highest)
    if not len(split) or not found.copied:
        return None
    sizes = np.diff(np.append(found.starts, rows))
    first = found.order[found.starts[split[0]] : found.starts[split[0]] + sizes[split[0]]]
    other = first[data.train.codes[first] != data.train.codes[first[0]]][0]
    one, another = sorted([int(first[0]), int(other)])
    return Check(
        "contradicting duplicates",
        f"{int(sizes[split].sum()):,} training rows have an equal row with another label, for instance rows "
        f"{data.rows[one]} and {data.rows[another]}: at most one of the labels is right. Look at these rows first.",
    )


def _bits(values: Values, kind: np.dtype[Any]) -> Keys:
    """The numbers of one column as bits, the same for numbers that are equal."""
    if kind.kind in "iu":
        return values.astype(np.uint64) if kind.kind == "u" else values.astype(np.int64).view(np.uint64)
    numbers = values.astype(np.float64) + 0.0  # -0 is 0
    numbers[np.isnan(numbers)] = np.nan  # there are many
    return numbers.view(np.uint64)


def _mixed(bits: Keys) -> Keys:
    """Each number with every bit of it spread over all bits."""
    mixed = (bits ^ (bits >> np.uint64(32))) * FIRST
    mixed ^= mixed >> np.uint64(29)
    mixed *= SECOND
    mixed ^= mixed >> np.uint64(32)
    return mixed


def _sparse_keys(table: Any) -> tuple[Keys, Keys]:
    """Keys by both halves of the columns; entries that are 0 count for nothing."""
    if not table.has_canonical_format:
        table = table.copy()
        table.sum_duplicates()
    seeds = _mixed(np.arange(1, table.shape[1] + 1, dtype=np.uint64))
    entries = _mixed(_bits(table.data, np.dtype(np.float64)) ^ seeds[table.indices])
    entries[table.data == 0] = 0
    halves = []
    for half in range(2):
        ends = np.append(np.uint64(0), np.cumsum(np.where(table.indices % 2 == half, entries, 0), dtype=np.uint64))
        halves.append(ends[table.indptr[1:]] - ends[table.indptr[:-1]])
    return halves[0], halves[1]
