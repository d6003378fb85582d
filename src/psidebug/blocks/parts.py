"""Partitions do not end where blocks do: which blocks begin in a partition, and what its worker does with them.

Linear algebra has one thread there, too: the last digit of its sums depends on their number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from psidebug.blocks.block import ROWS, Block, plain
from psidebug.blocks.tree import Node, nodes_of
from psidebug.errors import ShapeMismatch, UnsupportedFeatures
from psidebug.threads import one_blas_thread

T = TypeVar("T")


@dataclass(frozen=True)
class Part:
    """A partition: rows ``start`` … ``start + rows - 1`` of ``total``."""

    start: int
    rows: int
    total: int

    @property
    def stop(self) -> int:
        """The number of the row after its last."""
        return self.start + self.rows

    @property
    def first(self) -> int:
        """The first row, here or later, at which a block begins."""
        return -(-self.start // ROWS) * ROWS

    @property
    def begins_no_block(self) -> bool:
        """All its rows belong to a block that begins earlier."""
        return self.first >= self.stop

    @property
    def skipped(self) -> int:
        """Its rows that belong to a block that begins earlier."""
        return min(self.first, self.stop) - self.start

    @property
    def needed(self) -> int:
        """Rows after its own that its last block needs."""
        return min(-(-self.stop // ROWS) * ROWS, self.total) - self.stop


def parts_of(sizes: Sequence[int]) -> list[Part]:
    """Partitions of these sizes, one after the other."""
    total = sum(sizes)
    if total == 0:
        raise UnsupportedFeatures("the training data have no rows.")
    return [Part(stop - rows, rows, total) for stop, rows in zip(accumulate(sizes), sizes, strict=True)]


def schema_of_parts(schemas: Iterable[pa.Schema]) -> pa.Schema:
    """The one schema of all parts; a column that is empty in some of them has its type from the others."""
    known: dict[str, pa.DataType] = {}
    first: pa.Schema | None = None
    for schema in map(plain, schemas):
        first = first or schema
        if schema.names != first.names:
            odd = sorted(set(schema.names) ^ set(first.names))
            raise ShapeMismatch(f"partitions have different columns ({', '.join(odd[:3])}): give all the same.")
        for field in schema:
            before = known.get(field.name, pa.null())
            if pa.types.is_null(before):
                known[field.name] = field.type
            elif not pa.types.is_null(field.type) and field.type != before:
                raise ShapeMismatch(
                    f"column {field.name!r} is {before} in one partition and {field.type} in another: give it one type."
                )
    return pa.schema(list(known.items()))


def merged_run(blocks: Iterable[Block], *, function: Callable[[Block], T], merge: Callable[[T, T], T]) -> list[Node[T]]:
    """What blocks that follow each other say, merged as far as they make nodes of the tree."""
    with one_blas_thread():
        return nodes_of((Node(0, block.number, function(block)) for block in blocks), merge)


def mapped_run(blocks: Iterable[Block], *, function: Callable[[Block], T]) -> list[Node[T]]:
    """What each of these blocks says."""
    with one_blas_thread():
        return [Node(0, block.number, function(block)) for block in blocks]


def written_run(blocks: Iterable[Block], *, function: Callable[[Block], pa.Table], folder: Path) -> list[Node[None]]:
    """The tables that ``function`` makes of blocks that follow each other, as one file; the same if done twice."""
    writer: Any = None
    for block in blocks:
        with one_blas_thread():
            table = function(block)
        if writer is None:
            name = f"part-{block.number:09d}.parquet"
            unfinished = folder / f".{uuid4().hex}-{name}"  # a worker that was given up may still write its own
            writer = pq.ParquetWriter(unfinished, table.schema)
        writer.write_table(table)
    if writer is not None:
        writer.close()
        unfinished.replace(folder / name)
    return []
