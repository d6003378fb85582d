"""Labels of any hashable kind, and the codes 0 … K-1 that everything inside works with."""

from __future__ import annotations

import unicodedata
from collections.abc import Hashable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt

from psidebug.errors import ContinuousLabels, LabelError, MissingLabels, SingleClass, UnseenClass

Codes = npt.NDArray[np.intp]
MOST_COUNTED = 1_000
"""Whole numbers as labels are counted where the largest is above the smallest by less than this."""


@dataclass(frozen=True)
class Encoding:
    """The classes of a task, in the learner's order; class ``k`` has code ``k``."""

    classes: tuple[Hashable, ...]
    learned: bool = False
    """Whether the classes are those that a fitted learner already knows by their own values."""
    as_codes: bool = False
    """Whether the learner takes nothing but codes 0 … K-1, as XGBoost does."""

    @property
    def size(self) -> int:
        """K, the number of classes."""
        return len(self.classes)

    @property
    def native(self) -> npt.NDArray[Any]:
        """The classes as the learner sees them: their own values, or codes where scikit-learn would refuse those.

        It takes strings, booleans and whole numbers, and whatever it was fitted on.
        """
        if self.as_codes:
            return np.arange(self.size)
        values = array_of(self.classes)
        whole = values.dtype.kind == "f" and bool(np.all(values == np.round(values)))
        return values if self.learned or whole or values.dtype.kind in "biuU" else np.arange(self.size)

    @property
    def native_codes(self) -> dict[Any, int]:
        """Code of each class by the value that the learner knows it by."""
        return {value: code for code, value in enumerate(self.native.tolist())}

    def encode(self, labels: Sequence[Hashable], *, where: str) -> Codes:
        """Codes of the labels; a class that training never saw is an error that names it."""
        code_of = {value: code for code, value in enumerate(self.classes)}
        try:
            return np.fromiter((code_of[value] for value in labels), dtype=np.intp, count=len(labels))
        except KeyError:
            unseen = list(dict.fromkeys(value for value in labels if value not in code_of))
            if misspelled := self._misspelled(unseen):
                raise UnseenClass(
                    f"{where} has {misspelled}: the same class, spelled differently. Spell its labels the same in the "
                    f"training set and here: of one type, without blanks around them, in small letters or not."
                ) from None
            raise UnseenClass(
                f"{where} has {_listing(unseen)}, which no training label has (training has "
                f"{_listing(self.classes)}). Remove these rows, or give training rows of that class."
            ) from None

    def _misspelled(self, unseen: Sequence[Hashable]) -> str:
        """The first unseen labels beside the classes that they are spelled like; empty if one is like none."""
        known = {spelling(value): value for value in reversed(self.classes)}
        if not all(spelling(value) in known for value in unseen):
            return ""
        pairs = [f"{value!r} where training has {known[spelling(value)]!r}" for value in unseen]
        return " and ".join(pairs[:3]) + (f" and {len(pairs) - 3} more" if len(pairs) > 3 else "")

    def decode(self, codes: Codes) -> npt.NDArray[Any]:
        """Labels as the user wrote them."""
        return np.asarray(array_of(self.classes)[codes])


def encoding_of(labels: Sequence[Hashable], *, order: Iterable[Hashable] | None = None) -> Encoding:
    """The classes of the fitted learner where it has them (``order``), otherwise those in training, sorted."""
    seen = list(dict.fromkeys(labels))
    if len(seen) < 2:
        only = f" ({seen[0]!r})" if seen else ""
        raise SingleClass(
            f"y_train has one class only{only}: a classifier needs at least two. Check that the right column was "
            f"given as labels."
        )
    if order is not None:
        return Encoding(tuple(order), learned=True)
    fractions = sum(isinstance(value, float) and not value.is_integer() for value in seen)
    if len(seen) > 20 and fractions > len(seen) / 2:
        raise ContinuousLabels(
            f"y_train has {len(seen)} different values, most of them fractions, so it looks like a measurement. Psi "
            f"debugs classifiers: give class labels (for instance y > threshold)."
        )
    if array_of(seen).dtype == object:
        return Encoding(tuple(sorted(seen, key=lambda value: (type(value).__name__, repr(value)))))
    return Encoding(tuple(np.sort(array_of(seen)).tolist()))


def array_of(values: Sequence[Any]) -> npt.NDArray[Any]:
    """The values as an array of their own type, or of objects where numpy would turn one value into another.

    Numpy makes strings of a number next to a string, rows of equally long tuples, and floats of very large integers.
    """
    if len({type(value) for value in values}) == 1 and type(values[0]) in (str, int, float, bool):
        array = np.array(values)
        if array.tolist() == list(values):
            return array
    return np.fromiter(values, dtype=object, count=len(values))


def compressed(labels: Any, *, name: str) -> tuple[list[Hashable], Codes]:
    """The different labels, and the place of each label among them.

    Whole numbers, booleans and texts of an array are sorted by numpy; only others become Python values one by one.
    """
    if nw.dependencies.is_into_series(labels):
        series = nw.from_native(labels, series_only=True)
        whole = series.dtype.is_integer() or series.dtype == nw.Boolean
        labels = series.to_numpy() if whole and series.null_count() == 0 else labels
    if isinstance(labels, np.ndarray) and labels.ndim == 1 and labels.dtype.kind in "biuU":
        return _sorted_out(labels)
    values = listed(labels, name=name)
    seen = {value: place for place, value in enumerate(dict.fromkeys(values))}
    return list(seen), np.fromiter(map(seen.__getitem__, values), dtype=np.intp, count=len(values))


def _sorted_out(labels: npt.NDArray[Any]) -> tuple[list[Hashable], Codes]:
    """The different values of an array in order, and the place of each; small whole numbers are counted, not sorted."""
    if labels.dtype.kind in "iu" and len(labels) and int(labels.max()) - int(labels.min()) < MOST_COUNTED:
        least = labels.min()
        steps = labels.astype(np.intp) - least.astype(np.intp)  # right also where the largest numbers are wrapped
        there = np.bincount(steps) > 0
        return [int(least) + each for each in np.flatnonzero(there).tolist()], (np.cumsum(there) - 1)[steps]
    distinct, places = np.unique(labels, return_inverse=True)
    return distinct.tolist(), places.astype(np.intp, copy=False)


def listed(labels: Any, *, name: str) -> list[Hashable]:
    """The labels as a plain list of Python values, from any array, series or sequence."""
    if isinstance(labels, str):
        raise LabelError(
            f"{name} must be a sequence with one label per row, not a text. If {labels[:60]!r} is a column of your "
            f"table, give table[{labels[:60]!r}], and the features without it."
        )
    if labels is None or isinstance(labels, bytes | Mapping | Set):
        raise LabelError(f"{name} must be a sequence with one label per row, not {type(labels).__name__}.")
    values = _values(labels, name)
    if not isinstance(values, list):
        raise LabelError(f"{name} must be a sequence with one label per row, not a single value.")
    if values and isinstance(values[0], list) and all(isinstance(v, list) and len(v) == 1 for v in values):
        values = [value[0] for value in values]  # a column vector of shape (n, 1)
    plain = (np.datetime64, np.timedelta64)  # item() would make plain numbers of nanoseconds
    values = [v.item() if isinstance(v, np.generic) and not isinstance(v, plain) else v for v in values]
    try:
        missing = [row for row, value in enumerate(values) if _is_missing(value)]
        set(values)
    except (TypeError, ValueError):
        raise LabelError(
            f"{name} holds values that cannot be labels (lists, arrays or dicts). Give one string, number or "
            f"boolean per row; for one-hot labels use argmax over the columns."
        ) from None
    if missing:
        raise MissingLabels(
            f"{name} has no label in {len(missing)} of {len(values)} rows (first at position {missing[0]}). "
            f"Remove these rows, or give the missing ones a class of their own."
        )
    return values


def _values(labels: Any, name: str) -> Any:
    if nw.dependencies.is_into_dataframe(labels):
        if labels.shape[1] != 1:
            raise LabelError(f"{name} is a table of {labels.shape[1]} columns: give one column of labels.")
        return nw.from_native(labels, eager_only=True)[:, 0].to_list()
    if isinstance(labels, np.ndarray) and labels.dtype.kind in "mM" and labels.ndim:
        return list(labels)  # tolist() would make plain numbers of nanoseconds
    to_list = getattr(labels, "to_pylist", None) or getattr(labels, "to_list", None) or getattr(labels, "tolist", None)
    try:
        return to_list() if callable(to_list) else list(labels)
    except TypeError:
        raise LabelError(f"{name} must be a sequence with one label per row, not {type(labels).__name__}.") from None


def _is_missing(value: Any) -> bool:
    """None, NaN, and the NA and NaT of pandas, none of which equals itself."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except TypeError:  # pandas.NA refuses to be a bool
        return True


def _listing(values: Iterable[Hashable]) -> str:
    shown = [repr(value) for value in values]
    return ", ".join(shown[:6]) + (f" and {len(shown) - 6} more" if len(shown) > 6 else "")


def spelling(label: Hashable) -> Hashable:
    """What labels have in common that differ only in blanks, in capital letters, or as a number and its text."""
    if not isinstance(label, str | int | float):
        return label
    return " ".join(unicodedata.normalize("NFKC", str(label)).casefold().split())


def quoted(label: Any) -> str:
    """A label in a sentence: a text stands between quotation marks as it is, without a programmer's marks."""
    return f"'{label}'" if isinstance(label, str) else str(label)


class InLabels:
    """A fitted classifier that knows codes 0 … K-1, predicting the user's own labels; all else is the classifier's."""

    def __init__(self, encoding: Encoding, model: Any) -> None:
        self.model, self._encoding = model, encoding
        self.classes_ = encoding.decode(np.asarray(model.classes_, dtype=np.intp))

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Labels of these rows."""
        return self._encoding.decode(np.asarray(self.model.predict(X), dtype=np.intp).reshape(-1))

    def __getattr__(self, name: str) -> Any:
        if name == "model":  # not there yet, while it is unpickled
            raise AttributeError(name)
        return getattr(self.model, name)


def in_labels_of(encoding: Encoding, model: Any) -> Any:
    """A model that predicts the user's labels, whatever it was fitted on."""
    codes = list(range(encoding.size))
    return InLabels(encoding, model) if encoding.native.tolist() == codes != list(encoding.classes) else model
