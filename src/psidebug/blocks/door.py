"""The door for training rows that do not come as one table in memory: files, engines, blocks."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from typing import Any

import pyarrow.dataset as ds

from psidebug.blocks.blocks import Blocks
from psidebug.blocks.parquet import parquet_blocks
from psidebug.errors import UnsupportedFeatures


def comes_in_blocks(rows: Any) -> bool:
    """Whether ``rows`` are such: a path, a pattern, a ``pyarrow.dataset``, or blocks."""
    return isinstance(rows, str | PathLike | ds.Dataset | Blocks)


def blocks_of(rows: Any, *, workers: int = 1, seen: Callable[[int], None] | None = None) -> Blocks:
    """The rows as blocks; ``seen`` is called with the bytes read so far, where that is known.

    A further kind of rows (an engine's data frame) is told apart here, by a look at its type.
    """
    if isinstance(rows, Blocks):
        return rows
    if comes_in_blocks(rows) and (not isinstance(rows, ds.Dataset) or isinstance(rows, ds.FileSystemDataset)):
        return parquet_blocks(rows, workers=workers, seen=seen)
    raise UnsupportedFeatures(
        f"{type(rows).__name__} cannot be read in blocks: give a path, a pattern such as 'train/*.parquet', or a "
        f"pyarrow.dataset of Parquet files."
    )
