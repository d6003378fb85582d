"""Labels that were made by another rule for some time: a range of dates × one condition × a label, all of them at once.

A beam search does not see them: neither two months nor all graduates stand out by themselves. Here every range of dates
is scanned together with every condition, as a scan statistic does. If labels of other classes were recorded as g at the
rate ρ, a row gains, with p_i = P(g | x_i) by predictors that do not know the date,

    log(1 + ρ (1/p_i - 1))  if y_i = g,  else  log(1 - ρ)

nats. These add up over rows, so that cumulative sums give them for all ranges. The witnesses are training rows too,
those that meet the condition at other times: what rows gain on average at any time, if they do, is taken off, since
predictors that know little about such rows are wrong about them at all times. Errors that go both ways, at the rate ε,
gain log(1 - ε + ε (1/P(y_i | x_i) - 1) / (K-1)). What is found is charged with all that was looked at: ranges, or
ranges × conditions (decision 27).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from psidebug import policy
from psidebug.slices.atoms import Atoms, Floats
from psidebug.slices.binned import Binned
from psidebug.slices.conditions import UNNAMED, Condition, Home, Ints, Mask, Slice
from psidebug.slices.ranges import short_date
from psidebug.task.columns import Column, columns
from psidebug.task.labels import Codes
from psidebug.task.task import Task

RATES = (0.2, 0.5, 0.95)
"""Rates ρ and ε that are tried. The one that is right is learned later; in between, gains are much the same."""


def slices_in_time(task: Task, log_p: Floats, *, most: int, within: Binned) -> list[Slice]:
    """Ranges of dates whose labels stand out, and ranges × one condition; so many of each, best first.

    ``log_p`` (N, K) are log P(k | x) of the training rows. Of each condition and trace the best range is listed.
    """
    found: list[tuple[Best, Periods, Trace]] = []
    looked = np.zeros(2, dtype=np.intp)
    for home, column in _dated(task):
        periods = Periods.of(column, home, within.rows)
        if periods is None:
            continue
        for trace in _traces(log_p, task.train.codes):
            best, counts = _Scan.of(periods, within, trace).best_of_each_atom()
            looked += counts
            found += [(each, periods, trace) for each in best]
    found.sort(key=lambda each: -each[0].gain)
    slices: list[Slice] = []
    for alone, count in zip((True, False), (looked // len(RATES)).tolist(), strict=True):
        first = [each for each in found if (each[0].atom is None) == alone][: policy.BEAM * most]
        slices += _different((_slice_of(task, *each, within.atoms, count) for each in first), most)
    return slices


@dataclass(frozen=True, eq=False)
class Trace:
    """What wrong labels of one kind leave: the nats that each row (N,) gains."""

    gains: Floats
    own: Mask
    """The rows that may be wrong: those with the label."""


def _traces(log_p: Floats, codes: Codes) -> Iterator[Trace]:
    """Other labels recorded as each one, and errors both ways."""
    size, others = log_p.shape[1], np.expm1(-np.maximum(log_p, np.log(policy.LEAST_PROBABILITY)))  # 1/p - 1
    for rate in RATES:
        for given in np.unique(codes).tolist():
            own = codes == given
            yield Trace(np.where(own, np.log1p(rate * others[:, given]), np.log1p(-rate)), own)
        of_given = others[np.arange(len(codes)), codes]
        yield Trace(np.log(1.0 - rate + rate * of_given / max(size - 1, 1)), np.ones(len(codes), dtype=bool))


def _dated(task: Task) -> Iterator[tuple[Home, Column]]:
    tables: tuple[tuple[Home, object], ...] = (("metadata", task.data.metadata), ("features", task.train.features))
    for home, table in tables:
        if table is not None:
            yield from ((home, each) for each in columns(table, unnamed=UNNAMED[home]) if each.dated)


@dataclass(frozen=True, eq=False)
class Periods:
    """A column of dates, cut where rules begin and end."""

    name: str
    home: Home
    distinct: npt.NDArray[np.datetime64]
    """All dates, sorted."""
    ends: Ints
    """The last date of each period, as an index."""
    of_row: Ints
    """The period of each searched row, -1 where the date is missing."""

    @classmethod
    def of(cls, column: Column, home: Home, rows: Ints) -> Periods | None:
        """Of these rows of a column; None if there are fewer than two dates."""
        dates = column.values[rows]
        absent = np.isnat(dates)
        distinct, index, counts = np.unique(dates[~absent], return_inverse=True, return_counts=True)
        if len(distinct) < 2:
            return None
        ends = _ends(distinct, np.cumsum(counts))
        of_row = np.full(len(rows), -1, dtype=np.intp)
        of_row[~absent] = np.searchsorted(ends, index)
        return cls(str(column.name), home, distinct, ends, of_row)

    def __len__(self) -> int:
        return len(self.ends)

    def condition(self, first: int, last: int) -> Condition:
        """From one period to another, both in it."""
        low = 0 if first == 0 else int(self.ends[first - 1]) + 1
        high, end = int(self.ends[last]), len(self.distinct) - 1
        upper = short_date(self.distinct[high], [self.distinct[min(high + 1, end)]])
        if low == 0:
            return Condition(self.name, "≤", (upper,), self.home)
        if high == end:
            before = short_date(self.distinct[low - 1], [self.distinct[low]])
            return Condition(self.name, ">", (before,), self.home)
        lower = short_date(self.distinct[low], [self.distinct[low - 1]])
        return Condition(
            self.name, "=" if lower == upper else "between", tuple(dict.fromkeys([lower, upper])), self.home
        )


def _ends(distinct: npt.NDArray[np.datetime64], rows_until: Ints) -> Ints:
    """Where to cut, after the date of this index: at months and years, where these are few, and at quantiles between.

    A quantile beside the end of a month would only make ranges that nobody can read.
    """
    last, step = len(distinct) - 1, rows_until[-1] / (policy.MOST_CUTS + 1)
    calendar = np.array([last], dtype=np.intp)
    for unit in ("M", "Y"):
        changes = np.flatnonzero(np.diff(distinct.astype(f"datetime64[{unit}]").astype(np.int64)))
        if len(changes) < policy.MOST_VALUES:
            calendar = np.union1d(calendar, changes)
    quantiles = np.searchsorted(rows_until, step * np.arange(1, policy.MOST_CUTS + 1))
    apart = np.abs(rows_until[quantiles][:, None] - rows_until[calendar]).min(axis=1) > step / 2
    return np.union1d(calendar, quantiles[apart])


class Best(NamedTuple):
    """The range of periods in which the labels of an atom gain most; None for all rows."""

    gain: float
    first: int
    last: int
    atom: int | None


@dataclass(frozen=True, eq=False)
class _Scan:
    """Sums over each period (T) and atom (A, and one more for all rows)."""

    periods: Periods
    atoms: Atoms
    rows: Floats
    """How many there are, (T, A + 1), as the others."""
    own: Floats
    gains: Floats
    least: int

    @classmethod
    def of(cls, periods: Periods, within: Binned, trace: Trace) -> _Scan:
        gains, own = trace.gains[within.rows], trace.own[within.rows].astype(np.float64)
        sums = np.empty((3, len(periods), len(within.atoms.conditions) + 1))
        for period in range(len(periods)):
            rows = np.flatnonzero(periods.of_row == period)
            sums[0, period, :-1], sums[1, period, :-1] = within.atoms.tally(rows, own)
            sums[2, period, :-1] = within.atoms.tally(rows, gains)[1]
            sums[:, period, -1] = len(rows), own[rows].sum(), gains[rows].sum()
        return cls(periods, within.atoms, sums[0], sums[1], sums[2], within.least)

    def best_of_each_atom(self) -> tuple[list[Best], Ints]:
        """The best range of each atom that gains; and how many ranges, and ranges × atoms, were looked at."""
        atoms, looked = np.arange(self.own.shape[1]), np.zeros(2, dtype=np.intp)
        gain, first, last = np.zeros(len(atoms)), np.zeros_like(atoms), np.zeros_like(atoms)
        usable = np.append(np.array([self._may_join(each) for each in self.atoms.conditions], dtype=bool), True)
        for start in range(len(self.periods)):
            now, enough = self._of_ranges_from(start)
            enough &= usable
            looked += [enough[:, -1].sum(), enough[:, :-1].sum()]
            now[~enough] = -np.inf
            end = now.argmax(axis=0)
            better = now[end, atoms] > gain
            gain[better], first[better], last[better] = now[end, atoms][better], start, start + end[better]
        found = ((a, None if a == len(atoms) - 1 else a) for a in np.flatnonzero(gain > 0).tolist())
        return [Best(float(gain[a]), int(first[a]), int(last[a]), atom) for a, atom in found], looked

    def _of_ranges_from(self, start: int) -> tuple[Floats, Mask]:
        """Gains of every range that begins here (R, A + 1), and whether it has rows enough and is not all the time."""
        rows, own, gains = (np.cumsum(each[start:], axis=0) for each in (self.rows, self.own, self.gains))
        always = np.maximum(self.gains.sum(axis=0), 0.0) / np.maximum(self.rows.sum(axis=0), 1.0)
        enough = own >= self.least
        if start == 0:
            enough[-1] = False
        return gains - rows * always, enough

    def _may_join(self, condition: Condition) -> bool:
        """Not another condition on the date, nor on the order of the rows, which is often that of time."""
        return condition.home != "rows" and (condition.home, condition.column) != (self.periods.home, self.periods.name)


def at_any_time(task: Task, found: Slice) -> Mask:
    """The training rows that meet the conditions of a slice but the first, which is its range of dates."""
    held = [each.holds(task.data.home(each.home)) for each in found.conditions[1:]]
    return np.asarray(np.logical_and.reduce([np.ones(len(task.train), dtype=bool), *held]))


def _slice_of(task: Task, best: Best, periods: Periods, trace: Trace, atoms: Atoms, looked: int) -> Slice:
    """With the label that gains most; z is √(2 nats)."""
    conditions: tuple[Condition, ...] = (periods.condition(best.first, best.last),)
    if best.atom is not None:
        conditions = (*conditions, atoms.conditions[best.atom])
    holds = np.logical_and.reduce([each.holds(task.data.home(each.home)) for each in conditions]) & trace.own
    codes = task.train.codes
    given = int(np.bincount(codes[holds], np.maximum(trace.gains[holds], 0.0)).argmax())
    members = np.flatnonzero(holds & (codes == given))
    return Slice.of(conditions, given, members, float(np.sqrt(2.0 * best.gain)), max(looked, 1))


def _different(slices: Iterator[Slice], most: int) -> list[Slice]:
    """The first of them, without those of nearly the same rows as one before."""
    kept: list[Slice] = []
    for each in slices:
        if len(kept) == most:
            break
        common = [len(np.intersect1d(each.members, other.members, assume_unique=True)) for other in kept]
        sizes = [len(each.members) + len(other.members) for other in kept]
        if all(both < policy.MAJORITY * (size - both) for both, size in zip(common, sizes, strict=True)):
            kept.append(each)
    return kept
