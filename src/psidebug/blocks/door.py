"""The door for training rows that do not come as one table in memory: files, data frames of engines, blocks.

Data frames of engines are told apart by the names of their types: nothing is imported for who does not use them.
"""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from typing import Any

import pyarrow.dataset as ds

from psidebug.blocks.blocks import Blocks
from psidebug.blocks.parquet import parquet_blocks
from psidebug.errors import ShapeMismatch, UnsupportedFeatures

LABEL = "label"
"""What the labels are called that come beside an array."""


def comes_in_blocks(rows: Any) -> bool:
    """Whether ``rows`` are such: a path, a pattern, a ``pyarrow.dataset``, a frame of Dask or Spark, or blocks."""
    return isinstance(rows, str | PathLike | ds.Dataset | Blocks) or _engine_of(rows) is not None


def blocks_of(rows: Any, *, workers: int = 1, seen: Callable[[int], None] | None = None) -> Blocks:
    """The rows as blocks; ``seen`` is called with the bytes read so far, where that is known."""
    if isinstance(rows, Blocks):
        return rows
    if (engine := _engine_of(rows)) is not None:
        return engine(rows)
    if comes_in_blocks(rows) and (not isinstance(rows, ds.Dataset) or isinstance(rows, ds.FileSystemDataset)):
        return parquet_blocks(rows, workers=workers, seen=seen)
    raise UnsupportedFeatures(
        f"{type(rows).__name__} cannot be read in blocks: give a path, a pattern such as 'train/*.parquet', a "
        f"pyarrow.dataset of Parquet files, or a data frame of Dask or Spark."
    )


def with_labels(rows: Any, label: Any) -> tuple[Any, str]:
    """Rows that hold their labels, and the name of that column; a ``dask.array`` comes with one of its labels."""
    if _is_a(rows, "dask.array", "Array"):
        if not _is_a(label, "dask.array", "Array"):
            raise ShapeMismatch("X_train is a dask.array: give y_train as one, too, or a Dask data frame and a name.")
        from psidebug.blocks.dask import frame_of_arrays

        return frame_of_arrays(rows, names_of_columns(rows), **{LABEL: label}), LABEL
    if not isinstance(label, str):
        raise UnsupportedFeatures(
            f"y_train is a {type(label).__name__}: where rows are read in blocks, give the name of the label column."
        )
    return rows, label


def names_of_columns(array: Any) -> list[str]:
    """Names for the columns of an array (n, d): x0, x1, …"""
    if array.ndim != 2:
        raise ShapeMismatch(f"the features have the shape {array.shape}: give one row of numbers for each label.")
    return [f"x{place}" for place in range(array.shape[1])]


def _engine_of(rows: Any) -> Callable[[Any], Blocks] | None:
    """Who makes blocks of such rows; None if they are of no engine."""
    if _is_a(rows, "dask.dataframe", "DataFrame") or _is_a(rows, "dask.array", "Array"):
        return _of_dask
    if _is_a(rows, "pyspark.sql", "DataFrame"):
        return _of_spark
    return None


def _of_dask(frame: Any) -> Blocks:
    from psidebug.blocks.dask import DaskBlocks

    return DaskBlocks(frame)


def _of_spark(frame: Any) -> Blocks:
    from psidebug.blocks.spark import SparkBlocks

    return SparkBlocks(frame)


def _is_a(thing: Any, module: str, name: str) -> bool:
    """Whether the type, or one that it inherits from, has this name and comes from this package."""
    return any(each.__name__ == name and f"{each.__module__}.".startswith(f"{module}.") for each in type(thing).__mro__)
