"""Tables of features in the user's own library: counted, cut by row, looked at by column, never converted.

The learner gets the very kind of table it was given (numpy, scipy sparse, pandas, polars, pyarrow, or one text per
row), so that whatever works in the user's hands works here.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from psidebug.errors import MissingValues, ShapeMismatch, UnsupportedFeatures

Table = Any  # a numpy matrix, a scipy sparse matrix, a data frame, or an array of texts


def as_table(features: Any, *, name: str) -> Table:
    """The features as a table the learner can take, or a sentence about what is wrong with them."""
    table = _recognised(features, name)
    if row_count(table) == 0:
        raise UnsupportedFeatures(f"{name} has no rows.")
    if is_frame(table) or table.ndim == 2:
        if table.shape[1] == 0:
            raise UnsupportedFeatures(f"{name} has no columns.")
    elif not all(isinstance(text, str) for text in table):
        raise UnsupportedFeatures(
            f"{name} has one dimension. A single feature needs shape (rows, 1): {name}.reshape(-1, 1). "
            f"One dimension is for text, and then every row must be a str."
        )
    return table


def row_count(table: Table) -> int:
    """Number of rows."""
    return int(table.shape[0])


def is_frame(table: Table) -> bool:
    """Whether the table is a data frame with named columns."""
    return nw.dependencies.is_into_dataframe(table)


def column_names(table: Table) -> list[str] | None:
    """Names of the columns of a data frame; None for a table without names."""
    return nw.from_native(table, eager_only=True).columns if is_frame(table) else None


def check_same_columns(train: Table, other: Table, *, name: str) -> None:
    """Training and other features must have the same columns."""
    train_names, other_names = column_names(train), column_names(other)
    if train_names is not None and other_names is not None:
        if set(train_names) != set(other_names):
            missing = [c for c in train_names if c not in other_names]
            added = [c for c in other_names if c not in train_names]
            raise ShapeMismatch(
                f"{name} does not have the columns of X_train: missing {missing[:5]}, not in training {added[:5]}."
            )
    elif train.ndim != other.ndim or train.shape[1:] != other.shape[1:]:
        raise ShapeMismatch(
            f"{name} has shape {tuple(other.shape)}, X_train has {tuple(train.shape)}: the columns must be the same."
        )


def take(table: Table, positions: npt.NDArray[np.intp]) -> Table:
    """The rows at these positions, in a table of the same kind."""
    if is_frame(table):
        return nw.from_native(table, eager_only=True)[positions.tolist(), :].to_native()
    return table[positions]


def check_finite(table: Table, *, name: str) -> None:
    """Raise :class:`MissingValues` if a number in the table is NaN or infinite (text and categories: null)."""
    for column, values in _numeric_columns(table):
        bad = ~np.isfinite(values)
        if bad.any():
            where = f"column {column!r}" if column is not None else "the matrix"
            kind = "NaN" if np.isnan(values[bad]).any() else "infinity"
            raise MissingValues(
                f"{name} has {kind} in {where} ({int(bad.sum())} values, first in row {int(np.argwhere(bad)[0][0])}), "
                f"and this learner cannot take it. Put an imputer before it (sklearn.impute.SimpleImputer in a "
                f"Pipeline), use a learner that takes missing values, or remove these rows."
            )


def _numeric_columns(table: Table) -> Iterator[tuple[str | None, npt.NDArray[np.float64]]]:
    if is_frame(table):
        for series in nw.from_native(table, eager_only=True).iter_columns():
            if series.dtype.is_numeric():
                yield series.name, series.to_numpy().astype(np.float64)
            else:
                yield series.name, np.where(series.is_null().to_numpy(), np.nan, 0.0)
    elif sp.issparse(table):
        yield None, np.asarray(table.data, dtype=np.float64)
    elif table.dtype.kind in "fiub":
        yield None, table.astype(np.float64, copy=False)
    elif table.dtype == object and table.ndim == 2:
        for index in range(table.shape[1]):
            values = [v if isinstance(v, float | int) else (np.nan if v is None else 0.0) for v in table[:, index]]
            yield str(index), np.array(values, dtype=np.float64)


@dataclass(frozen=True)
class Column:
    """One column of the user's table as slices see it: numbers, or values with their codes."""

    name: str
    values: npt.NDArray[Any]

    @property
    def numeric(self) -> bool:
        """Whether the column is a quantity, to be cut at thresholds, rather than a set of values."""
        return self.values.dtype.kind in "fiu"


def columns(table: Table) -> list[Column]:
    """The table's columns for describing rows to a person; a sparse matrix or texts have none to offer."""
    if is_frame(table):
        return [_column(series) for series in nw.from_native(table, eager_only=True).iter_columns()]
    if sp.issparse(table) or table.ndim != 2:
        return []
    return [Column(f"x{index}", np.asarray(table[:, index])) for index in range(table.shape[1])]


def _column(series: nw.Series[Any]) -> Column:
    if series.dtype.is_numeric():
        return Column(series.name, series.to_numpy())
    values = np.empty(len(series), dtype=object)
    values[:] = series.to_list()
    return Column(series.name, values)


def frame_like(data: Mapping[str, Sequence[Any] | npt.NDArray[Any]], example: Table) -> Any:
    """A data frame of this data in the library of ``example``, else pandas, else polars, else pyarrow."""
    if is_frame(example):
        backend: Any = nw.get_native_namespace(example)
    else:
        import importlib

        installed = [lib for lib in ("pandas", "polars", "pyarrow") if importlib.util.find_spec(lib)]
        backend = importlib.import_module(installed[0])
    return nw.from_dict({key: _plain(values) for key, values in data.items()}, backend=backend).to_native()


def _plain(values: Sequence[Any] | npt.NDArray[Any]) -> Any:
    array = np.asarray(values) if not isinstance(values, np.ndarray) else values
    return array.tolist() if array.dtype == object or array.dtype.kind in "US" else array


def _recognised(features: Any, name: str) -> Table:
    if isinstance(features, np.matrix):
        return np.asarray(features)
    if isinstance(features, np.ndarray):
        if features.ndim not in (1, 2):
            raise UnsupportedFeatures(
                f"{name} has {features.ndim} dimensions. Give one row per example: {name}.reshape(len({name}), -1)."
            )
        return features
    if sp.issparse(features):
        return features.tocsr()
    if nw.dependencies.is_into_dataframe(features):
        return _readable(features)
    if nw.dependencies.is_into_series(features):
        return _texts(nw.from_native(features, series_only=True).to_list())
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
        return _texts(features)
    try:
        matrix = np.asarray(features)
    except ValueError:
        raise UnsupportedFeatures(
            f"the rows of {name} have different lengths; every row needs the same columns."
        ) from None
    return _recognised(matrix, name)


def _texts(values: Sequence[Any]) -> npt.NDArray[Any]:
    texts = np.empty(len(values), dtype=object)
    texts[:] = values
    return texts


def _readable(frame: Any) -> Any:
    """A pyarrow table with text goes to the learner as pandas or polars: scikit-learn's vectorisers need str."""
    if not nw.dependencies.is_pyarrow_table(frame):
        return frame
    table = nw.from_native(frame, eager_only=True)
    if all(dtype.is_numeric() for dtype in table.schema.dtypes()):
        return frame
    if importlib.util.find_spec("pandas"):
        return table.to_pandas()
    return table.to_polars() if importlib.util.find_spec("polars") else frame
