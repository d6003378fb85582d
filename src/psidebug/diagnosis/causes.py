"""Which cause is it? What the rows show is repaired first; then :mod:`psidebug.diagnosis.either_set` weighs labels.

A claim about columns, copies or spelling is seen in the rows, not in the labels, so wrong labels cannot cause it. One
claim is accepted at a time, the task is repaired, and the rows are looked at again: a column in another unit also looks
like one full of codes, and rows that were equal no longer are. What a repair is worth is the rise of the test log
likelihood of the learner trained on it, beside a control: the same change to another column, or to other rows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from sklearn.linear_model import LogisticRegression

from psidebug import policy
from psidebug.causes import dead, duplicates, missing, spelling, units
from psidebug.causes.claim import Claim
from psidebug.causes.columns import Floats, TwoSets, both_sets, distance
from psidebug.causes.duplicates import row_keys
from psidebug.changes import Change, Drop, Relabel, Rescale, Swap, Weigh
from psidebug.diagnosis.controls import control_of
from psidebug.diagnosis.proof import Prover
from psidebug.errors import LearnerFailed, MissingValues
from psidebug.evidence.drawn import MOST_LOOKED_AT, drawn_rows
from psidebug.findings.effects import Verification
from psidebug.findings.findings import FoundCause
from psidebug.margins import log_losses
from psidebug.task.columns import column_of
from psidebug.task.data import Data, LabelledSet
from psidebug.task.task import Task
from psidebug.timings import Tick
from psidebug.training.trainer import Trainer

FIRST = ("label_spelling", "swapped_columns", "unit", "missing_code", "leak", "duplicates", "dead_column")
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
        new = [
            each
            for each in claims_of(done.task.data, changed, task.seed)
            if (each.cause, each.column) not in told_already
        ]
        if not new:
            break
        tick("causes", len(done.causes), 0)
        done = _accepted(done, min(new, key=lambda each: (FIRST.index(each.cause), -each.strength)))
    return done


def claims_of(data: Data, changed: Collection[str] = (), seed: int = 0) -> Iterator[Claim]:
    """Everything that the rows show; some columns were repaired already."""
    yield from spelling.claims(data)
    copied = duplicates.claims(data, changed)
    yield from copied
    once = data if not copied else Drop(copied[0].own_rows).applied(data)  # copies are many of one kind
    if len(once.train) > MOST_LOOKED_AT:  # what a part of the rows does not show, all do not show
        part = once.drawn(drawn_rows(once, MOST_LOOKED_AT, seed))
        if next(_of_columns(part, part), None) is None:
            return
    yield from _of_columns(once, data)


def _of_columns(once: Data, data: Data) -> Iterator[Claim]:
    """What rows without copies show of columns, told of all rows."""
    columns = both_sets(once)
    for each in columns:
        found = [*map(partial(_told_from_validation, once), units.claims(each, _of_validation(once, each)))]
        found += missing.claims(each)
        yield from found if once is data else (_for_all(claim, once, data) for claim in found)
    yield from map(partial(_told_from_validation, once), dead.claims(once, columns))


def _told_from_validation(data: Data, claim: Claim) -> Claim:
    """A repair of the test rows leaves validation rows alone that look like training: they do not share the fault."""
    changes: list[Change] = []
    for each in claim.changes:
        if data.validation is not None and isinstance(each, Rescale | Swap) and each.of_test:
            parts = [_numbers(part, each.columns[0]) for part in (data.validation, data.test, data.train)]
            own, test, train = (np.empty(0) if part is None else part for part in parts)
            each = replace(each, validation=distance(own, test) < distance(own, train))
        changes.append(each)
    return replace(claim, changes=tuple(changes))


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
    return None if data.validation is None or not column.numeric else _numbers(data.validation, column.name)


def _numbers(rows: LabelledSet, name: str) -> Floats | None:
    """The values of a column that are there; None if they are no numbers."""
    values = column_of(rows.features, name).values
    if values.dtype.kind not in "fiu":
        return None
    found = values.astype(np.float64)
    return found[np.isfinite(found)]


def _accepted(done: Repaired, claim: Claim) -> Repaired:
    task = done.task
    prover = Prover(task)
    found, change, effect = retrained(prover, claim)
    again, changes, spelled = task, done.changes, change if isinstance(change, Relabel) else done.spelled
    if change is not None and harmless(change, effect) and not isinstance(change, Drop | Weigh | Relabel):
        again = replace(prover.trainer.after(change), fitted_by_user=False)
        if len(task.bugs) < int((task.predicted != task.test.codes).sum()):  # bugs that were picked out stay so
            again = replace(again, bugs=np.intersect1d(task.bugs, again.bugs))
        changes = (*changes, change)
    return Repaired(again, (*done.causes, found), changes, spelled, done.fits + prover.fits)


def retrained(prover: Prover, claim: Claim) -> tuple[FoundCause, Change | None, Verification | None]:
    """What training on the repair, and on its control, says of a claim; the change that repairs it, and its effect."""
    change, effect = best_that_trains(prover, claim.changes)
    control = None if change is None else control_of(prover, change)
    found = replace(found_cause(claim, prover.task, effect, control), change=written(prover, claim))
    if claim.cause == "dead_column" and claim.side != "test":  # left out it gains nothing: it was not learned
        nats = max(_told_beyond(prover.trainer, str(claim.column)), found.evidence)
        found = replace(found, evidence=nats, share=share_of(prover.task, nats))
    return found, change, effect


def _told_beyond(trainer: Trainer, column: str) -> float:
    """Nats that a column says about the test labels beyond the model, by one half of the test rows about the other."""
    task = trainer.task
    own = next(each for each in both_sets(task.data) if each.name == column).indicators()[1]
    scores = task.scores
    said = np.clip(scores - scores.max(axis=1, keepdims=True), -30.0, 0.0)
    codes, half = task.test.codes, np.arange(len(task.test)) % 2 == 0
    gained = 0.0
    for part in (half, ~half):
        if len(np.unique(codes[~part])) < 2:
            return 0.0
        losses = []
        for features in (said, np.hstack([said, own, own**2])):
            model = trainer.fit(LogisticRegression(max_iter=300), features[~part], codes[~part])
            known = np.isin(codes[part], model.classes_)
            logs = model.predict_log_proba(features[part][known])
            losses.append(-logs[np.arange(known.sum()), np.searchsorted(model.classes_, codes[part][known])].sum())
        gained += float(losses[0] - losses[1])
    return max(gained, 0.0)


def best_that_trains(prover: Prover, changes: Sequence[Change]) -> tuple[Change | None, Verification | None]:
    """Of the changes that the learner can be trained on, the one that gains most."""
    tried: list[tuple[Change, Verification]] = []
    for each in changes:
        with suppress(LearnerFailed, MissingValues):  # a code made missing, where the learner takes no missing values
            tried.append((each, prover.verify(each)))
    return max(tried, key=lambda each: each[1].gain, default=(None, None))


def harmless(change: Change, effect: Verification | None) -> bool:
    """Whether a repair was trained, and is no worse than chance allows.

    A whole column in another unit shows by itself. Where labels are wrong, too, its repair may make the errors on the
    test rows worse at first.
    """
    if effect is None or not np.isfinite(effect.gain):
        return False
    whole_column = isinstance(change, Rescale) and change.rows is None
    return bool(whole_column or effect.gain >= -policy.LEAST_Z * effect.gain_error)


def written(prover: Prover, claim: Claim) -> Change | None:
    """What is written if the user asks for it: the first repair of the table that the learner takes without harm.

    One spelling for each class, and one of each row, need no learner. Weights are not part of the table.
    """
    for each in claim.changes:
        if isinstance(each, Drop | Relabel):
            return each
        if not isinstance(each, Weigh) and harmless(each, best_that_trains(prover, (each,))[1]):
            return each
    return None


def found_cause(
    claim: Claim, task: Task, effect: Verification | None = None, control: Verification | None = None
) -> FoundCause:
    """What is told of a claim; it is proved if the repair is, and is worth more than its control; not without one."""
    gain = 0.0 if effect is None or not np.isfinite(effect.gain) else max(effect.gain, 0.0)
    beside = None if control is None else control.gain
    proved = effect is not None and beside is not None and effect.proved(accused=False) and gain > beside
    return FoundCause(
        claim.cause, claim.where, claim.said, claim.advice, gain, share_of(task, gain), proved, claim.column, beside
    )


def share_of(task: Task, nats: float) -> float:
    """Part of the test log loss."""
    lost = float(log_losses(task.margins(task.learner, task.test)).sum())
    return min(nats / lost, 1.0) if np.isfinite(lost) and lost > 0 else 0.0


def in_order(causes: Sequence[FoundCause], *, enough: bool) -> tuple[FoundCause, ...]:
    """The most evidence first; if there are none, that nothing was found, or that nothing can be said."""
    if causes:
        return tuple(sorted(causes, key=lambda each: -each.evidence))
    if enough:
        return (
            FoundCause(
                "none",
                "",
                "nothing is proved to be wrong with the rows, the labels or the learner",
                "",
                0.0,
                0.0,
                False,
            ),
        )
    few = f"the test set is too small: it takes {policy.LEAST_TEST_ROWS} rows, of two classes"
    return (FoundCause("cannot_say", "", few, "Give more test rows.", 0.0, 0.0, False),)
