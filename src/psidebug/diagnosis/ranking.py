"""Labels ranked by PS: with the prior that the evidence taught, before there is any, and instead of it."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np

from psidebug import policy
from psidebug.diagnosis.as_findings import facts_of, label_findings, predictions_of
from psidebug.diagnosis.named_options import graybox_of, stated_prior, symptom_of
from psidebug.diagnosis.session import Session
from psidebug.diagnosis.verdict import RANKED, notes_on_estimates, only_ranked
from psidebug.diagnosis.who_errs import annotator_findings
from psidebug.errors import InferenceError, NoWorldWithout, SymptomAbsent
from psidebug.evidence.hypotheses import Hypothesis
from psidebug.findings.findings import Findings
from psidebug.findings.frames import labels_frame, library_for
from psidebug.findings.origin import Origin
from psidebug.graybox.protocol import GrayBox, LinearGrayBox
from psidebug.inference.estimates import Estimates, no_causes
from psidebug.priors import Prior, noise
from psidebug.spec import Spec, kept
from psidebug.sufficiency import sufficiency
from psidebug.symptoms import Symptom, log_loss_above_boundary
from psidebug.task.task import Task
from psidebug.timings import Tick

LEAST_SHARE_OF_THE_WAY = 0.01
"""A smaller part of the way to the decision boundary counts as none (decision 5)."""


def ranked(task: Task, spec: Spec, origin: Origin, tick: Tick) -> tuple[Findings, Session]:
    """PS of every label by the gray box, and nothing else: nothing is fitted, weighed or corrected."""
    tick("profiling", 0, 1)
    box = graybox_of(kept(spec.graybox, "graybox"), task)
    stated = stated_prior(spec.prior, task)
    prior = default_prior(task) if stated is None else stated
    tick("inference", 0, 1)
    phi, estimates = answered(task, box, prior, spec)
    findings = Findings(
        encoding=task.encoding,
        labels=label_findings(task, estimates, (), task.train.codes),
        predictions=predictions_of(task, None),
        verdict=only_ranked(task),
        notes=notes_on_estimates(box, estimates),
        settings=told_of(prior, origin, phi, box, estimates),
        origin=origin,
        prior=prior,
        display=spec.display,
        frames=library_for(task.train.features),
        graybox=box.name,
        causes=(RANKED,),
        annotators=annotator_findings(task, (), facts_of(task)),
    )
    return findings, Session(task, box, symptom=phi, estimates=estimates, known=facts_of(task))


def first_suspects(task: Task, box: GrayBox, stated: Prior | None, spec: Spec, most: int) -> Any:
    """Data frame of the first labels by PS alone, before they are weighed; None where that takes more than a moment."""
    if not isinstance(box, LinearGrayBox):
        return None
    with suppress(InferenceError):
        _, estimates = answered(task, box, default_prior(task) if stated is None else stated, spec)
        labels = label_findings(task, estimates, (), task.train.codes)
        return labels_frame(labels.first(most), task.encoding, library_for(task.train.features))
    return None


def told_of(prior: Prior, origin: Origin, phi: Symptom, box: GrayBox, estimates: Estimates) -> dict[str, str]:
    """How PS was taken, for the settings."""
    return {
        "noise rate": f"{prior.rates.mean():.4g}",
        "seed": origin.seed,
        "symptom": str(phi),
        "gray box": box.name,
        "engine": f"{estimates.engine} ({estimates.reason})",
        "fidelity": "not measured",
    }


def default_prior(task: Task) -> Prior:
    """p_T where nothing was stated and nothing is learned; facts never move."""
    return noise(task.train.codes, task.encoding.size, policy.DEFAULT_RATE).sparing(task.data.known)


def learned_prior(task: Task, hypothesis: Hypothesis | None) -> Prior:
    """p_T from the best explanation: how many labels are wrong in all, and where each would move.

    One rate for all rows: with the learned rates of a guilty slice its labels would nearly all differ in every world,
    and putting one of many back brings nothing back. That a label is wrong is what p_wrong says; PS asks what it does.
    """
    given, size = task.train.codes, task.encoding.size
    if hypothesis is None or not hypothesis.likely:
        return default_prior(task)
    rate = float(np.clip(hypothesis.p_wrong(given).mean(), policy.LEAST_RATE, policy.MOST_RATE))
    return noise(given, size, rate, hypothesis.posterior + 1e-9).sparing(task.data.known)


def answered(task: Task, box: GrayBox, prior: Prior, spec: Spec) -> tuple[Symptom, Estimates]:
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
