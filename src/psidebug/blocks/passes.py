"""Passes that every kind of blocks has: sums, the first rows by a score, rows drawn by chance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from psidebug.blocks.block import Block
from psidebug.blocks.blocks import Blocks

Floats = npt.NDArray[np.float64]
Sums = dict[str, Any]
"""Numbers and arrays by name; those of two blocks are added name by name."""


def added(left: Sums, right: Sums) -> Sums:
    """Both sums in one."""
    return {name: left[name] + right[name] for name in left}


def sums(blocks: Blocks, function: Callable[[Block], Sums], columns: Sequence[str] | None = None) -> Sums:
    """Σ over all blocks of what ``function`` says of each: the same bits for any partition and number of workers."""
    return blocks.reduce(function, added, columns)


def first_rows(left: pa.Table, right: pa.Table, *, count: int, by: str) -> pa.Table:
    """Of two tables that have the columns ``by`` and ``row``, the rows of highest ``by``; of equals the earlier."""
    both = pa.concat_tables([left, right])
    order = np.lexsort((both.column("row").to_numpy(), -both.column(by).to_numpy()))
    return both.take(np.sort(order[:count]))


def top(
    blocks: Blocks,
    function: Callable[[Block], pa.Table],
    count: int,
    *,
    by: str,
    columns: Sequence[str] | None = None,
) -> pa.Table:
    """The ``count`` rows of highest ``by`` of the tables that ``function`` makes of blocks, in the order of rows.

    The tables have a column ``row``, the row's number among all, and one of numbers named ``by``.
    """
    merge = partial(first_rows, count=count, by=by)

    def best(block: Block) -> pa.Table:
        made = function(block)
        return merge(made, made.slice(0, 0))

    return blocks.reduce(best, merge, columns)


def lots(rows: npt.NDArray[np.int64], seed: int) -> Floats:
    """A number in [0, 1) for each row by its number among all and the seed (SplitMix64): whoever asks gets the same."""
    with np.errstate(over="ignore"):
        z = rows.astype(np.uint64) + np.uint64(seed) * np.uint64(0xD1342543DE82EF95)
        z = (z + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z ^= z >> np.uint64(31)
    return (z >> np.uint64(11)).astype(np.float64) / 2.0**53


def with_lots(block: Block, seed: int) -> pa.Table:
    """The rows of a block with their numbers (``row``) and lots (``lot``)."""
    return block.table.append_column("row", pa.array(block.rows)).append_column("lot", pa.array(lots(block.rows, seed)))


def drawn(blocks: Blocks, count: int, seed: int, columns: Sequence[str] | None = None) -> pa.Table:
    """``count`` rows drawn by chance without replacement, in the order of rows: those with the highest lots."""
    return top(blocks, partial(with_lots, seed=seed), count, by="lot", columns=columns)
