"""Spark data frames as blocks: ``mapInArrow`` over the partitions, and one small shuffle where blocks cross borders.

A partition answers for the blocks that lie inside it. The rows at its ends, at most two blocks, are sent to whoever
works on the block that they belong to. Answers are merged in at most 17 groups of blocks, so that a sum comes here as
so many values. An error that Psi raises in a partition comes here as an answer, and is raised here in its own words.
Rows have the numbers in which Spark gives them: a frame that is made anew in another order for each
reading has to be cached or written first.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, cast

import pyarrow as pa
import pyarrow.compute as pc

from psidebug.blocks.block import ROWS, Block, cut
from psidebug.blocks.blocks import Blocks
from psidebug.blocks.parts import Part, mapped_run, merged_run, parts_of, written_run
from psidebug.blocks.tree import Node, merged, nodes_of
from psidebug.errors import (
    OutputError,
    PsiError,
    ShapeMismatch,
    UnreadableTable,
    UnsupportedFeatures,
    first_line,
)

T = TypeVar("T")
ANSWERS = "block long, whole boolean, rows long, bytes long, payload binary"
"""What a partition sends: nodes of the tree, or rows of a block that it has a part of."""
GROUPS = 4
"""2^4 groups of blocks, and what is left at the end, are merged by Spark."""
Work = Callable[[Iterable[Block]], list[Node[Any]]]


class SparkBlocks(Blocks):
    """The rows of a ``pyspark.sql.DataFrame``, in the order of its partitions."""

    called = "Spark"
    offers = ("sums",)

    def __init__(self, frame: Any) -> None:
        from pyspark.errors import PySparkException
        from pyspark.sql.pandas.types import to_arrow_schema

        self._frame = frame
        try:
            self.schema = to_arrow_schema(frame.schema).remove_metadata()
        except PySparkException as error:
            raise UnsupportedFeatures(
                f"the Spark data frame has a column that no learner here takes: {first_line(error)}. Select others."
            ) from error
        counted = _collected(frame.mapInArrow(_counted, "part long, rows long"))
        sizes = {each["part"]: each["rows"] for each in counted}
        self._parts = parts_of([sizes.get(number, 0) for number in range(max(sizes, default=-1) + 1)])

    def __len__(self) -> int:
        return self._parts[-1].total

    def map(self, function: Callable[[Block], T], columns: Sequence[str] | None = None) -> Iterator[T]:
        """``function`` of every block, in the order of rows."""
        return (node.value for node in self._of_blocks(partial(mapped_run, function=function), columns))

    def reduce(
        self, function: Callable[[Block], T], merge: Callable[[T, T], T], columns: Sequence[str] | None = None
    ) -> T:
        """``merge`` of the ``function`` of all blocks; Spark merges what it can."""
        nodes = self._of_blocks(partial(merged_run, function=function, merge=merge), columns, merge)
        return cast("T", merged(nodes, merge))

    def write(self, function: Callable[[Block], pa.Table], path: Path, columns: Sequence[str] | None = None) -> None:
        """A folder of Parquet files written by whoever has the blocks: all must see ``path``."""
        path.mkdir()
        self._of_blocks(partial(written_run, function=function, folder=path), columns)

    def check_place(self, folder: Path) -> None:
        """Refuse a folder that some executor does not see."""
        looked = self._frame.sparkSession.range(0, 64, 1, 8).mapInArrow(partial(_sees, folder=str(folder)), "seen long")
        if not all(each["seen"] for each in _collected(looked)):
            raise OutputError(
                f"not all executors of Spark see {folder}, where they are to write: name a run in a folder that they "
                f"share."
            )

    def _of_blocks(
        self, work: Work, columns: Sequence[str] | None, merge: Callable[[Any, Any], Any] | None = None
    ) -> list[Node[Any]]:
        """``work`` of runs of blocks, wherever they lie; its nodes in the order of rows, merged if there is a way."""
        from pyspark.sql import functions

        self.readings += 1
        names = list(self.schema.names if columns is None else columns)
        chosen = self._frame.select(*[functions.col(f"`{name}`") for name in names])
        made = chosen.mapInArrow(partial(_of_part, parts=self._parts, work=work), ANSWERS).persist()
        try:
            ends = made.filter("not whole").groupBy("block").applyInArrow(lambda rows: _of_ends(rows, work), ANSWERS)
            answers = made.filter("whole").unionByName(ends)
            if merge is not None:  # the blocks of a group are those of a node of the tree
                group = functions.shiftright("block", max((len(self) // ROWS).bit_length() - GROUPS, 0))
                answers = answers.groupBy(group).applyInArrow(lambda rows: _joined(rows, merge), ANSWERS)
            found = _collected(answers)
        finally:
            made.unpersist()
        nodes = _nodes(each["payload"] for each in found)
        if sum(each["rows"] for each in found) != len(self):
            raise ShapeMismatch(
                "the Spark data frame has other rows at each reading: cache it, or write it and read the files."
            )
        self.bytes_read += sum(each["bytes"] for each in found)
        return nodes


def _collected(frame: Any) -> list[Any]:
    """The rows of a small data frame; what Spark cannot read has its sentence."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    try:
        return list(frame.collect())
    except (PySparkException, Py4JJavaError) as error:
        raise UnreadableTable(
            f"Spark cannot read the data frame to its end: {first_line(error)}. See Spark's log, and write its files "
            f"again if one is damaged."
        ) from error


def _sees(batches: Iterable[pa.RecordBatch], folder: str) -> Iterator[pa.RecordBatch]:
    for _ in batches:
        yield pa.RecordBatch.from_pydict({"seen": [int(Path(folder).is_dir())]})


def _counted(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The number of this partition and of its rows."""
    yield pa.RecordBatch.from_pydict({"part": [_number()], "rows": [sum(batch.num_rows for batch in batches)]})


def _number() -> int:
    from pyspark import TaskContext

    context = TaskContext.get()
    return 0 if context is None else int(context.partitionId())


def _of_part(batches: Iterable[pa.RecordBatch], parts: list[Part], work: Work) -> Iterator[pa.RecordBatch]:
    """Nodes of the blocks that lie inside this partition, and the rows at its ends."""
    number = _number()
    part = parts[number] if number < len(parts) else Part(0, 0, 0)
    rows = size = 0
    ends: list[Block] = []

    def inside() -> Iterator[Block]:
        nonlocal rows, size
        for block in _cut_at(batches, part):
            rows, size = rows + len(block), size + block.table.nbytes
            if block.start % ROWS or block.start + len(block) < min(block.start + ROWS, part.total):
                ends.append(block)
            else:
                yield block

    try:
        nodes = work(inside())
    except PsiError as error:
        yield _answer(0, whole=True, payload=error)
        return
    for node in nodes:
        yield _answer(node.index << node.level, whole=True, payload=[node])
    for block in ends:
        yield _answer(block.number, whole=False, payload=block)
    yield _answer(0, whole=True, rows=rows if rows == part.rows else -1, size=size)  # -1: the sum is then not N


def _cut_at(batches: Iterable[pa.RecordBatch], part: Part) -> Iterator[Block]:
    """The rows of a partition, cut where blocks begin; those of a block that begins earlier come last."""
    head: list[pa.Table] = []
    missing = part.skipped

    def rest() -> Iterator[pa.Table]:
        nonlocal missing
        for batch in batches:
            table = pa.Table.from_batches([batch])
            if missing:
                head.append(table.slice(0, missing))
                table, missing = table.slice(missing), missing - min(missing, table.num_rows)
            if table.num_rows:
                yield table

    yield from cut(rest(), first=part.first)
    if head:
        yield Block(part.start, pa.concat_tables(head))


def _of_ends(rows: pa.Table, work: Work) -> pa.Table:
    """The node of a block whose rows come from several partitions."""
    pieces = sorted(map(pickle.loads, rows.column("payload").to_pylist()), key=lambda block: block.start)
    table = pa.concat_tables([each.table for each in pieces])
    payload: Any
    try:
        payload = work([Block(pieces[0].start, table)])
    except PsiError as error:
        payload = error
    return pa.Table.from_batches([_answer(pieces[0].number, whole=True, payload=payload)])


def _joined(rows: pa.Table, merge: Callable[[Any, Any], Any]) -> pa.Table:
    """The nodes of a group of blocks, merged."""
    payload: Any
    try:
        payload = nodes_of(_nodes(rows.column("payload").to_pylist()), merge)
    except PsiError as error:
        payload = error
    counts = {name: int(pc.sum(rows.column(name)).as_py()) for name in ("rows", "bytes")}
    return pa.Table.from_batches([_answer(0, whole=True, rows=counts["rows"], size=counts["bytes"], payload=payload)])


def _nodes(payloads: Iterable[bytes]) -> list[Node[Any]]:
    """In the order of rows; of errors the first is raised."""
    answers = [pickle.loads(each) for each in payloads]
    for each in answers:
        if isinstance(each, PsiError):
            raise each
    found: list[Node[Any]] = [node for each in answers for node in each]
    return sorted(found, key=lambda node: node.index << node.level)


def _answer(block: int, *, whole: bool, rows: int = 0, size: int = 0, payload: Any = ()) -> pa.RecordBatch:
    values = {
        "block": pa.array([block], pa.int64()),
        "whole": pa.array([whole]),
        "rows": pa.array([rows], pa.int64()),
        "bytes": pa.array([size], pa.int64()),
        "payload": pa.array([pickle.dumps(payload)], pa.binary()),
    }
    return pa.RecordBatch.from_pydict(values)
