"""From a task and a spec to findings: gray box, evidence, the correction that retraining proves, and what is told."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from psidebug import timings
from psidebug.changes import Relabel
from psidebug.checks import Check, checks_of
from psidebug.diagnosis.as_findings import (
    facts_of,
    found_explanations,
    found_slices,
    label_findings,
    not_repaired,
    origin_of,
    predictions_of,
    suspect_tests,
    with_error_told,
)
from psidebug.diagnosis.causes import Repaired, in_order, repaired_rows
from psidebug.diagnosis.either_set import Weighed, training_labels, weighed
from psidebug.diagnosis.named_options import graybox_of, stated_prior
from psidebug.diagnosis.proof import Prover
from psidebug.diagnosis.ranking import answered, default_prior, first_suspects, learned_prior, ranked, told_of
from psidebug.diagnosis.rare_classes import notes_on_rare_classes
from psidebug.diagnosis.repair import best_of, enough_evidence, retrained
from psidebug.diagnosis.session import Session
from psidebug.diagnosis.verdict import (
    RANKED,
    cannot_say,
    notes_on_classes,
    notes_on_estimates,
    notes_on_head,
    verdict,
    with_causes,
)
from psidebug.diagnosis.who_errs import annotator_findings
from psidebug.errors import InferenceError
from psidebug.evidence.hypotheses import Hypothesis
from psidebug.findings.findings import Findings, Round, VerifiedCorrection
from psidebug.findings.frames import library_for
from psidebug.findings.origin import Origin
from psidebug.graybox.protocol import GrayBox, LinearGrayBox
from psidebug.margins import loss_weights
from psidebug.priors import Prior
from psidebug.spec import Spec, kept
from psidebug.sufficiency import group_sufficiency
from psidebug.task.task import Task
from psidebug.threads import one_blas_thread
from psidebug.timings import FIT, Tick
from psidebug.training.trainer import Trainer

Found = tuple[Findings, Session]
"""What was found, and who can find more."""
FirstSuspects = Callable[[Any], None]
SHOWN_FIRST = 5
"""Suspects by PS alone that are shown before they are weighed."""


def find(
    task: Task,
    spec: Spec,
    origin: Origin,
    tick: Tick,
    *,
    begun: int = 0,
    show: FirstSuspects | None = None,
    keep_rules: bool = False,
) -> list[Found]:
    """A diagnosis of the task, and of each later round; the first knows what the later ones correct.

    ``begun`` is the number of fits on the stopwatch before the task was made, ``show`` gets the first suspects. With
    ``keep_rules`` the hypotheses keep what it takes to speak of further rows.
    """
    with one_blas_thread():
        if len(task.bugs) == 0:
            return [_counted(_nothing_to_debug(Repaired(task), spec, origin, tick), begun)]
        if spec.effort == "rank":
            return [_counted(ranked(task, spec, origin, tick), begun)]
        timings.begin("causes in the rows")
        seen = Repaired(task) if spec.causes == "labels" else repaired_rows(task, tick)
        if len(seen.task.bugs) == 0:
            return [_counted(_told(_nothing_to_debug(seen, spec, origin, tick), task, seen), begun)]
        first_round = _one_round(seen, spec, origin, {}, tick, show, keep_rules=keep_rules)
        rounds = [_counted(_told(first_round, task, seen), begun)]
        while len(rounds) < spec.rounds and (last := rounds[-1])[0].correction is not None:
            begun = timings.stopwatch().fits
            again = last[1].prover.trainer.after(Relabel.of(last[1].task.data, last[0].correction.codes))
            if len(again.bugs) == 0:
                break
            more = {"round": str(len(rounds) + 1)}
            try:
                found = _one_round(Repaired(again), spec, origin_of(again, origin.seed), more, tick)
                rounds.append(_counted(found, begun))
            except InferenceError as error:  # what was found so far stands
                ended = f"round {more['round']} has no answer: {error}"
                rounds[-1] = replace(last[0], notes=(*last[0].notes, ended)), last[1]
                break
    (first, session), later = rounds[0], [each for each, _ in rounds[1:]]
    if later:
        first = replace(
            first,
            labels=replace(first.labels, repaired=later[-1].labels.repaired),
            rounds=tuple(Round(each.verdict, each.corrected) for each in later),
        )
    return [(first, session), *rounds[1:]]


def _counted(found: Found, begun: int) -> Found:
    """With the number of fits of the user's learner that the decision took, its own included."""
    findings, session = found
    fits = timings.stopwatch().fits - begun
    return replace(findings, settings={**findings.settings, "fits": str(fits)}), session


def _told(found: Found, task: Task, seen: Repaired) -> Found:
    """With what is wrong beside training labels told first; the data stay those that came."""
    findings, session = found
    said = with_causes(task, seen.task, findings)
    return replace(findings, verdict=said), replace(session, came=task.data if seen.changes else None)


def _one_round(
    seen: Repaired,
    spec: Spec,
    origin: Origin,
    more: dict[str, str],
    tick: Tick,
    show: FirstSuspects | None = None,
    *,
    keep_rules: bool = False,
) -> Found:
    task = seen.task
    tick("profiling", 0, 1)
    box = graybox_of(kept(spec.graybox, "graybox"), task)
    stated = stated_prior(spec.prior, task)
    if show is not None and (first := first_suspects(task, box, stated, spec, SHOWN_FIRST)) is not None:
        show(first)
    checks = _checks(task)  # before evidence takes memory: rows are looked at in blocks
    timings.begin("evidence")
    prover = Prover(task, Trainer(task, before_fit=lambda fits: tick(FIT, fits, 0)))
    enough, only = enough_evidence(task), spec.causes == "labels"
    believed = Weighed()
    if enough:
        believed = weighed(
            task, prover.trainer, _effects(box, task), _moves(stated), tick, seen=seen.causes, labels_only=only
        )
    hypotheses = believed.hypotheses if keep_rules else tuple(each.finished for each in believed.hypotheses)
    timings.begin("retraining")
    tried = retrained(prover, hypotheses, tick)
    prior = stated if stated is not None else learned_prior(task, hypotheses[0] if hypotheses else None)
    tick("inference", 0, 1)
    phi, estimates = answered(task, box, prior, spec)
    best = best_of(tried)
    repaired = (task.train.codes if best is None else best.codes).copy()
    if seen.spelled is not None:
        repaired[seen.spelled.rows] = seen.spelled.codes
    labels = label_findings(task, estimates, hypotheses, repaired)
    found = found_slices(
        prover,
        tried,
        lambda groups: group_sufficiency(box, prior, phi, groups, labels.proposed),
        retrain=False,
    )
    own = next((each for each in found if each.proved), None)
    inside = None if best is None else best.inside(task.train.codes)
    correction = None
    if best is not None:
        correction = VerifiedCorrection(best.explanation, best.codes, best.verified, own, inside, best.trained)
    accused = training_labels(task, best, None, hypotheses)
    tests = suspect_tests(task, believed.of_test)
    beside = with_error_told(believed.causes, task, tests)
    if best is not None:
        beside = not_repaired(beside, task.data, best.codes)
    causes = (*seen.causes, *beside, *(() if accused is None else (accused,)))
    notes = notes_on_estimates(box, estimates) + prover.notes + notes_on_classes(task, repaired) + notes_on_head(task)
    notes += notes_on_rare_classes(task, hypotheses)
    settings = told_of(prior, origin, phi, box, estimates) | more
    if stated is None and enough:
        settings["noise rate"] += ", learned"
    findings = Findings(
        encoding=task.encoding,
        labels=labels,
        predictions=predictions_of(task, None if best is None else best.verified),
        verdict=verdict(task, correction, hypotheses),
        checks=checks,
        notes=notes,
        settings=settings,
        origin=origin,
        prior=prior,
        display=spec.display,
        frames=library_for(task.train.features),
        graybox=box.name,
        slices=found,
        explanations=found_explanations(task, hypotheses, tried),
        correction=correction,
        causes=in_order(causes or cannot_say(hypotheses), enough=enough),
        changes=seen.changes,
        suspect_tests=tests,
        annotators=annotator_findings(task, hypotheses, facts_of(task)),
        test_probabilities=_test_probabilities(task, hypotheses),
    )
    session = Session(task, box, prover, phi, estimates, tuple(hypotheses), tried=tuple(tried), known=facts_of(task))
    return findings, session


def _checks(task: Task) -> tuple[Check, ...]:
    timings.begin("checking")
    return checks_of(task.data)


def _nothing_to_debug(seen: Repaired, spec: Spec, origin: Origin, tick: Tick) -> Found:
    """No label is a cause, but some may be wrong: where no test point is misclassified, the evidence says which."""
    task, stated = seen.task, stated_prior(spec.prior, seen.task)
    hypotheses: tuple[Hypothesis, ...] = ()
    decides = spec.effort != "rank"
    if decides and not (task.predicted != task.test.codes).any() and enough_evidence(task):
        found = weighed(task, Trainer(task), None, _moves(stated), tick, labels_only=True).hypotheses
        hypotheses = tuple(each.finished for each in found)
    findings = Findings(
        encoding=task.encoding,
        labels=label_findings(task, None, hypotheses, task.train.codes),
        predictions=predictions_of(task, None),
        verdict=verdict(task, None, hypotheses),
        checks=_checks(task) if decides else (),
        notes=(),
        settings={"noise rate": "stated" if stated is not None else "not learned", "seed": origin.seed},
        origin=origin,
        prior=default_prior(task) if stated is None else stated,
        display=spec.display,
        frames=library_for(task.train.features),
        explanations=found_explanations(task, hypotheses, ()),
        causes=in_order(seen.causes, enough=True) if decides else (RANKED,),
        changes=seen.changes,
        annotators=annotator_findings(task, hypotheses, facts_of(task)),
        test_probabilities=_test_probabilities(task, hypotheses),
    )
    return findings, Session(task, None, hypotheses=tuple(hypotheses), known=facts_of(task))


def _test_probabilities(task: Task, hypotheses: Sequence[Hypothesis]) -> npt.NDArray[np.float64] | None:
    if not hypotheses or len(hypotheses[0].calibrated.test) != len(task.test):  # of other shares of the classes
        return None
    return np.asarray(np.exp(hypotheses[0].calibrated.test))


def _effects(box: GrayBox, task: Task) -> npt.NDArray[np.float64] | None:
    """What the best move of each label takes off the test log loss, by a linear gray box: Σ_tr p_tr c_tri."""
    if not isinstance(box, LinearGrayBox):
        return None
    effects = np.array(box.effects(loss_weights(box.actual)))
    effects[np.arange(len(effects)), task.train.codes] = -np.inf
    return np.asarray(effects.max(axis=1))


def _moves(stated: Prior | None) -> npt.NDArray[np.float64] | None:
    return None if stated is None else stated.moves
