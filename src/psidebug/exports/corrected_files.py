"""Parquet files with corrected labels, block by block: every other value stays, and nothing is held but a few blocks.

The table of all labels of a run says what each row was labelled and what it should be. Files whose labels are no longer
those that were given are refused.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from psidebug.blocks import Block, parquet_blocks
from psidebug.errors import OutputError, ShapeMismatch, UnreadableRun, UnreadableTable, first_line
from psidebug.files import check_place, unwritten

AT_ONCE = 2**17
"""Rows that are held and written together, at most; a row group of a file is no larger."""


def write_corrected(
    files: Sequence[Path], label: str, labels: Path, target: Path, decisions: Mapping[int, Any] | None = None
) -> tuple[int, int]:
    """Copies of the files with corrected labels; how many rows they have, and how many labels are other ones.

    ``labels`` is the table of all labels; ``decisions`` are labels by the numbers of rows, in the place of its column
    ``repaired``. One file may be written as a file, several are written to a new folder under their own names, below
    the folder that they have in common.
    """
    single = len(files) == 1 and target.suffix == ".parquet"
    if single:
        check_place(target)
    elif target.exists():
        raise OutputError(f"{target} is there already: name a new folder, in which the files keep their names.")
    elif not target.absolute().parent.is_dir():
        raise OutputError(f"could not write {target}: there is no directory {target.parent}. Make it first.")
    if any(part.startswith(f"{label}=") for part in files[0].parent.parts):
        raise OutputError(
            f"the labels are in the names of folders, such as {files[0].parent.name}: move rows by the table of all "
            f"labels, {labels}."
        )
    with TemporaryDirectory(dir=target.absolute().parent, prefix=".psi-", suffix=".partial") as folder:
        made, rows, changed, given = Path(folder) / "files", 0, 0, _Labels(labels, decisions)
        common = Path(os.path.commonpath([path.parent for path in files]))
        for path in files:
            copy = made / path.relative_to(common)
            copy.parent.mkdir(parents=True, exist_ok=True)
            try:
                own = _copied(path, label, given, copy)
            except (OSError, pa.ArrowException) as error:
                raise UnreadableTable(f"{path.name} cannot be copied: {first_line(error)}.") from error
            rows, changed = rows + own[0], changed + own[1]
        if not given.ended:
            raise ShapeMismatch(f"the files have {rows:,} rows, fewer than the run: give the files as they were.")
        try:
            (made / files[0].name if single else made).replace(target)
        except OSError as error:
            raise unwritten(target, error) from error
    return rows, changed


def numbers_of(rows: npt.NDArray[Any], labels: Path, *, named: bool) -> list[int]:
    """The numbers of rows among all, by their ids if they are ``named`` by these, in the same order."""
    if not named:
        return [int(row) for row in rows]
    wanted = pa.array(rows.tolist())
    found: dict[Any, int] = {}
    try:
        for table in parquet_blocks(labels).map(partial(_with_ids, ids=wanted), ["row", "id"]):
            found |= dict(zip(table.column("id").to_pylist(), table.column("row").to_pylist(), strict=True))
        return [found[row] for row in rows.tolist()]
    except (LookupError, TypeError, pa.ArrowException):
        raise UnreadableRun(f"{labels.name} has other ids than the run: it was changed. Run psi debug again.") from None


def _with_ids(block: Block, ids: pa.Array) -> pa.Table:
    own = block.table.column("id")
    return block.table.filter(pc.is_in(own, value_set=ids.cast(own.type)))


class _Labels:
    """What every label was and shall be, in the order of rows."""

    def __init__(self, labels: Path, decisions: Mapping[int, Any] | None) -> None:
        self._decisions = None if decisions is None else dict(sorted(decisions.items()))
        self._left = self._tables(labels)
        self._held = pa.table({"given": [], "wanted": []})

    def _tables(self, labels: Path) -> Iterator[pa.Table]:
        yield from parquet_blocks(labels).map(self._wanted, ["row", "given", "repaired"])

    def _wanted(self, block: Block) -> pa.Table:
        given = block.table.column("given").combine_chunks()
        if self._decisions is None:
            return pa.table({"given": given, "wanted": block.table.column("repaired")})
        rows = np.fromiter(self._decisions, dtype=np.int64)
        low, high = np.searchsorted(rows, [block.start, block.start + len(block)])
        mask = np.zeros(len(block), dtype=bool)
        mask[rows[low:high] - block.start] = True
        instead = [self._decisions[int(row)] for row in rows[low:high]]
        wanted = pc.replace_with_mask(given, pa.array(mask), pa.array(instead, given.type))
        return pa.table({"given": given, "wanted": wanted})

    def next(self, count: int) -> pa.Table:
        """Those of so many rows."""
        while self._held.num_rows < count:
            more = next(self._left, None)
            if more is None:
                raise ShapeMismatch("the files have more rows than the run: give the files as they were.")
            self._held = more if self._held.num_rows == 0 else pa.concat_tables([self._held, more])
        own, self._held = self._held.slice(0, count), self._held.slice(count)
        return own

    @property
    def ended(self) -> bool:
        """Whether there is none left."""
        return self._held.num_rows == 0 and next(self._left, None) is None


def _copied(path: Path, label: str, labels: _Labels, target: Path) -> tuple[int, int]:
    """Rows, and labels that are other ones."""
    rows = changed = 0
    with pq.ParquetFile(path, pre_buffer=False) as file:
        packed = _compression(file.metadata)
        with pq.ParquetWriter(target, file.schema_arrow, compression=packed) as writer:
            for batch in file.iter_batches(AT_ONCE, use_threads=False):
                own = labels.next(batch.num_rows)
                made, count = _relabelled(batch, label, own, path)
                writer.write_table(made)
                rows, changed = rows + batch.num_rows, changed + count
    return rows, changed


def _relabelled(batch: pa.RecordBatch, label: str, own: pa.Table, path: Path) -> tuple[pa.Table, int]:
    table = pa.Table.from_batches([batch])
    if label not in table.column_names:
        raise ShapeMismatch(f"{path.name} has no column {label!r} any more: give the files as they were.")
    place = table.column_names.index(label)
    field = table.schema.field(place)
    plain = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
    before = table.column(place).cast(plain)
    try:
        given, wanted = (own.column(name).cast(plain) for name in ("given", "wanted"))
    except pa.ArrowException:
        given = None
    if given is None or not pc.all(pc.equal(before, given), skip_nulls=False).as_py():
        raise ShapeMismatch(f"{path.name} has other labels than the run was made from: give the files as they were.")
    moved = pc.not_equal(given, wanted)
    after = pc.if_else(moved, wanted, before)
    if pa.types.is_dictionary(field.type):
        after = after.dictionary_encode().cast(field.type)
    return table.set_column(place, field, after), int(pc.sum(moved).as_py() or 0)


def _compression(footer: Any) -> dict[str, str] | str:
    """That of each column, as it is stored."""
    group = footer.row_group(0)
    columns = [group.column(place) for place in range(group.num_columns)]
    return {each.path_in_schema: "none" if each.compression == "UNCOMPRESSED" else each.compression for each in columns}
