"""Dask data frames, or files read by a Dask cluster, as blocks, on the user's own client.

Every partition works on the blocks that begin in it. A block that reaches into the next partitions gets their first
rows. Workers merge their answers among each other, in groups of neighbours, so that a sum comes here as one value. A
worker that dies takes nothing with it: Dask makes its part anew.
"""

from __future__ import annotations

import copy
import math
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from psidebug.blocks.block import Block, cut
from psidebug.blocks.blocks import Blocks, Training
from psidebug.blocks.folders import Keys
from psidebug.blocks.parquet import ParquetBlocks, with_keys
from psidebug.blocks.parts import Part, mapped_run, merged_run, parts_of, schema_of_parts, written_run
from psidebug.blocks.tree import Node, merged, nodes_of
from psidebug.errors import OutputError, ShapeMismatch, UnreadableTable, first_line
from psidebug.threads import one_blas_thread

T = TypeVar("T")
AT_ONCE = 256
"""Partitions whose blocks are mapped at a time: what they say is held here until it is asked for."""
JOINED = 16
"""Neighbours whose answers one worker merges."""
Work = Callable[..., list[Node[Any]]]
Partition = Callable[[Sequence[str]], Any]
"""The task that makes the table of a partition, with these columns at least."""
Answer = tuple[list[Node[Any]], int]
"""Nodes, and the bytes that were read for them."""


class DaskBlocks(Blocks):
    """The rows of a ``dask.dataframe``, in the order of its partitions.

    Work goes to ``client``, else to the client that is current, else to the threads of this process.
    """

    called = "Dask"

    def __init__(self, frame: Any, client: Any = None) -> None:
        import dask

        self.client = client or _current_client()
        frames = [dask.delayed(_table)(each) for each in frame.to_delayed(optimize_graph=True)]
        self._partitions: list[Partition] = [partial(_of_frame, each) for each in frames]
        try:
            looked_at = self._computed([dask.delayed(_size_and_schema)(each) for each in frames])
        except (OSError, pa.ArrowException) as error:
            raise UnreadableTable(
                f"a partition of the Dask data frame cannot be read: {first_line(error)}. Write or copy its file again."
            ) from error
        self.schema = schema_of_parts([schema for size, schema in looked_at if size])
        self._parts = parts_of([size for size, _ in looked_at])

    @classmethod
    def of_files(cls, files: ParquetBlocks, client: Any) -> DaskBlocks:
        """The rows of Parquet files that all workers see, a partition for each row group: footers tell their sizes."""
        made = cls.__new__(cls)
        made.client, made.schema, made.paths = client, files.schema, files.paths
        groups = list(files.row_groups())
        made._partitions = [partial(_of_file, path, keys, group, files.schema) for path, keys, group, _ in groups]
        made._parts = parts_of([rows for *_, rows in groups])
        return made

    @property
    def offers(self) -> tuple[Training, ...]:  # type: ignore[override]
        """Without a cluster the rows are in this process."""
        return ("sums", "turns", "rows" if self.client is None else "cluster")

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

    def fold(self, function: Callable[[T, Block], T], start: T, columns: Sequence[str] | None = None) -> T:
        """``function`` of a state and each block in turn: the state goes from worker to worker, the rows stay."""
        import dask

        once, state = dask.delayed(function, traverse=False), dask.delayed((start, 0), traverse=False)
        for part, tables in self._tables(columns):
            state = dask.delayed(_folded)(once, state, part, tables)
        ((value, size),) = self._computed([state])
        self.bytes_read += size
        return cast("T", value)

    def arrays(self, function: Callable[[Block], Any], columns: Sequence[str] | None = None) -> list[tuple[Any, int]]:
        """For each partition in which blocks begin the task of an array, with the ``function`` of all their rows.

        And how many rows these are. It is for libraries that train on a cluster: the arrays stay there.
        """
        import dask

        once = dask.delayed(function, traverse=False)
        return [
            (dask.delayed(_array)(once, part, tables), part.stop + part.needed - part.first)
            for part, tables in self._tables(columns)
        ]

    def check_place(self, folder: Path) -> None:
        """Refuse a folder that some worker does not see."""
        run = getattr(self.client, "run", None)
        if run is not None and not all(run(_is_folder, str(folder)).values()):
            raise OutputError(
                f"not all workers of the Dask cluster see {folder}, where they are to write: name a run in a folder "
                f"that they share."
            )

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

        once = dask.delayed(work, traverse=False)  # what travels, such as a forest, is sent once for all partitions
        return [dask.delayed(_done)(once, part, tables) for part, tables in self._tables(columns)]

    def _tables(self, columns: Sequence[str] | None) -> Iterator[tuple[Part, list[Any]]]:
        """Each partition in which blocks begin, and the tables, of it and the next ones, that these are made of."""
        import dask

        self.readings += 1
        schema = self.schema if columns is None else pa.schema([self.schema.field(name) for name in columns])
        made = [each(schema.names) for each in self._partitions]
        for number, part in enumerate(self._parts):
            if part.begins_no_block:
                continue
            tables = [dask.delayed(_from)(made[number], part, schema)]
            needed = part.needed
            for after in range(number + 1, len(self._parts)):
                if needed <= 0:
                    break
                tables.append(dask.delayed(_head)(made[after], needed, schema))
                needed -= self._parts[after].rows
            yield part, tables

    def _computed(self, tasks: list[Any]) -> list[Any]:
        """The answers of these tasks, which nobody keeps."""
        import dask

        with warnings.catch_warnings():  # a rule of some megabytes is meant to travel
            warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
            if self.client is not None:
                return list(self.client.gather(self.client.compute(tasks)))
            return list(dask.compute(*tasks))


def _current_client() -> Any:
    """The client that is current, if there is one."""
    distributed = sys.modules.get("distributed")
    try:
        return None if distributed is None else distributed.get_client()
    except ValueError:
        return None


def _is_folder(path: str) -> bool:
    return Path(path).is_dir()


def _of_frame(table: Any, names: Sequence[str]) -> Any:
    """A partition of a data frame, with all its columns."""
    return table


def _of_file(path: Path, keys: Keys, group: int, schema: pa.Schema, names: Sequence[str]) -> Any:
    """A row group of a file, with these columns."""
    import dask

    wanted = pa.schema([schema.field(name) for name in names or schema.names[:1]])
    return dask.delayed(_row_group)(str(path.absolute()), keys, group, wanted)


def _row_group(path: str, keys: Keys, group: int, wanted: pa.Schema) -> pa.Table:
    own = [name for name in wanted.names if name not in keys]
    try:
        with pq.ParquetFile(path, pre_buffer=False) as file:
            return with_keys(file.read_row_group(group, columns=own, use_threads=False), keys, wanted)
    except (OSError, pa.ArrowException) as error:
        raise UnreadableTable(
            f"a worker cannot read {path} to its end: {first_line(error)}. All workers must see the files."
        ) from error


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


def _array(function: Callable[[Block], Any], part: Part, tables: list[pa.Table]) -> Any:
    with one_blas_thread():
        return np.concatenate([function(block) for block in cut(tables, first=part.first)])


def _folded(
    function: Callable[[Any, Block], Any], state: tuple[Any, int], part: Part, tables: list[pa.Table]
) -> tuple[Any, int]:
    """The state after the blocks that begin in a partition; the one that came is not changed: Dask may try again."""
    value, size = copy.deepcopy(state[0]), state[1]
    with one_blas_thread():
        for block in cut(tables, first=part.first):
            value = function(value, block)
    return value, size + sum(int(table.nbytes) for table in tables)


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
