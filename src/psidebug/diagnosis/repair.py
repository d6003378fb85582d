"""Which labels to correct: explanations compete, and retraining on the test set judges what they propose."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from psidebug.diagnosis.verification import Judge
from psidebug.errors import LearnerFailed
from psidebug.evidence.hypotheses import LEAST_TEST_ROWS_OF_A_CLASS, Competition, Hypothesis
from psidebug.evidence.opinions import Panel
from psidebug.evidence.rates import Floats
from psidebug.findings.effects import Verification
from psidebug.inference.estimates import Estimates
from psidebug.slices.shift import shifted_slices
from psidebug.slices.slices import Slice, common_slices
from psidebug.task.labels import Codes, quoted
from psidebug.task.tables import take
from psidebug.task.task import LabelledSet, Task

Tick = Callable[[str, int, int], None]
Candidate = tuple[str, Codes, Slice | None]
"""Why, the labels, and the slice they come from."""

LEAST_TEST_ROWS = 30
"""Fewer test labels than these cannot calibrate a labeller, and the lists with the highest PS are tried instead."""
LISTED, FULLY_TRIED, MOST_SLICES = 8, 2, 3
"""Slices taken from each search; those of them for which a labeller is trained anew; slices in one explanation."""
LEAST_Z_OF_ACCUSED, LEAST_Z_OF_SCATTERED = 1.0, 2.0
"""Labels that the evidence says are wrong are corrected when retraining agrees, by so many standard errors of its gain.

Scattered corrections touch the whole model and need the clearer proof: a learner that cannot use them gains by chance.
"""
EVEN = 1e-6
"""Rates that differ by a smaller part than this are one rate."""
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
    """What the rows have in common; the first slice if it is several."""
    hypothesis: Hypothesis | None = None
    """The explanation with its evidence; None if the test set is too small for one."""

    @property
    def improves(self) -> bool:
        """Whether the gain is more than chance, and the choice of the rows, would give, and errors are not added.

        Of b points broken and f fixed, b - f has the standard error √(b + f); twice that is let pass, since a better
        model of overlapping classes need not make fewer errors on a few test points.
        """
        change = self.verified.test_change
        if change.broken - change.fixed > 2.0 * np.sqrt(change.broken + change.fixed):
            return False
        if self.hypothesis is not None:
            least = LEAST_Z_OF_ACCUSED if self.hypothesis.accused else LEAST_Z_OF_SCATTERED
            return self.hypothesis.likely and self.verified.gain > least * self.verified.gain_error
        least = LEAST_Z_OF_ROWS if self.slice is None else LEAST_Z
        return self.verified.gain > least * self.verified.gain_error


def enough_evidence(task: Task) -> bool:
    """Whether the test set can calibrate a labeller: it has rows enough, of two classes at least three each."""
    counts = np.bincount(task.test.codes, minlength=task.encoding.size)
    return len(task.test) >= LEAST_TEST_ROWS and int((counts >= 3).sum()) >= 2


def explanations_of(
    task: Task, judge: Judge, effects: Floats | None, stated: Floats | None, tick: Tick
) -> list[Hypothesis]:
    """Hypotheses about how the labels came about, the one with the most evidence first.

    ``effects`` (N,) is what moving each label does to the test loss, by the gray box; ``stated`` (N, K) a prior that
    the user gave. Slices are proposed by three searches: where training labels are not those of the test set, where
    labels have the largest effect, and where scattered errors would be thickest. Those that gain by rates of their own
    are heard in full.
    """
    tick("evidence", 0, 1)
    competition = Competition(task, Panel(task, judge), stated)
    scattered = competition.scattered()
    tick("slices", 0, 1)
    came = task.as_it_came  # labels that were wrong and are settled still show where others are
    suspected = scattered.p_wrong(came.train.codes)
    found = shifted_slices(came, most=LISTED) + common_slices(came, suspected, most=LISTED)
    if effects is not None:
        found += common_slices(came, effects, most=LISTED)
    found = _still_open(task, found)
    accounted = competition.accounted(scattered)
    accused = [each for each in _accused(competition, scattered, found) if competition.confirmed(each)]
    hypotheses = sorted([accounted, *accused], key=lambda each: each.charge - each.evidence)
    while (best := hypotheses[0]).slices and len(best.slices) < MOST_SLICES:
        more = _promising(competition, best, found)[:1]
        if not more or not (both := competition.mislabelled([*best.slices, *more])).evidence - both.charge > (
            best.evidence - best.charge
        ):
            break
        hypotheses.insert(0, both)
    return hypotheses


def retrained(task: Task, judge: Judge, hypotheses: Sequence[Hypothesis], tick: Tick) -> list[Correction]:
    """The corrections that hypotheses propose, in their order, with what retraining says of them."""
    tried = []
    for done, each in enumerate(hypotheses, start=1):
        codes = each.corrected(task.train.codes)
        if np.any(codes != task.train.codes):
            with suppress(LearnerFailed):
                first = each.accused[0] if each.accused else None
                tried.append(Correction(told(task, each), codes, judge.verify(codes), first, each))
        tick("retraining", done, len(hypotheses))
    return tried


def _accused(competition: Competition, scattered: Hypothesis, found: list[Slice]) -> list[Hypothesis]:
    promising = _promising(competition, scattered, found)[:FULLY_TRIED]
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
    if np.ptp(rates[~np.eye(len(rates), dtype=bool)]) < EVEN * rates.max():
        return f"labels are wrong here and there, {rates.sum(axis=1).mean():.0%} of them"
    true, recorded = (classes[int(code)] for code in np.unravel_index(int(rates.argmax()), rates.shape))
    return (
        f"labels are wrong here and there, most often {quoted(true)} recorded as {quoted(recorded)} "
        f"({rates.max():.0%} of them)"
    )


def _named(task: Task, suspect: Slice) -> str:
    return f"{suspect.condition}, labelled {quoted(task.encoding.classes[suspect.given])},"


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
        told = f"{each.condition}, labelled {quoted(task.encoding.classes[each.given])}"
        whole, part = _moved(task, each.members, estimates), relabelled(task, each, judge)
        candidates.append((f"all rows with {told}", whole, each))
        if np.any(part != whole) and np.any(part != task.train.codes):
            candidates.append((f"rows with {told}, where a model without them disagrees", part, each))
    tried = []
    known = np.bincount(task.test.codes, minlength=task.encoding.size) >= LEAST_TEST_ROWS_OF_A_CLASS
    for done, (explanation, moved, origin) in enumerate(candidates, start=1):
        # Of a class with hardly any test rows nothing is known: its labels stay, and none becomes it.
        codes = np.where(known[task.train.codes] & known[moved], moved, task.train.codes)
        if not np.any(codes != task.train.codes):
            continue
        # Labels that the learner cannot be trained on (all of one class; too few of one for its own
        # cross-validation) are no correction.
        with suppress(LearnerFailed):
            tried.append(Correction(explanation, codes, judge.verify(codes), origin))
        tick("retraining", done, len(candidates))
    return sorted(tried, key=lambda correction: -correction.verified.gain)


def best_of(tried: Sequence[Correction]) -> Correction | None:
    """The correction to apply, or None when nothing improves the model.

    Of explanations it is the one with the most evidence. Of lists and slices that PS alone proposes it is the one with
    the largest gain; but where that is a list of rows, a slice whose gain is within one standard error of it is the
    simpler explanation, and is preferred.
    """
    improving = sorted((each for each in tried if each.improves), key=_rank)
    if not improving or improving[0].hypothesis is not None:
        return improving[0] if improving else None
    bar = improving[0].verified.gain - improving[0].verified.gain_error
    return next((each for each in improving if each.slice is not None and each.verified.gain >= bar), improving[0])


def _rank(correction: Correction) -> float:
    """Explanations by their evidence, lists of rows by their gain."""
    if correction.hypothesis is not None:
        return correction.hypothesis.charge - correction.hypothesis.evidence
    return -correction.verified.gain


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
    return _sparing_facts(task, codes)


def _moved(task: Task, rows: npt.NDArray[np.intp], estimates: Estimates) -> Codes:
    codes = task.train.codes.copy()
    codes[rows] = estimates.proposed[rows]
    return _sparing_facts(task, codes)


def _still_open(task: Task, found: list[Slice]) -> list[Slice]:
    """The slices without rows whose labels are facts."""
    if task.known is None:
        return found
    left = [replace(each, members=each.members[~task.known[each.members]]) for each in found]
    return [each for each in left if len(each.members)]


def _sparing_facts(task: Task, codes: Codes) -> Codes:
    """The labels with those that are facts as they are."""
    return codes if task.known is None else np.where(task.known, task.train.codes, codes)


def _counts(suspects: int, rows: int) -> list[int]:
    """Numbers of top rows to try: doubling from about half a percent, up to a quarter of the training set."""
    most = min(suspects, rows // 4)
    counts = [max(1, rows // 200) * 2**step for step in range(16)]
    return [count for count in counts if count <= most] or ([most] if most else [])
