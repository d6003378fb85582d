"""Which cause is it? What the rows show is repaired first; then labels, of either set, are weighed.

A claim about columns, copies or spelling is seen in the rows, not in the labels, so wrong labels cannot cause it. One
claim is accepted at a time, the task is repaired, and the rows are looked at again: a column in another unit also looks
like one full of codes, and rows that were equal no longer are. What a repair is worth is the rise of the test log
likelihood of the learner trained on it, beside a control: the same change to another column, or to other rows.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from sklearn.linear_model import LogisticRegression

from psidebug import policy
from psidebug.causes import capacity, dead, duplicates, missing, represented, shares, spelling, units
from psidebug.causes.claim import Claim
from psidebug.causes.columns import Floats, TwoSets, both_sets
from psidebug.causes.duplicates import row_keys
from psidebug.changes import Blank, Change, Drop, Join, Mask, Relabel, Rescale, Weigh
from psidebug.diagnosis.as_findings import suspect_tests
from psidebug.diagnosis.proof import Prover, moved_at_random
from psidebug.diagnosis.repair import Correction, enough_evidence, told
from psidebug.errors import LearnerFailed
from psidebug.evidence.calibration import chance
from psidebug.evidence.contest import Contest, compete
from psidebug.evidence.hypotheses import Hypothesis
from psidebug.evidence.predictors import Predictors
from psidebug.evidence.which_set import mirrored, noise_in_test_labels, training_labels_rather
from psidebug.findings.effects import Verification
from psidebug.findings.findings import FoundCause
from psidebug.margins import log_losses
from psidebug.task import learner as learners
from psidebug.task.data import Data, LabelledSet
from psidebug.task.tables import column_of, take
from psidebug.task.task import Task
from psidebug.training.trainer import Trainer

Tick = Callable[[str, int, int], None]
FIRST = ("label_spelling", "unit", "missing_code", "swapped_columns", "leak", "duplicates", "dead_column")
"""Which claim is accepted first: those before could look like those after."""
MOST_ACCEPTED = 6


@dataclass(frozen=True, eq=False)
class Repaired:
    """The task after what the rows show was repaired, as far as that keeps all rows."""

    task: Task
    causes: tuple[FoundCause, ...] = ()
    changes: tuple[Change, ...] = ()
    spelled: Relabel | None = None
    """Labels in one spelling: they are applied in the end, since a learner may not take classes without rows."""
    fits: int = 0


def repaired_rows(task: Task, tick: Tick) -> Repaired:
    """Accept a claim, repair, and look again."""
    done = Repaired(task)
    while len(done.causes) < MOST_ACCEPTED:
        told_already = {(each.cause, each.column) for each in done.causes}
        changed = {each.column for each in done.causes if each.column is not None}
        new = [each for each in claims_of(done.task.data, changed) if (each.cause, each.column) not in told_already]
        if not new:
            break
        tick("causes", len(done.causes), 0)
        done = _accepted(done, min(new, key=lambda each: (FIRST.index(each.cause), -each.strength)))
    return done


def claims_of(data: Data, changed: Collection[str] = ()) -> Iterator[Claim]:
    """Everything that the rows show; some columns were repaired already."""
    yield from spelling.claims(data)
    copied = duplicates.claims(data, changed)
    yield from copied
    once = data if not copied else Drop(copied[0].copies).applied(data)  # copies are many of one kind
    columns = both_sets(once)
    for each in columns:
        found = [*units.claims(each, _of_validation(once, each)), *missing.claims(each)]
        yield from found if once is data else (_for_all(claim, once, data) for claim in found)
    yield from dead.claims(once, columns)


def _for_all(claim: Claim, once: Data, data: Data) -> Claim:
    """A claim about rows without their copies, for all rows."""
    if claim.rows is None or claim.side == "test":
        return claim
    keys = row_keys(data)[0]
    own = row_keys(once)[0][claim.rows]
    rows = np.flatnonzero(np.isin(keys, own))
    changes = (replace(each, rows=rows) if isinstance(each, Rescale) else each for each in claim.changes)
    return replace(claim, rows=rows, changes=tuple(changes))


def _of_validation(data: Data, column: TwoSets) -> Floats | None:
    if data.validation is None or not column.numeric:
        return None
    values = column_of(data.validation.features, column.name).values
    if values.dtype.kind not in "fiu":
        return None
    found = values.astype(np.float64)
    return found[np.isfinite(found)]


def _accepted(done: Repaired, claim: Claim) -> Repaired:
    task = done.task
    prover = Prover(task)
    change, effect = _best_that_trains(prover, claim.changes)
    control = None if change is None else _control(prover, change)
    found = found_cause(claim, task, effect, control)
    if claim.cause == "dead_column" and claim.side == "training":  # left out it gains nothing: it was not learned
        nats = _told_beyond(task, str(claim.column))
        found = replace(found, evidence=nats, share=_share(task, nats))
    again, changes, spelled = task, done.changes, change if isinstance(change, Relabel) else done.spelled
    harmless = effect is not None and np.isfinite(effect.gain) and effect.gain >= -policy.LEAST_Z * effect.gain_error
    if change is not None and harmless and not isinstance(change, Drop | Weigh | Relabel):
        again = replace(prover.trainer.after(change), fitted_by_user=False)
        if len(task.bugs) < int((task.predicted != task.test.codes).sum()):  # bugs that were picked out stay so
            again = replace(again, bugs=np.intersect1d(task.bugs, again.bugs))
        changes = (*changes, change)
    return Repaired(again, (*done.causes, found), changes, spelled, done.fits + prover.fits)


def _told_beyond(task: Task, column: str) -> float:
    """Nats that a column says about the test labels beyond the model, by one half of the test rows about the other."""
    own = next(each for each in both_sets(task.data) if each.name == column).indicators()[1]
    scores = learners.scores(task.learner, task.test.features, task.encoding.native_codes, task.encoding.size)
    said = np.clip(scores - scores.max(axis=1, keepdims=True), -30.0, 0.0)
    codes, half = task.test.codes, np.arange(len(task.test)) % 2 == 0
    gained = 0.0
    for part in (half, ~half):
        if len(np.unique(codes[~part])) < 2:
            return 0.0
        losses = []
        for features in (said, np.hstack([said, own, own**2])):
            model = LogisticRegression(max_iter=300).fit(features[~part], codes[~part])
            known = np.isin(codes[part], model.classes_)
            logs = model.predict_log_proba(features[part][known])
            losses.append(-logs[np.arange(known.sum()), np.searchsorted(model.classes_, codes[part][known])].sum())
        gained += float(losses[0] - losses[1])
    return max(gained, 0.0)


def _best_that_trains(prover: Prover, changes: Sequence[Change]) -> tuple[Change | None, Verification | None]:
    """Of the changes that the learner can be trained on, the one that gains most."""
    tried: list[tuple[Change, Verification]] = []
    for each in changes:
        with suppress(LearnerFailed):
            tried.append((each, prover.verify(each)))
    return max(tried, key=lambda each: each[1].gain, default=(None, None))


def _control(prover: Prover, change: Change) -> Verification | None:
    """The same done to another column, or to other rows."""
    data, rng = prover.task.data, np.random.default_rng(prover.task.seed)
    other: Change | None = None
    if isinstance(change, Rescale | Blank | Mask):
        numeric = not isinstance(change, Blank)
        names = [each.name for each in both_sets(data) if each.name != change.column and (each.numeric or not numeric)]
        if names and not isinstance(change, Mask):
            other = replace(change, column=str(rng.choice(names)))
    elif isinstance(change, Weigh):
        other = Weigh(rng.permutation(change.weights))
    elif isinstance(change, Relabel):
        other = Relabel.of(data, moved_at_random(data.train.codes, change.labels(data), rng))
    if other is None:
        return None
    try:
        return prover.verify(other)
    except LearnerFailed:
        return None


def found_cause(
    claim: Claim, task: Task, effect: Verification | None = None, control: Verification | None = None
) -> FoundCause:
    """What is told of a claim; it is proved if the repair is, and is worth more than its control."""
    gain = 0.0 if effect is None or not np.isfinite(effect.gain) else max(effect.gain, 0.0)
    beside = None if control is None or not np.isfinite(control.gain) else control.gain
    proved = effect is not None and effect.proved(accused=False) and gain > (beside or 0.0)
    return FoundCause(
        claim.cause, claim.where, claim.said, claim.advice, gain, _share(task, gain), proved, claim.column, beside
    )


def _share(task: Task, nats: float) -> float:
    """Part of the test log loss."""
    lost = float(log_losses(task.margins(task.learner, task.test)).sum())
    return min(nats / lost, 1.0) if np.isfinite(lost) and lost > 0 else 0.0


# ── labels, of either set; shares, kinds of rows, and the learner ──


@dataclass(frozen=True, eq=False)
class Weighed:
    """What is believed of the labels, and what else may be the cause."""

    hypotheses: tuple[Hypothesis, ...] = ()
    """About training labels, most evidence first; if test labels are wrong instead, that none is."""
    of_test: Hypothesis | None = None
    """About test labels, if these are wrong."""
    causes: tuple[FoundCause, ...] = ()


def weighed(
    task: Task,
    trainer: Trainer,
    effects: Floats | None,
    stated: Floats | None,
    tick: Tick,
    *,
    seen: Collection[FoundCause] = (),
    labels_only: bool = False,
) -> Weighed:
    """The contest about training labels, and, unless ``labels_only``, against what else explains the same.

    ``seen`` are causes that were accepted. Copies of rows are left out: they predict each other, and make shares and
    test labels look odd.
    """
    changed = {each.column for each in seen if each.column is not None}
    if any(each.cause == "duplicates" for each in seen) and (copied := duplicates.claims(task.data, changed)):
        kept = np.setdiff1d(np.arange(len(task.train)), copied[0].copies)
        once = trainer.after(Drop(copied[0].copies))
        fewer = [None if each is None else each[kept] for each in (effects, stated)]
        others = [each for each in seen if each.cause != "duplicates"]
        found_once = weighed(once, Trainer(once), fewer[0], fewer[1], tick, seen=others)
        return replace(found_once, hypotheses=tuple(_of_all_rows(each, task, kept) for each in found_once.hypotheses))
    contest = Contest.of(task, Predictors.of(task, trainer), stated)
    if labels_only:
        return Weighed(tuple(compete(contest, effects, tick)))
    found: list[FoundCause] = []
    of_labels: Contest | None = contest
    misspelled = any(each.cause == "label_spelling" for each in seen)
    training_only = misspelled or _lacks_a_class(task)
    if not misspelled and (claims := shares.claims(task.data, contest.predictions)):
        found += [_weighted(task, trainer, each) for each in claims]
        matched = _with_shares_of_training(task)
        enough = enough_evidence(matched)
        of_labels = Contest.of(matched, Predictors.of(matched, trainer), stated) if enough else None
    hypotheses: tuple[Hypothesis, ...] = ()
    of_test: Hypothesis | None = None
    if of_labels is not None:
        hypotheses, of_test = _either_set(of_labels, trainer, effects, tick, training_only=training_only)
    if of_test is not None:
        found.append(_test_labels(task, of_test))
    elif not found and not (hypotheses and hypotheses[0].likely):
        found += [replace(found_cause(each, task), evidence=each.strength, share=_share(task, each.strength))
                  for each in capacity.claims(task.data, contest.predictions)]  # fmt: skip
    unchanged = [each for each in both_sets(task.data) if each.name not in changed]
    found += [_joined(task, trainer, each) for each in represented.claims(task.data, unchanged)]
    return Weighed(hypotheses, of_test, tuple(found))


def _of_all_rows(hypothesis: Hypothesis, task: Task, kept: npt.NDArray[np.intp]) -> Hypothesis:
    """A hypothesis about rows without their copies, for all rows: a copy has the posterior of the row that was kept."""
    keys = row_keys(task.data)[0]
    order = np.argsort(keys[kept])
    place = order[np.searchsorted(keys[kept][order], keys)]
    slices = (
        replace(each, members=np.flatnonzero(each.everyone(task) & (task.train.codes == each.given)))
        for each in hypothesis.slices
    )
    return replace(
        hypothesis,
        slices=tuple(slices),
        calibrated=replace(hypothesis.calibrated, train=hypothesis.calibrated.train[place]),
        groups=hypothesis.groups[place],
        posterior=hypothesis.posterior[place],
        possible=None if hypothesis.possible is None else hypothesis.possible[place],
        annotated=None,
    )


def _either_set(
    contest: Contest, trainer: Trainer, effects: Floats | None, tick: Tick, *, training_only: bool
) -> tuple[tuple[Hypothesis, ...], Hypothesis | None]:
    """Hypotheses about the training labels, or that none of them is wrong and one about the test labels."""
    task, hypotheses = contest.task, compete(contest, effects, tick)
    codes = task.train.codes, task.test.codes
    accused = hypotheses[0].likely
    if accused and hypotheses[0].p_wrong(task.train.codes).mean() > policy.MOST_WRONG:
        return (_none_wrong(task, hypotheses[0]),), None
    odd = accused or noise_in_test_labels(contest.predictions, *codes) > 0
    if training_only or contest.stated is not None or not odd:
        return tuple(hypotheses), None
    tick("test labels", 0, 1)
    try:
        mirror = mirrored(task)
    except LearnerFailed:
        return tuple(hypotheses), None
    if not enough_evidence(mirror):
        return tuple(hypotheses), None
    of_test = compete(Contest.of(mirror, Predictors.of(mirror, Trainer(mirror))), None, tick)[0]
    if of_test.follow is not None and of_test.follow > policy.MAJORITY:
        return tuple(hypotheses), None  # all of them follow the look of their rows: another rule, and no errors
    if of_test.surplus < policy.LEAST_OF_TEST or (accused and _training_rather(task, trainer, hypotheses[0], of_test)):
        return tuple(hypotheses), None
    return (_none_wrong(task, hypotheses[0]),), of_test


def _none_wrong(task: Task, like: Hypothesis) -> Hypothesis:
    """That no training label is wrong."""
    right = np.eye(task.encoding.size)[task.train.codes]
    return replace(like, slices=(), posterior=right, evidence=0.0, charge=max(like.charge, 1.0))


def _lacks_a_class(task: Task) -> bool:
    """Whether the test set has hardly a row of a class: rows that look like it would all seem to be mislabelled."""
    trained, tested = (np.bincount(each.codes, minlength=task.encoding.size) for each in (task.train, task.test))
    return bool(((trained >= policy.LEAST_ROWS) & (tested < policy.LEAST_ROWS)).any())


def _training_rather(task: Task, trainer: Trainer, of_train: Hypothesis, of_test: Hypothesis) -> bool:
    """Whether the training labels are the wrong ones: by validation rows if they can tell, else by a third party.

    Without them the hypothesis must also have clearly more evidence than the one about test labels, or the third party
    be clear: in a small set, it is easily wrong about a slice that was searched for.
    """
    if task.data.validation is not None:
        with suppress(LearnerFailed):
            change = Relabel.of(task.data, of_train.corrected(task.train.codes))
            after, before = trainer.trained(change).validation, trainer.trained().validation
            assert after is not None
            assert before is not None
            gains = log_losses(before) - log_losses(after)
            gain, error = float(gains.sum()), float(np.sqrt(np.vdot(gains, gains)))
            if abs(gain) > policy.LEAST_Z * error:
                return gain > 0
    more = of_train.surplus >= policy.MORE_THAN_OF_TEST * of_test.surplus
    return training_labels_rather(task, trainer, of_train, of_test) > (0.0 if more else policy.LEAST_OF_TEST)


def _with_shares_of_training(task: Task) -> Task:
    """As many test rows of each class as training has, in proportion: drawn by chance, all of the scarcest class."""
    size, rng = task.encoding.size, np.random.default_rng(task.seed)
    trained, tested = (np.bincount(each.codes, minlength=size) for each in (task.train, task.test))
    both = (trained > 0) & (tested > 0)
    scale = float((tested[both] / trained[both]).min())
    kept = np.concatenate(
        [
            rng.permutation(np.flatnonzero(task.test.codes == code))[: round(scale * trained[code])]
            for code in np.flatnonzero(both)
        ]
    )
    kept = np.sort(kept)
    test = LabelledSet(take(task.test.features, kept), task.test.codes[kept])
    bugs = np.flatnonzero(np.isin(kept, task.bugs))
    return replace(task, data=replace(task.data, test=test), predicted=task.predicted[kept], bugs=bugs)


def _weighted(task: Task, trainer: Trainer, claim: Claim) -> FoundCause:
    prover = Prover(task, trainer)
    change, effect = _best_that_trains(prover, claim.changes)
    return found_cause(claim, task, effect, None if change is None else _control(prover, change))


def _joined(task: Task, trainer: Trainer, claim: Claim) -> FoundCause:
    """What test rows of the kind are worth to train on, to others of the kind."""
    assert claim.rows is not None
    rows = np.random.default_rng(task.seed).permutation(claim.rows)
    before = log_losses(task.margins(task.learner, task.test))
    gains = np.zeros(len(rows))
    try:
        for half in (0, 1):
            apart, with_ = rows[half::2], rows[1 - half :: 2]
            after = log_losses(trainer.trained(Join(with_)).test)
            gains[half::2] = before[apart] - after[apart]
    except LearnerFailed:
        gains[:] = 0.0
    gain, error = float(gains.sum()), float(np.sqrt(np.vdot(gains, gains)))
    proved = bool(np.isfinite(gain) and gain > policy.LEAST_Z * error)
    nats = max(gain, 0.0) if np.isfinite(gain) else 0.0
    more = f" With {len(rows) // 2} more of them the log loss there falls from {before[rows].mean():.2f} to "
    advice = claim.advice + (f"{more}{before[rows].mean() - gains.mean():.2f}." if proved else "")
    return replace(found_cause(claim, task), advice=advice, evidence=nats, share=_share(task, nats), proved=proved)


def _test_labels(task: Task, of_test: Hypothesis) -> FoundCause:
    listed = suspect_tests(task, of_test)
    count = 0 if listed is None else len(listed.rows)
    swapped = replace(task, data=replace(task.data, train=task.data.test, metadata=None))
    said = (
        told(swapped, of_test)
        .replace("labels are wrong", "test labels are wrong")
        .replace("rows with", "test rows with")
    )
    return FoundCause(
        "test_labels",
        f"{count} test labels",
        said,
        "Look at the test labels in suspect_tests and put them right; the training labels stay as they are.",
        max(of_test.surplus, 0.0),
        _share(task, max(of_test.surplus, 0.0)),
        False,
    )


def training_labels(task: Task, best: Correction | None, hypotheses: Sequence[Hypothesis]) -> FoundCause | None:
    """The verified correction as a cause; or labels that are likely wrong, though correcting them repairs nothing.

    What its test rows gained by choosing it is taken off: the numbers calibrated on them, and the choice of slices.
    """
    if not hypotheses or not hypotheses[0].likely:
        return None
    by = hypotheses[0] if best is None else best.hypothesis
    wrong = int((by.corrected(task.train.codes) != task.train.codes).sum())
    if wrong == 0:
        return None
    chosen = chance(max(by.calibrated.parameters, 1)) + sum(each.charge for each in by.slices)
    nats = 0.0 if best is None else max(best.verified.gain - chosen, 0.0)
    advice = "Look at the suspects, and apply the correction." if best else "Look at the suspects."
    said = told(task, by)
    return FoundCause(
        "training_labels", f"{wrong} training labels", said, advice, nats, _share(task, nats), best is not None
    )


def in_order(causes: Sequence[FoundCause], *, enough: bool) -> tuple[FoundCause, ...]:
    """The most evidence first; if there are none, that nothing was found, or that nothing can be said."""
    if causes:
        return tuple(sorted(causes, key=lambda each: -each.evidence))
    if enough:
        return (
            FoundCause(
                "none", "", "nothing is found to be wrong with the rows, the labels or the learner", "", 0.0, 0.0, False
            ),
        )
    few = f"the test set is too small: it takes {policy.LEAST_TEST_ROWS} rows, of two classes"
    return (FoundCause("cannot_say", "", few, "Give more test rows.", 0.0, 0.0, False),)
