"""Rows that a user names: training rows by their ids, one for each and all different, and test rows by position."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from psidebug.errors import DuplicateIds, LabelError, MissingLabels, NotMisclassified, ShapeMismatch, UnknownRow
from psidebug.task.labels import array_of, listed

Ids = npt.NDArray[Any]


def ids_of(rows: Any, count: int) -> Ids:
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


def places_of(ids: Ids) -> dict[Hashable, int]:
    """Id → position."""
    return {row: place for place, row in enumerate(ids.tolist())}


def positions_of(places: Mapping[Hashable, int], rows: Any) -> npt.NDArray[np.intp]:
    """Positions of the rows with these ids; or where one True or False per row is True."""
    if isinstance(rows, str) or not isinstance(rows, Iterable):
        raise UnknownRow(f"rows takes ids of training rows in a list, not {rows!r}.")
    named = list(rows.to_list() if hasattr(rows, "to_list") else rows)
    if len(named) == len(places) and all(isinstance(row, bool | np.bool_) for row in named):
        return np.flatnonzero(np.array(named, dtype=bool))
    asked: list[Hashable] = [row.item() if isinstance(row, np.generic) else row for row in named]
    missing = [row for row in asked if row not in places]
    if missing:
        raise UnknownRow(f"{missing[0]!r} is not the id of a training row (ids are {list(places)[:3]}, …).")
    return np.array([places[row] for row in asked], dtype=np.intp)


def bugs_of(bugs: Any, wrong: npt.NDArray[np.bool_]) -> npt.NDArray[np.intp]:
    """Positions of the test rows to explain, which must be ``wrong``; all that are when none are named."""
    if bugs is None:
        return np.flatnonzero(wrong)
    try:
        chosen = np.atleast_1d(np.asarray(bugs))
    except ValueError:
        chosen = np.array(["ragged"])
    if chosen.dtype == bool:
        if chosen.shape != wrong.shape:
            raise ShapeMismatch(f"bugs is a mask of {chosen.size} values but the test set has {wrong.size} rows.")
        chosen = np.flatnonzero(chosen)
    if chosen.ndim > 1 or (chosen.size and chosen.dtype.kind not in "iu"):
        raise UnknownRow("bugs takes positions of test rows (whole numbers from 0), or one True / False per test row.")
    chosen = np.unique(chosen).astype(np.intp)
    outside = chosen[(chosen < 0) | (chosen >= wrong.size)]
    if outside.size:
        raise UnknownRow(f"bugs names test row {outside[0]}, but the test set has rows 0 to {wrong.size - 1}.")
    right = chosen[~wrong[chosen]]
    if right.size:
        raise NotMisclassified(
            f"bugs names test row {right[0]}{f' and {right.size - 1} more' if right.size > 1 else ''}, which the "
            f"classifier gets right: there is no error to explain. Misclassified rows: "
            f"{np.flatnonzero(wrong)[:10].tolist()}."
        )
    return chosen
