"""Rows in memory, as blocks: the simplest kind, and the one that the others are compared with."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import pyarrow as pa

from psidebug.blocks.block import Block, cut, plain
from psidebug.blocks.blocks import Blocks
from psidebug.blocks.ordered import in_order

T = TypeVar("T")


class ArrayBlocks(Blocks):
    """A table in memory, whole or in parts that follow each other."""

    def __init__(self, *parts: pa.Table, workers: int = 1) -> None:
        self.schema = plain(parts[0].schema)
        self._parts, self._workers = [part.cast(self.schema) for part in parts], workers

    def __len__(self) -> int:
        return sum(part.num_rows for part in self._parts)

    def map(self, function: Callable[[Block], T], columns: Sequence[str] | None = None) -> Iterator[T]:
        """``function`` of every block, in the order of rows."""
        chosen = [part if columns is None else part.select(list(columns)) for part in self._parts]
        self.readings += 1
        self.bytes_read += sum(part.nbytes for part in chosen)
        return in_order(function, cut(chosen), self._workers)
