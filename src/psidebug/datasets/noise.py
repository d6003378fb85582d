"""Wrong labels, planted on purpose, and what was planted in words and as data.

Four kinds: "systematic", every row that meets a condition is marked with one class, as a faulty script does; "random",
10% of the labels move to another class; "one_sided", 30% of class 1 become class 0; "none". A fault that fits a data
set concerns about 10% of its rows or labels; chance chooses one of those that fit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from psidebug.errors import InputError, UnknownOption
from psidebug.slices.conditions import Condition, coded, words_of
from psidebug.slices.ranges import short_number
from psidebug.task.columns import columns
from psidebug.task.tables import Table

Noise = Literal["systematic", "random", "one_sided", "none"]
Labels = npt.NDArray[np.intp]

SCATTERED = 0.1
"""Share of the labels that random noise moves."""
ONE_SIDED = 0.3
"""Share of class 1 that becomes class 0."""
CHANGED = (0.095, 0.105)
"""Share of the labels that a marked word or a marked range of numbers changes."""
COVERED = (0.07, 0.13)
"""Share of the rows in a marked demographic."""
WIDEST = 0.3
"""Largest share of the rows in a marked range of numbers: most labels of a wider one would be right."""


@dataclass(frozen=True)
class Fault:
    """What a faulty script does: every row where the condition holds is marked with this class."""

    condition: Condition
    marked: int


@dataclass(frozen=True)
class Planted:
    """The kind of noise, what it did in words, and for systematic noise the fault itself."""

    noise: Noise
    words: str
    fault: Fault | None = None

    def __str__(self) -> str:
        return self.words


def plant(
    noise: Noise,
    clean: Labels,
    classes: Sequence[str],
    *,
    rng: np.random.Generator,
    table: Table,
    fault: Callable[[], Fault],
) -> tuple[Labels, Planted]:
    """The labels with this kind of noise, and what was done; the fault is looked for only if it is to be planted."""
    match noise:
        case "systematic":
            return marked(clean, classes, fault(), table)
        case "random":
            return scattered(clean, classes, rng)
        case "one_sided":
            return one_sided(clean, classes, rng)
        case "none":
            return clean.copy(), Planted("none", "nothing")
    raise UnknownOption(f"noise must be one of {', '.join(get_args(Noise))}, not {noise!r}.")


def marked(clean: Labels, classes: Sequence[str], fault: Fault, table: Table) -> tuple[Labels, Planted]:
    """Systematic noise: the labels after the fault."""
    words = f"every row with {fault.condition} is marked {classes[fault.marked]}"
    return np.where(fault.condition.holds(table), fault.marked, clean), Planted("systematic", words, fault)


def scattered(
    clean: Labels, classes: Sequence[str], rng: np.random.Generator, *, share: float = SCATTERED
) -> tuple[Labels, Planted]:
    """Random noise: this share of the labels, each moved to one of the other classes, all equally likely."""
    rows = rng.choice(len(clean), round(share * len(clean)), replace=False)
    given = clean.copy()
    given[rows] = (clean[rows] + rng.integers(1, len(classes), len(rows))) % len(classes)
    return given, Planted("random", f"{share:.0%} of the labels, at random, are moved to another class")


def one_sided(clean: Labels, classes: Sequence[str], rng: np.random.Generator) -> tuple[Labels, Planted]:
    """Noise of one direction: 30% of class 1, at random, become class 0."""
    ones = np.flatnonzero(clean == 1)
    given = clean.copy()
    given[rng.choice(ones, round(ONE_SIDED * len(ones)), replace=False)] = 0
    words = f"{ONE_SIDED:.0%} of class {classes[1]}, at random, are marked {classes[0]}"
    return given, Planted("one_sided", words)


def marked_word(texts: Table, clean: Labels, rng: np.random.Generator) -> Fault:
    """Every text with one word is marked class 0.

    The paper's "word that appears in 10% of instances" is read as one that changes 10% of the labels, in about 20% of
    the texts: half of that cannot raise the validation error as in the paper, from 0.14 to 0.24.
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
