"""Which labels to correct: explanations compete, and retraining on the test set judges what they propose."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from psidebug import policy
from psidebug.changes import Relabel
from psidebug.diagnosis.proof import Prover
from psidebug.errors import LearnerFailed
from psidebug.evidence.hypotheses import Hypothesis
from psidebug.findings.effects import Verification
from psidebug.slices.conditions import Slice
from psidebug.task.labels import Codes, quoted
from psidebug.task.task import Task

Tick = Callable[[str, int, int], None]
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

    @property
    def slice(self) -> Slice | None:
        """The first slice that it accuses; None for scattered errors."""
        return next(iter(self.hypothesis.accused), None)

    @property
    def proved(self) -> bool:
        """Whether the evidence is likely, and retraining proves the correction."""
        return self.hypothesis.likely and self.verified.proved(accused=bool(self.hypothesis.accused))


def enough_evidence(task: Task) -> bool:
    """Whether the test set can calibrate predictors: it has rows enough, of two classes at least three each."""
    counts = np.bincount(task.test.codes, minlength=task.encoding.size)
    return len(task.test) >= policy.LEAST_TEST_ROWS and int((counts >= policy.LEAST_ROWS).sum()) >= 2


def retrained(prover: Prover, hypotheses: Sequence[Hypothesis], tick: Tick) -> list[Correction]:
    """The corrections that hypotheses propose, in their order, with what retraining says of them."""
    task, tried = prover.task, []
    for done, each in enumerate(hypotheses, start=1):
        codes = each.corrected(task.train.codes)
        change = Relabel.of(task.data, codes)
        if len(change.rows):
            with suppress(LearnerFailed):  # labels that the learner cannot be trained on are no correction
                tried.append(Correction(told(task, each), change, codes, prover.verify(change), each))
        tick("retraining", done, len(hypotheses))
    return tried


def told(task: Task, hypothesis: Hypothesis, *, kind: str = "") -> str:
    """The explanation in words; ``kind`` says which rows and labels, if they are not those of training."""
    excepted = " or ".join(each.condition for each in hypothesis.excepted)
    if hypothesis.accused:
        named = ((each.condition, quoted(task.encoding.classes[each.given])) for each in hypothesis.accused)
        said = " and ".join(
            f"{kind}rows with {condition}, labelled {label}, were mislabelled" for condition, label in named
        )
    else:
        said = f"{kind}{_scattered(task, hypothesis)}"
    return f"{said}, but not those with {excepted}" if excepted else said


def _scattered(task: Task, hypothesis: Hypothesis) -> str:
    given, classes = task.train.codes, task.encoding.classes
    if hypothesis.follow is not None:
        shares = hypothesis.recorded_shares(given)
        true, recorded = (classes[int(code)] for code in np.unravel_index(int(shares.argmax()), shares.shape))
        most = f"most often {quoted(true)} recorded as {quoted(recorded)} ({shares.max():.0%} of them)"
        share = float(hypothesis.p_wrong(given).mean())
        return f"labels are wrong where rows look like another class, {share:.0%} of them, {most}"
    rates = hypothesis.rates[0].copy()
    np.fill_diagonal(rates, 0.0)
    if np.ptp(rates[~np.eye(len(rates), dtype=bool)]) < EQUAL_RATES * rates.max():
        return f"labels are wrong here and there, {rates.sum(axis=1).mean():.0%} of them"
    true, recorded = (classes[int(code)] for code in np.unravel_index(int(rates.argmax()), rates.shape))
    most = f"{quoted(true)} recorded as {quoted(recorded)} ({rates.max():.0%} of them)"
    return f"labels are wrong here and there, most often {most}"


def best_of(tried: Sequence[Correction]) -> Correction | None:
    """The correction to apply: of those that are proved the one with the most evidence; None if none is."""
    return min((each for each in tried if each.proved), key=lambda each: -each.hypothesis.surplus, default=None)
