"""Changes of labels, of weights, and of which rows are there; and several changes in turn."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from psidebug.errors import UnknownOption, UnknownRow
from psidebug.task.data import Data, LabelledSet
from psidebug.task.labels import Codes, array_of
from psidebug.task.tables import stacked, take

Positions = npt.NDArray[np.intp]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Change(ABC):
    """Something that can be done to the data of a task."""

    keeps_features: ClassVar[bool] = False
    """Whether the training rows stay as they are, with other labels or weights."""

    @property
    def of_test(self) -> bool:
        """Whether it is the test rows that it changes, and not training."""
        return False

    @abstractmethod
    def applied(self, data: Data) -> Data:
        """The data after the change; the given ones stay as they are."""

    @abstractmethod
    def count(self, data: Data) -> int:
        """How many labels, rows, weights or cells of the training set it makes different."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Those whose cells it makes different."""
        return ()

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
        opinion = None if data.opinion is None else data.opinion.of_rows(kept)
        part = data.whole.of_rows(kept)
        return replace(data, train=train, metadata=about, annotations=said, opinion=opinion, part_of=part, **parts)

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
            opinion=None if data.opinion is None else data.opinion.joined(self.rows),
            part_of=None,
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


NOTHING = Relabel(np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp))
"""The change that changes nothing."""
