"""A saved run that goes on: the task from its files, and what can be asked of it anew.

The learner is saved unfitted and fitted again here, with the seed of the run: the same model, unless it came fitted in
ways that a plain fit does not repeat.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from psidebug import policy
from psidebug.changes import Relabel
from psidebug.diagnosis.debug import debug
from psidebug.diagnosis.diagnosis import Diagnosis
from psidebug.errors import LearnerMismatch, LearnerMissing
from psidebug.graybox.choose import GRAYBOXES, graybox_for
from psidebug.graybox.protocol import GrayBox
from psidebug.models import from_skops
from psidebug.priors import Prior, noise
from psidebug.store.files import RunFiles
from psidebug.task import learner as learners
from psidebug.task.data import Data, LabelledSet
from psidebug.task.labels import Codes
from psidebug.task.task import Task
from psidebug.training.trainer import Trainer

if TYPE_CHECKING:
    from psidebug.store.run import Run

Floats = npt.NDArray[np.float64]


def learner_in(files: RunFiles) -> Any:
    """The learner as it was saved, unfitted."""
    if not files.has("learner"):
        why = files.record.get("no_learner", "it was saved by an older Psi, which did not keep learners.")
        raise LearnerMissing(
            f"{files.directory} has no learner, so nothing can be trained: {why} Give it the learner, by "
            f"run.with_learner(model), or run debug again."
        )
    return from_skops(files.content("learner"), name=str(files.directory / files.record["files"]["learner"]["path"]))


def check_learner(files: RunFiles, model: Any) -> None:
    """Raise :class:`LearnerMismatch` unless the run was made with a learner of this class."""
    learners.check_classifier(model)
    made_with = files.record["fingerprint"]["learner"].partition("(")[0]
    name = f"{type(model).__module__}.{type(model).__qualname__}"
    if name != made_with:
        raise LearnerMismatch(f"the run was made with {made_with}, and this is {name}. Run debug again to change it.")


def task_of(run: Run) -> Task:
    """The task that was diagnosed: the same rows, labels, bugs and predictions, and the learner fitted again."""
    files, record = run.files, run.record["task"]
    model = learner_in(files) if run.learner is None else run.learner
    codes, encoding = run.given, run.encoding_for(model)
    with threadpool_limits(limits=1, user_api="blas"):  # as debug does: the same fit to the last digit
        fitted = learners.refit(
            model, run.features, encoding.native[codes], sample_weight=run.sample_weight, seed=run.seed
        )
    validation = None
    if files.has("validation"):
        truth = files.codes(files.table("validation_labels"), "label")
        validation = LabelledSet(files.features("validation"), truth)
    predicted = files.codes(files.predictions, "predicted")
    data = Data(
        encoding=encoding,
        train=LabelledSet(run.features, codes),
        test=LabelledSet(run.test_features, files.codes(files.predictions, "label")),
        validation=validation,
        rows=run.rows,
        metadata=run.metadata,
        given_labels=encoding.decode(codes),
        sample_weight=run.sample_weight,
    )
    task = Task(fitted, data, predicted, run.bugs, run.seed)
    differ = float((task.predict(fitted, task.test) != predicted).mean())
    if differ > policy.REPRODUCED and not record.get("fitted_by_user", False):
        raise LearnerMismatch(
            f"the learner, fitted again, classifies {differ:.0%} of the test rows otherwise than in the run: it is "
            f"another learner, or another version of its library. Run debug again."
        )
    return task


def prior_in(files: RunFiles, given: Codes, classes: int) -> Prior:
    """p_T under which PS was taken."""
    if files.has("prior"):
        return Prior(given, _matrix(files, "prior", classes))
    return noise(given, classes, policy.DEFAULT_RATE)


def labeller_in(files: RunFiles, classes: int) -> Floats | None:
    """What the labeller of the best explanation says about the test rows (M, K); None if there was none."""
    return _matrix(files, "labeller", classes) if files.has("labeller") else None


def graybox_again(task: Task, settings: Mapping[str, str]) -> GrayBox:
    """The gray box of the run; one that was given as an object is not kept, and the best for the learner stands in."""
    name = settings.get("gray box", "auto")
    return graybox_for(task, name if name in GRAYBOXES else "auto")


def diagnosed_again(
    run: Run, known: Mapping[Any, Any], progress: Callable[[str, int, int], None] | None = None
) -> Diagnosis:
    """A new diagnosis of the same rows, in which these labels by row id are facts."""
    task, record = run.task, run.record
    bugs = None
    if len(task.bugs) < int((task.predicted != task.test.codes).sum()):  # some were picked out: those that are left
        again = Trainer(task).after(Relabel.of_rows(task.data, known, task.train.codes))
        bugs = np.intersect1d(task.bugs, again.bugs)
    validation = task.validation
    name = run.settings.get("gray box", "auto")
    return debug(
        learners.fresh(task.learner),
        task.train.features,
        task.encoding.decode(task.train.codes),
        task.test.features,
        task.encoding.decode(task.test.codes),
        rows=task.rows,
        bugs=bugs,
        X_validation=None if validation is None else validation.features,
        y_validation=None if validation is None else task.encoding.decode(validation.codes),
        sample_weight=task.sample_weight,
        metadata=task.metadata,
        known=known,
        prior=np.minimum(run.prior.rates, 0.5) if record.get("stated_prior", False) else None,
        graybox=name if name in GRAYBOXES else "auto",
        check_fidelity=run.fidelity is not None,
        images=run.display.images,
        text=run.display.text,
        rng=run.seed,
        progress=progress,
    )


def _matrix(files: RunFiles, name: str, classes: int) -> Floats:
    values: Floats = files.table(name).column(0).combine_chunks().values.to_numpy()
    return values.reshape(-1, classes)
