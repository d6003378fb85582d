"""Labels of any hashable kind, and the codes 0 … K-1 that everything inside works with."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from psidebug.errors import ContinuousLabels, LabelError, MissingLabels, SingleClass, UnseenClass

Codes = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Encoding:
    """The classes of a task, in the learner's order; class ``k`` has code ``k``."""

    classes: tuple[Hashable, ...]

    @property
    def size(self) -> int:
        """K, the number of classes."""
        return len(self.classes)

    @property
    def native(self) -> npt.NDArray[Any]:
        """The classes as the learner sees them: their own values, or codes where no array could hold them.

        scikit-learn sorts labels, so classes that cannot be compared (tuples, a mix of types) are given to it
        as codes.
        """
        if _comparable(self.classes):
            return np.array(self.classes)
        return np.arange(self.size)

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
            raise UnseenClass(
                f"{where} has {_listing(unseen)}, which no training label has (training has "
                f"{_listing(self.classes)}). Remove these rows, or give training rows of that class; if the "
                f"labels are only spelled differently, spell them the same."
            ) from None

    def decode(self, codes: Codes) -> npt.NDArray[Any]:
        """Labels as the user wrote them."""
        if _comparable(self.classes):
            return np.asarray(np.array(self.classes)[codes])
        table = np.empty(self.size, dtype=object)
        table[:] = self.classes
        return np.asarray(table[codes])


def encoding_of(labels: Sequence[Hashable], *, order: Iterable[Hashable] | None = None) -> Encoding:
    """The classes of the fitted learner where it has them (``order``), otherwise those in training, sorted."""
    seen = list(dict.fromkeys(labels))
    if order is not None:
        seen = list(order)
    elif _comparable(seen):
        seen = np.unique(np.array(seen)).tolist()
    else:
        seen = sorted(seen, key=lambda value: (type(value).__name__, repr(value)))
    if len(seen) < 2:
        only = f" ({seen[0]!r})" if seen else ""
        raise SingleClass(
            f"y_train has one class only{only}: a classifier needs at least two. Check that the right column was "
            f"given as labels."
        )
    if len(seen) > 20 and all(type(value) is float and not value.is_integer() for value in seen):
        raise ContinuousLabels(
            f"y_train has {len(seen)} different fractional values, so it looks like a measurement. Psi debugs "
            f"classifiers: give class labels (for instance y > threshold)."
        )
    return Encoding(tuple(seen))


def listed(labels: Any, *, name: str) -> list[Hashable]:
    """The labels as a plain list of Python values, from any array, series or sequence."""
    if labels is None or isinstance(labels, str | bytes | dict):
        raise LabelError(f"{name} must be a sequence with one label per row, not {type(labels).__name__}.")
    to_list = getattr(labels, "to_pylist", None) or getattr(labels, "to_list", None) or getattr(labels, "tolist", None)
    values = to_list() if callable(to_list) else _materialised(labels, name)
    if not isinstance(values, list):
        raise LabelError(f"{name} must be a sequence with one label per row, not a single value.")
    if values and isinstance(values[0], list) and all(isinstance(v, list) and len(v) == 1 for v in values):
        values = [value[0] for value in values]  # a column vector of shape (n, 1)
    values = [value.item() if isinstance(value, np.generic) else value for value in values]
    try:
        missing = [row for row, value in enumerate(values) if _is_missing(value)]
        set(values)
    except TypeError:
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


def _materialised(labels: Any, name: str) -> list[Any]:
    try:
        return list(labels)
    except TypeError:
        raise LabelError(f"{name} must be a sequence with one label per row, not {type(labels).__name__}.") from None


def _is_missing(value: Any) -> bool:
    """None, NaN, and the NA and NaT of pandas, none of which equals itself."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError):  # pandas.NA refuses to be a bool; an array does too, but has no hash
        hash(value)
        return True


def _comparable(classes: Sequence[Hashable]) -> bool:
    """Whether numpy can hold the classes in one array without turning one type into another."""
    kinds = {type(value) for value in classes}
    return len(kinds) == 1 and kinds <= {str, int, float, bool, bytes}


def _listing(values: Iterable[Hashable]) -> str:
    shown = [repr(value) for value in values]
    return ", ".join(shown[:6]) + (f" and {len(shown) - 6} more" if len(shown) > 6 else "")
