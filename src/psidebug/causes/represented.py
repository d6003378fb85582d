"""``under_represented``: rows of a kind are hardly there in training, and are in the test set.

Every value of a column, and every range between quantiles, is counted in both sets, class by class: where the classes
have other shares, that alone must not look like it. n_k training rows and m_k test rows of class k, N_k and M_k in all,
let m_k N_k / M_k training rows be expected.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.stats import binom

from psidebug import policy
from psidebug.causes.claim import SIDES, Claim
from psidebug.causes.columns import MISSING, Floats, TwoSets
from psidebug.task.data import Data
from psidebug.task.labels import Codes

CUTS, WIDEST, LEAST_ROWS = 20, 8, 10
Ints = npt.NDArray[np.intp]
Mask = npt.NDArray[np.bool_]


def claims(data: Data, columns: list[TwoSets]) -> list[Claim]:
    """The kind of rows that lacks most, if it is clear, by some columns."""
    size = data.encoding.size
    all_ = [np.bincount(each.codes, minlength=size).astype(float) for each in (data.train, data.test)]
    of_each = all_[0] / np.maximum(all_[1], 1.0)
    looked, found = 0, []
    for column in columns:
        if _of_other_rows(column):
            continue
        looked += len(data.train)  # each of its values could begin a range
        for kinds in _kinds(column, data.test.codes, size):
            expecting = (kinds.tested * of_each).sum(axis=1)
            enough = (kinds.there >= LEAST_ROWS) & (kinds.there <= len(data.test) / 2)
            for place in np.flatnonzero(enough & (kinds.here <= policy.HARDLY_ANY * expecting)).tolist():
                here, there, expected = int(kinds.here[place]), int(kinds.there[place]), float(expecting[place])
                # Of all rows of the kind, the share that is in training, if both sets were drawn alike.
                chance = float(binom.cdf(here, here + there, expected / (expected + there)))
                found.append((chance, -expected, column.name, *kinds.told(place), here, there, expected))
    clear = [each for each in found if each[0] * looked < policy.UNLIKELY]
    if not clear:
        return []
    _, _, name, told, test, here, there, expected = min(clear, key=lambda each: each[:2])
    return [
        Claim(
            "under_represented",
            f"rows with {told}",
            f"{_few(here)} {told}, where {expected:.0f} are expected by the {there} in the test set",
            f"Collect more rows with {told}.",
            column=name,
            strength=expected - here,
            rows=np.flatnonzero(test),
        )
    ]


class Kinds(NamedTuple):
    """Kinds of rows by one column, each a value or a range of numbers."""

    here: Ints
    """Training rows of each kind."""
    tested: Floats
    """Test rows of each kind and class (kinds, K)."""
    told: Callable[[int], tuple[str, Mask]]
    """A kind in words, and which test rows it is."""

    @property
    def there(self) -> Floats:
        """Test rows of each kind."""
        return np.asarray(self.tested.sum(axis=1))


def _kinds(column: TwoSets, codes: Codes, size: int) -> Iterator[Kinds]:
    """Values of a column, or ranges of numbers; ``codes`` are the labels of the test rows."""
    if column.values is not None:
        if len(column.values) <= policy.MOST_VALUES:
            yield _values(column, codes, size)
        return
    if not len(present := column.present("test")):
        return
    numbers, values = Numbers.of(column, codes, size), np.unique(present)
    if len(values) <= CUTS:
        yield numbers.between(values, values)
        return
    yield numbers.between(*numbers.gaps, digits=4)
    edges = np.unique(np.quantile(present, np.linspace(0.0, 1.0, CUTS + 1)))
    begin, end = np.triu_indices(len(edges), 1)
    near = end - begin <= WIDEST
    yield numbers.between(edges[begin[near]], edges[end[near]])


def _values(column: TwoSets, codes: Codes, size: int) -> Kinds:
    values, known = column.values or (), column.test != MISSING
    here = np.bincount(column.train[column.train != MISSING], minlength=len(values))
    tested = np.bincount(column.test[known] * size + codes[known], minlength=len(values) * size)
    return Kinds(here, tested.reshape(-1, size).astype(float), partial(_value, column))


def _value(column: TwoSets, code: int) -> tuple[str, Mask]:
    assert column.values is not None
    return f"{column.name} = {column.values[code]}", column.test == code


@dataclass(frozen=True, eq=False)
class Numbers:
    """A column of numbers, in order."""

    column: TwoSets
    train: Floats
    test: Floats
    below: Floats
    """(m + 1, K): how many of the first test values are of each class."""

    @classmethod
    def of(cls, column: TwoSets, codes: Codes, size: int) -> Numbers:
        """``codes`` are the labels of the test rows."""
        there = np.flatnonzero(np.isfinite(column.test))
        order = there[np.argsort(column.test[there])]
        below = np.zeros((len(order) + 1, size))
        np.cumsum(np.eye(size).take(codes[order], axis=0), axis=0, out=below[1:])
        return cls(column, np.sort(column.present("training")), column.test[order], below)

    def between(self, low: Floats, high: Floats, *, digits: int = 6) -> Kinds:
        """Ranges, both ends included."""
        (first, last), (begin, end) = (
            (np.searchsorted(each, low, side="left"), np.searchsorted(each, high, side="right"))
            for each in (self.train, self.test)
        )
        told = partial(self._told, low, high, digits)
        return Kinds(last - first, self.below[end] - self.below[begin], told)

    def _told(self, lows: Floats, highs: Floats, digits: int, place: int) -> tuple[str, Mask]:
        low, high, values = float(lows[place]), float(highs[place]), self.column.test
        words = f"= {low:.{digits}g}" if low == high else f"from {low:.{digits}g} to {high:.{digits}g}"
        return f"{self.column.name} {words}", (values >= low) & (values <= high)

    @property
    def gaps(self) -> tuple[Floats, Floats]:
        """The ranges with most test values among those with so many training values, 0 to 7, inside."""
        if len(self.train) < LEAST_ROWS:
            return np.empty(0), np.empty(0)
        below = np.append(0, np.searchsorted(self.test, self.train, side="right"))  # test values up to each
        ends = []
        for inside in (0, 1, 3, 7):
            counts = below[inside + 1 :] - below[: -inside - 1]
            begin = int(counts.argmax())
            own = self.test[below[begin] : below[begin + inside + 1]]
            if len(own):
                ends.append((own[0], own[-1]))
        low, high = np.array(ends).reshape(-1, 2).T
        return low, high


def _few(count: int) -> str:
    return {0: "no training row has", 1: "only 1 training row has"}.get(count, f"only {count} training rows have")


def _of_other_rows(column: TwoSets) -> bool:
    """Whether most test values lie beyond all of training, as those of a number that counts rows or days."""
    train, test = (column.present(side) for side in SIDES)
    if not column.numeric or not len(train) or not len(test):
        return False
    return max(float((test > train.max()).mean()), float((test < train.min()).mean())) > policy.MAJORITY
