"""Dask data frames as blocks: every partition works on the blocks that begin in it, on the user's own client.

A block that reaches into the next partitions gets their first rows. Workers merge their answers among each other, in
groups of neighbours, so that a sum comes here as one value. A worker that dies takes nothing with it: Dask makes its
part anew.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, cast

import pyarrow as pa

from psidebug.blocks.block import Block, cut
from psidebug.blocks.blocks import Blocks
from psidebug.blocks.parts import Part, mapped_run, merged_run, parts_of, schema_of_parts, written_run
from psidebug.blocks.tree import Node, merged, nodes_of
from psidebug.errors import ShapeMismatch

T = TypeVar("T")
AT_ONCE = 256
"""Partitions whose blocks are mapped at a time: what they say is held here until it is asked for."""
JOINED = 16
"""Neighbours whose answers one worker merges."""
Work = Callable[..., list[Node[Any]]]
Answer = tuple[list[Node[Any]], int]
"""Nodes, and the bytes that were read for them."""


class DaskBlocks(Blocks):
    """The rows of a ``dask.dataframe``, in the order of its partitions.

    Work goes to ``client``, else to the client that is current, else to the threads of this process.
    """

    def __init__(self, frame: Any, client: Any = None) -> None:
        import dask

        self._client = client
        self._partitions = [dask.delayed(_table)(each) for each in frame.to_delayed(optimize_graph=True)]
        looked_at = self._computed([dask.delayed(_size_and_schema)(each) for each in self._partitions])
        self.schema = schema_of_parts([schema for size, schema in looked_at if size])
        self._parts = parts_of([size for size, _ in looked_at])

    def __len__(self) -> int:
        return self._parts[-1].total

    def map(self, function: Callable[[Block], T], columns: Sequence[str] | None = None) -> Iterator[T]:
        """``function`` of every block, in the order of rows."""
        return (node.value for node in self._of_parts(partial(mapped_run, function=function), columns))

    def reduce(
        self, function: Callable[[Block], T], merge: Callable[[T, T], T], columns: Sequence[str] | None = None
    ) -> T:
        """``merge`` of the ``function`` of all blocks, made by the workers."""
        import dask

        tasks = self._tasks(partial(merged_run, function=function, merge=merge), columns)
        while len(tasks) > JOINED:
            neighbours = [tasks[first : first + JOINED] for first in range(0, len(tasks), JOINED)]
            tasks = [dask.delayed(_joined)(some, merge) for some in neighbours]
        ((value, size),) = self._computed([dask.delayed(_whole)(tasks, merge)])
        self.bytes_read += size
        return cast("T", value)

    def write(self, function: Callable[[Block], pa.Table], path: Path, columns: Sequence[str] | None = None) -> None:
        """A folder of Parquet files, one for each partition, written by whoever has it: all must see ``path``."""
        path.mkdir()
        list(self._of_parts(partial(written_run, function=function, folder=path), columns))

    def _of_parts(self, work: Work, columns: Sequence[str] | None) -> Iterator[Node[Any]]:
        """The nodes that ``work`` makes of the blocks that begin in each partition, in the order of rows."""
        tasks = self._tasks(work, columns)
        for first in range(0, len(tasks), AT_ONCE):
            for nodes, size in self._computed(tasks[first : first + AT_ONCE]):
                self.bytes_read += size
                yield from nodes

    def _tasks(self, work: Work, columns: Sequence[str] | None) -> list[Any]:
        """For each partition in which blocks begin: ``work`` of these blocks, and the bytes read."""
        import dask

        self.readings += 1
        schema = self.schema if columns is None else pa.schema([self.schema.field(name) for name in columns])
        tasks = []
        for number, part in enumerate(self._parts):
            if part.begins_no_block:
                continue
            tables = [dask.delayed(_from)(self._partitions[number], part, schema)]
            needed = part.needed
            for after in range(number + 1, len(self._parts)):
                if needed <= 0:
                    break
                tables.append(dask.delayed(_head)(self._partitions[after], needed, schema))
                needed -= self._parts[after].rows
            tasks.append(dask.delayed(_done)(work, part, tables))
        return tasks

    def _computed(self, tasks: list[Any]) -> list[Any]:
        """The answers of these tasks, which nobody keeps."""
        import dask

        if self._client is not None:
            return list(self._client.gather(self._client.compute(tasks)))
        return list(dask.compute(*tasks))


def _table(frame: Any) -> pa.Table:
    return pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata(None)


def _size_and_schema(table: pa.Table) -> tuple[int, pa.Schema]:
    return table.num_rows, table.schema


def _from(table: pa.Table, part: Part, schema: pa.Schema) -> pa.Table:
    """The rows of a partition from the first block on that begins in it."""
    if table.num_rows != part.rows:
        raise ShapeMismatch(
            "the Dask data frame has other rows at each reading: persist it, or write it and read the files."
        )
    return table.slice(part.skipped).select(schema.names).cast(schema)


def _head(table: pa.Table, count: int, schema: pa.Schema) -> pa.Table:
    return table.slice(0, count).select(schema.names).cast(schema)


def _done(work: Work, part: Part, tables: list[pa.Table]) -> Answer:
    return work(cut(tables, first=part.first)), sum(int(table.nbytes) for table in tables)


def _joined(answers: list[Answer], merge: Callable[[Any, Any], Any]) -> Answer:
    """What neighbours say, merged as far as their blocks make nodes of the tree."""
    return nodes_of((node for nodes, _ in answers for node in nodes), merge), sum(size for _, size in answers)


def _whole(answers: list[Answer], merge: Callable[[Any, Any], Any]) -> tuple[Any, int]:
    """What all say, as one value."""
    return merged((node for nodes, _ in answers for node in nodes), merge), sum(size for _, size in answers)


def frame_of_arrays(features: Any, names: Sequence[str], **columns: Any) -> Any:
    """A data frame of a ``dask.array`` (N, d) with these names, and of arrays (N,), such as the labels, by name."""
    import dask.dataframe as dd

    if features.ndim != 2 or features.shape[1] != len(names):
        raise ShapeMismatch(
            f"the features have the shape {features.shape}: give one row of {len(names)} for each label."
        )
    features = features.rechunk({1: -1})
    if any(map(math.isnan, features.chunks[0])):
        features = features.compute_chunk_sizes()
    frame = dd.from_dask_array(features, columns=list(names))
    for name, array in columns.items():
        if any(map(math.isnan, array.chunks[0])):
            array = array.compute_chunk_sizes()
        if array.shape != (features.shape[0],):
            raise ShapeMismatch(f"{name!r} has the shape {array.shape}: give one for each of {features.shape[0]} rows.")
        frame = frame.assign(**{name: dd.from_dask_array(array.rechunk((features.chunks[0],)))})
    return frame
