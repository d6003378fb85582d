"""Which labels to correct: explanations compete, and retraining on the test set judges what they propose."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from psidebug import policy
from psidebug.changes import Relabel
from psidebug.diagnosis.extent import about, directions, extent_of, frequent_pairs
from psidebug.diagnosis.proof import Prover
from psidebug.errors import LearnerFailed
from psidebug.evidence.hypotheses import Hypothesis
from psidebug.findings.effects import Verification
from psidebug.slices.conditions import Slice
from psidebug.task.labels import Codes
from psidebug.task.task import Task
from psidebug.timings import Tick

EQUAL_RATES = 1e-6
"""Noise rates that differ by a smaller part than this are one rate, but for rounding."""


@dataclass(frozen=True, eq=False)
class Correction:
    """A proposal: these labels instead of the given ones, why, and what retraining says."""

    explanation: str
    change: Relabel
    codes: Codes
    """All training labels (N,) after it."""
    verified: Verification
    hypothesis: Hypothesis
    trained: str = "learner"
    """What was: the learner, or of a net the head alone, or all of it."""

    @property
    def slice(self) -> Slice | None:
        """The first slice that it accuses; None for scattered errors."""
        return next(iter(self.hypothesis.accused), None)

    def inside(self, given: Codes) -> int | None:
        """How many of the labels are in the rows that it calls mislabelled; None for scattered errors."""
        rows = [extent_of(each, self.hypothesis, given).rows for each in self.hypothesis.accused]
        return int(np.isin(self.change.rows, np.concatenate(rows)).sum()) if rows else None

    @property
    def proved(self) -> bool:
        """Whether the evidence is clearly likely, and retraining proves the correction."""
        likely = self.hypothesis.surplus > policy.LEAST_SURPLUS
        return likely and self.verified.proved(accused=bool(self.hypothesis.accused))


def enough_evidence(task: Task) -> bool:
    """Whether the test set can calibrate predictors: it has rows enough, of two classes at least three each."""
    counts = np.bincount(task.test.codes, minlength=task.encoding.size)
    return len(task.test) >= policy.LEAST_TEST_ROWS and int((counts >= policy.LEAST_ROWS).sum()) >= 2


def retrained(
    prover: Prover, hypotheses: Sequence[Hypothesis], tick: Tick, *, everyone: bool = False
) -> list[Correction]:
    """The corrections that hypotheses propose, most evidence first, with what retraining says of them.

    The first that is proved is the one to apply, and the last that is tried, unless ``everyone`` is.
    """
    task, tried = prover.task, []
    for done, each in enumerate(sorted(hypotheses, key=lambda each: -each.surplus), start=1):
        codes = each.corrected(task.train.codes)
        change = Relabel.of(task.data, codes)
        ended = done == len(hypotheses)
        if len(change.rows):
            with suppress(LearnerFailed):  # labels that the learner cannot be trained on are no correction
                tried.append(_judged(prover, Correction(told(task, each), change, codes, prover.verify(change), each)))
                ended |= tried[-1].proved and not everyone
        tick("retraining", done, done if ended else len(hypotheses))
        if ended:
            break
    return tried


def _judged(prover: Prover, correction: Correction) -> Correction:
    """By the learner that was retrained; of a net, what the head proves is left to all layers, if these can be."""
    if correction.proved and (whole := prover.of_whole_net) is not None:
        try:
            return replace(correction, verified=whole.verify(correction.change), trained="net")
        except LearnerFailed as error:  # it is proved for the head
            prover.net_failed(error)
    return replace(correction, trained=prover.trains)


def told(task: Task, hypothesis: Hypothesis, *, kind: str = "") -> str:
    """The explanation in words; ``kind`` says which rows and labels, if they are not those of training."""
    given = task.train.codes
    right = [
        each for each in hypothesis.excepted if extent_of(each, hypothesis, given).corrected_share < policy.ACCUSED
    ]
    excepted = " or ".join(each.condition for each in right)
    extents = [extent_of(each, hypothesis, given) for each in hypothesis.accused]
    said = "; ".join(each.told(task.encoding, kind=kind) for each in extents)
    said = said or _scattered(task, hypothesis, kind)
    return f"{said}, but not those with {excepted}" if excepted else said


def _scattered(task: Task, hypothesis: Hypothesis, kind: str) -> str:
    given, size = task.train.codes, task.encoding.size
    share = float(hypothesis.p_wrong(given).mean())
    if share == 0.0:
        return f"no {kind}label is wrong"
    where = "here and there" if hypothesis.follow is None else "where rows look like another class"
    said = f"{kind}labels are wrong {where}, {about(share)} of the {len(given):,}"
    off_diagonal = hypothesis.rates[0][~np.eye(size, dtype=bool)]
    if hypothesis.follow is None and np.ptp(off_diagonal) < EQUAL_RATES * off_diagonal.max():
        return said
    counts = np.eye(size)[given].T @ hypothesis.posterior
    np.fill_diagonal(counts, 0.0)
    pairs = frequent_pairs(counts)
    often = "most often " if len(pairs) > 1 else ""
    return f"{said}, {often}{directions(pairs[:1], task.encoding)}" if pairs else said


def best_of(tried: Sequence[Correction]) -> Correction | None:
    """The correction to apply: of those that are proved the one with the most evidence; None if none is."""
    return min((each for each in tried if each.proved), key=lambda each: -each.hypothesis.surplus, default=None)
