"""Training rows, or test rows, with what is wrong with them repaired: the cells that were asked for, and no other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from psidebug.changes import Change, Drop, Relabel
from psidebug.errors import UnknownOption
from psidebug.exports.cells import NewCells, OtherRows, changed_table
from psidebug.exports.columns import free_name
from psidebug.exports.corrected import encoding_of, from_copy, label_cells, own_table, source_file, with_new_cells
from psidebug.exports.table_files import encoded
from psidebug.findings.findings import Findings, FoundCause
from psidebug.task.columns import column_of
from psidebug.task.data import Data
from psidebug.task.labels import Codes
from psidebug.task.tables import Table, is_missing

Cells = dict[str, dict[int, Any]]
"""New values by column and row; None is a missing one."""


@dataclass(frozen=True, eq=False)
class Repair:
    """What becomes of the rows of one set: new cells, the labels of all rows as codes, and rows that are left out."""

    test: bool
    cells: Cells
    given: Codes
    codes: Codes
    dropped: frozenset[int]

    @property
    def count(self) -> int:
        """Cells that differ in the rows that stay."""
        places = [place for rows in self.cells.values() for place in rows]
        places += np.flatnonzero(self.codes != self.given).tolist()
        return sum(place not in self.dropped for place in places)

    def as_cells(self, findings: Findings, names: Sequence[str], label: str, *, trace: bool) -> NewCells:
        """For a table with columns of these names; ``trace`` adds what differs as it was, ``was_…``."""
        donors, labels = ({}, {}) if self.test else label_cells(findings, self.codes)
        cells: dict[str, Mapping[int, Any]] = {**self.cells, **({label: labels} if labels else {})}
        added: dict[str, Any] = {}
        if trace:
            for name in names:
                if name in cells or (name == label and donors):
                    added[free_name(f"was_{name}", [*names, *added])] = name
            if self.dropped:
                added[free_name("was_row", [*names, *added])] = pa.array(np.arange(len(self.given)))
        return NewCells(names, label, self.given, donors, cells, added, self.dropped, encoding_of(findings))


def repaired_table(
    findings: Findings, data: Data, causes: Iterable[str], *, test: bool = False, trace: bool = False
) -> Any:
    """The training rows, or with ``test`` the test rows, with these causes repaired, as an Arrow table.

    The columns are the user's own, as in :func:`psidebug.exports.corrected.corrected_table`. ``trace`` adds a column
    ``was_…`` for each that differs, with the values as they came, and ``was_row``, the position, if rows are left out.
    """
    return _from_copy(findings, data, repair_of(findings, data, causes, test=test), trace=trace)


def repaired_file(
    findings: Findings, data: Data, repair: Repair, kind: str, *, trace: bool = False
) -> tuple[bytes, str | None]:
    """The bytes of the repaired rows as a file of this kind, and a remark if more than the repair may differ.

    If the file that they came from is unchanged and of this kind, only the cells in question are replaced in it.
    """
    content, why = source_file(findings, kind, test=repair.test)
    if content is not None:
        source = findings.origin.source
        names = source["test_columns" if repair.test else "columns"]
        try:
            return with_new_cells(content, kind, repair.as_cells(findings, names, source["label"], trace=trace)), None
        except OtherRows:
            why = f"the rows of {source['test' if repair.test else 'train']} could not be matched to those of the run"
    return encoded(_from_copy(findings, data, repair, trace=trace), kind), from_copy(why)


def _from_copy(findings: Findings, data: Data, repair: Repair, *, trace: bool) -> Any:
    columns, label = own_table(findings, data, repair.given, test=repair.test)
    return changed_table(pa.table(columns), repair.as_cells(findings, list(columns), label, trace=trace))


def repair_of(findings: Findings, data: Data, causes: Iterable[str], *, test: bool = False) -> Repair:
    """What the repair of these causes changes in one of the sets; an error if one of them changes nothing there."""
    given = findings.predictions.labels if test else findings.labels.given
    codes, dropped, cells = given.copy(), frozenset[int](), Cells()
    asked = list(dict.fromkeys(causes))
    touched = {cause: {False: 0, True: 0} for cause in asked}
    for found in _in_turn(findings, asked):
        match found.change:
            case Drop(rows=rows):
                touched[found.cause][False] += len(rows)
                dropped = dropped if test else dropped | frozenset(rows.tolist())
            case Relabel(rows=rows, codes=new):
                touched[found.cause][False] += len(rows)
                if not test:
                    codes[rows] = new
            case Change() as change:
                after = change.applied(data)
                for side in (False, True):
                    differ = _differences(data, after, change.columns, test=side)
                    touched[found.cause][side] += sum(map(len, differ.values()))
                    for name, values in differ.items() if side == test else ():
                        cells[name] = cells.get(name, {}) | values
                data = after
    for cause, counts in touched.items():
        _check(cause, counts, test=test)
    return Repair(test, cells, given, codes, dropped)


def _in_turn(findings: Findings, asked: Sequence[str]) -> list[FoundCause]:
    """The causes of these names, in the order in which they were repaired; each must be there, with a repair."""
    by_name = {name: [each for each in findings.causes if each.cause == name] for name in asked}
    for name, found in by_name.items():
        if not found:
            others = ", ".join(sorted({each.cause for each in findings.causes if each.change is not None}))
            raise UnknownOption(
                f"the run did not find {name!r}: {f'it can repair {others}' if others else 'it has nothing to repair'}."
            )
        if all(each.change is None for each in found):
            raise UnknownOption(f"there is no repair of {name!r} to be written. {found[0].advice}".rstrip())
    done = findings.changes

    def turn(cause: FoundCause) -> int:
        own = (place for place, each in enumerate(done) if cause.column in each.columns)
        return next((place for place in own if type(done[place]) is type(cause.change)), len(done))

    return sorted((each for found in by_name.values() for each in found if each.change is not None), key=turn)


def _differences(before: Data, after: Data, names: Sequence[str], *, test: bool) -> Cells:
    """The new values where they differ."""
    tables: list[Table] = [(each.test if test else each.train).features for each in (before, after)]
    found: Cells = {}
    for name in names:
        old, new = (column_of(each, name).values.tolist() for each in tables)
        rows = {
            place: None if is_missing(now) else now
            for place, (was, now) in enumerate(zip(old, new, strict=True))
            if (is_missing(was) != is_missing(now) if is_missing(was) or is_missing(now) else was != now)
        }
        if rows:
            found[name] = rows
    return found


def _check(cause: str, counts: Mapping[bool, int], *, test: bool) -> None:
    if counts[test]:
        return
    if counts[not test] and test:
        raise UnknownOption(
            f"the repair of {cause!r} is in the training rows, not in the test rows: leave test=True (--tests) out."
        )
    if counts[not test]:
        raise UnknownOption(
            f"the repair of {cause!r} is in the test rows, not in the training rows: test=True (--tests) writes those."
        )
    raise UnknownOption(
        f"the repair of {cause!r} changes nothing by itself: ask for the other causes of its column too."
    )
