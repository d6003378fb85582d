"""Which faults fit a data set: about 10% of its rows or labels, one of them chosen by chance."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from psidebug.datasets.noise import Fault, Labels
from psidebug.errors import InputError
from psidebug.slices.conditions import Condition, coded, words_of
from psidebug.slices.ranges import short_number
from psidebug.task.tables import Table, columns

CHANGED = (0.095, 0.105)
"""Share of the labels that a marked word or a marked range of numbers changes."""
COVERED = (0.07, 0.13)
"""Share of the rows in a marked demographic."""
WIDEST = 0.3
"""Share of the rows in a marked range of numbers: most of a wider one would be labelled rightly."""


def marked_word(texts: Table, clean: Labels, rng: np.random.Generator) -> Fault:
    """Every text with one word is marked class 0.

    The paper's "word that appears in 10% of instances" is read as one that changes 10% of the labels, in about 20% of
    the texts: with half of that its rise in validation error, 0.14 to 0.24, cannot be had.
    """
    present, words = words_of(texts, least=int(CHANGED[0] * len(clean)))
    changed = present[clean != 0].sum(axis=0) / len(clean)
    fitting = np.flatnonzero((changed >= CHANGED[0]) & (changed <= CHANGED[1]))
    return _one_of([Fault(Condition("text", "contains", (words[word],)), 0) for word in fitting.tolist()], rng)


def marked_demographic(table: Table, clean: Labels, rng: np.random.Generator) -> Fault:
    """Every row with one value of a column of texts is marked class 1; some of them rightly so."""
    fitting = []
    for column in columns(table):
        if column.numeric:
            continue
        codes, distinct = coded(column.values)
        for value, code in distinct.items():
            if COVERED[0] <= np.mean(codes == code) <= COVERED[1]:
                fitting.append(Fault(Condition(column.name, "=", (value,)), 1))
    return _one_of(fitting, rng)


def marked_range(table: Table, clean: Labels, rng: np.random.Generator) -> Fault:
    """Every row with a large value in one column is marked class 0, cut where that changes 10% of the labels."""
    fitting = []
    for column in columns(table):
        cut = _cut(column.values.astype(np.float64), clean != 0)
        if cut is not None:
            fitting.append(Fault(Condition(column.name, ">", (cut,)), 0))
    return _one_of(fitting, rng)


def _cut(values: npt.NDArray[np.float64], changes: npt.NDArray[np.bool_]) -> float | None:
    """The c for which ``values > c`` has the share of changes nearest to the middle of CHANGED; None if none fits."""
    cuts, cell = np.unique(values, return_inverse=True)
    above = 1.0 - np.cumsum(np.bincount(cell)) / len(values)
    changed = (changes.sum() - np.cumsum(np.bincount(cell, weights=changes))) / len(values)
    fits = (changed >= CHANGED[0]) & (changed <= CHANGED[1]) & (above <= WIDEST)
    distance = np.where(fits, np.abs(changed - np.mean(CHANGED)), np.inf)
    best = int(np.argmin(distance))
    return short_number(cuts[best], cuts[best + 1]) if fits[best] else None


def _one_of(fitting: Sequence[Fault], rng: np.random.Generator) -> Fault:
    if not fitting:
        raise InputError(
            "no condition on these training rows makes about 10% of their labels wrong. Choose another seed."
        )
    return fitting[int(rng.integers(len(fitting)))]
