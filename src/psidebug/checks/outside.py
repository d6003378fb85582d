"""Columns in which most test values are outside of what training has: other units, other codes, another time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from psidebug import policy
from psidebug.checks.check import Check
from psidebug.checks.pairs import Pair
from psidebug.checks.useless import names_rows
from psidebug.task.data import Data

Outside = tuple[str, float, str]
"""The name of a column, the share of its test values, and where they are."""


def outside(data: Data, pairs: Iterable[Pair]) -> Check | None:
    """Columns of which most test values are outside of the range, or the categories, of training."""
    if min(len(data.train), len(data.test)) < policy.LEAST_ROWS_CHECKED:
        return None
    train = data.train.features
    every = _sparse(train, data.test.features) if sp.issparse(train) else _dense(pairs)
    found = [each for each in every if each[1] > policy.OUTSIDE_SHARE]
    if not found:
        return None
    name, share, where = found[0]
    more = f" (and most of {len(found) - 1:,} more columns)" if len(found) > 1 else ""
    return Check(
        "outside training",
        f"{share:.0%} of the test values of '{name}'{more} are {where}: the model knows nothing of such values. Check "
        f"units, codes and dates.",
    )


def _dense(pairs: Iterable[Pair]) -> Iterator[Outside]:
    for pair in pairs:
        if pair.distinct is not None:
            if 0 < pair.distinct <= policy.MOST_VALUES:
                lacking = bool((pair.train >= 0).all()) & (pair.test < 0)
                yield pair.name, float(((pair.test >= pair.distinct) | lacking).mean()), _among(pair.distinct)
            continue
        low, high = (each.reduce(pair.train) for each in (np.fmin, np.fmax))
        if np.isnan(low) or (pair.test.min() >= low and pair.test.max() <= high):
            continue  # as nearly always: nothing has to be counted
        beyond = (pair.test < low) | (pair.test > high)
        if not np.isnan(pair.train).any():
            beyond |= np.isnan(pair.test)
        if beyond.mean() > policy.OUTSIDE_SHARE and not names_rows(pair):
            yield pair.name, float(beyond.mean()), _beyond(_shown(low, pair), _shown(high, pair))


def _sparse(train: Any, test: Any) -> Iterator[Outside]:
    """Of the columns that most test rows, or all training rows, have an entry in; of the others 0 is usual in both."""
    rows, points = train.shape[0], test.shape[0]
    stored, tested = (np.bincount(each.indices, minlength=each.shape[1]) for each in (train, test))
    for place in np.flatnonzero((tested > policy.OUTSIDE_SHARE * points) | (stored >= rows)).tolist():
        learned, said = (each[:, [place]].toarray().ravel() for each in (train, test))
        low, high = learned.min(), learned.max()
        yield f"x{place}", float(((said < low) | (said > high)).mean()), _beyond(f"{low:g}", f"{high:g}")


def _shown(value: float, pair: Pair) -> str:
    return str(np.datetime64(int(value), "us").astype("datetime64[D]")) if pair.dated else f"{value:g}"


def _beyond(low: str, high: str) -> str:
    return f"not {low}, as in training" if low == high else f"outside of the range of training, {low} to {high}"


def _among(distinct: int) -> str:
    return "not the value of training" if distinct == 1 else f"not among the {distinct} values of training"
