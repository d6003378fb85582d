"""A table of features as a Parquet table plus a note on its form, so that it is restored as it was."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Iterator
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp

from psidebug.store.values import Json, as_json, column, from_json, table_of, values_at
from psidebug.task.tables import Table, is_frame, objects_of

INDEX = "index"
"""The column of a pandas index that is more than a count of the rows; it comes last."""


def stored(table: Table) -> tuple[Any, Json]:
    """The table as Arrow, and its form as plain data: which kind it was, and the types of its columns.

    Data frames keep their columns; a matrix has columns x0, x1, …; texts are the column ``text``; a sparse matrix is
    written as its entries: row, column, value.
    """
    if is_frame(table):
        return _stored_frame(table)
    if sp.issparse(table):
        entries = table.tocoo()
        form = {"kind": "sparse", "shape": list(table.shape), "class": type(table).__name__}
        return pa.table({"row": entries.row, "column": entries.col, "value": entries.data}), form
    if table.ndim == 1:
        return table_of([column("text", table.tolist(), text=True)]), {"kind": "text"}
    columns = [_of_array(f"x{index}", table[:, index]) for index in range(table.shape[1])]
    return table_of(columns), {"kind": "numpy", "dtype": table.dtype.str}


def restored(table: Any, form: Json) -> Table:
    """The table as it was given; a data frame whose library is not installed comes as a pyarrow table."""
    match form["kind"]:
        case "sparse":
            make = sp.csr_matrix if form["class"] == "csr_matrix" else sp.csr_array
            row, column_, value = (each.to_numpy() for each in table.columns)
            return make((value, (row, column_)), shape=tuple(form["shape"]))
        case "text":
            texts = objects_of(values_at(table, 0))
            if not all(text is None or isinstance(text, str) for text in texts):
                raise TypeError("texts that are none")
            return texts
        case "numpy":
            matrix = np.empty((table.num_rows, table.num_columns), dtype=form["dtype"])
            for index in range(table.num_columns):
                plain = matrix.dtype.kind in "biuf"
                matrix[:, index] = table.column(index).to_numpy() if plain else values_at(table, index)
            return matrix
        case "pandas" if importlib.util.find_spec("pandas"):
            return _restored_pandas(table, form)
        case "polars" if importlib.util.find_spec("polars"):
            return _restored_polars(table, form)
        case _:
            return _restored_arrow(table, form)


def stored_series(series: Any) -> tuple[Any, Json]:
    """A series of labels as a table of one column; its name is written apart, since it need not have one."""
    labels = nw.from_native(series, series_only=True)
    table, form = stored(labels.alias("labels").to_frame().to_native())
    return table, form | {"name": as_json(getattr(series, "name", None))}


def restored_series(table: Any, form: Json) -> Any:
    """The series that was stored."""
    labels = nw.from_native(restored(table, form), eager_only=True)[:, 0]
    name = from_json(form["name"])
    if nw.dependencies.is_pandas_series(labels.to_native()):
        return labels.to_native().rename(name)
    return labels.alias("" if name is None else str(name)).to_native()


def _stored_frame(frame: Any) -> tuple[Any, Json]:
    if nw.dependencies.is_pandas_dataframe(frame):
        columns, notes = zip(*_pandas_columns(frame), strict=True)
        return table_of(columns), {"kind": "pandas", "columns": list(notes), "names": str(frame.columns.dtype)}
    kind = "polars" if nw.dependencies.is_polars_dataframe(frame) else "pyarrow"
    series = nw.from_native(frame, eager_only=True).iter_columns()
    columns, notes = zip(*(_arrow_column(each) for each in series), strict=True)
    return table_of(columns), {"kind": kind, "columns": list(notes)}


def _pandas_columns(frame: Any) -> Iterator[tuple[tuple[Any, Any], Json]]:
    import pandas as pd

    parts = [(name, frame.iloc[:, place]) for place, name in enumerate(frame.columns)]
    counted = isinstance(frame.index, pd.RangeIndex) and frame.index.equals(pd.RangeIndex(len(frame)))
    if frame.index.nlevels == 1 and not counted:
        parts.append((frame.index.name, frame.index.to_series()))
    for place, (name, series) in enumerate(parts):
        index = place == len(frame.columns)
        note: dict[str, Json] = {"name": as_json(name), "dtype": str(series.dtype)} | ({"index": True} if index else {})
        called = INDEX if index else str(name)
        if isinstance(series.dtype, pd.CategoricalDtype):
            known = series.cat.categories
            note |= {"categories": list(map(as_json, known)), "ordered": series.cat.ordered, "of": str(known.dtype)}
            # The codes, looked up: a missing value is None.
            listed = [None, *known.tolist()]
            yield column(called, [listed[code + 1] for code in series.cat.codes.tolist()], text=True), note
        elif series.dtype == object:
            yield column(called, series.tolist(), text=True), note
        else:
            try:
                array = pa.array(series.array, from_pandas=True)
                array = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
                yield (pa.field(called, array.type), array), note
            except (pa.ArrowException, NotImplementedError, TypeError):  # sparse columns, and types of other libraries
                yield column(called, np.asarray(series).tolist()), note


def _restored_pandas(table: Any, form: Json) -> Any:
    import pandas as pd

    series = []
    for place, note in enumerate(form["columns"]):
        if "categories" in note:
            known = pd.Index([from_json(each) for each in note["categories"]], dtype=note["of"])
            values: Any = pd.Categorical(values_at(table, place), categories=known, ordered=note["ordered"])
        elif note["dtype"] == "object":
            values = pd.Series(objects_of(values_at(table, place)), dtype=object)  # said, else pandas looks for texts
        else:
            values = _of_dtype(table.column(place), note["dtype"])
        series.append(pd.Series(values))
    index = series.pop() if form["columns"][-1].get("index") else None
    frame = pd.DataFrame(dict(enumerate(series)))  # by place: two names may be told apart by their type alone
    names = [from_json(note["name"]) for note in form["columns"][: len(series)]]
    frame.columns = pd.Index(names, dtype=form["names"])
    if index is not None:
        frame.index = pd.Index(index, name=from_json(form["columns"][-1]["name"]))
    return frame


def _of_dtype(array: Any, name: str) -> Any:
    """A pandas array of the type of this name; of the nearest one if the library of that type is not installed."""
    from pandas.api.types import pandas_dtype

    if name.startswith("datetime64") and not pa.types.is_timestamp(array.type):
        raise pa.ArrowInvalid(f"a column of {name} holds no dates")  # as numbers their range was not checked
    try:
        dtype = pandas_dtype(name)
        return dtype.__from_arrow__(array) if hasattr(dtype, "__from_arrow__") else array.to_numpy().astype(dtype)
    except (TypeError, ValueError):
        return array.to_pandas().array


def _arrow_column(series: nw.Series[Any]) -> tuple[tuple[Any, Any], Json]:
    note: dict[str, Json] = {"name": series.name, "dtype": str(series.dtype)}
    if series.dtype in (nw.Categorical, nw.Enum):
        note["categories"] = _categories(series)
        return column(series.name, series.to_list(), text=True), note
    try:
        array = series.to_arrow()
        array = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
        return (pa.field(series.name, array.type), array), note
    except Exception:  # each library has its own way to say that Arrow cannot hold this
        return column(series.name, series.to_list(), text=True), note


def _categories(series: nw.Series[Any]) -> list[Json]:
    """The categories in their order; a Categorical of polars has none, so they are read from the data."""
    if isinstance(series.dtype, nw.Enum):
        return list(series.dtype.categories)
    array = series.to_arrow()
    array = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
    return list(map(as_json, array.dictionary.to_pylist()))


def _restored_polars(table: Any, form: Json) -> Any:
    import polars as pl

    columns = []
    for place, note in enumerate(form["columns"]):
        series = pl.Series(note["name"], table.column(place))
        if "categories" in note:
            series = series.cast(pl.Enum(note["categories"]) if note["dtype"].startswith("Enum") else pl.Categorical)
        columns.append(series)
    return pl.DataFrame(columns)


def _restored_arrow(table: Any, form: Json) -> Any:
    columns = []
    for place, note in enumerate(form["columns"]):
        array = table.column(place)
        if "categories" in note and form["kind"] == "pyarrow":
            known = pa.array([from_json(each) for each in note["categories"]], array.type)
            array = pa.DictionaryArray.from_arrays(pc.index_in(array.combine_chunks(), known), known)
        columns.append((pa.field(table.schema.field(place).name, array.type), array))
    return table_of(columns)


def _of_array(name: str, values: Any) -> tuple[Any, Any]:
    if values.dtype.kind in "biuf":
        array = pa.array(np.ascontiguousarray(values))
        return pa.field(name, array.type), array
    return column(name, list(values) if values.dtype.kind in "mM" else values.tolist(), text=True)
