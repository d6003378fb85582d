"""Who can find: a task with its fitted learner, the gray box and the prover; live, or from a saved run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from psidebug import policy
from psidebug.changes import InTurn
from psidebug.diagnosis.named_options import graybox_of
from psidebug.diagnosis.proof import Prover
from psidebug.diagnosis.repair import Correction
from psidebug.errors import ChangedData, LearnerMismatch
from psidebug.evidence.hypotheses import Hypothesis
from psidebug.graybox.protocol import GrayBox
from psidebug.inference.estimates import Estimates
from psidebug.spec import NotKept, Spec, kept
from psidebug.store.fingerprint import sketch_of
from psidebug.store.run import Run
from psidebug.symptoms import Symptom
from psidebug.task import learner as learners
from psidebug.task.data import Data
from psidebug.task.labels import Codes
from psidebug.task.task import Task
from psidebug.threads import one_blas_thread


@dataclass(frozen=True, eq=False)
class Session:
    """What a diagnosis was made by, and what it can be asked with. Of a saved run only the task comes back."""

    task: Task
    named_graybox: str | GrayBox | NotKept | None
    """The gray box, or the name of the one to make when it is needed; None when there is nothing to debug."""
    first_prover: Prover | None = field(default=None, repr=False)
    symptom: Symptom | None = None
    """φ, what was asked about."""
    estimates: Estimates | None = None
    hypotheses: tuple[Hypothesis, ...] = ()
    """The explanations that competed, most evidence first, after the last review."""
    unreviewed: tuple[Hypothesis, ...] = field(default=(), repr=False)
    """The same before any review."""
    tried: tuple[Correction, ...] = ()
    came: Data | None = field(default=None, repr=False)
    """The data as they came, where the task is one with repaired rows; None if they are the same."""
    known: Codes | None = field(default=None, repr=False)
    """True labels (N,) that a person has stated, -1 elsewhere; None before any review."""

    sketch: str | None = field(default=None, repr=False)
    """Of the rows as they were when they were diagnosed; None of a saved run, whose rows are its own."""

    @property
    def prover(self) -> Prover:
        """Who retrains; :class:`ChangedData` if the features are others by now."""
        if self.sketch is not None and sketch_of(self.task) != self.sketch:
            raise ChangedData(
                "the features are not what they were at the end of debug, so that new fits would not compare with old "
                "ones. Run debug again, on a copy of tables that you go on changing, and with a learner that leaves "
                "them as they are: steps with copy=False do not."
            )
        return self._prover

    @cached_property
    def _prover(self) -> Prover:
        if self.first_prover is not None:
            return self.first_prover
        with one_blas_thread():
            return Prover(self.task)

    @property
    def sketched(self) -> Session:
        """The same, which will see if features are changed in place."""
        return replace(self, sketch=sketch_of(self.task))

    @cached_property
    def graybox(self) -> GrayBox | None:
        """Predicts the learner without training."""
        if self.named_graybox is None:
            return None
        with one_blas_thread():
            return graybox_of(kept(self.named_graybox, "graybox"), self.task)


def reopened(run: Run, spec: Spec) -> Session:
    """The session of a saved run: its learner is fitted again on the same rows, with the same seed.

    That is the same model, unless it came fitted in ways that a plain fit does not repeat.
    """
    data, findings = run.data, run.findings
    model = run.learner
    only_codes = learners.takes_only_codes(model) and not data.encoding.learned
    encoding = replace(data.encoding, as_codes=data.encoding.as_codes or only_codes)
    with one_blas_thread():
        came = replace(data, encoding=encoding)
        task = Task.fitted(model, InTurn(findings.changes).applied(came), bugs=[], seed=spec.seed)
    before = findings.predictions.before
    differ = float(np.mean(task.predicted != before))
    if differ > policy.REPRODUCED and not findings.origin.came_fitted:
        raise LearnerMismatch(
            f"the learner, fitted again, classifies {differ:.0%} of the test rows otherwise than in the run: it is "
            f"another learner, or another version of its library. Run debug again."
        )
    task = replace(task, predicted=before, bugs=findings.predictions.bugs)
    # The one that was chosen for the learner then is taken again; an object has to be given again.
    named = findings.graybox if spec.graybox == run.spec.graybox == "auto" else spec.graybox
    return Session(task, None if findings.graybox is None else named, came=came if findings.changes else None)


def settled(task: Task, known: Mapping[Any, Any]) -> Task:
    """The same rows with these labels, by row id, as facts beside those that already are; the learner fitted on them.

    Bugs that were picked out stay picked out, as far as they are left.
    """
    with one_blas_thread():
        again = Task.fitted(learners.fresh(task.learner), task.data.settled(known), seed=task.seed)
    picked = len(task.bugs) < int((task.predicted != task.test.codes).sum())
    return replace(again, bugs=np.intersect1d(task.bugs, again.bugs)) if picked else again
