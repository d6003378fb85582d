"""Training rows in blocks: what a file, an array or a cluster must offer, and what follows from that."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from psidebug.blocks.block import Block
from psidebug.blocks.tree import Node, merged
from psidebug.errors import OutputError, UnsupportedFeatures

T = TypeVar("T")
Training = Literal["sums", "turns", "rows", "cluster"]
"""By sums over blocks, by one block after the other, by rows that come to this process, or by a library's own program
on the cluster that has the rows."""


class Blocks(ABC):
    """Rows that are read block by block, as often as is asked; see :mod:`psidebug.blocks` for how to add a kind."""

    schema: pa.Schema
    """Names and types of the columns."""
    called: ClassVar[str] = "this process"
    """Who reads the rows."""
    offers: tuple[Training, ...] = ("sums", "turns", "rows")
    """What learners may be trained by."""
    paths: Sequence[Path] = ()
    """The files that they are read from, if they are."""
    readings: int = 0
    """How often all rows were read so far."""
    bytes_read: int = 0
    """How many bytes that were, as they are stored."""

    @abstractmethod
    def __len__(self) -> int:
        """N, the number of rows."""

    @abstractmethod
    def map(self, function: Callable[[Block], T], columns: Sequence[str] | None = None) -> Iterator[T]:
        """``function`` of every block, in the order of rows; ``columns`` are those that it needs, or all."""

    def reduce(
        self, function: Callable[[Block], T], merge: Callable[[T, T], T], columns: Sequence[str] | None = None
    ) -> T:
        """``merge`` of the ``function`` of all blocks, in the order of :mod:`psidebug.blocks.tree`."""
        parts = (Node(0, number, value) for number, value in enumerate(self.map(function, columns)))
        value = merged(parts, merge)
        if value is None:
            raise UnsupportedFeatures("the training data have no rows.")
        return value

    def fold(self, function: Callable[[T, Block], T], start: T, columns: Sequence[str] | None = None) -> T:
        """``function`` of a state and each block in turn, for what cannot be merged; it may change its state."""
        state = start
        for block in self.map(_itself, columns):
            state = function(state, block)
        return state

    def check_place(self, folder: Path) -> None:
        """Refuse a folder that is not there for whoever writes the answers of :meth:`write`."""
        if not folder.is_dir():
            raise OutputError(f"there is no folder {folder} to write to: make it, or name another.")

    def write(self, function: Callable[[Block], pa.Table], path: Path, columns: Sequence[str] | None = None) -> None:
        """The tables that ``function`` makes of blocks, in the order of rows, as Parquet at ``path``.

        One file here; where workers write, a folder of files whose names are in the order of rows.
        """
        writer: Any = None
        try:
            for table in self.map(function, columns):
                if writer is None:  # numbers hardly repeat: looking for a dictionary of them takes a third of the time
                    texts = [field.name for field in table.schema if not pa.types.is_floating(field.type)]
                    writer = pq.ParquetWriter(path, table.schema, use_dictionary=texts, write_statistics=False)
                writer.write_table(table)
        finally:
            if writer is not None:
                writer.close()


def _itself(block: Block) -> Block:
    return block
