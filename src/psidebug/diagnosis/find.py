"""From a task and a spec to findings: gray box, evidence, correction, proof, and what is told of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from psidebug import policy
from psidebug.changes import Relabel
from psidebug.checks import checks_of
from psidebug.diagnosis.as_findings import (
    best_of_each_slice,
    found_explanations,
    found_slice,
    label_findings,
    origin_of,
    predictions_of,
    suspect_tests,
    with_error_told,
)
from psidebug.diagnosis.causes import Repaired, in_order, repaired_rows
from psidebug.diagnosis.curve import curve_of
from psidebug.diagnosis.either_set import Weighed, training_labels, weighed
from psidebug.diagnosis.named_options import graybox_of, stated_prior, symptom_of
from psidebug.diagnosis.proof import Prover
from psidebug.diagnosis.rare_classes import notes_on_rare_classes
from psidebug.diagnosis.repair import Correction, best_of, enough_evidence, retrained
from psidebug.diagnosis.session import Session
from psidebug.diagnosis.verdict import cannot_say, notes_on_classes, notes_on_estimates, verdict, with_causes
from psidebug.diagnosis.who_errs import annotator_findings
from psidebug.errors import InferenceError, NoWorldWithout, SymptomAbsent
from psidebug.evidence.hypotheses import Hypothesis
from psidebug.findings.findings import Curve, Findings, FoundSlice, LabelFindings, Origin, Round, VerifiedCorrection
from psidebug.findings.frames import library_for
from psidebug.graybox.fidelity import Fidelity, fidelity
from psidebug.graybox.protocol import GrayBox, LinearGrayBox
from psidebug.graybox.retrain import Retrain
from psidebug.inference.estimates import Estimates, no_causes
from psidebug.margins import loss_weights
from psidebug.priors import Prior, noise
from psidebug.spec import Spec, kept
from psidebug.sufficiency import group_sufficiency, sufficiency
from psidebug.symptoms import Symptom, log_loss_above_boundary
from psidebug.task.labels import Codes
from psidebug.task.task import Task
from psidebug.training.trainer import Trainer, one_blas_thread

Progress = Callable[[str, int, int], None]
Found = tuple[Findings, Session]
"""What was found, and who can find more."""
LEAST_SHARE_OF_THE_WAY = 0.01
"""A smaller part of the way to the decision boundary counts as none (decision 5)."""


def find(task: Task, spec: Spec, origin: Origin, tick: Progress) -> list[Found]:
    """A diagnosis of the task, and of each later round; the first knows what the later ones correct."""
    with one_blas_thread():
        if len(task.bugs) == 0:
            return [_nothing_to_debug(Repaired(task), spec, origin, tick)]
        seen = Repaired(task) if spec.causes == "labels" else repaired_rows(task, tick)
        if len(seen.task.bugs) == 0:
            return [_told(_nothing_to_debug(seen, spec, origin, tick), task, seen)]
        rounds = [_told(_one_round(seen, spec, origin, {}, tick), task, seen)]
        while len(rounds) < spec.rounds and (last := rounds[-1])[0].correction is not None:
            again = last[1].prover.trainer.after(Relabel.of(last[1].task.data, last[0].correction.codes))
            if len(again.bugs) == 0:
                break
            more = {"round": str(len(rounds) + 1)}
            try:
                rounds.append(_one_round(Repaired(again), spec, origin_of(again, origin.seed), more, tick))
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


def _told(found: Found, task: Task, seen: Repaired) -> Found:
    """With what is wrong beside training labels told first; the data stay those that came."""
    findings, session = found
    said = with_causes(task, seen.task, findings)
    return replace(findings, verdict=said), replace(session, came=task.data if seen.changes else None)


def _one_round(seen: Repaired, spec: Spec, origin: Origin, more: dict[str, str], tick: Progress) -> Found:
    task = seen.task
    tick("profiling", 0, 1)
    box = graybox_of(kept(spec.graybox, "graybox"), task)
    prover = Prover(task, Trainer(task, before_fit=lambda fits: tick("fit", fits, 0)))
    stated = stated_prior(spec.prior, task)
    enough, only = enough_evidence(task), spec.causes == "labels"
    believed = Weighed()
    if enough:
        believed = weighed(
            task, prover.trainer, _effects(box, task), _moves(stated), tick, seen=seen.causes, labels_only=only
        )
    hypotheses = believed.hypotheses
    tried = retrained(prover, hypotheses, tick)
    prior = stated if stated is not None else _learned(task, hypotheses[0] if hypotheses else None)
    tick("inference", 0, 1)
    phi, estimates = _answered(task, box, prior, spec)
    best = best_of(tried)
    repaired = (task.train.codes if best is None else best.codes).copy()
    if seen.spelled is not None:
        repaired[seen.spelled.rows] = seen.spelled.codes
    labels = label_findings(task, estimates, hypotheses, repaired)
    corrected = 0 if best is None else best.verified.corrected
    curve = curve_of(prover, labels.order, labels.proposed, labels.ps, labels.p_wrong, suggested=corrected, tick=tick)
    tick("controls", 0, 1)
    controls = None if best is None else prover.controls(best.change)
    found = _slices(prover, tried, best, labels, (box, prior, phi))
    own = next((each for each in found if each.proved), None)
    inside = None if best is None else best.inside(task.train.codes)
    correction = None if best is None else VerifiedCorrection(best.explanation, best.codes, best.verified, own, inside)
    measured = _fidelity(box, task, labels, curve, tick) if spec.check_fidelity else None
    accused = training_labels(task, best, controls, hypotheses)
    tests = suspect_tests(task, believed.of_test)
    causes = (*seen.causes, *with_error_told(believed.causes, task, tests), *(() if accused is None else (accused,)))
    notes = notes_on_estimates(box, measured, estimates) + prover.notes + notes_on_classes(task, repaired)
    notes += notes_on_rare_classes(task, hypotheses)
    findings = Findings(
        encoding=task.encoding,
        labels=labels,
        predictions=predictions_of(task, None if best is None else best.verified),
        verdict=verdict(task, correction, hypotheses, measured),
        checks=checks_of(task.data),
        notes=notes,
        settings={
            "noise rate": f"{prior.rates.mean():.4g}" + ("" if stated is not None else ", learned" * enough),
            "seed": origin.seed,
            **more,
            "symptom": str(phi),
            "gray box": box.name,
            "engine": f"{estimates.engine} ({estimates.reason})",
            "fidelity": "not measured" if measured is None else str(measured),
            "fits": str(seen.fits + prover.fits + (0 if measured is None else measured.fits)),
        },
        origin=origin,
        prior=prior,
        display=spec.display,
        frames=library_for(task.train.features),
        graybox=box.name,
        slices=found,
        explanations=found_explanations(task, hypotheses, tried),
        correction=correction,
        controls=controls,
        curve=curve,
        fidelity=measured,
        causes=in_order(causes or cannot_say(hypotheses), enough=enough),
        changes=seen.changes,
        suspect_tests=tests,
        annotators=annotator_findings(task, hypotheses, _facts(task)),
        test_probabilities=_test_probabilities(task, hypotheses),
    )
    session = Session(task, box, prover, phi, estimates, tuple(hypotheses), tried=tuple(tried), known=_facts(task))
    return findings, session


def _nothing_to_debug(seen: Repaired, spec: Spec, origin: Origin, tick: Progress) -> Found:
    """No label is a cause, but some may be wrong: where no test point is misclassified, the evidence says which."""
    task, stated = seen.task, stated_prior(spec.prior, seen.task)
    hypotheses: tuple[Hypothesis, ...] = ()
    if not (task.predicted != task.test.codes).any() and enough_evidence(task):
        hypotheses = weighed(task, Trainer(task), None, _moves(stated), tick, labels_only=True).hypotheses
    findings = Findings(
        encoding=task.encoding,
        labels=label_findings(task, None, hypotheses, task.train.codes),
        predictions=predictions_of(task, None),
        verdict=verdict(task, None, hypotheses, None),
        checks=checks_of(task.data),
        notes=(),
        settings={"noise rate": "stated" if stated is not None else "not learned", "seed": origin.seed},
        origin=origin,
        prior=noise(task.train.codes, task.encoding.size, policy.DEFAULT_RATE) if stated is None else stated,
        display=spec.display,
        frames=library_for(task.train.features),
        explanations=found_explanations(task, hypotheses, ()),
        causes=in_order(seen.causes, enough=True),
        changes=seen.changes,
        annotators=annotator_findings(task, hypotheses, _facts(task)),
        test_probabilities=_test_probabilities(task, hypotheses),
    )
    return findings, Session(task, None, hypotheses=tuple(hypotheses), known=_facts(task))


def _slices(
    prover: Prover,
    tried: Sequence[Correction],
    best: Correction | None,
    labels: LabelFindings,
    cause: tuple[GrayBox, Prior, Symptom],
) -> tuple[FoundSlice, ...]:
    """What the suspects have in common, that of the best explanation first."""
    found = best_of_each_slice(prover.task, tried)
    sufficient = group_sufficiency(*cause, [each.rows for each, _ in found], labels.proposed)
    return tuple(
        found_slice(prover, part, of, sufficient=ps, proved=of is best)
        for (part, of), ps in zip(found, sufficient, strict=True)
    )


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


def _facts(task: Task) -> Codes | None:
    """Labels (N,) that are facts, -1 elsewhere."""
    return None if task.data.known is None else np.where(task.data.known, task.train.codes, -1)


def _moves(stated: Prior | None) -> npt.NDArray[np.float64] | None:
    return None if stated is None else stated.moves


def _learned(task: Task, hypothesis: Hypothesis | None) -> Prior:
    """p_T from the best explanation: how many labels are wrong in all, and where each would move.

    One rate for all rows: with the learned rates of a guilty slice its labels would nearly all differ in every world,
    and putting one of many back brings nothing back. That a label is wrong is what p_wrong says; PS asks what it does.
    """
    given, size = task.train.codes, task.encoding.size
    if hypothesis is None or not hypothesis.likely:
        return noise(given, size, policy.DEFAULT_RATE).sparing(task.data.known)
    rate = float(np.clip(hypothesis.p_wrong(given).mean(), policy.LEAST_RATE, policy.MOST_RATE))
    return noise(given, size, rate, hypothesis.posterior + 1e-9).sparing(task.data.known)


def _answered(task: Task, box: GrayBox, prior: Prior, spec: Spec) -> tuple[Symptom, Estimates]:
    """The symptom and PS of every label for it.

    Of an over-confident learner no change of labels moves all bugs to the boundary. The default symptom then asks for
    half of the way, a quarter, … rather than for nothing. If labels move them no way at all, none is a cause.
    """
    margins = task.margins(task.learner, task.test)
    phi = symptom_of(kept(spec.symptom, "symptom"), margins, task.bugs)
    engine, share = kept(spec.engine, "engine"), 1.0
    while True:
        try:
            return phi, sufficiency(box, prior, phi, engine=engine, rng=np.random.default_rng(task.seed))
        except (NoWorldWithout, SymptomAbsent) as error:
            share /= 2.0
            if spec.symptom != "log_loss" or not prior.rates.any():
                raise
            if share < LEAST_SHARE_OF_THE_WAY or isinstance(error, SymptomAbsent):  # all on the boundary already
                return phi, no_causes(prior, reason="no change of labels takes the errors away, by the gray box")
            phi = log_loss_above_boundary(margins, task.bugs, share)


def _fidelity(box: GrayBox, task: Task, labels: LabelFindings, curve: Curve, tick: Progress) -> Fidelity | None:
    """The gray box against retraining; of the lists of suspects that were retrained one comes for free."""
    if isinstance(box, Retrain):
        return None
    tick("fidelity", 0, 1)
    known = []
    for point in curve.points[1:]:
        codes, first = task.train.codes.copy(), labels.order[: point.corrected]
        codes[first] = labels.proposed[first]
        known.append((codes, point.verified.margins))
    return fidelity(box, task, suspects=labels.order, proposed=labels.proposed, retrained=known)
