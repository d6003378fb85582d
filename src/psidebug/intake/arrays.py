"""Embeddings and probabilities of the rows of a table, from a file of their own: npy, or any table of numbers.

They have a line for each row of the table, in its order. An npy file that holds Python objects is a pickle, which can
run code: it is refused, always.
"""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.types as kinds

from psidebug.errors import InvalidProbabilities, MissingValues, ShapeMismatch, UnreadableTable, UnsupportedFeatures
from psidebug.intake.read import read_table
from psidebug.intake.splits import Part
from psidebug.intake.types import is_number

NPY, ZIP = b"\x93NUMPY", b"PK\x03\x04"
Numbers = npt.NDArray[Any]


def embeddings_of(files: tuple[Path, Path], parts: tuple[Part, Part]) -> tuple[Numbers, Numbers]:
    """A line of finite numbers for each row of the training and test table, shape (rows, width)."""
    train, test = (_embeddings(path, part) for path, part in zip(files, parts, strict=True))
    if train.shape[1] != test.shape[1]:
        raise ShapeMismatch(
            f"{files[0]} has {train.shape[1]:,} numbers for each row, {files[1]} has {test.shape[1]:,}. Make both by "
            f"the same encoder."
        )
    return train, test


def probabilities_of(files: tuple[Path, Path], parts: tuple[Part, Part]) -> tuple[Any, Any]:
    """A line for each row of the training and test table: arrays, or tables whose columns are named as the classes."""
    return _probabilities(files[0], parts[0]), _probabilities(files[1], parts[1])


def _embeddings(path: Path, part: Part) -> Numbers:
    content = _numbers(path)
    array = content if isinstance(content, np.ndarray) else _matrix(content, path)
    if array.ndim != 2 or array.shape[1] == 0:
        raise ShapeMismatch(
            f"{path} holds an array of shape {array.shape}: embeddings are (rows, numbers of each), a flat line for "
            f"each row."
        )
    array = array[_places(len(array), path, part)]
    odd = np.flatnonzero(~np.isfinite(array).all(axis=1))
    if odd.size:
        more = f", and in {odd.size - 1:,} more" if odd.size > 1 else ""
        raise MissingValues(
            f"{path} has a number that is missing or infinite in row {odd[0]} (from 0){more}. Make the embeddings of "
            f"these rows again, or leave the rows out of both files."
        )
    return np.asarray(array, dtype=np.float32 if array.dtype == np.float16 else None)


def _probabilities(path: Path, part: Part) -> Any:
    content = _numbers(path)
    if isinstance(content, np.ndarray):
        if content.ndim not in (1, 2):
            raise InvalidProbabilities(
                f"{path} holds an array of shape {content.shape}: probabilities are (rows, classes)."
            )
        return content[_places(len(content), path, part)]
    places = _places(content.num_rows, path, part)
    if content.num_columns == 1 and kinds.is_nested(content.column(0).type):
        return _matrix(content, path)[places]
    for name in content.column_names:
        if not is_number(content[name].type):
            raise InvalidProbabilities(
                f"{path} has the column {name!r}, which holds no numbers. Give a column of probabilities for each "
                f"class, and no others."
            )
    return content if part.places is None else content.take(pa.array(part.places))


def _places(lines: int, path: Path, part: Part) -> Any:
    """Which lines belong to the rows of the part."""
    rows = len(part.labels) + part.left_out
    if lines != rows:
        raise ShapeMismatch(f"{path} has {lines:,} rows, {part.name} has {rows:,}: give one for each, in its order.")
    return slice(None) if part.places is None else np.array(part.places)


def _numbers(path: Path) -> Any:
    """The array of an npy file, else a pyarrow table."""
    try:
        with path.open("rb") as file:
            start = file.read(len(NPY))
            content = start + file.read() if start == NPY else b""
    except OSError:
        start = b""  # read_table says what is wrong
    if start.startswith(ZIP):
        raise UnreadableTable(f"{path} is an archive, such as npz. Save one array by numpy.save, or a Parquet file.")
    if start != NPY:
        return read_table(path)
    try:
        array = np.lib.format.read_array(BytesIO(content), allow_pickle=False)
    except (
        Exception
    ) as error:  # the header is read as Python's text: brackets and names in it fail in ways of their own
        if "allow_pickle" in str(error) or "Object arrays" in str(error):
            raise UnreadableTable(
                f"{path} holds Python objects, as a pickle, which can run code. Save an array of numbers."
            ) from None
        raise UnreadableTable(f"{path} is damaged or incomplete. Save it again by numpy.save.") from None
    if array.dtype.kind not in "fiu":
        raise UnsupportedFeatures(f"{path} holds an array of {array.dtype}. Save an array of numbers.")
    return array


def _matrix(table: Any, path: Path) -> Numbers:
    """Columns of numbers side by side, or one column of lists of the same length."""
    if table.num_columns == 1 and kinds.is_nested(table.column(0).type):
        try:
            return np.array(table.column(0).to_pylist(), dtype=np.float64)
        except (TypeError, ValueError):
            raise ShapeMismatch(
                f"the column {table.column_names[0]!r} of {path} must have a list of numbers in every row, all of the "
                f"same length."
            ) from None
    other = next((name for name in table.column_names if not is_number(table[name].type)), None)
    if other is not None:
        raise UnsupportedFeatures(
            f"{path} has the column {other!r}, which holds no numbers. Give columns of numbers, or one column of lists."
        )
    return np.column_stack([column.to_numpy() for column in table.columns]) if table.num_columns else np.empty((0, 0))
