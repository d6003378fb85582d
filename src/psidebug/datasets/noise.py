"""Wrong labels, planted on purpose, and what was planted in words and as data.

Four kinds: "systematic", every row that meets a condition is marked with one class, as a faulty script does; "random",
10% of the labels move to another class; "one_sided", 30% of class 1 become class 0; "none".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from psidebug.errors import UnknownOption
from psidebug.slices.conditions import Condition
from psidebug.task.tables import Table

Noise = Literal["systematic", "random", "one_sided", "none"]
Labels = npt.NDArray[np.intp]

SCATTERED = 0.1
"""Share of the labels that random noise moves."""
ONE_SIDED = 0.3
"""Share of class 1 that becomes class 0."""


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
    words = f"every row where {fault.condition} is marked {classes[fault.marked]}"
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
