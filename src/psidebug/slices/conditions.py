"""A condition on one column: in words for a person, as plain data for a file, and evaluated on any table; and slices,
training rows that meet conditions and carry the same given label."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.stats import norm
from sklearn.feature_extraction.text import CountVectorizer

from psidebug.task.columns import Column, column_of
from psidebug.task.data import Data
from psidebug.task.dates import as_text, dates_in
from psidebug.task.tables import Table, is_missing
from psidebug.task.task import Task

Operator = Literal["=", "≠", "≤", ">", "between", "contains", "missing"]
Home = Literal["features", "metadata", "rows"]
Plain = str | int | float | bool
Ints = npt.NDArray[np.intp]
Mask = npt.NDArray[np.bool_]

UNNAMED: dict[Home, str] = {"features": "x", "metadata": "m", "rows": "row"}
"""What columns without a name are called, before their number."""
LONGEST = 60
"""Values are shown up to this many characters."""


@dataclass(frozen=True)
class Condition:
    """``column operator values``; all fields are plain data, so that ``Condition(**record)`` reads what was saved.

    "between" takes both ends. A date is written in ISO form and means all of its year, month or day: ``date ≤ 2024-03``
    holds until the end of March. A missing value meets no condition but "missing".
    """

    column: str
    operator: Operator
    values: tuple[Plain, ...] = ()
    home: Home = "features"
    """Where the column is: conditions on metadata and on row ids are about training rows only."""

    def __post_init__(self) -> None:
        if not isinstance(self.values, tuple):
            object.__setattr__(self, "values", tuple(self.values))  # a list, when read from JSON

    def __str__(self) -> str:
        shown = [_shown(value) for value in self.values]
        match self.operator:
            case "missing":
                return f"{self.column} missing"
            case "contains":
                return f'"{shown[0]}" in {self.column}'
            case "between" if self.home == "rows":
                return f"{self.column} {shown[0]} to {shown[1]}"
            case "between":
                return f"{self.column} between {shown[0]} and {shown[1]}"
            case _:
                return f"{self.column} {self.operator} {shown[0]}"

    def holds(self, table: Table) -> Mask:
        """Where the condition holds, in a table with the columns of its home; for row ids the array of ids."""
        if self.home == "rows":
            return self.holds_in(Column(self.column, np.asarray(table)))
        return self.holds_in(column_of(table, self.column, unnamed=UNNAMED[self.home]))

    def holds_in(self, column: Column) -> Mask:
        """Where the condition holds in its column."""
        if self.operator == "missing":
            return missing(column)
        if self.operator == "contains":
            return _contains(column.values, str(self.values[0]))
        if self.operator != "=" and isinstance(self.values[0], str):  # a range of dates
            column = _dated(column)
        if column.dated:
            bounds = [_moment(value) for value in self.values]
            return self._compared([(column.values.astype(bound.dtype), bound) for bound in bounds])
        if self.operator == "=" and not column.numeric:
            codes, distinct = coded(column.values)
            return np.asarray(codes == distinct.get(self.values[0], -2))
        numbers = _numbers(column)
        return self._compared([(numbers, value) for value in self.values])

    def _compared(self, sides: list[tuple[npt.NDArray[Any], Any]]) -> Mask:
        """The operator on columns and values that numpy can compare; NaN and NaT compare as false."""
        values, bound = sides[0]
        match self.operator:
            case "=":
                result = values == bound
            case "≠":
                result = (values < bound) | (values > bound)
            case "≤":
                result = values <= bound
            case ">":
                result = values > bound
            case _:
                upper_values, upper = sides[1]
                result = (values >= bound) & (upper_values <= upper)
        return cast(Mask, result)


class Conjunction:
    """What rows have in common that meet all of some conditions."""

    conditions: tuple[Condition, ...]

    @property
    def condition(self) -> str:
        """The conditions in words."""
        return " and ".join(map(str, self.conditions))

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of all conditions."""
        return tuple(condition.column for condition in self.conditions)

    def holds(self, data: Data) -> Mask:
        """The training rows that meet the conditions, whatever their label."""
        held = [condition.holds(data.home(condition.home)) for condition in self.conditions]
        return np.asarray(np.logical_and.reduce(held))


@dataclass(frozen=True, eq=False)
class Slice(Conjunction):
    """Training rows that meet one to three conditions and carry the same given label."""

    conditions: tuple[Condition, ...]
    given: int
    members: Ints
    z: float
    """How far its rows stand out among all rows with this label, in standard errors."""
    log_p_value: float = 0.0
    """Logarithm of the probability that chance gives such a z somewhere among all that were looked at; at most 0."""
    looked: int = 1
    """How many conditions × labels it was chosen from."""
    held: tuple[Table, Mask] | None = None
    """The training features that were searched, and where the conditions hold there: nobody need ask again."""

    @classmethod
    def of(cls, conditions: tuple[Condition, ...], given: int, members: Ints, z: float, looked: int) -> Slice:
        """With its p-value: P(Z > z) × the number looked at."""
        return cls(conditions, given, members, z, min(0.0, float(norm.logsf(z) + np.log(looked))), looked)

    @property
    def charge(self) -> float:
        """Nats for choosing it among all that were looked at."""
        return float(np.log(self.looked))

    @property
    def p_value(self) -> float:
        """exp(log_p_value): 0 where that is too small for a number."""
        return float(np.exp(self.log_p_value))

    def everyone(self, task: Task) -> Mask:
        """The training rows that meet the conditions, whatever their label."""
        if self.held is not None and self.held[0] is task.train.features:
            return self.held[1]
        return self.holds(task.data)


def inside(slices: Sequence[Conjunction], data: Data) -> Mask:
    """The training rows that meet the conditions of one of these."""
    return np.asarray(np.logical_or.reduce([each.holds(data) for each in slices]))


def inside_both(slices: Sequence[Conjunction], data: Data) -> tuple[Mask, Mask] | None:
    """The training rows and test rows inside; None if there are no slices, or only training has their columns."""
    if not slices or any(condition.home != "features" for each in slices for condition in each.conditions):
        return None
    return inside(slices, data), inside(slices, replace(data, train=data.test))


def missing(column: Column) -> Mask:
    """Where a column has no value."""
    values = column.values
    if values.dtype.kind in "Mm":
        return np.asarray(np.isnat(values))
    if values.dtype.kind == "f":
        return np.asarray(np.isnan(values))
    return coded(values)[0] < 0 if values.dtype.kind == "O" else np.zeros(len(values), dtype=bool)


def coded(values: npt.NDArray[Any]) -> tuple[npt.NDArray[np.intp], dict[Plain, int]]:
    """A code for every value, -1 where it is missing, and the codes of the different values in plain form.

    Python looks at each different value once, not at each row.
    """
    listed = values.tolist()
    try:
        seen = {value: code for code, value in enumerate(dict.fromkeys(listed))}
    except TypeError:  # lists, arrays or dicts cannot be keys, but their text can
        listed = list(map(as_plain, listed))
        seen = {value: code for code, value in enumerate(dict.fromkeys(listed))}
    raw = np.fromiter(map(seen.__getitem__, listed), dtype=np.intp, count=len(listed))
    distinct: dict[Plain, int] = {}
    plain = map(as_plain, seen)
    again = [-1 if value is None else distinct.setdefault(value, len(distinct)) for value in plain]
    return np.array(again, dtype=np.intp)[raw], distinct


def as_plain(value: Any) -> Plain | None:
    """A value as it can be written to a file; None if it is missing. What has no plain form is known by its text."""
    value = value.item() if isinstance(value, np.generic) else value
    if is_missing(value):
        return None
    return value if isinstance(value, str | bool | int | float) else str(value)


def words_of(texts: npt.NDArray[Any], *, least: int) -> tuple[sp.csr_array, list[str]]:
    """Which words are in which texts, (N, words) of 0 and 1, of the words in at least so many texts."""
    vectorizer = CountVectorizer(binary=True, min_df=least)
    try:
        counted = vectorizer.fit_transform([text if isinstance(text, str) else "" for text in texts])
    except ValueError:  # no word is frequent enough
        return sp.csr_array((len(texts), 0)), []
    return sp.csr_array(counted), vectorizer.get_feature_names_out().tolist()


def _contains(texts: npt.NDArray[Any], word: str) -> Mask:
    """Whether the word is among the tokens of the text, lower-cased, as :func:`words_of` makes them."""
    whole = re.compile(rf"\b{re.escape(word)}\b")
    lowered = (text.lower() if isinstance(text, str) else "" for text in texts)
    return np.array([word in text and bool(whole.search(text)) for text in lowered], dtype=bool)


def _dated(column: Column) -> Column:
    """The column as dates: texts that are written as dates, and nothing else."""
    if column.dated:
        return column
    texts = as_text(column.values)
    read = None if texts is None else dates_in(texts)
    nothing = np.full(len(column.values), "NaT", dtype="datetime64[us]")
    return Column(column.name, nothing if read is None else read.to_numpy(zero_copy_only=False))


def _moment(value: Plain) -> np.datetime64:
    """A date, or none: a column may hold dates in one set only."""
    with suppress(ValueError):
        return np.datetime64(value if isinstance(value, str) else "NaT")
    return np.datetime64("NaT", "D")


def _numbers(column: Column) -> npt.NDArray[np.float64]:
    """The column as numbers; NaN for what is none, in a table that has texts where training had numbers."""
    if column.numeric:
        return column.values.astype(np.float64)
    numbers = [value if isinstance(value, int | float) else np.nan for value in column.values.tolist()]
    return np.array(numbers, dtype=np.float64)


def _shown(value: Plain) -> str:
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else f"{value + 0.0!r}"
    text = str(value)
    if not text.strip():
        return repr(text)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
