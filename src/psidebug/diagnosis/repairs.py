"""What to train on instead: corrected labels, weights, fewer rows, the test rows too; each judged by rows apart.

The posterior W says of every training row how likely each class is its true label. What can be made of it:

- *relabelled*: the likeliest label of each row;
- *weighted*: the same, each with the confidence in it, max_k W_ik, as its weight;
- *left out*: without the rows whose label is probably wrong;
- *with your test rows*: weighted, and the test rows beside them, whose labels are trusted;
- *your test rows alone*: where the training labels are worth less than nothing.

**Cross-fitting.** W was learned with the test labels, and a model that has trained on a test row must not be tested by
it. So the test rows are cut into folds. For each fold, W is learned anew by all other test rows, each repair is made of
that, and the learner trained on it is asked about the fold. No row has a say in what it judges.

The repair with the smallest cross-fitted log loss is taken, unless another has clearly fewer errors; a validation set,
where there is one, can veto it (decision 24).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from psidebug import policy
from psidebug.changes import NOTHING, Change, Drop, InTurn, Join, Relabel, Weigh
from psidebug.diagnosis.as_findings import posterior_of
from psidebug.diagnosis.either_set import Weighed, weighed
from psidebug.diagnosis.repair import enough_evidence
from psidebug.diagnosis.some_rows import tested_by
from psidebug.errors import LearnerFailed
from psidebug.evidence.held_out import Folds
from psidebug.findings.effects import ErrorRate, Mask, PairedErrors
from psidebug.findings.findings import FoundRepair, LabelFindings
from psidebug.margins import is_wrong, log_losses
from psidebug.progress import silent
from psidebug.task import learner as learners
from psidebug.task.data import Data
from psidebug.task.labels import Codes
from psidebug.task.task import Task
from psidebug.timings import Tick
from psidebug.training.trainer import Trainer

Floats = npt.NDArray[np.float64]
Rows = npt.NDArray[np.intp]

AS_GIVEN, RELABELLED, WEIGHTED, LEFT_OUT = "as given", "relabelled", "weighted", "left out"
GIVEN_WITH_TEST, WITH_TEST, TEST_ALONE = "as given, with your test rows", "with your test rows", "your test rows alone"
NAMES = (AS_GIVEN, RELABELLED, WEIGHTED, LEFT_OUT, GIVEN_WITH_TEST, WITH_TEST, TEST_ALONE)
"""Of repairs that are the same the first is taken."""


class Believed(NamedTuple):
    """What is believed of the training labels."""

    codes: Codes
    """The likeliest class of each row (N,)."""
    confidence: Floats
    """max_k W_ik (N,)."""
    suspects: Rows
    """Rows whose given label is probably wrong."""

    @classmethod
    def by(cls, posterior: Floats, given: Codes) -> Believed:
        """By W (N, K)."""
        suspects = np.flatnonzero(posterior[np.arange(len(given)), given] < 0.5)
        return cls(posterior.argmax(axis=1), posterior.max(axis=1), suspects)

    @classmethod
    def found(cls, labels: LabelFindings) -> Believed:
        """As it was found."""
        doubted = (labels.p_wrong > 0.5) & ((labels.likeliest != labels.given) | (labels.confidence < 1.0))
        return cls(labels.likeliest, labels.confidence, np.flatnonzero(doubted))


def repairs_of(trainer: Trainer, believed: Believed, stated: Floats | None, tick: Tick) -> tuple[FoundRepair, ...]:
    """Every repair with its cross-fitted error on the test rows, as given first, and which of them to take.

    ``believed`` is by all test rows; ``stated`` (N, K) a prior that the user gave.
    """
    task = trainer.task
    doubts = bool((believed.confidence < 1.0).any())
    wrong, losses = _cross_fitted(trainer, stated, tick, doubts=doubts)
    changes = changes_of(task, believed, np.arange(len(task.test)))
    validated = {name: _on_validation(trainer, changes[name]) for name in NAMES if name in wrong and name in changes}
    allowed = [name for name in validated if not _clearly_fewer(validated[AS_GIVEN], validated[name])]
    likeliest = min(allowed, key=lambda name: float(losses[name].mean()))
    better = [name for name in allowed if _clearly_fewer(wrong[name], wrong[likeliest])]
    chosen = min(better, key=lambda name: int(wrong[name].sum()), default=likeliest)
    return tuple(
        FoundRepair(
            repair=name,
            rows=len(changes[name].applied(task.data).train),
            error=ErrorRate(int(wrong[name].sum()), len(wrong[name])),
            log_loss=float(losses[name].mean()),
            validation=None if on is None else ErrorRate(int(on.sum()), len(on)),
            chosen=name == chosen,
        )
        for name, on in validated.items()
    )


def changes_of(task: Task, believed: Believed, test_rows: Rows) -> dict[str, Change]:
    """The change that each repair is, made of these test rows and of what is believed of the training labels."""
    data, everyone = task.data, np.arange(len(task.train))
    join = Join(test_rows)
    changes: dict[str, Change] = {AS_GIVEN: NOTHING, GIVEN_WITH_TEST: join}
    if not (believed.confidence < 1.0).any():  # no label is doubted
        return changes
    relabel = Relabel.of(data, believed.codes)
    changes |= {RELABELLED: relabel, WITH_TEST: InTurn((relabel, join))}
    changes |= _alone(data, test_rows)
    if learners.takes_weights(task.learner):
        own = np.ones(len(everyone)) if data.sample_weight is None else data.sample_weight
        weights = own * believed.confidence
        # A test row weighs as much as a training row that is surely right.
        both = np.append(weights, np.full(len(test_rows), own.mean()))
        changes[WEIGHTED] = InTurn((relabel, Weigh(weights)))
        changes[WITH_TEST] = InTurn((relabel, join, Weigh(both)))
    if len(believed.suspects) < len(everyone):
        changes[LEFT_OUT] = Drop(believed.suspects)
    return changes


def _alone(data: Data, test_rows: Rows) -> dict[str, Change]:
    """These test rows and no others; none if a model of them would not know the classes of the training set."""
    size = data.encoding.size
    trained, tested = (np.bincount(codes, minlength=size) for codes in (data.train.codes, data.test.codes[test_rows]))
    if not (tested[trained > 0] > 0).all():
        return {}
    return {TEST_ALONE: InTurn((Join(test_rows), Drop(np.arange(len(data.train)))))}


def told(repairs: Sequence[FoundRepair]) -> str:
    """The cross-fitted errors of the main repairs in a sentence, and which to take; nothing if nothing was tried."""
    if not repairs:
        return ""
    named = (AS_GIVEN, RELABELLED, WEIGHTED, WITH_TEST)
    errors = [f"{each.error.rate:.3f} {each.repair}" for each in repairs if each.repair in named or each.chosen]
    best = next(each.repair for each in repairs if each.chosen)
    said = f"Error by test rows that had no say in it: {', '.join(errors)}."
    if best != AS_GIVEN:
        return f"{said} Best, by log loss: {best}."
    vetoed = any(each.validation is not None for each in repairs)
    return f"{said} Validation rows say that these do harm." if vetoed and len(errors) > 1 else said


def _cross_fitted(
    trainer: Trainer, stated: Floats | None, tick: Tick, *, doubts: bool
) -> tuple[Mapping[str, Mask], Mapping[str, Floats]]:
    """Which test rows each repair gets wrong, and the losses, each by a repair that the row has no say in.

    Where no label is in doubt by all test rows, none is by fewer: then nothing is learned anew.
    """
    task, folds = trainer.task, Folds.of(trainer.task).test
    wrong: dict[str, Mask] = {}
    losses: dict[str, Floats] = {}
    failed: set[str] = set()
    for fold in range(policy.FOLDS):
        tick("repairs", fold, policy.FOLDS)
        apart, others = np.flatnonzero(folds == fold), np.flatnonzero(folds != fold)
        known = tested_by(task, others)
        enough = doubts and enough_evidence(known)
        found = Weighed()
        if enough:
            found = weighed(known, trainer.beside(known), None, stated, silent, labels_only=True)
        believed = Believed.by(posterior_of(task, found.hypotheses), task.train.codes)
        changes = changes_of(task, believed, others)
        if doubts and not enough:  # what was learned from all test rows cannot be learned from these
            failed |= {RELABELLED, WEIGHTED, LEFT_OUT, WITH_TEST, TEST_ALONE}
        elif doubts:  # by all test rows, but maybe not by these: then a repair leaves the labels as they are
            as_given = {RELABELLED: NOTHING, WEIGHTED: NOTHING, LEFT_OUT: NOTHING, WITH_TEST: changes[GIVEN_WITH_TEST]}
            changes = as_given | _alone(task.data, others) | changes
        failed |= set(NAMES) - set(changes)  # of some test rows nothing would be known
        for name, change in zip(changes, trainer.in_turn(list(changes.values())), strict=True):
            try:
                margins = trainer.trained(change).test[apart]
            except LearnerFailed:  # for instance a class that is left without rows
                failed.add(name)
                continue
            wrong.setdefault(name, np.zeros(len(folds), dtype=bool))[apart] = is_wrong(margins)
            losses.setdefault(name, np.zeros(len(folds)))[apart] = log_losses(margins)
    return {name: each for name, each in wrong.items() if name not in failed}, losses


def _on_validation(trainer: Trainer, change: Change) -> Mask | None:
    if trainer.task.data.validation is None:
        return None
    try:
        margins = trainer.trained(change).validation
    except LearnerFailed:
        return None
    return None if margins is None else is_wrong(margins)


def _clearly_fewer(these: Mask | None, those: Mask | None) -> bool:
    """Whether the first have fewer errors on the same rows, beyond chance; not if nothing is known of them."""
    if these is None or those is None:
        return False
    only_these, only_those = int((these & ~those).sum()), int((those & ~these).sum())
    return PairedErrors(fixed=only_these, broken=only_those, of=len(these)).clearly_worse
