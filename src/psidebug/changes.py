"""What may be changed in a task, as values: applied to :class:`Data`, counted, and told apart by a key.

A cause is a change under which the error goes away, so whoever retrains, proves or reviews speaks in changes::

    change = Relabel.of(data, codes)
    changed = change.applied(data)   # a new Data; ``data`` is as it was, which is how a change is undone
    change.count(data)               # labels, rows, weights or cells that differ

All are positions in the training set, or columns by the name that :func:`psidebug.task.tables.columns` gives them.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from psidebug.errors import UnknownOption, UnknownRow
from psidebug.task.data import Data, LabelledSet
from psidebug.task.labels import Codes, array_of
from psidebug.task.tables import changed_column, column_of, stacked, take

Positions = npt.NDArray[np.intp]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Change(ABC):
    """Something that can be done to the data of a task."""

    keeps_features: ClassVar[bool] = False
    """Whether the training rows stay as they are, with other labels or weights."""

    @abstractmethod
    def applied(self, data: Data) -> Data:
        """The data after the change; the given ones stay as they are."""

    @abstractmethod
    def count(self, data: Data) -> int:
        """How many labels, rows, weights or cells of the training set it makes different."""

    @property
    def key(self) -> bytes:
        """Equal changes have equal keys. Digested: the rows of a million labels are not kept for every change."""
        digest = hashlib.blake2b(type(self).__name__.encode(), digest_size=16)
        for each in fields(self):
            value = getattr(self, each.name)
            digest.update(value.tobytes() if isinstance(value, np.ndarray) else repr(value).encode())
            digest.update(b"\0")
        return digest.digest()


@dataclass(frozen=True, eq=False)
class Relabel(Change):
    """These training rows get these labels (codes)."""

    keeps_features = True
    rows: Positions
    codes: Codes

    @classmethod
    def of(cls, data: Data, codes: Codes) -> Relabel:
        """From the labels of the data to these (N,)."""
        rows = np.flatnonzero(codes != data.train.codes)
        return cls(rows, np.asarray(codes[rows], dtype=np.intp))

    @classmethod
    def of_rows(cls, data: Data, rows: Iterable[Any] | Mapping[Any, Any], proposed: Codes) -> Relabel:
        """Rows by their ids: to the labels that a mapping gives them, else to the ``proposed`` (N,)."""
        places, codes = data.positions(rows), data.train.codes.copy()
        stated = list(rows.values()) if isinstance(rows, Mapping) else None
        codes[places] = proposed[places] if stated is None else data.encoding.encode(stated, where="rows")
        return cls.of(data, codes)

    @classmethod
    def of_positions(cls, data: Data, labels: Mapping[int, Any]) -> Relabel:
        """Rows by their positions, with labels as the user writes them."""
        outside = [place for place in labels if not 0 <= place < len(data.train)]
        if outside:
            raise UnknownRow(
                f"there is no training row at position {outside[0]}: there are 0 to {len(data.train) - 1}."
            )
        codes = data.train.codes.copy()
        codes[np.fromiter(labels, dtype=np.intp)] = data.encoding.encode(list(labels.values()), where="labels")
        return cls.of(data, codes)

    def labels(self, data: Data) -> Codes:
        """All training labels (N,) after it."""
        codes = data.train.codes.copy()
        codes[self.rows] = self.codes
        return codes

    def applied(self, data: Data) -> Data:
        """With these labels."""
        return data.with_labels(self.labels(data))

    def count(self, data: Data) -> int:
        """Labels that differ."""
        return int((data.train.codes[self.rows] != self.codes).sum())


@dataclass(frozen=True, eq=False)
class Drop(Change):
    """These training rows are left out."""

    rows: Positions

    def applied(self, data: Data) -> Data:
        """Without them; ids, weights, metadata and annotations follow."""
        kept = np.setdiff1d(np.arange(len(data.train)), self.rows)
        if len(kept) == 0:
            raise UnknownOption("this change drops every training row: nothing is left to train on.")
        train = LabelledSet(take(data.train.features, kept), data.train.codes[kept])
        parts: dict[str, Any] = {"rows": data.rows[kept], "given_labels": data.encoding.decode(train.codes)}
        for name in ("sample_weight", "known", "came"):
            value = getattr(data, name)
            parts[name] = None if value is None else value[kept]
        about = None if data.metadata is None else take(data.metadata, kept)
        said = None if data.annotations is None else data.annotations.of_rows(kept)
        return replace(data, train=train, metadata=about, annotations=said, **parts)

    def count(self, data: Data) -> int:
        """Rows that go."""
        return len(np.unique(self.rows))


@dataclass(frozen=True, eq=False)
class Weigh(Change):
    """Every training row gets a weight (N,)."""

    keeps_features = True
    weights: Floats

    def applied(self, data: Data) -> Data:
        """With these weights in the place of those that were given."""
        return replace(data, sample_weight=np.asarray(self.weights, dtype=np.float64))

    def count(self, data: Data) -> int:
        """Weights that differ."""
        before = np.ones(len(data.train)) if data.sample_weight is None else data.sample_weight
        return int((before != self.weights).sum())


@dataclass(frozen=True, eq=False)
class Join(Change):
    """These test rows, by position, are trained on too; each weighs as much as a training row does in the mean."""

    rows: Positions

    def applied(self, data: Data) -> Data:
        """With them after the training rows, as facts; about metadata of test rows nothing is known here."""
        test = LabelledSet(take(data.test.features, self.rows), data.test.codes[self.rows])
        codes = np.concatenate([data.train.codes, test.codes])
        came, weights, count = data.codes_as_they_came, data.sample_weight, len(test)
        known = np.zeros(len(data.train), dtype=bool) if data.known is None else data.known
        return replace(
            data,
            train=LabelledSet(stacked(data.train.features, test.features), codes),
            rows=array_of([*data.rows.tolist(), *(("test row", int(row)) for row in self.rows)]),
            given_labels=data.encoding.decode(codes),
            metadata=None,
            annotations=None,
            sample_weight=None if weights is None else np.append(weights, np.full(count, weights.mean())),
            known=np.append(known, np.ones(count, dtype=bool)),
            came=np.append(came, test.codes),
        )

    def count(self, data: Data) -> int:
        """Rows that come."""
        return len(np.unique(self.rows))


@dataclass(frozen=True, eq=False)
class InTurn(Change):
    """Several changes, one after the other."""

    changes: tuple[Change, ...]

    @property
    def keeps_features(self) -> bool:  # type: ignore[override]
        """Whether each of them does."""
        return all(each.keeps_features for each in self.changes)

    def applied(self, data: Data) -> Data:
        """After all of them."""
        for each in self.changes:
            data = each.applied(data)
        return data

    def count(self, data: Data) -> int:
        """The sum of what each makes different, in its turn."""
        total = 0
        for each in self.changes:
            total, data = total + each.count(data), each.applied(data)
        return total

    @property
    def key(self) -> bytes:
        """That of all of them, in their order."""
        return hashlib.blake2b(b"".join(each.key for each in self.changes), digest_size=16).digest()


@dataclass(frozen=True, eq=False)
class _OfColumn(Change):
    """A change of one column of numbers, in the training set or, if ``test`` is said, in the other sets."""

    column: str
    test: bool = False

    rows: Positions | None = None
    """Positions of the rows that it concerns; None if all."""

    @abstractmethod
    def _new(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]: ...

    def applied(self, data: Data) -> Data:
        """With that column changed, in the user's own kind of table."""
        if not self.test:
            return replace(data, train=self._set(data.train))
        validation = data.validation
        if validation is not None and self.rows is None:  # rows of the test set are no rows of this one
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
        new = self._new(values)
        if self.rows is None:
            return new
        chosen = np.zeros(len(values), dtype=bool)
        chosen[self.rows] = True
        return np.where(chosen, new, values)


@dataclass(frozen=True, eq=False)
class Rescale(_OfColumn):
    """A column in another unit: every value times ``factor``."""

    factor: float = 1.0

    def _new(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return np.asarray(values * self.factor)


@dataclass(frozen=True, eq=False)
class Shift(_OfColumn):
    """A column with another zero: ``by`` is added to every value."""

    by: float = 0.0

    def _new(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return np.asarray(values + self.by)


@dataclass(frozen=True, eq=False)
class Mask(_OfColumn):
    """A code that stands for no value, such as -999, becomes a missing one, or ``fill``."""

    code: float = 0.0
    fill: float = float("nan")

    def _new(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return np.where(values == self.code, self.fill, values.astype(np.float64))


@dataclass(frozen=True, eq=False)
class Blank(Change):
    """A column that says nothing any more: one value, the median or the most frequent one, in every set."""

    column: str

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

    def applied(self, data: Data) -> Data:
        """With the values of each under the name of the other."""
        validation = None if data.validation is None else self._set(data.validation)
        return replace(data, test=self._set(data.test), validation=validation)

    def count(self, data: Data) -> int:
        """Cells of the test set that differ."""
        one, other = (column_of(data.test.features, name).values for name in (self.one, self.other))
        return 2 * int((one != other).sum())

    def _set(self, rows: LabelledSet) -> LabelledSet:
        one, other = (column_of(rows.features, name).values for name in (self.one, self.other))
        table = changed_column(rows.features, self.one, other)
        return LabelledSet(changed_column(table, self.other, one), rows.codes)


NOTHING = Relabel(np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp))
"""The change that changes nothing."""
