"""The queue: which rows to review, in which order, and what comes next. Made for 100,000 suspects.

Each set has a queue of its own: the suspects among its labels. Every question takes a few passes over numpy arrays with
one entry for each row of the set.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from psidebug.errors import UnknownOption
from psidebug.findings.about_tests import about_tests
from psidebug.findings.findings import LabelFindings
from psidebug.report.rows import Part
from psidebug.review.filters import DISPUTED, STATES, Filter
from psidebug.review.search import Search
from psidebug.review.verdicts import DECIDED
from psidebug.store import Run
from psidebug.task.labels import Codes

Rows = npt.NDArray[np.intp]
Mask = npt.NDArray[np.bool_]

OPEN, SKIPPED, ASKED = (STATES.index(each) for each in ("open", "skip", "second_opinion"))
SETTLED = [STATES.index(each) for each in DECIDED]
LIKELY = 0.5
"""A label with at least this p_wrong is probably wrong."""


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

    def page(self, at: int, count: int) -> tuple[int, Rows]:
        """The page of ``count`` rows that has one, or the next shown after it, and the number of rows before it."""
        before = min(int(self.shown[: max(self._place(at), 0)].sum()), len(self.rows) - 1)
        begin = max(0, before // count * count)
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
        self.matters: Mask = np.where(among, _to_review(own, part), _to_review(last, part))
        """The rows that are probably wrong, or that the proposed correction changes: those that need a verdict."""
        self.states = np.zeros(len(self.given), dtype=np.int8)
        self._askers = np.zeros(len(self.given), dtype=np.int32)
        self._numbers: dict[str, int] = {}  # of browsers, from 1 on
        self._suspect = self.matters.copy()
        self._suspect[last.order] = True
        self._suspect[settled] = True
        self._disputed: Mask = np.zeros(len(self.given), dtype=bool)
        self._members: dict[int, Rows] = {}
        self._orders: dict[str, Rows] = {}

    def set_states(self, rows: Sequence[int], standing: Sequence[tuple[str, str] | None]) -> None:
        """Note the verdicts that hold: each as its action and its owner, or None."""
        for _, owner in filter(None, standing):
            self._numbers.setdefault(owner, len(self._numbers) + 1)
        codes = {action: number for number, action in enumerate(STATES)}
        self.states[rows] = [OPEN if each is None else codes[each[0]] for each in standing]
        self._askers[rows] = [0 if each is None else self._numbers[each[1]] for each in standing]

    def set_disputed(self, rows: Sequence[int], disputed: Sequence[bool]) -> None:
        """Note whether reviewers disagree on these rows."""
        self._disputed[rows] = disputed

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
        elif wanted.state == DISPUTED:
            kept &= self._disputed[walk]
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

    def total(self) -> int:
        """How many rows need a verdict, or have got one."""
        return int(self.matters.sum())

    def left(self) -> int:
        """How many of them are not settled; skipped rows and second opinions are not."""
        return int((self.matters & ~np.isin(self.states, SETTLED)).sum())

    def suspects(self) -> int:
        """How many rows there are to show: all suspects, and others with a verdict."""
        return sum(self.counts().values())

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
            if wanted.find:
                rows = rows[self._search.rows(wanted.find)[rows]]
            if not wanted.wide:
                rows = rows[self.matters[rows] | (self.states[rows] > OPEN)]
            return rows if wanted.sort == "rank" else rows[np.argsort(self._places(wanted.sort)[rows])]
        order = self._order(wanted.sort)
        among = (self._suspect if wanted.wide else self.matters) | (self.states > OPEN)
        if wanted.wide and wanted.names_rows:
            among = np.ones(len(order), dtype=bool)
        if wanted.slice is not None:
            among = among & np.isin(np.arange(len(order)), self.members(wanted.slice))
        if wanted.find:
            among = among & self._search.rows(wanted.find)
        return order[among[order]]

    @cached_property
    def _search(self) -> Search:
        data, own = self.ranked.data, self.part == "train"
        tables = [data.train.features, data.metadata] if own else [data.test.features, data.test_metadata]
        return Search(self.findings.labels.rows, [each for each in tables if each is not None], self.findings.display)

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
            keys = {name: -np.nan_to_num(getattr(self, name), nan=-1.0) for name in ("ps", "p_wrong")}
            keys |= {"rank": rank, "doubt": np.nan_to_num(np.abs(self.p_wrong - LIKELY), nan=1.0)}
            first = keys.get(sort, np.arange(len(rank)))
            likely = -np.nan_to_num(self.p_wrong, nan=-1.0)  # for rows that are no suspects
            self._orders[sort] = np.lexsort((np.arange(len(rank)), likely, rank, first))
        return self._orders[sort]

    def _places(self, sort: str) -> Rows:
        order = self._order(sort)
        places = np.empty_like(order)
        places[order] = np.arange(len(order))
        return places


def _to_review(found: LabelFindings, part: Part) -> Mask:
    """Which rows need a verdict: the probably wrong ones, and those for which a correction is proposed.

    Every suspected test label is one: they are chosen so that the list is best as a whole.
    """
    needed = np.asarray((found.p_wrong >= LIKELY) | (found.repaired != found.given))
    if part == "test":
        needed[found.order] = True
    return needed
