"""What several annotators said about the training rows: people, or rules that abstain from most of them.

Inside it is a list of answers, sorted by row; a matrix of rows × annotators would be mostly empty.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from psidebug.errors import InvalidAnnotations, UnknownRow
from psidebug.task.labels import Codes, Encoding, array_of
from psidebug.task.tables import as_table, is_frame, is_missing, row_count

Rows = npt.NDArray[np.intp]
ROW, ANNOTATOR, LABEL = "row", "annotator", "label"
"""The columns of a long table; a wide one may have the first."""
NO_ANSWER, NO_CLASS = -1, -2
"""Codes, while a table is read."""


@dataclass(frozen=True, eq=False)
class Annotations:
    """Answers (A,), sorted by row and annotator; an annotator answers a row once or not at all."""

    rows: Rows
    """Position of the training row of each answer."""
    annotators: Rows
    """Who gave it: a place in ``names``."""
    codes: Codes
    """The class that it says."""
    names: npt.NDArray[Any]
    """Of the annotators (J,); each has given an answer."""
    count: int
    """N, the number of training rows."""

    @classmethod
    def of(cls, table: Any, rows: npt.NDArray[Any], encoding: Encoding) -> Annotations:
        """The answers of a wide or a long table, checked; ``rows`` are the ids of the training rows.

        A long table has the columns row, annotator and label. A wide one has a column for each annotator, and a line
        for each training row in their order, or in any order with ids in a column ``row``. None, NaN, an empty text,
        and -1 where that is no class, are no answers.
        """
        given = as_table(table, name="annotations")
        if sp.issparse(given) or len(given.shape) != 2:
            raise InvalidAnnotations(
                "annotations takes a table: a column for each annotator, or the columns row, annotator and label."
            )
        columns = dict(_columns(given))
        places = {row: place for place, row in enumerate(rows.tolist())}
        if {ROW, ANNOTATOR, LABEL} <= columns.keys():
            at = _positions(columns[ROW], places)
            said = [_code_of(encoding, "the column label")(each) for each in columns[LABEL]]
            return _checked(at, columns[ANNOTATOR], np.array(said, dtype=np.intp), rows)
        if ROW in columns:
            at = _positions(columns.pop(ROW), places)
        elif row_count(given) == len(rows):
            at = np.arange(len(rows))
        else:
            raise InvalidAnnotations(
                f"annotations has {row_count(given)} lines but X_train has {len(rows)} rows: give one line per row, a "
                f"column 'row' with their ids, or the columns row, annotator and label."
            )
        parts, who = [], []
        for name, values in columns.items():
            code_of = _code_of(encoding, f"the column {name!r}")
            parts.append(np.fromiter((code_of(each) for each in values), dtype=np.intp, count=len(values)))
            who += [name] * len(values)
        if not parts:
            raise InvalidAnnotations("annotations has no column of an annotator.")
        return _checked(np.tile(at, len(parts)), who, np.concatenate(parts), rows)

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def answered(self) -> npt.NDArray[np.bool_]:
        """Which training rows (N,) have an answer."""
        return np.bincount(self.rows, minlength=self.count) > 0

    def said(self, size: int) -> npt.NDArray[np.bool_]:
        """Which of K classes somebody says of each training row, (N, K)."""
        found = np.zeros((self.count, size), dtype=bool)
        found[self.rows, self.codes] = True
        return found

    def of_rows(self, kept: Rows) -> Annotations | None:
        """Those of the training rows at these positions, which are all rows that are left; None if there are none."""
        place = np.full(self.count, -1)
        place[kept] = np.arange(len(kept))
        own = place[self.rows] >= 0
        if not own.any():
            return None
        return _sorted(place[self.rows[own]], self.annotators[own], self.codes[own], self.names, len(kept))


def _columns(table: Any) -> Iterator[tuple[Hashable, list[Any]]]:
    """Every column by its name, in a matrix by its place."""
    if not is_frame(table):
        yield from ((place, table[:, place].tolist()) for place in range(table.shape[1]))
        return
    for series in nw.from_native(table, eager_only=True).iter_columns():
        yield series.name, series.to_list()


def _code_of(encoding: Encoding, where: str) -> Any:
    """The code of an answer; NO_ANSWER for none, and an error that names the column for one that is no class."""
    code_of: dict[Any, int] = {value: code for code, value in enumerate(encoding.classes)}

    def code(value: Any) -> int:
        try:
            found = code_of.get(value, NO_CLASS)
        except TypeError:  # lists, arrays, dicts
            found = NO_CLASS
        if found != NO_CLASS:
            return found
        if is_missing(value) or (isinstance(value, str) and not value.strip()) or value == -1:
            return NO_ANSWER
        raise InvalidAnnotations(
            f"{where} of annotations has the answer {value!r}, which no training label has (they have "
            f"{', '.join(map(repr, encoding.classes[:6]))}{', …' if encoding.size > 6 else ''}). Spell answers like "
            f"labels, and leave no answer empty."
        )

    return code


def _positions(ids: Sequence[Any], places: dict[Hashable, int]) -> Rows:
    missing = [row for row in ids if not isinstance(row, Hashable) or row not in places]  # a list is no id
    if missing:
        known = ", ".join(map(repr, list(places)[:3]))
        raise UnknownRow(
            f"annotations has the row {missing[0]!r}, which is no id of a training row (ids are {known}, …)."
        )
    return np.fromiter((places[row] for row in ids), dtype=np.intp, count=len(ids))


def _checked(at: Rows, who: Sequence[Any], codes: Codes, ids: npt.NDArray[Any]) -> Annotations:
    given = codes != NO_ANSWER
    if not given.any():
        raise InvalidAnnotations("annotations has no answer: every cell is empty.")
    at, codes, names = at[given], codes[given], [name for name, own in zip(who, given.tolist(), strict=True) if own]
    if any(map(is_missing, names)):
        raise InvalidAnnotations("an answer in annotations has no annotator: name who gave it.")
    seen = {name: place for place, name in enumerate(dict.fromkeys(names))}
    annotators = np.fromiter((seen[name] for name in names), dtype=np.intp, count=len(names))
    found = _sorted(at, annotators, codes, array_of(list(seen)), len(ids))
    twice = np.flatnonzero((np.diff(found.rows) == 0) & (np.diff(found.annotators) == 0))
    if len(twice):
        row, name = ids[found.rows[twice[0]]], found.names[found.annotators[twice[0]]]
        raise InvalidAnnotations(
            f"annotations has two answers of {str(name)!r} on the row {row!s}: keep one answer of an annotator per row."
        )
    return found


def _sorted(rows: Rows, annotators: Rows, codes: Codes, names: npt.NDArray[Any], count: int) -> Annotations:
    """In order, without annotators who gave no answer."""
    left, annotators = np.unique(annotators, return_inverse=True)
    order = np.lexsort((annotators, rows))
    return Annotations(rows[order], annotators[order], codes[order], names[left], count)
