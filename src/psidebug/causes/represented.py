"""``under_represented``: rows of a kind are hardly there in training, and are in the test set.

Every value of a column, and every range between quantiles, is counted in both sets, class by class: where the classes
have other shares, that alone must not look like it. n_k training rows and m_k test rows of class k, N_k and M_k in all,
let m_k N_k / M_k training rows be expected.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
from scipy.stats import binom

from psidebug import policy
from psidebug.causes.claim import SIDES, Claim
from psidebug.causes.columns import Floats, TwoSets
from psidebug.task.data import Data

CUTS, WIDEST, LEAST_ROWS = 20, 8, 10
Mask = npt.NDArray[np.bool_]


def claims(data: Data, columns: list[TwoSets]) -> list[Claim]:
    """The kind of rows that lacks most, if it is clear, by some columns."""
    size = data.encoding.size
    all_ = [np.bincount(each.codes, minlength=size).astype(float) for each in (data.train, data.test)]
    looked, found = 0, []
    for column in columns:
        if _of_other_rows(column):
            continue
        looked += len(data.train)  # each of its values could begin a range
        for told, here, test in _kinds(column):
            there = int(test.sum())
            if there < LEAST_ROWS or there > len(test) / 2:
                continue
            tested = np.bincount(data.test.codes[test], minlength=size)
            expected = float((tested * all_[0] / np.maximum(all_[1], 1.0)).sum())
            if here > policy.HARDLY_ANY * expected:
                continue
            # Of all rows of the kind, the share that is in training, if both sets were drawn alike.
            chance = float(binom.cdf(here, here + there, expected / (expected + there)))
            found.append((chance, -expected, column.name, told, here, there, expected, test))
    clear = [each for each in found if each[0] * looked < policy.UNLIKELY]
    if not clear:
        return []
    _, _, name, told, here, there, expected, test = min(clear, key=lambda each: each[:2])
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


def _gaps(column: TwoSets, train: Floats) -> Iterator[tuple[str, int, Mask]]:
    """The ranges with most test values among those with so many training values, 0 to 7, inside."""
    test = np.sort(column.present("test"))
    if len(train) < LEAST_ROWS:
        return
    below = np.append(0, np.searchsorted(test, train, side="right"))  # test values up to each training value
    for inside in (0, 1, 3, 7):
        counts = below[inside + 1 :] - below[: -inside - 1]
        begin = int(counts.argmax())
        own = test[below[begin] : below[begin + inside + 1]]
        if len(own):
            low, high = own[0], own[-1]
            told = f"{column.name} from {low:.4g} to {high:.4g}"
            yield told, _between(train, low, high), (column.test >= low) & (column.test <= high)


def _between(ordered: Floats, low: float, high: float) -> int:
    """How many of these values are in the range, both ends included."""
    return int(np.searchsorted(ordered, high, side="right") - np.searchsorted(ordered, low, side="left"))


def _few(count: int) -> str:
    return {0: "no training row has", 1: "only 1 training row has"}.get(count, f"only {count} training rows have")


def _of_other_rows(column: TwoSets) -> bool:
    """Whether most test values lie beyond all of training, as those of a number that counts rows or days."""
    train, test = (column.present(side) for side in SIDES)
    if not column.numeric or not len(train) or not len(test):
        return False
    return max(float((test > train.max()).mean()), float((test < train.min()).mean())) > policy.MAJORITY


def _kinds(column: TwoSets) -> Iterator[tuple[str, int, Mask]]:
    """Values of a column, or ranges of numbers, in words; how many training rows, and which test rows have them."""
    if column.values is not None:
        if len(column.values) <= policy.MOST_VALUES:
            for code, value in enumerate(column.values):
                yield f"{column.name} = {value}", int((column.train == code).sum()), column.test == code
        return
    present = column.present("test")
    if not len(present):
        return
    values, train = np.unique(present), np.sort(column.present("training"))
    if len(values) <= CUTS:
        for value in values:
            yield f"{column.name} = {value:g}", _between(train, value, value), column.test == value
        return
    yield from _gaps(column, train)
    edges = np.unique(np.quantile(present, np.linspace(0.0, 1.0, CUTS + 1)))
    for begin in range(len(edges) - 1):
        for end in range(begin + 1, min(begin + WIDEST, len(edges) - 1) + 1):
            low, high = edges[begin], edges[end]
            told = f"{column.name} from {low:g} to {high:g}"
            yield told, _between(train, low, high), (column.test >= low) & (column.test <= high)
