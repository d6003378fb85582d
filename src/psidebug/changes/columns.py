"""Changes of cells: a column in another unit, codes made missing, a column left out, two columns that change places."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from psidebug.changes.rows import Change, Positions
from psidebug.task.columns import changed_column, column_of, without_cells
from psidebug.task.data import Data, LabelledSet
from psidebug.task.tables import is_missing, objects_of


@dataclass(frozen=True, eq=False)
class _OfColumn(Change):
    """A change of one column, in the training set or, if ``test`` is said, in the other sets."""

    column: str
    test: bool = False

    rows: Positions | None = None
    """Positions of the rows that it concerns; None if all."""
    validation: bool = True
    """Whether validation rows share the fault of the test rows, as rows from the same source do."""

    @property
    def columns(self) -> tuple[str, ...]:
        """That one."""
        return (self.column,)

    @property
    def of_test(self) -> bool:
        """As is said."""
        return self.test

    @abstractmethod
    def _new(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]: ...

    def applied(self, data: Data) -> Data:
        """With that column changed, in the user's own kind of table."""
        if not self.test:
            return replace(data, train=self._set(data.train))
        validation = data.validation
        if (
            validation is not None and self.validation and self.rows is None
        ):  # rows of the test set are no rows of this one
            validation = self._set(validation)
        return replace(data, test=self._set(data.test), validation=validation)

    def count(self, data: Data) -> int:
        """Cells that differ, in the training set or the test set."""
        before = column_of((data.test if self.test else data.train).features, self.column).values
        after = self._changed(before)
        both_missing = np.array([a != a and b != b for a, b in zip(before.tolist(), after.tolist(), strict=True)])
        return int(((before != after) & ~both_missing).sum())

    def _set(self, rows: LabelledSet) -> LabelledSet:
        values = self._changed(column_of(rows.features, self.column).values)
        return LabelledSet(changed_column(rows.features, self.column, values), rows.codes)

    def _changed(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return _in_type_of(values, np.where(self._chosen(values), self._new(values), values))

    def _chosen(self, values: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
        chosen = np.full(len(values), self.rows is None)
        if self.rows is not None:
            chosen[self.rows] = True
        return chosen


def _in_type_of(values: npt.NDArray[Any], new: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Whole numbers stay whole numbers, where they can."""
    if values.dtype.kind not in "iu" or not np.isfinite(new).all():
        return new
    with np.errstate(invalid="ignore"):  # too large for their type
        whole = new.astype(values.dtype)
    return whole if np.array_equal(whole, new) else new


@dataclass(frozen=True, eq=False)
class Rescale(_OfColumn):
    """A column in another unit: every value times ``factor``."""

    factor: float = 1.0

    def _new(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        up, down = (float(f"{each:.12g}") for each in (self.factor, 1.0 / self.factor))
        return np.asarray(values * up if abs(up) >= 1 else values / down)  # 5100 * 0.001 is 5.1000000000000005


@dataclass(frozen=True, eq=False)
class Mask(_OfColumn):
    """A code that stands for no value, such as -999 or "unknown", becomes a missing one, or ``fill`` among numbers."""

    code: float | str | None = None
    """None if it is every value, of the rows concerned."""
    fill: float = float("nan")

    def _new(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        gone = self._gone(values)
        if values.dtype.kind in "fiu":
            return np.where(gone, self.fill, values.astype(np.float64))
        return objects_of([None if each else value for each, value in zip(gone, values.tolist(), strict=True)])

    def _gone(self, values: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
        if self.code is None:
            return np.ones(len(values), dtype=bool)
        if values.dtype.kind in "fiu":
            return np.asarray(values == self.code)
        return np.array([not is_missing(each) and str(each) == self.code for each in values.tolist()], dtype=bool)

    def _set(self, rows: LabelledSet) -> LabelledSet:
        values = column_of(rows.features, self.column).values
        if values.dtype.kind in "fiu":
            return super()._set(rows)
        gone = self._chosen(values) & self._gone(values)  # categories keep their type
        return LabelledSet(without_cells(rows.features, self.column, gone), rows.codes)


@dataclass(frozen=True, eq=False)
class Blank(Change):
    """A column that says nothing any more: one value, the median or the most frequent one, in every set."""

    column: str

    @property
    def columns(self) -> tuple[str, ...]:
        """That one."""
        return (self.column,)

    def applied(self, data: Data) -> Data:
        """With that value everywhere."""
        values = column_of(data.train.features, self.column).values
        value = _usual(values)
        parts = {"train": data.train, "test": data.test, "validation": data.validation}
        filled: dict[str, Any] = {
            name: LabelledSet(
                changed_column(each.features, self.column, np.full(len(each), value, dtype=values.dtype)), each.codes
            )
            for name, each in parts.items()
            if each is not None
        }
        return replace(data, **filled)

    def count(self, data: Data) -> int:
        """Cells of the training set that differ."""
        values = column_of(data.train.features, self.column).values
        if values.dtype.kind in "fiu":
            return int((values != _usual(values)).sum())
        usual = str(_usual(values))  # by their text: what stands for no value in pandas cannot be compared
        return sum(str(each) != usual for each in values.tolist())


def _usual(values: npt.NDArray[Any]) -> Any:
    if values.dtype.kind in "fiu":
        there = values[np.isfinite(values)]
        return np.median(there).astype(values.dtype) if len(there) else values.dtype.type(0)
    texts = [str(each) for each in values.tolist()]
    most = max(set(texts), key=texts.count) if len(texts) < 1000 else Counter(texts).most_common(1)[0][0]
    return values[texts.index(most)]


@dataclass(frozen=True, eq=False)
class Swap(Change):
    """Two columns change places, in the test set and the validation set."""

    one: str
    other: str
    validation: bool = True
    """Whether validation rows share the fault of the test rows."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Both."""
        return self.one, self.other

    @property
    def of_test(self) -> bool:
        """It is."""
        return True

    def applied(self, data: Data) -> Data:
        """With the values of each under the name of the other."""
        validation = data.validation
        if validation is not None and self.validation:
            validation = self._set(validation)
        return replace(data, test=self._set(data.test), validation=validation)

    def count(self, data: Data) -> int:
        """Cells of the test set that differ."""
        one, other = (column_of(data.test.features, name).values for name in (self.one, self.other))
        return 2 * int((one != other).sum())

    def _set(self, rows: LabelledSet) -> LabelledSet:
        one, other = (column_of(rows.features, name).values for name in (self.one, self.other))
        table = changed_column(rows.features, self.one, other)
        return LabelledSet(changed_column(table, self.other, one), rows.codes)
