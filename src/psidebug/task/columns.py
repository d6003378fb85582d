"""Columns of a table in the user's own library: looked at by name, changed in a copy of the same kind."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from psidebug.task.tables import Table, is_frame, is_missing, objects_of

NO_VALUE = ("NoneType", "NAType", "NaTType")
"""Types of what stands for no value: None, and pandas' NA and NaT, by name since pandas need not be there."""


@dataclass(frozen=True)
class Column:
    """One column of the user's table as slices see it: numbers, dates, or values with their codes."""

    name: str
    values: npt.NDArray[Any]

    @property
    def numeric(self) -> bool:
        """Whether the column is a quantity, to be cut at thresholds, rather than a set of values."""
        return self.values.dtype.kind in "fiu"

    @property
    def dated(self) -> bool:
        """Whether the column holds dates or times, as datetime64."""
        return self.values.dtype.kind == "M"


def columns(table: Table, *, unnamed: str = "x") -> list[Column]:
    """The table's columns for describing rows to a person; a sparse matrix or texts have none to offer."""
    if is_frame(table):
        return [_column(series) for series in nw.from_native(table, eager_only=True).iter_columns()]
    if sp.issparse(table) or table.ndim != 2:
        return []
    return [Column(f"{unnamed}{index}", _narrowed(table[:, index])) for index in range(table.shape[1])]


def column_of(table: Table, name: str, *, unnamed: str = "x") -> Column:
    """One column by the name that :func:`columns` gives it, also of a sparse matrix; of texts, the texts."""
    if is_frame(table):
        frame = nw.from_native(table, eager_only=True)
        # A name may be a number in pandas; conditions know it by its text.
        return _column(frame[:, [str(each) for each in frame.columns].index(name)])
    if table.ndim == 1:
        return Column(name, table)
    index = int(name.removeprefix(unnamed))
    if sp.issparse(table):
        return Column(name, table[:, [index]].toarray().ravel())
    return Column(name, _narrowed(table[:, index]))


def changed_column(table: Table, name: str, values: npt.NDArray[Any], *, unnamed: str = "x") -> Table:
    """A table of the same kind with other values in one column, by the name that :func:`columns` gives it."""
    if is_frame(table):
        frame = nw.from_native(table, eager_only=True)
        own = frame.columns[[str(each) for each in frame.columns].index(name)]
        series = nw.new_series(own, values, backend=frame.implementation)
        return frame.with_columns(series).to_native()
    index = int(name.removeprefix(unnamed))
    if sp.issparse(table):
        by_column = table.tolil(copy=True).astype(np.result_type(table.dtype, values.dtype))
        by_column[:, [index]] = values[:, None]
        return by_column.tocsr()
    other = table.astype(np.result_type(table.dtype, values.dtype), copy=True)
    other[:, index] = values
    return other


def without_cells(table: Table, name: str, gone: npt.NDArray[np.bool_]) -> Table:
    """The table with some cells of a column missing; in a data frame the column keeps its type."""
    if not is_frame(table):
        values = column_of(table, name).values.astype(object)
        values[gone] = None
        return changed_column(table, name, values)
    frame = nw.from_native(table, eager_only=True)
    own = frame.columns[[str(each) for each in frame.columns].index(name)]
    kept = nw.new_series("kept", ~gone, backend=frame.implementation)
    return frame.with_columns(nw.when(nw.lit(True) & kept).then(nw.col(own)).alias(own)).to_native()


def _column(series: nw.Series[Any]) -> Column:
    name = series.name
    if series.dtype.is_numeric():
        values = series.to_numpy()
        return Column(name, values if values.dtype.kind in "fiu" else values.astype(np.float64))  # decimals
    if series.dtype in (nw.Date, nw.Datetime):
        zoned = series.dtype == nw.Datetime and getattr(series.dtype, "time_zone", None) is not None
        dates = (series.dt.replace_time_zone(None) if zoned else series).to_numpy()
        if dates.dtype.kind == "M":
            return Column(name, dates)
    return Column(name, _narrowed(objects_of(series.to_list())))


def _narrowed(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Objects that are all numbers, or all dates, or missing, as numbers or dates."""
    if values.dtype != object:
        return values
    kinds = {kind for kind in set(map(type, values)) if kind.__name__ not in NO_VALUE}
    if kinds <= {int, float}:
        return np.array([np.nan if is_missing(value) else value for value in values], dtype=np.float64)
    if kinds in ({date}, {datetime}) and all(getattr(value, "tzinfo", None) is None for value in values):
        unit = "D" if kinds == {date} else "us"
        return np.array([None if is_missing(value) else value for value in values], dtype=f"datetime64[{unit}]")
    return values
