"""A claim: something about the rows that would explain errors, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from psidebug.changes import Change

Side = Literal["training", "test"]
SIDES: tuple[Side, Side] = ("training", "test")
Cause = Literal[
    "training_labels",
    "test_labels",
    "unit",
    "missing_code",
    "swapped_columns",
    "class_shares",
    "duplicates",
    "leak",
    "dead_column",
    "under_represented",
    "capacity",
    "label_spelling",
    "none",
    "cannot_say",
]


@dataclass(frozen=True, eq=False)
class Claim:
    """One cause, seen in the rows themselves."""

    cause: Cause
    where: str
    """Which column, rows or labels, in a few words."""
    said: str
    """What was seen, as a clause: "age is 12 times as large in the test set as in training"."""
    advice: str
    """What the user should do, as a sentence."""
    changes: tuple[Change, ...] = ()
    """What would repair it, the best first: the first that the learner can be trained on is taken."""
    column: str | None = None
    side: Side | None = None
    """The set that is at fault, where it is one."""
    strength: float = 0.0
    """How clearly it shows; orders claims that are worth the same to the learner."""
    rows: npt.NDArray[np.intp] | None = None
    """Positions of the rows concerned, where it is not all of them."""

    @property
    def own_rows(self) -> npt.NDArray[np.intp]:
        """The rows, of a claim that has some."""
        assert self.rows is not None
        return self.rows


def side_name(side: Side) -> str:
    """The set in words."""
    return "training" if side == "training" else "the test set"
