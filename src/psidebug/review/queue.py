"""The queue: which rows to review, in which order, and what comes next. Made for 100,000 suspects.

Each set has a queue of its own: the suspects among its labels. Every question takes a few passes over numpy arrays with
one entry for each row of the set.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

import numpy as np
import numpy.typing as npt

from psidebug.errors import UnknownOption
from psidebug.findings.about_tests import about_tests
from psidebug.report.rows import Part
from psidebug.review.verdicts import ACTIONS, DECIDED, part_named
from psidebug.store import Run
from psidebug.task.labels import Codes

Rows = npt.NDArray[np.intp]
Mask = npt.NDArray[np.bool_]

STATES = ("open", *ACTIONS, "all")
"""A row is open, or has a verdict of one kind; ``all`` is no filter. As a filter, ``open`` means every row to decide:
also skipped rows, last, and those on which another reviewer wants a second opinion."""
OPEN, SKIPPED, ASKED = (STATES.index(each) for each in ("open", "skip", "second_opinion"))
SETTLED = [STATES.index(each) for each in DECIDED]
SORTS = ("rank", "ps", "p_wrong", "row")


@dataclass(frozen=True)
class Filter:
    """Which rows to show, and how to sort them."""

    part: Part = "train"
    """The set that they are in."""
    state: str = "open"
    given: int | None = None
    """Code of the given label."""
    proposed: int | None = None
    least: float = 0.0
    """Smallest p_wrong."""
    slice: int | None = None
    bug: int | None = None
    sort: str = "rank"

    @classmethod
    def read(cls, asked: Mapping[str, Any], *, part: Part = "train") -> Filter:
        """The filter in the query of an address; ``part`` is the set if it names none."""
        if any(not isinstance(each, str) for each in asked.values() if each is not None):
            raise UnknownOption("filter values must be strings.")
        try:
            whole = {
                name: int(asked[name])
                for name in ("given", "proposed", "slice", "bug")
                if asked.get(name) not in (None, "")
            }
            least = float(asked.get("least") or 0.0)
            if not math.isfinite(least):
                raise ValueError
        except (TypeError, ValueError, OverflowError):
            raise UnknownOption("filter value must be a number.") from None
        state, sort = str(asked.get("state") or "open"), str(asked.get("sort") or "rank")
        found = cls(**whole, part=part_named(asked.get("set") or part), state=state, least=least, sort=sort)
        if found.state not in STATES or found.sort not in SORTS:
            raise UnknownOption(f"unknown state {found.state!r:.60} or sort order {found.sort!r:.60}.")
        return found

    @property
    def address(self) -> str:
        """The query of an address that means this filter."""
        plain = Filter()
        asked = {each.name: getattr(self, each.name) for each in fields(self)}
        others = {name: value for name, value in asked.items() if value != getattr(plain, name) and name != "part"}
        return urlencode({"set": self.part} | others)


@dataclass(frozen=True, eq=False)
class Selection:
    """The rows of a filter, in order."""

    walk: Rows
    """Also those that the filter hides because of their state, so that a row has a next one after its verdict."""
    shown: Mask

    @cached_property
    def rows(self) -> Rows:
        """Positions of the shown rows."""
        return self.walk[self.shown]

    def first(self) -> int | None:
        """The first shown row."""
        return int(self.rows[0]) if len(self.rows) else None

    def next(self, at: int) -> int | None:
        """The next shown row; this one need not be shown itself."""
        place = self._place(at)
        later = np.flatnonzero(self.shown[place + 1 :])
        return int(self.walk[place + 1 + later[0]]) if len(later) else None

    def previous(self, at: int) -> int | None:
        """The shown row before this one."""
        earlier = np.flatnonzero(self.shown[: max(self._place(at), 0)])
        return int(self.walk[earlier[-1]]) if len(earlier) else None

    def around(self, at: int | None, count: int) -> tuple[int, Rows]:
        """``count`` rows around one, and the number of rows before them."""
        before = 0 if at is None else int(self.shown[: max(self._place(at), 0)].sum())
        begin = max(0, min(before - count // 3, len(self.rows) - count))
        return begin, self.rows[begin : begin + count]

    def _place(self, at: int) -> int:
        found = np.flatnonzero(self.walk == at)
        return int(found[0]) if len(found) else -1


class Queue:
    """The suspects of a run, or of the last diagnosis after it, with the state of every row of the set."""

    def __init__(self, run: Run, ranked: Run, known: Sequence[int] = (), *, part: Part = "train") -> None:
        """``known`` are the rows whose labels were facts for ``ranked``, so that it found nothing about them.

        If such a verdict is undone, the row stays in the queue after the others, with the findings of the run itself.
        """
        self.ranked, self.part = ranked, part
        self.findings, self.last = (
            about_tests(each.findings) if part == "test" else each.findings for each in (run, ranked)
        )
        """What was found about the labels of the set, first and last."""
        own, last, settled = self.findings.labels, self.last.labels, np.asarray(known, dtype=np.intp)
        self.given: Codes = own.given
        self.proposed: Codes = last.proposed.copy()
        self.proposed[settled] = own.proposed[settled]
        among = np.isin(np.arange(len(own.given)), settled)
        self.ps, self.low, self.high, self.p_wrong = (
            np.asarray(np.where(among, getattr(own, name), getattr(last, name)), dtype=np.float64)
            for name in ("ps", "ps_low", "ps_high", "p_wrong")
        )
        self.states = np.zeros(len(self.given), dtype=np.int8)
        self._askers = np.zeros(len(self.given), dtype=np.int32)
        self._numbers: dict[str, int] = {}  # of browsers, from 1 on
        self._suspect = np.zeros(len(self.given), dtype=bool)
        self._suspect[last.order] = True
        self._suspect[settled] = True
        self._members: dict[int, Rows] = {}
        self._orders: dict[str, Rows] = {}

    def set_states(self, rows: Sequence[int], standing: Sequence[tuple[str, str] | None]) -> None:
        """Note the verdicts that hold: each as its action and its owner, or None."""
        for _, owner in filter(None, standing):
            self._numbers.setdefault(owner, len(self._numbers) + 1)
        codes = {action: number for number, action in enumerate(STATES)}
        self.states[rows] = [OPEN if each is None else codes[each[0]] for each in standing]
        self._askers[rows] = [0 if each is None else self._numbers[each[1]] for each in standing]

    def select(self, wanted: Filter, browser: str = "") -> Selection:
        """The rows of a filter for this browser."""
        walk = self._walk(wanted)
        if wanted.state == "open":  # what was skipped comes back at the end
            walk = walk[np.argsort(self.states[walk] == SKIPPED, kind="stable")]
        kept = self.p_wrong[walk] >= wanted.least if wanted.least > 0 else np.ones(len(walk), dtype=bool)
        for code, codes in ((wanted.given, self.given), (wanted.proposed, self.proposed)):
            if code is not None:
                size = self.findings.encoding.size
                if not 0 <= code < size:
                    raise UnknownOption(f"there is no class {code}: there are {size} classes.")
                kept &= codes[walk] == code
        if wanted.state == "open":
            kept &= self._to_decide(walk, browser)
        elif wanted.state != "all":
            kept &= self.states[walk] == STATES.index(wanted.state)
        return Selection(walk, kept)

    def _to_decide(self, rows: Rows, browser: str) -> Mask:
        """Which rows this browser should decide; a second opinion is for other browsers."""
        states = self.states[rows]
        others = self._askers[rows] != self._numbers.get(browser, -1)
        return np.asarray(np.isin(states, (OPEN, SKIPPED)) | ((states == ASKED) & others))

    def probably_wrong(self, rows: Rows) -> Rows:
        """Rows whose given label is more likely wrong than right."""
        return rows[self.p_wrong[rows] > 0.5]

    def counts(self) -> dict[str, int]:
        """How many suspects, and other rows with a verdict, are in each state."""
        found = np.bincount(self.states[self._suspect | (self.states > OPEN)], minlength=len(STATES) - 1)
        return dict(zip(STATES, found.tolist(), strict=False))

    def left(self) -> int:
        """How many rows are not settled; skipped rows and second opinions are not."""
        return sum(count for state, count in self.counts().items() if state not in DECIDED)

    def bugs_of(self, position: int) -> list[tuple[int, float]]:
        """The bugs that a row is a first cause of, each with its PS, best first."""
        return self._bugs.get(position, [])

    @cached_property
    def _bugs(self) -> dict[int, list[tuple[int, float]]]:
        found: dict[int, list[tuple[int, float]]] = {}
        for causes in self.last.bug_causes:
            for position, ps in zip(causes.positions.tolist(), causes.ps.tolist(), strict=True):
                found.setdefault(position, []).append((causes.test_row, ps))
        return {position: sorted(each, key=lambda bug: -bug[1]) for position, each in found.items()}

    def _walk(self, wanted: Filter) -> Rows:
        if wanted.bug is not None:
            found = [each.positions for each in self.last.bug_causes if each.test_row == wanted.bug]
            if not found:
                raise UnknownOption(f"this run has no causes of test row {wanted.bug}.")
            rows: Rows = found[0]
            if wanted.slice is not None:
                rows = rows[np.isin(rows, self.members(wanted.slice))]
            return rows if wanted.sort == "rank" else rows[np.argsort(self._places(wanted.sort)[rows])]
        order = self._order(wanted.sort)
        among = self._suspect | (self.states > OPEN)
        if wanted.slice is not None:
            among = np.zeros(len(order), dtype=bool)
            among[self.members(wanted.slice)] = True
        return order[among[order]]

    def members(self, number: int) -> Rows:
        """Positions of the rows of a slice."""
        if number not in self._members:
            slices = self.last.slices
            if not 0 <= number < len(slices):
                raise UnknownOption(f"there is no slice {number}: this run has {len(slices)}.")
            self._members[number] = slices[number].members(self.ranked.data)
        return self._members[number]

    def _order(self, sort: str) -> Rows:
        """All rows in a sort order; ties go to the best suspects."""
        if sort not in self._orders:
            rank = np.full(len(self.given), 2 * len(self.given), dtype=np.intp)
            first_order, order = self.findings.labels.order, self.last.labels.order
            rank[first_order] = len(self.given) + np.arange(len(first_order))
            rank[order] = np.arange(len(order))
            keys = {name: -np.nan_to_num(getattr(self, name), nan=-1.0) for name in ("ps", "p_wrong")} | {"rank": rank}
            first = keys.get(sort, np.arange(len(rank)))
            self._orders[sort] = np.lexsort((np.arange(len(rank)), rank, first))
        return self._orders[sort]

    def _places(self, sort: str) -> Rows:
        order = self._order(sort)
        places = np.empty_like(order)
        places[order] = np.arange(len(order))
        return places
