"""Every column of the training set beside that of the test set: quantities as numbers, all other values as codes.

A column costs one pass if it holds numbers, and one hash of its values if it does not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.types as kinds
import scipy.sparse as sp

from psidebug.task.tables import Table, is_frame, is_missing

Values = npt.NDArray[Any]
BLOCK = 32
"""Columns of a matrix that are laid out one after the other at a time: a column of a matrix is slow to read."""
MOST_KEPT = 2**26
"""Bytes of a matrix up to which its columns are kept one by one, and of those that are taken out together."""
NOT_ARROW = (pa.ArrowException, TypeError, ValueError, OverflowError, NotImplementedError)
"""What is raised where Arrow cannot hold the values."""


@dataclass(frozen=True, eq=False)
class Pair:
    """One column of both sets."""

    name: str
    train: Values
    test: Values
    """Numbers, NaN where they are missing; or codes, -1 where the value is missing."""
    distinct: int | None = None
    """Number of different training values, if these are codes: the codes below it are in training."""
    texts: Any = None
    """The training values as Arrow text, if they are text."""
    dated: bool = False
    """Whether the numbers are dates, in microseconds since 1970."""

    @property
    def quantity(self) -> bool:
        """Whether the values can be more or less."""
        return self.distinct is None


@dataclass(frozen=True, eq=False)
class Pairs:
    """The columns of two tables, to be looked at more than once; those of a large matrix are not kept meanwhile."""

    train: Table
    test: Table

    def __iter__(self) -> Iterator[Pair]:
        if isinstance(self.train, np.ndarray) and self.train.nbytes > MOST_KEPT:
            return pairs_of(self.train, self.test)
        return iter(self._kept)

    @cached_property
    def _kept(self) -> list[Pair]:
        return list(pairs_of(self.train, self.test))


def pairs_of(train: Table, test: Table) -> Iterator[Pair]:
    """The columns, in their order; texts are one column, and a sparse matrix has none."""
    if sp.issparse(train):
        return
    if is_frame(train) and is_frame(test):
        frames = [nw.from_native(each, eager_only=True) for each in (train, test)]
        for one, other in zip(*(each.iter_columns() for each in frames), strict=True):
            yield _pair(str(one.name), _of_series(one), _of_series(other))
        return
    matrices = [nw.from_native(each, eager_only=True).to_numpy() if is_frame(each) else each for each in (train, test)]
    if matrices[0].ndim == 1:
        yield _pair("text", *matrices)
        return
    width = max(1, min(BLOCK, MOST_KEPT // max(matrices[0][:, :1].nbytes, 1)))
    for start in range(0, matrices[0].shape[1], width):
        blocks = (np.ascontiguousarray(each[:, start : start + width].T) for each in matrices)
        for place, (one, other) in enumerate(zip(*blocks, strict=True), start=start):
            yield _pair(f"x{place}", one, other)


def _of_series(series: nw.Series[Any]) -> Values | Any:
    """A column of numbers as an array; any other as Arrow, or as objects that Arrow cannot hold."""
    if series.dtype.is_numeric():
        values = series.to_numpy()
        return values if values.dtype.kind in "fiu" else values.astype(np.float64)
    try:
        arrow = series.to_arrow()
        return arrow.cast(arrow.type.value_type) if kinds.is_dictionary(arrow.type) else arrow
    except Exception:  # each library has its own way to say that Arrow cannot hold this
        return _objects(series.to_list())


def _pair(name: str, train: Any, test: Any) -> Pair:
    numbers = _numbers(train), _numbers(test)
    if numbers[0] is not None and numbers[1] is not None:
        return Pair(name, numbers[0], numbers[1])
    one, other = _arrow(train), _arrow(test)
    if one is None or other is None:
        return _by_trace(name, train, test)
    if _is_date(one.type) and _is_date(other.type):
        return Pair(name, _moments(one), _moments(other), dated=True)
    if _is_number(one.type) and _is_number(other.type):
        return Pair(name, _floats(one), _floats(other))
    try:
        both = [each.cast(pa.large_string()) if "string" in str(each.type) else each for each in (one, other)]
        coded = pa.chunked_array(both).combine_chunks().dictionary_encode()
    except NOT_ARROW:  # of two types, or lists
        return _by_trace(name, train, test)
    codes, rows = np.asarray(coded.indices.fill_null(-1), dtype=np.int64), len(one)
    texts = both[0] if kinds.is_large_string(both[0].type) else None
    return Pair(name, codes[:rows], codes[rows:], distinct=int(codes[:rows].max(initial=-1)) + 1, texts=texts)


def _numbers(values: Any) -> Values | None:
    """An array that holds numbers; None if it holds anything else."""
    if not isinstance(values, np.ndarray) or values.dtype.kind not in "fiub":
        return None
    return values.astype(np.int8) if values.dtype.kind == "b" else values


def _arrow(values: Any) -> Any | None:
    if not isinstance(values, np.ndarray):
        return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    try:
        return pa.array(values, from_pandas=True)
    except NOT_ARROW:
        return None


def _is_date(kind: Any) -> bool:
    return bool(kinds.is_date(kind) or kinds.is_timestamp(kind))


def _is_number(kind: Any) -> bool:
    return bool(kinds.is_integer(kind) or kinds.is_floating(kind))


def _moments(dates: Any) -> Values:
    zone = getattr(dates.type, "tz", None)
    return _floats(dates.cast(pa.timestamp("us", zone), safe=False).cast(pa.int64()))


def _floats(numbers: Any) -> Values:
    """NaN where they are missing."""
    return np.asarray(numbers.to_numpy(zero_copy_only=False), dtype=np.float64)


def _by_trace(name: str, train: Any, test: Any) -> Pair:
    """Codes of values of several types, and of lists and arrays, which no hash takes; a missing one is one of them."""
    listed = [each.tolist() if isinstance(each, np.ndarray) else each.to_pylist() for each in (train, test)]
    traces = np.fromiter(map(_trace, listed[0] + listed[1]), dtype=np.int64, count=sum(map(len, listed)))
    _, codes = np.unique(traces, return_inverse=True)
    known, rows = np.unique(codes[: len(listed[0])]), len(listed[0])
    others = np.setdiff1d(codes, known)
    place = np.empty(len(known) + len(others), dtype=np.int64)
    place[np.concatenate([known, others])] = np.arange(len(place))
    return Pair(name, place[codes[:rows]], place[codes[rows:]], len(known))


def _trace(value: Any) -> int:
    """The same number for the same value; a value that cannot be written down is like no other."""
    try:
        return 0 if is_missing(value) else hash(value.tobytes() if isinstance(value, np.ndarray) else repr(value))
    except Exception:  # whatever a foreign type does when it is looked at
        return id(value)


def _objects(values: Sequence[Any]) -> Values:
    return np.fromiter(values, dtype=object, count=len(values))
