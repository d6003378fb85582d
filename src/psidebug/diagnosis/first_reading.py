"""The first reading of rows in blocks: what can be refused before the long work, the classes, and a sample of rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from psidebug.blocks import Block, Blocks, ParquetBlocks, added, with_lots
from psidebug.blocks.passes import first_rows
from psidebug.diagnosis.block_columns import Columns, at_row
from psidebug.errors import MissingLabels, MissingValues, PsiError, SingleClass, UnsupportedFeatures
from psidebug.evidence.drawn import MOST_LOOKED_AT, RARE
from psidebug.graybox.protocol import Floats


@dataclass(frozen=True, eq=False)
class Moments:
    """How many rows, the means of their columns and the sums of squares about these; those of two blocks are merged."""

    count: int
    mean: Floats
    about: Floats

    @classmethod
    def of(cls, values: Floats) -> Moments:
        """Of rows (n, d)."""
        mean = values.mean(axis=0)
        return cls(len(values), mean, ((values - mean) ** 2).sum(axis=0))

    def __add__(self, other: Moments) -> Moments:
        count, apart = self.count + other.count, other.mean - self.mean
        mean = self.mean + apart * (other.count / count)
        return Moments(count, mean, self.about + other.about + apart**2 * (self.count * other.count / count))


@dataclass(frozen=True, eq=False)
class FirstReading:
    """What one reading tells."""

    counts: dict[Any, int]
    """Rows of each class, in sorted order of the classes."""
    drawn: pa.Table
    """Rows drawn by chance, and all of rare classes, with their number among all as ``row``, in the order of rows."""
    moments: Moments | None
    """Of the features, where all are numbers and none is missing."""


def check_labelled(blocks: Blocks, label: str) -> None:
    """What the footers of files tell of labels."""
    if isinstance(blocks, ParquetBlocks) and (files := blocks.without(label)):
        raise MissingLabels(
            f"{files[0].name} has rows without a label in {label!r}: label them, or leave them out of the file."
        )
    if len(blocks) == 0:
        raise UnsupportedFeatures("the training data have no rows.")


def read_first(blocks: Blocks, columns: Columns, seed: int, *, complete: bool) -> FirstReading:
    """One reading; ``complete``: the learner takes numbers alone, and none may be missing."""
    label = columns.label
    check_labelled(blocks, label)
    if complete:
        for name in columns.features:
            kind = blocks.schema.field(name).type
            if not (pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind)):
                raise UnsupportedFeatures(
                    f"column {name!r} is {kind}, and the learner takes numbers: put a step before it that encodes the "
                    f"column, name it in metadata, or leave the model out on the command line, which builds one."
                )
    look = partial(_looked_at, columns=columns, seed=seed, complete=complete)
    try:
        classes, rows, moments = blocks.reduce(look, _both, columns.all)
    except PsiError as error:
        row = getattr(error, "row", None)
        if row is None or not isinstance(blocks, ParquetBlocks):
            raise
        raise type(error)(str(error).replace(f"row {row}", f"row {row} ({blocks.place(row)})", 1)) from None
    if len(classes) < 2:
        raise SingleClass(f"all rows of {label!r} have the same class: there is nothing to tell apart.")
    counts = {each: int(classes[each]) for each in sorted(classes, key=lambda one: (str(type(one)), one))}
    rare = [each for each, count in counts.items() if count <= MOST_LOOKED_AT * RARE]
    best = rows.take(np.argsort(-rows.column("lot").to_numpy(), kind="stable")[:MOST_LOOKED_AT])
    chosen = np.isin(rows.column("row").to_numpy(), best.column("row").to_numpy())
    if rare:
        chosen |= pa.compute.is_in(
            rows.column(label), value_set=pa.array(rare, rows.schema.field(label).type)
        ).to_numpy()
    return FirstReading(counts, rows.filter(pa.array(chosen)).drop_columns(["lot"]), moments)


Looked = tuple[dict[Any, int], pa.Table, Moments | None]


def _looked_at(block: Block, columns: Columns, seed: int, complete: bool) -> Looked:
    labels, features = block.table.column(columns.label), columns.features
    columns.check(block)
    missing = labels.is_null(nan_is_null=True).to_numpy()
    if missing.any():
        place = block.start + int(np.flatnonzero(missing)[0])
        raise at_row(place, MissingLabels(f"row {place} has no label: label it, or leave it out."))
    moments = None
    if complete:
        values = block.matrix(features)
        finite = np.isfinite(values)
        if not finite.all():
            row, column = np.argwhere(~finite)[0]
            said = f"column {features[column]!r} has an empty or infinite cell in row {block.start + row}: fill it, or "
            raise at_row(int(block.start + row), MissingValues(f"{said}put a step before the learner that does."))
        moments = Moments.of(values)
    classes = {each["values"]: each["counts"] for each in labels.value_counts().to_pylist()}
    return classes, _kept(with_lots(block, seed), columns.label), moments


def _both(left: Looked, right: Looked) -> Looked:
    every = dict.fromkeys([*left[0], *right[0]], 0)
    moments = None if left[2] is None or right[2] is None else left[2] + right[2]
    rows = _kept(pa.concat_tables([left[1], right[1]]), "")
    return added(every | left[0], every | right[0]), rows, moments


def _kept(rows: pa.Table, label: str) -> pa.Table:
    """Of these rows the highest lots, and of every class as many of the highest as make it rare."""
    label = label or next(name for name in reversed(rows.column_names) if name not in ("row", "lot"))
    best = first_rows(rows, rows.slice(0, 0), count=MOST_LOOKED_AT, by="lot")
    few = int(MOST_LOOKED_AT * RARE)
    codes = rows.column(label).combine_chunks().dictionary_encode()
    codes = (codes.combine_chunks() if isinstance(codes, pa.ChunkedArray) else codes).indices.to_numpy()
    order = np.lexsort((-rows.column("lot").to_numpy(), codes))
    first = np.r_[True, codes[order][1:] != codes[order][:-1]]
    place = np.arange(len(order)) - np.maximum.accumulate(np.where(first, np.arange(len(order)), 0))
    chosen = np.isin(rows.column("row").to_numpy(), best.column("row").to_numpy())
    chosen[order[place < few]] = True
    return rows.filter(pa.array(chosen))
