"""The rows of a task: tables, labels, ids, weights, metadata. Checked here, once; behind this door all is well-formed.

Labels are codes 0 … K-1, rows keep their ids to the end, and every table has the columns of training in their order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from psidebug.errors import (
    DuplicateIds,
    InvalidWeights,
    LabelError,
    LearnerMismatch,
    MissingLabels,
    ShapeMismatch,
    UnknownRow,
    UnsupportedFeatures,
)
from psidebug.task import learner as learners
from psidebug.task.annotations import Annotations
from psidebug.task.dates import with_dates
from psidebug.task.labels import Codes, Encoding, array_of, compressed, encoding_of, listed
from psidebug.task.probabilities import OutOfFold
from psidebug.task.row_ids import index_of
from psidebug.task.tables import LARGEST, Table, as_table, own_table, row_count, same_columns, take


@dataclass(frozen=True, eq=False)
class LabelledSet:
    """Rows with their labels: Γ, Δ or the validation set."""

    features: Table
    codes: Codes

    def __len__(self) -> int:
        return len(self.codes)


@dataclass(frozen=True, eq=False)
class Whole:
    """All training rows, as a part of them knows them: rows are drawn by their numbers among all."""

    numbers: npt.NDArray[np.int64]
    """Of each row of the part (n,)."""
    class_counts: npt.NDArray[np.intp]
    """Rows of each class among all (K,)."""

    def of_rows(self, rows: npt.NDArray[np.intp]) -> Whole:
        """As these rows of the part know them."""
        return replace(self, numbers=self.numbers[rows])


@dataclass(frozen=True, eq=False)
class Data:
    """What a learner is trained on and tested with; made by :meth:`of`, changed by :mod:`psidebug.changes`."""

    encoding: Encoding
    train: LabelledSet
    test: LabelledSet
    rows: npt.NDArray[Any]
    """Ids of the training rows; by default those of a pandas index, or else their positions."""
    given_labels: Any
    """The training labels as the user gave them."""
    validation: LabelledSet | None = None
    metadata: Table | None = None
    """Columns about the training rows that the learner never saw; dates written as text are dates here."""
    sample_weight: npt.NDArray[np.float64] | None = None
    """Weights of the training rows, given to every fit; None when all are 1."""
    known: npt.NDArray[np.bool_] | None = None
    """Training rows (N,) whose labels a person has settled: they cannot be wrong. None when there are none such."""
    came: Codes | None = None
    """Labels (N,) that the training rows came with, before a person settled some."""
    annotations: Annotations | None = None
    """What several annotators said about the training rows; None if that was not given."""
    opinion: OutOfFold | None = None
    """What the user's own model says of the rows; None if that was not given."""
    test_metadata: Table | None = None
    """The columns of ``metadata`` for the test rows, to be shown; None if that was not said."""
    part_of: Whole | None = None
    """The rows that these are a part of; None if they are all."""

    @classmethod
    def of(
        cls,
        model: learners.Classifier,
        X_train: Any,
        y_train: Any,
        X_test: Any,
        y_test: Any,
        *,
        rows: Any = None,
        X_validation: Any = None,
        y_validation: Any = None,
        sample_weight: Any = None,
        metadata: Any = None,
        annotations: Any = None,
        known: Any = None,
        pred_probs: Any = None,
        pred_probs_test: Any = None,
    ) -> Data:
        """Check everything once; the classes are those of a fitted ``model``, else those of the training labels."""
        fitted = learners.is_fitted(model)
        train_table = as_table(X_train, name="X_train")
        train_labels, places = compressed(y_train, name="y_train")
        _check_lengths(train_table, places, "X_train", "y_train")
        encoding = encoding_of(train_labels, order=learners.classes_of(model) if fitted else None)
        if not fitted and learners.takes_only_codes(model):
            encoding = replace(encoding, as_codes=True)
        if fitted and (unknown := set(train_labels) - set(encoding.classes)):
            raise LearnerMismatch(
                f"the model was fitted on classes {list(encoding.classes)[:6]}, but y_train has "
                f"{sorted(map(repr, unknown))[:6]}. Give the labels it was fitted on, or an unfitted model."
            )
        codes = encoding.encode(train_labels, where="y_train")[places]
        test = _labelled(encoding, train_table, X_test, y_test, "test")
        validation = None
        if X_validation is not None or y_validation is not None:
            if X_validation is None or y_validation is None:
                raise ShapeMismatch("X_validation and y_validation go together: give both or neither.")
            validation = _labelled(encoding, train_table, X_validation, y_validation, "validation")
        weights = None if sample_weight is None else _weights(sample_weight, model, len(codes))
        data = cls(
            encoding=encoding,
            train=LabelledSet(train_table, codes),
            test=test,
            rows=(ids := _ids(index_of(X_train, y_train) if rows is None else rows, len(codes))),
            given_labels=y_train.copy() if nw.dependencies.is_pandas_series(y_train) else y_train,
            validation=validation,
            metadata=None if metadata is None else _metadata(metadata, len(codes)),
            sample_weight=weights,
            annotations=None if annotations is None else Annotations.of(annotations, ids, encoding),
            opinion=_opinion(pred_probs, pred_probs_test, encoding, codes, test.codes),
        )
        return data if known is None else data.settled(known)

    def positions(self, rows: Iterable[Any], kind: str = "training") -> npt.NDArray[np.intp]:
        """Positions of the training rows with these ids; or where one True or False per training row is True."""
        if isinstance(rows, str) or not isinstance(rows, Iterable):
            raise UnknownRow(f"rows takes ids of {kind} rows in a list, not {rows!r}.")
        named = list(rows.to_list() if hasattr(rows, "to_list") else rows)
        if len(named) == len(self._places) and all(isinstance(row, bool | np.bool_) for row in named):
            return np.flatnonzero(np.array(named, dtype=bool))
        asked: list[Hashable] = [row.item() if isinstance(row, np.generic) else row for row in named]
        missing = [row for row in asked if row not in self._places]
        if missing:
            raise UnknownRow(f"{missing[0]!r} is not the id of a {kind} row (ids are {list(self._places)[:3]}, …).")
        return np.array([self._places[row] for row in asked], dtype=np.intp)

    @cached_property
    def _places(self) -> dict[Hashable, int]:
        return {row: place for place, row in enumerate(self.rows.tolist())}

    @cached_property
    def in_order_of_ids(self) -> npt.NDArray[np.intp]:
        """All training rows, in an order that does not depend on how they came."""
        plain = np.array([str(each) for each in self.rows.tolist()]) if self.rows.dtype.kind == "O" else self.rows
        return np.argsort(plain, kind="stable")

    @cached_property
    def whole(self) -> Whole:
        """All rows, numbered in the order of their ids, or those that these are a part of."""
        if self.part_of is not None:
            return self.part_of
        numbers = np.empty(len(self.rows), dtype=np.int64)
        numbers[self.in_order_of_ids] = np.arange(len(numbers))
        return Whole(numbers, np.bincount(self.train.codes, minlength=self.encoding.size))

    @property
    def codes_as_they_came(self) -> Codes:
        """The training labels (N,) with those that the known rows came with: where they were wrong, others may be."""
        if self.known is None or self.came is None:
            return self.train.codes
        return np.where(self.known, self.came, self.train.codes)

    def home(self, name: str) -> Any:
        """What conditions of this home are about: features, metadata or ids of the training rows."""
        return {"features": self.train.features, "metadata": self.metadata, "rows": self.rows}[name]

    def labels_like_given(self, codes: Codes) -> Any:
        """Training labels of these codes (N,) in the form in which the user gave them.

        A series stays a series and a numpy array keeps its type; anything else becomes a numpy array.
        """
        labels, given = self.encoding.decode(codes), self.given_labels
        if isinstance(given, np.ndarray) and given.dtype.kind != "U":  # a longer text may not fit into U5
            return labels.astype(given.dtype).reshape(given.shape)
        if not nw.dependencies.is_into_series(given):
            return labels
        if nw.dependencies.is_pandas_series(given):
            changed, repaired = np.flatnonzero(codes != self.codes_as_they_came), given.copy()
            repaired.iloc[changed] = labels[changed]
            return repaired
        if nw.dependencies.is_pyarrow_chunked_array(given):  # narwhals cannot make a dictionary with an older pyarrow
            return pa.chunked_array([pa.array(labels.tolist(), given.type)])
        series = nw.from_native(given, series_only=True)
        backend: Any = nw.get_native_namespace(series)
        return nw.new_series(series.name, labels.tolist(), dtype=series.dtype, backend=backend).to_native()

    def settled(self, known: Iterable[Any] | Mapping[Any, Any]) -> Data:
        """With labels that are facts, beside those that already are: rows (ids) right as they are, or their labels."""
        places, codes = self.positions(known), self.train.codes.copy()
        if isinstance(known, Mapping):
            codes[places] = self.encoding.encode(list(known.values()), where="known")
        facts = np.zeros(len(codes), dtype=bool) if self.known is None else self.known.copy()
        facts[places] = True
        came = self.train.codes if self.came is None else self.came
        return replace(self, train=LabelledSet(self.train.features, codes), known=facts, came=came)

    def drawn(self, rows: npt.NDArray[np.intp]) -> Data:
        """These training rows alone."""

        def of(values: Any) -> Any:
            return None if values is None else values[rows]

        return replace(
            self,
            train=LabelledSet(take(self.train.features, rows), self.train.codes[rows]),
            rows=self.rows[rows],
            given_labels=self.encoding.decode(self.train.codes[rows]),
            metadata=None if self.metadata is None else take(self.metadata, rows),
            sample_weight=of(self.sample_weight),
            known=of(self.known),
            came=of(self.came),
            annotations=None,
            opinion=None if self.opinion is None else self.opinion.of_rows(rows),
            part_of=self.whole.of_rows(rows),
        )

    def with_labels(self, codes: Codes) -> Data:
        """The same rows with these training labels (N,)."""
        return replace(self, train=LabelledSet(self.train.features, codes), given_labels=self.encoding.decode(codes))


def _labelled(encoding: Encoding, train: Table, X: Any, y: Any, kind: str) -> LabelledSet:
    table = same_columns(train, as_table(X, name=f"X_{kind}"), name=f"X_{kind}")
    labels, places = compressed(y, name=f"y_{kind}")
    _check_lengths(table, places, f"X_{kind}", f"y_{kind}")
    return LabelledSet(table, encoding.encode(labels, where=f"y_{kind}")[places])


def _opinion(train: Any, test: Any, encoding: Encoding, given: Codes, right: Codes) -> OutOfFold | None:
    if (train is None) != (test is None):
        raise ShapeMismatch("pred_probs and pred_probs_test go together: give both or neither.")
    return None if train is None else OutOfFold.of(train, test, encoding, given, right)


def _check_lengths(table: Table, labels: Codes, table_name: str, labels_name: str) -> None:
    if row_count(table) != len(labels):
        raise ShapeMismatch(
            f"{table_name} has {row_count(table)} rows but {labels_name} has {len(labels)} labels: one label per row."
        )


def _weights(sample_weight: Any, model: learners.Classifier, count: int) -> npt.NDArray[np.float64]:
    try:
        weights = np.array(sample_weight, dtype=np.float64)  # a copy, as of metadata: both are read again later
    except (TypeError, ValueError):
        raise InvalidWeights("sample_weight takes one number per training row.") from None
    weights = weights.reshape(-1) if weights.ndim == 2 and weights.shape[1] == 1 else weights
    if weights.shape != (count,):
        raise ShapeMismatch(
            f"sample_weight has shape {weights.shape} but X_train has {count} rows: one weight per training row."
        )
    wrong = np.flatnonzero(~np.isfinite(weights) | (weights < 0) | (weights > LARGEST))
    if wrong.size:
        raise InvalidWeights(
            f"sample_weight of training row {wrong[0]} is {weights[wrong[0]]:g}"
            f"{f' and {wrong.size - 1} more are no weights' if wrong.size > 1 else ''}. "
            f"Weights are at most {LARGEST:g} and not negative; 0 leaves a row out."
        )
    if not weights.any():
        raise InvalidWeights("every sample_weight is 0: nothing is left to train on.")
    learners.check_takes_weights(model)
    return weights


def _metadata(metadata: Any, count: int) -> Table:
    table = as_table(metadata, name="metadata")
    if len(table.shape) != 2:
        raise UnsupportedFeatures("metadata is one column without a name: give a data frame with named columns.")
    if row_count(table) != count:
        raise ShapeMismatch(f"metadata has {row_count(table)} rows but X_train has {count}: one per training row.")
    return own_table(with_dates(table))


def _ids(rows: Any, count: int) -> npt.NDArray[Any]:
    """The ids as given, checked; positions where none are given."""
    if rows is None:
        return np.arange(count)
    try:
        ids = listed(rows, name="rows")
    except MissingLabels:
        raise ShapeMismatch("some of rows are missing (None or NaN): one id per training row.") from None
    except LabelError:
        raise ShapeMismatch(
            f"rows must be a sequence with one id (a string or number) per training row, not {type(rows).__name__}."
        ) from None
    if len(ids) != count:
        raise ShapeMismatch(f"rows has {len(ids)} ids but X_train has {count} rows: one id per training row.")
    if len(set(ids)) < count:
        twice = next(value for value, times in Counter(ids).items() if times > 1)
        raise DuplicateIds(
            f"rows has {count - len(set(ids))} duplicate ids, for instance {twice!r}. Ids must tell rows apart; leave "
            f"rows out to use positions."
        )
    return array_of(ids)
