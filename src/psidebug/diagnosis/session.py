"""Who can find: a task with its fitted learner, the gray box, and the judge who retrains; live, or from a saved run."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from psidebug.diagnosis.options import graybox_of
from psidebug.diagnosis.repair import Correction
from psidebug.diagnosis.verification import REPRODUCED, Judge
from psidebug.errors import LearnerMismatch
from psidebug.evidence.hypotheses import Hypothesis
from psidebug.graybox.protocol import GrayBox
from psidebug.inference.estimates import Estimates
from psidebug.spec import NotKept, Spec, kept
from psidebug.store.run import Run
from psidebug.symptoms import Symptom
from psidebug.task import learner as learners
from psidebug.task.data import Data
from psidebug.task.labels import Codes
from psidebug.task.task import Task


def one_thread() -> AbstractContextManager[object]:
    """One thread for linear algebra, around all that fits or infers.

    Its sums depend on the number of threads in the last digit, and so would the order of near-equal suspects.
    """
    guard: AbstractContextManager[object] = threadpool_limits(limits=1, user_api="blas")
    return guard


@dataclass(frozen=True, eq=False)
class Session:
    """What a diagnosis was made by, and what it can be asked with. Of a saved run only the task comes back."""

    task: Task
    named_graybox: str | GrayBox | NotKept | None
    """The gray box, or the name of the one to make when it is needed; None when there is nothing to debug."""
    first_judge: Judge | None = field(default=None, repr=False)
    symptom: Symptom | None = None
    """φ, what was asked about."""
    estimates: Estimates | None = None
    hypotheses: tuple[Hypothesis, ...] = ()
    """The explanations that competed, most evidence first, after the last review."""
    unreviewed: tuple[Hypothesis, ...] = field(default=(), repr=False)
    """The same before any review."""
    tried: tuple[Correction, ...] = ()
    known: Codes | None = field(default=None, repr=False)
    """True labels (N,) that a person has stated, -1 elsewhere; None before any review."""

    @cached_property
    def judge(self) -> Judge:
        """Who retrains."""
        if self.first_judge is not None:
            return self.first_judge
        with one_thread():
            return Judge(self.task)

    @cached_property
    def graybox(self) -> GrayBox | None:
        """Predicts the learner without training."""
        if self.named_graybox is None:
            return None
        with one_thread():
            return graybox_of(kept(self.named_graybox, "graybox"), self.task)


def reopened(run: Run, spec: Spec) -> Session:
    """The session of a saved run: its learner is fitted again on the same rows, with the same seed.

    That is the same model, unless it came fitted in ways that a plain fit does not repeat.
    """
    data, findings = run.data, run.findings
    model = run.learner
    only_codes = learners.takes_only_codes(model) and not data.encoding.learned
    encoding = replace(data.encoding, as_codes=data.encoding.as_codes or only_codes)
    labels = encoding.native[data.train.codes]
    with one_thread():
        fitted = learners.refit(model, data.train.features, labels, sample_weight=data.sample_weight, seed=spec.seed)
    predicted = findings.predictions.before
    task = Task(
        learner=fitted,
        encoding=encoding,
        train=data.train,
        test=data.test,
        validation=data.validation,
        rows=data.rows,
        bugs=findings.predictions.bugs,
        predicted=predicted,
        metadata=data.metadata,
        given_labels=data.given_labels,
        seed=spec.seed,
        sample_weight=data.sample_weight,
        known=data.known,
        came=data.came,
    )
    differ = float(np.mean(task.predict(fitted, task.test) != predicted))
    if differ > REPRODUCED and not findings.origin.came_fitted:
        raise LearnerMismatch(
            f"the learner, fitted again, classifies {differ:.0%} of the test rows otherwise than in the run: it is "
            f"another learner, or another version of its library. Run debug again."
        )
    # The one that was chosen for the learner then is taken again; an object has to be given again.
    named = findings.graybox if spec.graybox == run.spec.graybox == "auto" else spec.graybox
    return Session(task, None if findings.graybox is None else named)


def settled(task: Task, data: Data, known: Mapping[Any, Any], spec: Spec) -> Task:
    """The same rows with these labels, by row id, as facts beside those that already are; the learner fitted on them.

    Bugs that were picked out stay picked out, as far as they are left.
    """
    facts: dict[Any, Any] = {}
    if task.known is not None:
        labels = task.encoding.decode(task.train.codes[task.known])
        facts = dict(zip(task.rows[task.known].tolist(), labels.tolist(), strict=True))
    validation = data.validation
    with one_thread():
        again = Task.of(
            learners.fresh(task.learner),
            data.train.features,
            data.given_labels,
            data.test.features,
            data.encoding.decode(data.test.codes),
            rows=data.rows,
            X_validation=None if validation is None else validation.features,
            y_validation=None if validation is None else data.encoding.decode(validation.codes),
            sample_weight=data.sample_weight,
            metadata=data.metadata,
            known=facts | dict(known),
            seed=spec.seed,
        )
    picked = len(task.bugs) < int((task.predicted != task.test.codes).sum())
    return replace(again, bugs=np.intersect1d(task.bugs, again.bugs)) if picked else again
