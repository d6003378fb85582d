"""``Profile``: what is kept of one ordinary fit of a tree ensemble.

The score of row x in column c is  f_c(x) = f_0c + Σ_{trees n of column c} s_n[leaf_n(x)]. The rounds are kept apart
since all trees of one round see the same residuals. Leaf indices are stored in the smallest integer type that holds
them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from psidebug.errors import LearnerMismatch
from psidebug.graybox.protocol import Floats
from psidebug.graybox.trees.fitted import Fitted
from psidebug.graybox.trees.loss import Loss
from psidebug.graybox.trees.start import Start
from psidebug.graybox.trees.weighting import Weighting
from psidebug.task.labels import Codes
from psidebug.task.tables import Table, is_frame, row_count, take

Leaves = npt.NDArray[np.unsignedinteger[Any]]
Bag = npt.NDArray[Any]  # of the smallest type that holds it: 0 or 1 under subsampling, weights under a bootstrap
TOLERANCE = 1e-5
ROWS_AT_ONCE = 20_000


@dataclass(frozen=True, eq=False)
class Tree:
    """One tree of one column: regions as leaf indices, and the rule of its leaf values."""

    train: Leaves
    """Leaf of every training row (N,)."""
    test: Leaves
    """Leaf of every test row."""
    values: Floats
    """s, what each leaf adds to the score: shrunk, and without the first score."""
    column: int
    rate: float
    """ρ: learning rate, times whatever factor the library puts on the leaf value."""
    l2: Floats
    """λ by leaf."""
    l1: float = 0.0
    least_hessian: float = 0.0
    """The least Σ Hessian that the library lets a leaf have: no other world divides by less."""
    bag: Bag | None = None
    """How often each training row counts in this tree's leaf values; None: once each."""
    fixed: bool = False
    """Whether the values stay as they are whatever the labels: a tree without a split, in some libraries."""
    steps: int = 1
    """How many Newton steps its leaf values take."""


Rounds = tuple[tuple[Tree, ...], ...]


@dataclass(frozen=True, eq=False)
class Profile:
    """A fitted ensemble: rounds of trees, the first score, the loss, and how rows are weighted."""

    rounds: Rounds
    start: Start
    loss: Loss
    weighting: Weighting
    columns: int
    """1 for two classes under log loss, else one per class."""
    given: Codes
    """The training labels the ensemble was fitted on."""
    classes: int
    averaged: bool = False
    """Whether scores are mean probabilities (forests) rather than log odds."""
    notes: tuple[str, ...] = ()
    """What a reader of the answers should know."""

    @property
    def trees(self) -> Iterator[Tree]:
        """All trees in the order in which they were grown."""
        return (tree for trees in self.rounds for tree in trees)

    @property
    def test_size(self) -> int:
        """Number of test rows."""
        return len(self.rounds[0][0].test)

    def scores(self, which: str, rows: slice = slice(None)) -> Floats:
        """Σ of the profiled leaf values for these ``"train"`` or ``"test"`` rows, shape (columns, rows)."""
        size = len(getattr(self.rounds[0][0], which)[rows])
        total = np.repeat(self.start.value[:, None], size, axis=1)
        for tree in self.trees:
            total[tree.column] += tree.values[getattr(tree, which)[rows]]
        return total


def checked(profile: Profile, raw: Callable[[Table], Any], fitted: Fitted) -> Profile:
    """The profile, if its leaf values add up to the model's own raw scores, within 1e-5 of their scale; or a refusal.

    ``raw`` gives the model's scores of a table, shape (rows,) or (rows, columns). All test rows are compared, and of
    the training rows at most 20,000, evenly spaced.
    """
    for which, table in (("train", fitted.train), ("test", fitted.test)):
        rows, some = sampled(table) if which == "train" else (slice(None), table)
        own = np.asarray(raw(some), dtype=np.float64).reshape(row_count(some), profile.columns)
        added = profile.scores(which, rows).T
        gap = float(np.abs(added - own).max(initial=0.0))
        if not gap <= TOLERANCE * max(1.0, float(np.abs(own).max(initial=0.0))):
            raise LearnerMismatch(
                f"the leaf values read from this {fitted.name} add up to scores {gap:.2g} away from its own on the "
                f"{which} rows, so its trees are not understood. Use graybox='retrain', and tell us the settings "
                f"and the library's version."
            )
    return profile


def leaf_indices(blocks: Iterable[npt.NDArray[Any]], rows: int, largest: int) -> Leaves:
    """Leaf indices (trees, rows) from blocks (rows of the block, trees), in the smallest type that holds them."""
    kind: Any = next(t for t in (np.uint8, np.uint16, np.uint32) if largest <= np.iinfo(t).max)
    leaves: Leaves | None = None
    done = 0
    for block in blocks:
        if leaves is None:
            leaves = np.empty((block.shape[1], rows), dtype=kind)
        leaves[:, done : done + len(block)] = block.astype(kind).T  # small numbers are quicker to turn round
        done += len(block)
    if leaves is None:
        return np.empty((0, rows), dtype=kind)
    return leaves


def row_blocks(table: Table, size: int = ROWS_AT_ONCE) -> Iterator[Table]:
    """The table in blocks of rows, so that what a library returns about each fits in memory."""
    count = row_count(table)
    if count <= size:
        yield table
        return
    for begin in range(0, count, size):
        end = min(begin + size, count)
        yield take(table, np.arange(begin, end)) if is_frame(table) else table[begin:end]


def sampled(table: Table, most: int = ROWS_AT_ONCE) -> tuple[slice, Table]:
    """At most this many rows, evenly spaced: those whose scores are compared with the model's own."""
    rows = slice(0, row_count(table), max(1, -(-row_count(table) // most)))
    if rows.step == 1:
        return slice(None), table
    return rows, take(table, np.arange(*rows.indices(row_count(table)))) if is_frame(table) else table[rows]
