"""Tables of features in the user's own library: counted, cut by row, looked at by column, never converted.

The learner gets the very kind of table it was given (numpy, scipy sparse, pandas, polars, pyarrow, or one text per
row), so that whatever works in the user's hands works here.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from psidebug.errors import MissingValues, ShapeMismatch, UnsupportedFeatures

Table = Any  # a numpy matrix, a scipy sparse matrix, a data frame, or an array of texts


LARGEST = 1e38
"""The largest number that Psi computes with, about that of single precision."""


def as_table(features: Any, *, name: str) -> Table:
    """The features as a table the learner can take, or a sentence about what is wrong with them."""
    table = _plain_numbers(_recognised(features, name))
    if row_count(table) == 0:
        raise UnsupportedFeatures(f"{name} has no rows.")
    if len(table.shape) == 2:
        if table.shape[1] == 0:
            raise UnsupportedFeatures(f"{name} has no columns.")
    elif not all(isinstance(text, str) for text in table):
        raise UnsupportedFeatures(
            f"{name} has one dimension. A single feature needs shape (rows, 1): {name}.reshape(-1, 1). "
            f"One dimension is for text, and then every row must be a str."
        )
    _check_sizes(table, name)
    return table


def _plain_numbers(table: Table) -> Table:
    """An array in a byte order and size that every library takes."""
    if not isinstance(table, np.ndarray) or table.dtype.kind not in "fiu":
        return table
    plain = np.dtype(np.float64) if table.dtype.itemsize > 8 else table.dtype.newbyteorder("=")
    return table.astype(plain, copy=False)


def _check_sizes(table: Table, name: str) -> None:
    """Refuse finite numbers that overflow when they are squared, or in the single precision of trees."""
    for column, row, number in _too_large(table):
        raise UnsupportedFeatures(
            f"{name} has {number:g} in column {column!r}, row {row}, which is too large to compute with. Correct it, "
            f"or divide the column by a constant."
        )


def _too_large(table: Table) -> Iterator[tuple[str | int, int, float]]:
    """The first of these numbers, with its column and row; in a data frame those of every column."""
    if is_frame(table):
        for series in nw.from_native(table, eager_only=True).iter_columns():
            if series.dtype.is_float():
                yield from ((series.name, row, number) for row, number in _beyond(series.to_numpy()))
    elif sp.issparse(table):
        listed = table.tocoo()
        yield from ((int(listed.col[at]), int(listed.row[at]), number) for at, number in _beyond(listed.data))
    elif len(table.shape) == 2:
        width = table.shape[1]
        yield from ((at % width, at // width, number) for at, number in _beyond(table.ravel()))


def _beyond(values: npt.NDArray[Any]) -> list[tuple[int, float]]:
    """Place and size of the first finite number that is too large, if there is one."""
    if values.dtype.kind != "f" or not values.size:
        return []
    ends = float(np.fmin.reduce(values, axis=None)), float(np.fmax.reduce(values, axis=None))
    if not max(map(abs, ends)) > LARGEST:  # nothing of the size of the table is made for that
        return []
    wide = values.astype(np.float64, copy=False)
    found = np.flatnonzero((np.abs(wide) > LARGEST) & np.isfinite(wide))[:1]
    return [(int(at), float(values[at])) for at in found]


def row_count(table: Table) -> int:
    """Number of rows."""
    return int(table.shape[0])


def is_frame(table: Table) -> bool:
    """Whether the table is a data frame with named columns."""
    return nw.dependencies.is_into_dataframe(table)


def column_names(table: Table) -> list[str] | None:
    """Names of the columns of a data frame; None for a table without names."""
    return nw.from_native(table, eager_only=True).columns if is_frame(table) else None


def same_columns(train: Table, other: Table, *, name: str) -> Table:
    """The other table with its columns in the order of training; they must be the same columns.

    Of two kinds of tables one at least has no names: its columns are those of the other, in their order.
    """
    train_names, other_names = column_names(train), column_names(other)
    if train_names is not None and other_names is not None:
        if set(train_names) != set(other_names):
            missing = [c for c in train_names if c not in other_names]
            added = [c for c in other_names if c not in train_names]
            raise ShapeMismatch(
                f"{name} does not have the columns of X_train: missing {missing[:5]}, not in training {added[:5]}. "
                f"Give both the same columns."
            )
        if train_names != other_names:
            return nw.from_native(other, eager_only=True).select(train_names).to_native()
    elif train.shape[1:] != other.shape[1:]:
        raise ShapeMismatch(
            f"{name} has shape {tuple(other.shape)}, X_train has {tuple(train.shape)}: the columns must be the same."
        )
    return other if _kind(train) == _kind(other) else _as_kind_of(train, other, name)


def _kind(table: Table) -> str:
    """What it is called."""
    return "a data frame" if is_frame(table) else "a sparse matrix" if sp.issparse(table) else "an array"


def _as_kind_of(train: Table, other: Table, name: str) -> Table:
    """The other table as a data frame, a sparse matrix or an array, whichever training is; all must be numbers."""
    values = np.asarray(other.toarray() if sp.issparse(other) else other)
    if values.dtype.kind not in "fiub" or not (
        all(kind.is_numeric() or kind == nw.Boolean for kind in nw.from_native(train, eager_only=True).schema.dtypes())
        if is_frame(train)
        else train.dtype.kind in "fiub"
    ):
        raise UnsupportedFeatures(
            f"X_train is {_kind(train)} and {name} {_kind(other)}, and not all columns are numbers. Give both in one "
            f"kind of table, so that it is known which column is which."
        )
    if sp.issparse(train):
        return sp.csr_array(values) if isinstance(train, sp.sparray) else sp.csr_matrix(values)
    if not is_frame(train):
        return values
    library = library_of(train)
    if library.__name__ == "pandas":
        return library.DataFrame(values, columns=train.columns)  # names may be numbers
    return frame_like(dict(zip(column_names(train) or (), values.T, strict=True)), train)


def take(table: Table, positions: npt.NDArray[np.intp]) -> Table:
    """The rows at these positions, in a table of the same kind."""
    if is_frame(table):
        return nw.from_native(table, eager_only=True)[positions.tolist(), :].to_native()
    return table[positions]


def own_table(table: Table) -> Table:
    """A copy, which is the same whatever is written into the table later."""
    return nw.from_native(table, eager_only=True).clone().to_native() if is_frame(table) else table.copy()


def stacked(first: Table, second: Table) -> Table:
    """One table above the other; both have the same columns."""
    if is_frame(first):
        frames = [nw.from_native(each, eager_only=True) for each in (first, second)]
        return nw.concat(frames, how="vertical").to_native()
    return sp.vstack([first, second], format="csr") if sp.issparse(first) else np.concatenate([first, second])


def check_finite(table: Table, *, name: str) -> None:
    """Raise :class:`MissingValues` if a number in the table is NaN or infinite (text and categories: null)."""
    for column, rows, values in _numbers(table):
        bad = np.flatnonzero(~np.isfinite(values))
        if bad.size:
            kind = "NaN" if np.isnan(values[bad]).any() else "infinity"
            raise MissingValues(
                f"{name} has {kind} in column {column!r} ({bad.size} values, first in row {int(rows[bad[0]])}), and "
                f"this learner cannot take it. Put an imputer before it (sklearn.impute.SimpleImputer in a Pipeline), "
                f"use a learner that takes missing values, or remove these rows."
            )


def _numbers(table: Table) -> Iterator[tuple[str | int, npt.NDArray[Any], npt.NDArray[np.float64]]]:
    """Every column with its rows and their numbers; what is no number is 0, or NaN where it is missing."""
    every = np.arange(row_count(table))
    if is_frame(table):
        for series in nw.from_native(table, eager_only=True).iter_columns():
            if series.dtype.is_numeric():
                yield series.name, every, series.to_numpy().astype(np.float64)
            else:
                yield series.name, every, np.where(series.is_null().to_numpy(), np.nan, 0.0)
    elif sp.issparse(table):
        by_column = table.tocsc()
        for index in range(table.shape[1]):
            part = slice(by_column.indptr[index], by_column.indptr[index + 1])
            yield index, by_column.indices[part], by_column.data[part].astype(np.float64)
    elif table.ndim == 2 and table.dtype.kind in "fiubO":
        for index in range(table.shape[1]):
            yield index, every, np.array([_number(value) for value in table[:, index].tolist()])


def _number(value: Any) -> float:
    if isinstance(value, float | int | np.number):
        return float(value)
    return float("nan") if is_missing(value) else 0.0


def is_missing(value: Any) -> bool:
    """Whether an object stands for no value: None, NaN, pandas' NA and NaT."""
    return (
        value is None or type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and value != value)
    )


def frame_like(data: Mapping[str, Sequence[Any] | npt.NDArray[Any]], example: Table) -> Any:
    """A data frame of this data in the library of ``example``, else pandas, else polars, else pyarrow."""
    backend = library_of(example)
    keeps_objects = backend.__name__ == "pandas"
    plain = {key: _plain(values, keeps_objects) for key, values in data.items()}
    return nw.from_dict(plain, backend=backend).to_native()


def library_of(example: Table) -> Any:
    """The module that makes data frames like this table: its own, else pandas, else polars, else pyarrow."""
    if is_frame(example):
        return nw.get_native_namespace(example)
    installed = (lib for lib in ("pandas", "polars", "pyarrow") if importlib.util.find_spec(lib))
    return importlib.import_module(next(installed))


def _plain(values: Sequence[Any] | npt.NDArray[Any], keeps_objects: bool) -> Any:
    """Values a data frame can hold: only pandas has columns of mixed types and tuples, elsewhere they become text."""
    array = np.asarray(values)
    if array.dtype.kind not in "UO":
        return array
    plain = [plain_text(value) if isinstance(value, str) else value for value in array.tolist()]
    kinds = {type(value) for value in plain if value is not None}
    one_type = len(kinds) == 1 and issubclass(next(iter(kinds)), str | date)
    return plain if keeps_objects or one_type else [None if v is None else plain_text(str(v)) for v in plain]


def plain_text(text: str) -> str:
    """Text that every library and file can hold: half a character, as broken encodings leave it, as its number."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def off_device(values: Any) -> Any:
    """The numbers of a torch tensor, wherever it is; anything else as it is."""
    if not hasattr(values, "detach"):
        return values
    held = values.detach().cpu()
    return (held.float() if str(held.dtype) == "torch.bfloat16" else held).numpy()  # numpy has no such numbers


def _recognised(features: Any, name: str) -> Table:
    features = off_device(nw.to_native(features, pass_through=True))
    if isinstance(features, np.ma.MaskedArray) and np.ma.is_masked(features):
        raise UnsupportedFeatures(f"{name} has masked values: fill them, for instance {name}.filled(numpy.nan).")
    if isinstance(features, np.matrix):
        return np.asarray(features)
    if isinstance(features, np.ndarray):
        if features.ndim not in (1, 2):
            raise UnsupportedFeatures(
                f"{name} has {features.ndim} dimensions. Give one row per example: {name}.reshape(len({name}), -1)."
            )
        return features
    if sp.issparse(features):
        if features.ndim != 2:
            raise UnsupportedFeatures(f"{name} is sparse with {features.ndim} dimensions: give rows and columns.")
        return features.tocsr()
    if nw.dependencies.is_into_dataframe(features):
        return _readable(features, name)
    if nw.dependencies.is_into_series(features):
        return objects_of(nw.from_native(features, series_only=True).to_list())
    if isinstance(features, list | tuple):
        return _from_sequence(features, name)
    if hasattr(features, "collect"):
        raise UnsupportedFeatures(f"{name} is a lazy frame: give {name}.collect().")
    raise UnsupportedFeatures(
        f"{name} is a {type(features).__module__}.{type(features).__name__}. Give a numpy array, a scipy sparse "
        f"matrix, a pandas, polars or pyarrow table, or a list of texts."
    )


def _from_sequence(features: Sequence[Any], name: str) -> Table:
    if all(isinstance(row, str) for row in features):
        return objects_of(features)
    try:
        matrix = np.asarray(features)
        if matrix.dtype.kind in "US":  # numbers next to texts stay numbers
            matrix = np.asarray(features, dtype=object)
    except (TypeError, ValueError):
        raise UnsupportedFeatures(
            f"the rows of {name} do not make a table; every row needs the same number of columns."
        ) from None
    return _recognised(matrix, name)


def objects_of(values: Sequence[Any]) -> npt.NDArray[Any]:
    """The values as they are, in an array."""
    return np.fromiter(values, dtype=object, count=len(values))


def _readable(frame: Any, name: str) -> Any:
    """A pyarrow table with text goes to the learner as pandas or polars: scikit-learn's vectorisers need str."""
    try:
        nw.from_native(frame, eager_only=True)
    except nw.exceptions.NarwhalsError as error:
        raise UnsupportedFeatures(
            f"{name} has columns that cannot be told apart: {' '.join(str(error).split())}"
        ) from None
    if not nw.dependencies.is_pyarrow_table(frame):
        return frame
    table = nw.from_native(frame, eager_only=True)
    if all(dtype.is_numeric() for dtype in table.schema.dtypes()):
        return frame
    if importlib.util.find_spec("pandas"):
        return table.to_pandas()
    return table.to_polars() if importlib.util.find_spec("polars") else frame
