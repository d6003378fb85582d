"""Which labels to correct: candidate corrections proposed by PS and by slices, judged by retraining on the test set."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from psidebug.diagnosis.slices import Slice
from psidebug.diagnosis.verification import Judge, Verification
from psidebug.errors import LearnerFailed
from psidebug.inference.estimates import Estimates
from psidebug.labels import Codes
from psidebug.tables import take
from psidebug.task import LabelledSet, Task

Tick = Callable[[str, int, int], None]
Candidate = tuple[str, Codes, Slice | None]
"""Why, the labels, and the slice they come from."""

LEAST_Z = 2.5
"""A slice is an improvement when its gain in test log likelihood is this many standard errors above 0."""
LEAST_Z_OF_ROWS = 5.0
"""A list of rows must stand out further: the test points that judge it have picked every one of its rows.

On clean digits such lists gain 2 standard errors on average and 4 at times, with nothing gained on other digits.
"""


@dataclass(frozen=True, eq=False)
class Correction:
    """A proposal: these labels instead of the given ones, why, and what retraining says."""

    explanation: str
    codes: Codes
    verified: Verification
    slice: Slice | None = None

    @property
    def improves(self) -> bool:
        """Whether the gain is more than chance, and the choice of the rows, would give."""
        least = LEAST_Z_OF_ROWS if self.slice is None else LEAST_Z
        return self.verified.gain > least * self.verified.gain_error


def propose(
    task: Task,
    estimates: Estimates,
    order: npt.NDArray[np.intp],
    slices: list[Slice],
    judge: Judge,
    tick: Tick,
) -> list[Correction]:
    """Every candidate with its verified effect, best gain first: the top rows by PS, and each slice in two ways."""
    candidates: list[Candidate] = [
        (f"the {count} labels with the highest PS", _moved(task, order[:count], estimates), None)
        for count in _counts(len(order), len(task.train))
    ]
    for each in slices:
        told = f"{each.condition}, labelled {task.encoding.classes[each.given]!r}"
        whole, part = _moved(task, each.members, estimates), relabelled(task, each, judge)
        candidates.append((f"all rows with {told}", whole, each))
        if np.any(part != whole) and np.any(part != task.train.codes):
            candidates.append((f"rows with {told}, where a model without them disagrees", part, each))
    tried = []
    for done, (explanation, codes, origin) in enumerate(candidates, start=1):
        # Labels that the learner cannot be trained on (all of one class; too few of one for its own
        # cross-validation) are no correction.
        with suppress(LearnerFailed):
            tried.append(Correction(explanation, codes, judge.verify(codes), origin))
        tick("retraining", done, len(candidates))
    return sorted(tried, key=lambda correction: -correction.verified.gain)


def best_of(tried: Sequence[Correction]) -> Correction | None:
    """The correction to apply, or None when nothing improves the model.

    Of those that improve it, it is the one with the largest gain; but where that is a list of rows, a slice whose gain
    is within one standard error of it is the simpler explanation, and is preferred.
    """
    improving = sorted((each for each in tried if each.improves), key=lambda each: -each.verified.gain)
    if not improving:
        return None
    bar = improving[0].verified.gain - improving[0].verified.gain_error
    return next((each for each in improving if each.slice is not None and each.verified.gain >= bar), improving[0])


def relabelled(task: Task, suspect: Slice, judge: Judge) -> Codes:
    """The labels with a slice's own ones replaced by what a model that never saw them says.

    If the rest of the training set lacks a class, or the learner cannot be trained on it, nothing can be learned
    without the slice and it is left alone.
    """
    rest = np.setdiff1d(np.arange(len(task.train)), suspect.members)
    codes = task.train.codes.copy()
    if set(codes[rest]) != set(codes):
        return codes
    try:
        model = judge.fit(codes, rows=rest)
    except LearnerFailed:
        return codes
    inside = LabelledSet(take(task.train.features, suspect.members), codes[suspect.members])
    codes[suspect.members] = task.predict(model, inside)
    return codes


def _moved(task: Task, rows: npt.NDArray[np.intp], estimates: Estimates) -> Codes:
    codes = task.train.codes.copy()
    codes[rows] = estimates.proposed[rows]
    return codes


def _counts(suspects: int, rows: int) -> list[int]:
    """Numbers of top rows to try: doubling from about half a percent, up to a quarter of the training set."""
    most = min(suspects, rows // 4)
    counts = [max(1, rows // 200) * 2**step for step in range(16)]
    return [count for count in counts if count <= most] or ([most] if most else [])
