"""Which labels to correct: explanations compete, and retraining on the test set judges what they propose."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from psidebug.changes import Relabel
from psidebug.diagnosis.proof import Prover
from psidebug.diagnosis.verification import Verification
from psidebug.errors import LearnerFailed
from psidebug.evidence.hypotheses import Competition, Hypothesis
from psidebug.evidence.opinions import Panel
from psidebug.evidence.rates import Floats
from psidebug.policy import (
    EQUAL_RATES,
    LEAST_TEST_ROWS,
    LEAST_TEST_ROWS_OF_A_CLASS,
    MOST_SLICES,
    SLICES_LISTED,
    SLICES_TRIED,
    proved,
)
from psidebug.slices.shift import shifted_slices
from psidebug.slices.slices import Slice, common_slices
from psidebug.task.labels import Codes, quoted
from psidebug.task.task import Task
from psidebug.training.trainer import Trainer

Tick = Callable[[str, int, int], None]


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
        paired = self.verified.test_change
        return self.hypothesis.likely and proved(
            self.verified.gain,
            self.verified.gain_error,
            fixed=paired.fixed,
            broken=paired.broken,
            accused=bool(self.hypothesis.accused),
        )


def enough_evidence(task: Task) -> bool:
    """Whether the test set can calibrate a labeller: it has rows enough, of two classes at least three each."""
    counts = np.bincount(task.test.codes, minlength=task.encoding.size)
    return len(task.test) >= LEAST_TEST_ROWS and int((counts >= LEAST_TEST_ROWS_OF_A_CLASS).sum()) >= 2


def explanations_of(
    task: Task, trainer: Trainer, effects: Floats | None, stated: Floats | None, tick: Tick
) -> list[Hypothesis]:
    """Hypotheses about how the labels came about, the one with the most evidence first.

    ``effects`` (N,) is what moving each label does to the test loss, by the gray box; ``stated`` (N, K) a prior that
    the user gave. Slices are proposed by three searches: where training labels are not those of the test set, where
    labels have the largest effect, and where scattered errors would be thickest. Those that gain by rates of their own
    are heard in full.
    """
    tick("evidence", 0, 1)
    competition = Competition(task, Panel(task, trainer), stated)
    scattered = competition.scattered()
    tick("slices", 0, 1)
    came = task.as_it_came  # labels that were wrong and are settled still show where others are
    suspected = scattered.p_wrong(came.train.codes)
    found = shifted_slices(came, most=SLICES_LISTED) + common_slices(came, suspected, most=SLICES_LISTED)
    if effects is not None:
        found += common_slices(came, effects, most=SLICES_LISTED)
    found = _still_open(task, found)
    accounted = competition.accounted(scattered)
    accused = [each for each in _accused(competition, scattered, found) if competition.confirmed(each)]
    hypotheses = sorted([accounted, *accused], key=lambda each: -each.surplus)
    while (best := hypotheses[0]).slices and len(best.slices) < MOST_SLICES:
        more = _promising(competition, best, found)[:1]
        if not more or not (both := competition.mislabelled([*best.slices, *more])).surplus > best.surplus:
            break
        hypotheses.insert(0, both)
    return hypotheses


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


def _accused(competition: Competition, scattered: Hypothesis, found: list[Slice]) -> list[Hypothesis]:
    promising = _promising(competition, scattered, found)[:SLICES_TRIED]
    return [competition.mislabelled([each]) for each in promising]


def _promising(competition: Competition, by: Hypothesis, found: list[Slice]) -> list[Slice]:
    """Slices that gain by rates of their own, most first; of nearly the same rows one."""
    promises = sorted(((competition.promise(each, by), -place) for place, each in enumerate(found)), reverse=True)
    kept: list[Slice] = []
    for promise, place in promises:
        each = found[-place]
        if promise > 0 and not any(_overlap(each, other) for other in [*kept, *by.slices]):
            kept.append(each)
    return kept


def _overlap(one: Slice, other: Slice) -> bool:
    both = len(np.intersect1d(one.members, other.members))
    return 2 * both > min(len(one.members), len(other.members))


def told(task: Task, hypothesis: Hypothesis) -> str:
    """The explanation in words."""
    excepted = " or ".join(each.condition for each in hypothesis.excepted)
    if hypothesis.accused:
        said = " and ".join(f"rows with {_named(task, each)} were mislabelled" for each in hypothesis.accused)
    else:
        said = _scattered(task, hypothesis)
    return f"{said}, but not those with {excepted}" if excepted else said


def _scattered(task: Task, hypothesis: Hypothesis) -> str:
    rates = hypothesis.rates[0].copy()
    np.fill_diagonal(rates, 0.0)
    classes = task.encoding.classes
    if np.ptp(rates[~np.eye(len(rates), dtype=bool)]) < EQUAL_RATES * rates.max():
        return f"labels are wrong here and there, {rates.sum(axis=1).mean():.0%} of them"
    true, recorded = (classes[int(code)] for code in np.unravel_index(int(rates.argmax()), rates.shape))
    return (
        f"labels are wrong here and there, most often {quoted(true)} recorded as {quoted(recorded)} "
        f"({rates.max():.0%} of them)"
    )


def _named(task: Task, suspect: Slice) -> str:
    return f"{suspect.condition}, labelled {quoted(task.encoding.classes[suspect.given])},"


def best_of(tried: Sequence[Correction]) -> Correction | None:
    """The correction to apply: of those that are proved the one with the most evidence; None if none is."""
    return min((each for each in tried if each.proved), key=lambda each: -each.hypothesis.surplus, default=None)


def _still_open(task: Task, found: list[Slice]) -> list[Slice]:
    """The slices without rows whose labels are facts."""
    if task.known is None:
        return found
    left = [replace(each, members=each.members[~task.known[each.members]]) for each in found]
    return [each for each in left if len(each.members)]
