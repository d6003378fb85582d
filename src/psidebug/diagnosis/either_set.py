"""What labels say: those of either set may be wrong; shares of classes, kinds of rows, and the learner itself.

Training labels are weighed first. Test labels are weighed by the contest mirrored, where one of the sets looks odd;
which of the two it is, validation rows say, or a third party (:mod:`psidebug.evidence.which_set`).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from psidebug import policy
from psidebug.causes import capacity, duplicates, represented, shares
from psidebug.causes.claim import Claim
from psidebug.causes.columns import Floats, both_sets
from psidebug.changes import Drop, Join, Relabel
from psidebug.diagnosis.as_findings import suspect_tests
from psidebug.diagnosis.blamed_columns import columns_to_blame
from psidebug.diagnosis.causes import found_cause, retrained, share_of
from psidebug.diagnosis.proof import Prover
from psidebug.diagnosis.repair import Correction, enough_evidence, told
from psidebug.diagnosis.some_rows import in_shares_of_training, of_all_rows, of_all_tests, tested_by
from psidebug.errors import LearnerFailed
from psidebug.evidence.calibration import chance
from psidebug.evidence.compete import compared, compete
from psidebug.evidence.contest import Contest, with_repaired_labels, worth_asking
from psidebug.evidence.drawn import of_all, weighed_rows
from psidebug.evidence.held_out import Rows
from psidebug.evidence.hypotheses import Hypothesis
from psidebug.evidence.predictors import Predictors
from psidebug.evidence.which_set import mirrored, noise_in_test_labels, training_labels_rather
from psidebug.findings.effects import Controls
from psidebug.findings.findings import FoundCause
from psidebug.margins import log_losses
from psidebug.task.task import Task
from psidebug.timings import Tick
from psidebug.training.trainer import Trainer

CONTRADICT = FoundCause(
    "cannot_say",
    "most labels",
    "most labels of one set contradict those of the other, as if classes had changed their names in one of them, or as "
    "if the sets were of two tasks",
    "Compare how the labels of both sets were made. No label is changed.",
    0.0,
    0.0,
    False,
)
"""More labels than ``policy.MOST_WRONG`` would have to be wrong: which set it is cannot be told."""

MOST_EXTENDED = 2
"""Hypotheses about drawn rows that are applied to all rows."""


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
    test labels look odd. Of very many rows a part is weighed.
    """
    changed = {each.column for each in seen if each.column is not None}
    copied = duplicates.claims(task.data, changed) if any(each.cause == "duplicates" for each in seen) else []
    if copied:
        rows = np.setdiff1d(np.arange(len(task.train)), copied[0].own_rows)
        once = trainer.after(Drop(copied[0].own_rows))
        fewer = [None if each is None else each[rows] for each in (effects, stated)]
        others = [each for each in seen if each.cause != "duplicates"]
        found = weighed(once, trainer.beside(once), fewer[0], fewer[1], tick, seen=others, labels_only=labels_only)
        return replace(found, hypotheses=tuple(of_all_rows(each, task, rows) for each in found.hypotheses))
    if (drawn := weighed_rows(task)) is None:
        found = _contested(task, trainer, effects, stated, tick, seen=seen, labels_only=labels_only)
    else:
        part = task.drawn(drawn)
        fewer = [None if each is None else each[drawn] for each in (effects, stated)]
        found = _contested(part, trainer.beside(part), fewer[0], fewer[1], tick, seen=seen, labels_only=labels_only)
        found = replace(found, hypotheses=of_all(found.hypotheses[:MOST_EXTENDED], drawn, task, stated))
    return replace(found, of_test=None if found.of_test is None else found.of_test.finished)


def _contested(
    task: Task,
    trainer: Trainer,
    effects: Floats | None,
    stated: Floats | None,
    tick: Tick,
    *,
    seen: Collection[FoundCause],
    labels_only: bool,
) -> Weighed:
    """By all of these rows."""
    changed = {each.column for each in seen if each.column is not None}
    everyone = worth_asking(Predictors.of(task, trainer))
    contest = Contest.of(task, everyone, stated)
    if labels_only:
        return Weighed(tuple(compete(contest, effects, tick)))
    found: list[FoundCause] = []
    of_labels: Contest | None = contest
    kept: Rows | None = None
    misspelled = any(each.cause == "label_spelling" for each in seen)
    training_only = misspelled or _lacks_a_class(task)
    if not misspelled and (claims := shares.claims(task.data, contest.predictions)):
        found += [retrained(Prover(task, trainer), each)[0] for each in claims]
        kept = in_shares_of_training(task)
    lacking = represented.claims(task.data, [each for each in both_sets(task.data) if each.name not in changed])
    for each in lacking:  # of such rows training says little: they would seem to be mislabelled
        kept = np.setdiff1d(np.arange(len(task.test)) if kept is None else kept, each.own_rows)
    if kept is not None:
        matched = tested_by(task, kept)
        enough = enough_evidence(matched)
        everyone = everyone.tested_by(matched, kept) if enough else everyone
        of_labels = Contest.of(matched, everyone, stated) if enough else None
    hypotheses: tuple[Hypothesis, ...] = ()
    of_test: Hypothesis | None = None
    by_validation = False
    if of_labels is not None:
        hypotheses, of_test, by_validation = _either_set(
            of_labels, everyone, effects, tick, training_only=training_only
        )
        if _mostly_wrong(task, hypotheses[0]):
            found.append(CONTRADICT)
            hypotheses = (_none_wrong(task, hypotheses[0]),)
        unrepaired = {str(each.column) for each in seen if each.column is not None and each.change is None}
        columns = columns_to_blame(everyone, hypotheses[0], of_test, unrepaired, tick)
        blamed = [retrained(Prover(task, trainer), each)[0] for each in columns or ()]
        if columns is not None and all(each.evidence > 0 for each in blamed):
            found += blamed
            changed |= {str(each.column) for each in blamed}
            hypotheses, of_test = (_none_wrong(task, hypotheses[0]),), None
    if of_test is not None:
        of_test = of_test if kept is None else of_all_tests(of_test, task, kept)
        found.append(_test_labels(task, of_test, by_validation=by_validation))
    elif not found and not misspelled and not (hypotheses and hypotheses[0].likely):
        found += [replace(found_cause(each, task), evidence=each.strength, share=share_of(task, each.strength))
                  for each in capacity.claims(task.data, contest.predictions)]  # fmt: skip
    found += [_joined(task, trainer, each) for each in lacking if each.column not in changed]
    return Weighed(hypotheses, of_test, tuple(found))


def _either_set(
    contest: Contest, everyone: Predictors, effects: Floats | None, tick: Tick, *, training_only: bool
) -> tuple[tuple[Hypothesis, ...], Hypothesis | None, bool]:
    """Hypotheses about the training labels, or that none of them is wrong and one about the test labels.

    And whether validation rows have decided that it is these.
    """
    task, trainer, hypotheses = contest.task, everyone.trainer, compete(contest, effects, tick)
    codes = task.train.codes, task.test.codes
    accused = hypotheses[0].likely
    if _mostly_wrong(task, hypotheses[0]):
        return tuple(hypotheses), None, False
    odd = accused or noise_in_test_labels(contest.predictions, *codes) > 0
    if training_only or contest.stated is not None or not odd:
        return tuple(hypotheses), None, False
    tick("test labels", 0, 1)
    mirror, judges = mirrored(task), everyone.impartial
    if not enough_evidence(mirror) or not judges.everyone:
        return tuple(hypotheses), None, False
    exchanged = Contest.of(mirror, judges.of_mirrored(mirror), cut=lambda: contest.binned.exchanged)
    of_test = compared(exchanged, None, tick)[0]
    if not accused and (of_test.follow or 0.0) > policy.MAJORITY:
        return tuple(hypotheses), None, False  # nearly all follow the look of their rows: another rule, and no errors
    if of_test.surplus < policy.LEAST_OF_TEST:
        return tuple(hypotheses), None, False
    by_judges = hypotheses[0]
    if judges is not everyone:
        by_judges = compared(Contest.of(task, judges, cut=lambda: contest.binned), None, tick)[0]
    if accused and _training_rather(judges, by_judges, of_test):
        return tuple(hypotheses), None, False
    vetoed = accused and _gain_on_validation(task, trainer, hypotheses[0]) < 0
    of_test = with_repaired_labels(exchanged, of_test)
    return (_none_wrong(task, hypotheses[0]),), of_test, vetoed


def _mostly_wrong(task: Task, best: Hypothesis) -> bool:
    """Whether so many training labels seem wrong that it is something else."""
    return best.likely and float(best.p_wrong(task.train.codes).mean()) > policy.MOST_WRONG


def _none_wrong(task: Task, like: Hypothesis) -> Hypothesis:
    """That no training label is wrong."""
    right = np.eye(task.encoding.size)[task.train.codes]
    return replace(like, slices=(), posterior=right, beliefs=(), evidence=0.0, charge=max(like.charge, 1.0))


def _lacks_a_class(task: Task) -> bool:
    """Whether the test set has hardly a row of a class: rows that look like it would all seem to be mislabelled."""
    trained, tested = (np.bincount(each.codes, minlength=task.encoding.size) for each in (task.train, task.test))
    return bool(((trained >= policy.LEAST_ROWS) & (tested < policy.LEAST_ROWS)).any())


def _training_rather(predictors: Predictors, of_train: Hypothesis, of_test: Hypothesis) -> bool:
    """Whether the training labels are the wrong ones: by validation rows if they can tell, else by a third party.

    Before that comes a set whose labels follow a rule of their own: it is not wrong.
    """
    if (gain := _gain_on_validation(predictors.task, predictors.trainer, of_train)) != 0:
        return gain > 0
    if _is_rule(of_test, of_train) or _is_rule(of_train, of_test):
        return _is_rule(of_test, of_train)
    return training_labels_rather(predictors, of_train, of_test) > policy.LEAST_SURPLUS


def _gain_on_validation(task: Task, trainer: Trainer, of_train: Hypothesis) -> float:
    """Nats that validation rows gain by correcting the training labels; 0 if there are none, or it may be chance."""
    if task.data.validation is None:
        return 0.0
    try:
        after = trainer.trained(Relabel.of(task.data, of_train.corrected(task.train.codes))).validation
        before = trainer.trained().validation
    except LearnerFailed:
        return 0.0
    assert after is not None
    assert before is not None
    gains = log_losses(before) - log_losses(after)
    gain, error = float(gains.sum()), float(np.sqrt(np.vdot(gains, gains)))
    return gain if abs(gain) > policy.LEAST_Z * error else 0.0


def _is_rule(one: Hypothesis, other: Hypothesis) -> bool:
    """Whether labels are no errors but another rule: most follow the look of their rows, and the others say more."""
    follow = one.follow or 0.0
    return follow > policy.MAJORITY and follow > (other.follow or 0.0) and other.surplus > one.surplus


def _joined(task: Task, trainer: Trainer, claim: Claim) -> FoundCause:
    """What test rows of the kind are worth to train on, to others of the kind, beside as many test rows of others."""
    rng = np.random.default_rng(task.seed)
    rows = rng.permutation(claim.own_rows)
    others = rng.permutation(np.setdiff1d(np.arange(len(task.test)), rows))[: len(rows)]
    before = log_losses(task.margins(task.learner, task.test))[rows]
    gain, control = (_gained_by(trainer, rows, joined, before) for joined in (rows, others))
    nats, error = float(gain.sum()), float(np.sqrt(np.vdot(gain, gain)))
    beside = float(control.sum())
    proved = bool(np.isfinite(nats) and nats > max(policy.LEAST_Z * error, beside))
    nats = max(nats, 0.0) if np.isfinite(nats) else 0.0
    more = f" With {len(rows) // 2} more of them the log loss there falls from {before.mean():.2f} to "
    advice = claim.advice + (f"{more}{(before - gain).mean():.2f}." if proved else "")
    found = replace(found_cause(claim, task), advice=advice, evidence=nats, share=share_of(task, nats))
    return replace(found, proved=proved, control=beside)


def _gained_by(trainer: Trainer, rows: Rows, joined: Rows, before: Floats) -> Floats:
    """What each of these test rows gains if half of the joined ones are trained on, those that it is not among."""
    gains = np.zeros(len(rows))
    try:
        for half in (0, 1):
            after = log_losses(trainer.trained(Join(joined[1 - half :: 2])).test)
            gains[half::2] = before[half::2] - after[rows[half::2]]
    except LearnerFailed:
        return np.zeros(len(rows))
    return gains


def _test_labels(task: Task, of_test: Hypothesis, *, by_validation: bool) -> FoundCause:
    listed = suspect_tests(task, of_test)
    count = 0 if listed is None else len(listed.rows)
    swapped = replace(task, data=replace(task.data, train=task.data.test, metadata=None))
    said = told(swapped, of_test, kind="test ")
    return FoundCause(
        "test_labels",
        f"{count} test labels",
        said,
        (
            "The validation rows speak against the test labels: correcting training labels would do harm. "
            * by_validation
        )
        + "Look at the test labels that are suspected and put them right; the training labels stay as they are.",
        max(of_test.surplus, 0.0),
        share_of(task, max(of_test.surplus, 0.0)),
        False,
    )


def training_labels(
    task: Task, best: Correction | None, controls: Controls | None, hypotheses: Sequence[Hypothesis]
) -> FoundCause | None:
    """The verified correction as a cause, or labels that are very likely wrong, though correcting them proves nothing.

    What its test rows gained by choosing it is taken off: the numbers calibrated on them, and the choice of slices.
    """
    if best is None:
        wrong = int((hypotheses[0].p_wrong(task.train.codes) > policy.MAJORITY).sum()) if hypotheses else 0
        if wrong == 0 or hypotheses[0].surplus < policy.CLEARLY_LIKELY:
            return None
        advice = (
            "Look at the suspects. Correcting all of them does not prove to make the model better on the test rows, so "
            "no label was changed."
        )
        where = f"{wrong} training labels"
        return FoundCause("training_labels", where, told(task, hypotheses[0]), advice, 0.0, 0.0, False)
    by = best.hypothesis
    chosen = chance(max(by.calibrated.parameters, 1)) + sum(each.charge for each in by.slices)
    nats = max(best.verified.gain - chosen, 0.0)
    beside = None if controls is None else controls.at_random
    return FoundCause(
        "training_labels",
        f"{best.verified.corrected} training labels",
        best.explanation,
        "Look at the suspects, and apply the correction.",
        nats,
        share_of(task, nats),
        True,
        control=None if beside is None else beside.gain,
    )
