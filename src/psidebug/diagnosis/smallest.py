"""The smallest set of corrections found that repairs one bug, by retraining within a budget of fits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from psidebug.changes import NOTHING, Relabel
from psidebug.diagnosis.proof import Prover, moved_at_random
from psidebug.errors import LearnerFailed
from psidebug.findings.effects import Verification
from psidebug.graybox.protocol import GrayBox
from psidebug.task.labels import Codes

Rows = npt.NDArray[np.intp]
ROWS_SHOWN = 8
AT_RANDOM = 3
"""Times that as many random labels are moved, to tell the correction from chance: a limit on time."""


@dataclass(frozen=True)
class ByChance:
    """The correction beside as many random labels that are moved between the same classes."""

    changed: int
    """Test points that the correction makes right or wrong, the bug among them."""
    random: tuple[int, ...]
    """The same of each random move."""
    repaired: int
    """How many of the random moves repair the bug, too."""

    def __str__(self) -> str:
        moved = " to ".join(str(each) for each in sorted({min(self.random), max(self.random)}))
        also = f"and {self.repaired} of {len(self.random)} such moves repair this point too"
        told = f"{also}: it may be chance" if self.repaired else "and none of them repairs this point"
        return f"It changes {counted(self.changed, 'prediction')}; as many random labels change {moved}, {told}."


@dataclass(frozen=True, eq=False)
class SmallestCorrection:
    """The smallest set of corrections found that repairs a bug when the learner is retrained."""

    positions: Rows
    """The corrected training rows, most sufficient first; none if a fresh fit already gets the point right."""
    rows: npt.NDArray[Any]
    """Their ids."""
    codes: Codes
    """All training labels with these corrected."""
    verified: Verification
    """What the correction does to the other points."""
    irreducible: bool
    """Whether every set with one member less was retrained and leaves the bug. Other sets may still be smaller."""
    by_chance: ByChance | None = None
    """None if nothing is corrected, or random labels cannot be trained on."""

    @property
    def size(self) -> int:
        """Number of corrections."""
        return len(self.positions)

    def __repr__(self) -> str:
        if self.size == 0:
            return "A fresh fit on the labels as given already classifies it correctly."
        shown = ", ".join(map(str, self.rows[:ROWS_SHOWN].tolist())) + (", …" if self.size > ROWS_SHOWN else "")
        minimal = "it needs every one of them" if self.irreducible else "a smaller one may do, not all were tried"
        after = self.verified
        return (
            f"The smallest correction found that repairs it changes {counted(self.size, 'label')} (row"
            f"{'' if self.size == 1 else 's'} {shown}; {minimal}), breaks {after.points_broken} of the points that "
            f"were right, and takes the test error from {after.test_before.rate:.3f} to {after.test_after.rate:.3f}."
            f"{'' if self.by_chance is None else f' {self.by_chance}'}"
        )


class CorrectionSearch:
    """Corrections of some rows, tried by retraining for one bug within a budget of fits."""

    def __init__(self, prover: Prover, row: int, proposed: Codes, budget: int) -> None:
        self.task, self.row, self.proposed = prover.task, row, proposed
        self._prover, self._budget, self._fits_before = prover, budget, prover.fits
        self.pushed = 0
        self.margin = self.reached = float(prover.verify(NOTHING).margins[row].min())

    @property
    def fits(self) -> int:
        """Fits that were spent so far."""
        return self._prover.fits - self._fits_before

    def world(self, rows: Rows) -> Codes:
        """The labels with these rows corrected."""
        codes = self.task.train.codes.copy()
        codes[rows] = self.proposed[rows]
        return codes

    def repairs(self, rows: Rows) -> bool | None:
        """Whether retraining with these rows corrected repairs the bug; None if the budget is spent."""
        change = Relabel.of(self.task.data, self.world(rows))
        if self.fits >= self._budget and not self._prover.trainer.knows(change):
            return None
        try:
            margin = float(self._prover.verify(change).margins[self.row].min())
        except LearnerFailed:  # labels that cannot be trained on are no correction
            return False
        self.pushed, self.reached = max(self.pushed, len(rows)), max(self.reached, margin)
        return margin >= 0

    def smallest(self, order: Rows, expected: int | None) -> SmallestCorrection | None:
        """The shortest start of the order that repairs, less the members that it does not need."""
        length = 0 if self.margin >= 0 else self._shortest(order, len(order) if expected is None else expected)
        if length is None:
            return None
        rows, irreducible = self._without_idle_members(order[:length])
        codes = self.world(rows)
        verified = self._prover.verify(Relabel.of(self.task.data, codes))
        by_chance = self._by_chance(codes, verified) if len(rows) else None
        return SmallestCorrection(rows, self.task.rows[rows], codes, verified, irreducible, by_chance)

    def _by_chance(self, codes: Codes, verified: Verification) -> ByChance | None:
        """Retrained :data:`AT_RANDOM` times, beyond the budget."""
        rng, given = np.random.default_rng(self.task.seed), self.task.train.codes
        try:
            moves = [Relabel.of(self.task.data, moved_at_random(given, codes, rng)) for _ in range(AT_RANDOM)]
            random = [self._prover.verify(each) for each in moves]
        except LearnerFailed:
            return None
        before = self._prover.verify(NOTHING).wrong_after
        changed, *others = (int((each.wrong_after != before).sum()) for each in (verified, *random))
        return ByChance(changed, tuple(others), sum(not each.wrong_after[self.row] for each in random))

    def _shortest(self, order: Rows, length: int) -> int | None:
        """Length of the shortest start found to repair; away from the expected one in doubling steps, then bisection.

        The first ``low`` do not repair the bug and the first ``high`` do, or nothing is known to.
        """
        low, high, step = 0, len(order) + 1, max(1, length // 8)
        while high - low > 1:
            answer = self.repairs(order[:length])
            if answer is None:
                break
            low, high = (low, length) if answer else (length, high)
            if high > len(order):
                length, step = min(low + step, len(order)), 2 * step
            elif low == 0:
                length, step = max(high - step, 1), 2 * step
            else:
                length = (low + high) // 2
        return high if high <= len(order) else None

    def _without_idle_members(self, rows: Rows) -> tuple[Rows, bool]:
        """Halves, then quarters, … then single members left out while the bug stays repaired; the last ones first.

        Says too whether every single one that is left was tried and is needed.
        """
        parts = 2
        while len(rows) > 1:
            parts, before = min(parts, len(rows)), rows
            for part in reversed(np.array_split(before, parts)):
                kept = rows[~np.isin(rows, part)]
                answer = self.repairs(kept) if len(kept) else False
                if answer is None:
                    return rows, False
                rows = kept if answer else rows
            if parts == len(before) and len(rows) == len(before):
                break
            parts *= 2
        return rows, True


def expected_length(graybox: GrayBox, search: CorrectionSearch, order: Rows) -> int | None:
    """The shortest start of the order that repairs the bug by the gray box: doubling, then bisection."""

    def repairs(length: int) -> bool:
        return bool(graybox.margins(search.world(order[:length])[None], np.array([search.row])).min() >= 0)

    low, high = 0, 1
    while high <= len(order) and not repairs(high):
        low, high = high, max(min(2 * high, len(order)), high + 1)
    if high > len(order):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if repairs(middle) else (middle, high)
    return high


def counted(count: int, noun: str) -> str:
    """A number of things, in words: 1 label, 2 labels."""
    return f"{count} {noun}{'' if count == 1 else 's'}"
