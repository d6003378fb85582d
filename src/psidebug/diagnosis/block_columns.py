"""Which columns of rows in blocks are what: the label, features, ids, weights, and metadata that no learner sees.

Text in metadata is a date where it is one in the drawn rows: a block of its own may not tell 02/01 from 01/02.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from psidebug.blocks import Block, Blocks
from psidebug.errors import InvalidWeights, PsiError, ShapeMismatch, UnknownOption, UnsupportedFeatures
from psidebug.task.dates import MOMENT, dates_in
from psidebug.task.tables import LARGEST

MOST_NAMED = 8
"""Columns that a sentence names."""


@dataclass(frozen=True)
class Columns:
    """Their names."""

    label: str
    features: tuple[str, ...]
    ids: str | None = None
    weight: str | None = None
    metadata: tuple[str, ...] = ()
    dates: tuple[tuple[str, str], ...] = ()
    """Of the metadata, columns of text that are dates, each with one that can be read in one way only."""

    @classmethod
    def of(
        cls,
        blocks: Blocks,
        label: str,
        features: Sequence[str] | None = None,
        ids: Any = None,
        weight: Any = None,
        metadata: Any = None,
    ) -> Columns:
        """Checked; all columns that are nothing else are features, if these are left out."""
        for option, name in (("rows", ids), ("sample_weight", weight)):
            if name is not None and not isinstance(name, str):
                raise UnknownOption(
                    f"{option} is a {type(name).__name__}: where rows are read in blocks, give the name of a column."
                )
        named = [metadata] if isinstance(metadata, str) else [] if metadata is None else metadata
        if not isinstance(named, list | tuple) or not all(isinstance(each, str) for each in named):
            raise UnknownOption("metadata is a list of names of columns where rows are read in blocks.")
        apart = {label, ids, weight, *named}
        own = tuple(features or (name for name in blocks.schema.names if name not in apart))
        _check_there(blocks, named)
        shown = tuple(name for name in named if not pa.types.is_nested(blocks.schema.field(name).type))
        made = cls(label, own, ids, weight, shown)
        check_columns(blocks, made.all)
        if weight is not None and not _is_number(blocks.schema.field(weight).type):
            raise InvalidWeights(f"the weights in {weight!r} are {blocks.schema.field(weight).type}: give numbers.")
        if not own:
            raise UnsupportedFeatures("there is no column left to learn from.")
        return made

    @property
    def all(self) -> list[str]:
        """Everything that is read, the label last."""
        beside = [name for name in (self.ids, self.weight) if name is not None]
        return [
            *dict.fromkeys(name for name in (*beside, *self.metadata, *self.features) if name != self.label),
            self.label,
        ]

    def with_dates(self, drawn: pa.Table) -> Columns:
        """Knowing which of the metadata are dates that are written as text, by the drawn rows."""
        dates = []
        for name in self.metadata:
            texts = _texts(drawn.column(name))
            if texts is not None and dates_in(texts) is not None:
                each = (
                    text for text in texts.unique().drop_null().to_pylist() if dates_in(pa.array([text])) is not None
                )
                dates.append((name, next(each)))  # a column that can be read has a text that decides how
        return replace(self, dates=tuple(dates))

    def ids_of(self, table: pa.Table) -> list[Any] | None:
        """The ids of these rows, if they have any."""
        return None if self.ids is None else table.column(self.ids).to_pylist()

    def weights_of(self, table: pa.Table) -> npt.NDArray[np.float64] | None:
        """Their weights, if they have any."""
        return None if self.weight is None else np.asarray(table.column(self.weight), dtype=np.float64)

    def metadata_of(self, table: pa.Table) -> pa.Table | None:
        """Their metadata, with dates read, if they have any."""
        if not self.metadata:
            return None
        made = table.select(list(self.metadata))
        for name, decides in self.dates:
            texts = _texts(made.column(name))
            moments = pa.nulls(len(made), MOMENT) if texts is None else _read(texts, decides)
            made = made.set_column(made.column_names.index(name), name, moments)
        return made

    def check(self, block: Block) -> None:
        """Refuse rows without an id, and weights that are none."""
        if self.ids is not None and block.table.column(self.ids).null_count:
            place = block.table.column(self.ids).is_null().to_numpy().argmax()
            place += block.start
            raise at_row(int(place), ShapeMismatch(f"row {place} has no id in {self.ids!r}: fill it."))
        weights = self.weights_of(block.table)
        if weights is not None and not (fine := np.isfinite(weights) & (weights >= 0) & (weights <= LARGEST)).all():
            place = int(fine.argmin())
            said = (
                f"the weight of row {block.start + place} is {weights[place]:g}: weights are at most {LARGEST:g} and "
            )
            raise at_row(block.start + place, InvalidWeights(f"{said}not negative; 0 leaves a row out."))


def at_row(row: int, error: PsiError) -> PsiError:
    """The error, which knows the row that it is about: who has files says where that is."""
    error.row = row  # type: ignore[attr-defined]
    return error


def check_columns(blocks: Blocks, names: Sequence[str]) -> None:
    """Refuse columns that are not there, or that hold lists."""
    _check_there(blocks, names)
    for name in names:
        if pa.types.is_nested(blocks.schema.field(name).type):
            raise UnsupportedFeatures(
                f"column {name!r} is {blocks.schema.field(name).type}, which no learner here takes: leave it out by "
                f"--ignore, in Python by metadata, or write its parts as columns."
            )


def _check_there(blocks: Blocks, names: Sequence[str]) -> None:
    known = blocks.schema.names
    missing = next((name for name in names if name not in known), None)
    if missing is not None:
        more = ", …" if len(known) > MOST_NAMED else ""
        raise ShapeMismatch(f"there is no column {missing!r}: there are {', '.join(known[:MOST_NAMED])}{more}.")


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_floating(kind) or pa.types.is_integer(kind))


def _texts(column: pa.ChunkedArray) -> pa.Array | None:
    """A column of text; None if it is none."""
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return None
    return pa.concat_arrays(column.cast(pa.string()).chunks) if column.num_chunks else pa.array([], pa.string())


def _read(texts: pa.Array, decides: str) -> pa.Array:
    """As dates; what is none is missing."""
    whole = dates_in(pa.concat_arrays([pa.array([decides]), texts]))
    if whole is not None:
        return whole[1:]
    known = texts.unique().drop_null()
    each = [dates_in(pa.array([decides, text])) for text in known.to_pylist()]
    moments = pa.array([None if one is None else one[1].as_py() for one in each], MOMENT)
    return moments.take(pc.index_in(texts, value_set=known))
