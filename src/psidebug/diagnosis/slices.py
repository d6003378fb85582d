"""What the suspects have in common: conditions on the user's own columns × the given label."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from psidebug.tables import Column, columns
from psidebug.task import Task

MOST_VALUES = 50
"""A column with more different values than this is cut at quantiles (numbers) or left alone (categories)."""


@dataclass(frozen=True, eq=False)
class Slice:
    """Training rows that meet a condition and carry the same given label."""

    column: str
    condition: str
    given: int
    members: npt.NDArray[np.intp]
    z: float
    """How far the mean PS of its rows is above that of all rows with this label, in standard errors."""


def common_slices(task: Task, ps: npt.NDArray[np.float64], *, most: int) -> list[Slice]:
    """The slices whose rows have the highest PS for their size, best first; one of each column.

    A slice of n of the N rows with a given label has z = (mean PS inside - mean PS) / (s √((N-n) / (n (N-1)))), the
    standard score of a sample drawn without replacement.
    """
    least = 3
    best: dict[str, Slice] = {}
    conditions = list(_conditions(task))
    for given in range(task.encoding.size):
        rows = np.flatnonzero(task.train.codes == given)
        scores = ps[rows]
        # Equal scores have nothing to tell apart; their computed spread is rounding error, and any z from it absurd.
        if len(rows) <= least or np.ptp(scores) <= 1e-12 * np.abs(scores).max():
            continue
        for column, condition, holds in conditions:
            inside = holds[rows]
            n, total = int(inside.sum()), len(rows)
            if n < least or n == total:
                continue
            error = scores.std() * np.sqrt((total - n) / (n * (total - 1)))
            z = float((scores[inside].mean() - scores.mean()) / error)
            if z > 0 and (column not in best or z > best[column].z):
                best[column] = Slice(column, condition, given, rows[inside], z)
    return sorted(best.values(), key=lambda each: -each.z)[:most]


Condition = tuple[str, str, npt.NDArray[np.bool_]]
"""Column, the condition in words, and where it holds."""


def _conditions(task: Task) -> Iterator[Condition]:
    described = [] if task.metadata is None else columns(task.metadata, unnamed="m")
    for column in [*described, *columns(task.train.features)]:
        yield from _conditions_on(column)


def _conditions_on(column: Column) -> Iterator[Condition]:
    name, values = column.name, column.values
    if column.numeric:
        finite = values[np.isfinite(values)] if values.dtype.kind == "f" else values
        distinct = np.unique(finite)
        if len(distinct) <= 12:
            for value in distinct:
                yield name, f"{name} = {_shown(value)}", values == value
        # Cuts are values that occur: a condition such as "year ≤ 2015" can be read and applied as it is written.
        cuts = np.quantile(finite, np.linspace(0.05, 0.95, 19), method="lower") if len(finite) else distinct
        for cut in np.unique(cuts):
            yield name, f"{name} ≤ {_shown(cut)}", values <= cut
            yield name, f"{name} > {_shown(cut)}", values > cut
        return
    codes: dict[Any, int] = {}
    try:
        coded = np.array([codes.setdefault(_merged(value), len(codes)) for value in values.tolist()])
    except TypeError:  # lists, arrays or dicts: nothing to compare
        return
    if len(codes) <= MOST_VALUES:
        for value, code in codes.items():
            yield name, f"{name} = {_shown(value)}", coded == code


def _merged(value: Any) -> Any:
    """Every NaN, which differs even from itself, as one value: missing."""
    return None if isinstance(value, float) and value != value else value


def _shown(value: Any) -> str:
    if isinstance(value, float | np.floating):
        return f"{value + 0.0:.4g}"  # -0 is 0
    return str(value)
