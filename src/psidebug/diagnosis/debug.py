"""``psidebug.debug``: the whole path from a model and its data to a diagnosis."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from psidebug.diagnosis.diagnosis import Diagnosis, ranked
from psidebug.diagnosis.options import check_options, graybox_of, prior_of, rng_of, symptom_of
from psidebug.diagnosis.repair import Correction, propose
from psidebug.diagnosis.slices import common_slices
from psidebug.diagnosis.verification import Judge
from psidebug.errors import NoWorldWithout
from psidebug.graybox.fidelity import Fidelity, fidelity
from psidebug.graybox.protocol import GrayBox
from psidebug.graybox.retrain import Retrain
from psidebug.graybox.surrogate import Surrogate
from psidebug.inference.estimates import Estimates
from psidebug.priors import Prior
from psidebug.sufficiency import Engine, sufficiency
from psidebug.symptoms import Symptom, log_loss_above_boundary
from psidebug.task import Task

Progress = Callable[[str, int, int], None]

SLICES_TRIED = 5
LEAST_SHARE = 0.01
"""The smallest part of the way to the decision boundary that the default symptom asks for."""


def debug(
    model: Any,
    X_train: Any,
    y_train: Any,
    X_test: Any,
    y_test: Any,
    *,
    rows: Any = None,
    bugs: Any = None,
    X_validation: Any = None,
    y_validation: Any = None,
    sample_weight: Any = None,
    metadata: Any = None,
    symptom: str | Symptom = "log_loss",
    prior: float | npt.ArrayLike | Mapping[str, Mapping[Any, float]] | Prior | None = None,
    graybox: str | GrayBox = "auto",
    engine: str | Engine = "auto",
    check_fidelity: bool = True,
    rng: int | np.random.Generator | None = None,
    progress: Progress | None = None,
) -> Diagnosis:
    """Which training labels cause the classifier's errors on the test set.

    Parameters
    ----------
    model
        A scikit-learn-compatible classifier, fitted on the training data or not, alone or at the end of a Pipeline.
        It is never changed.
    X_train, y_train, X_test, y_test
        Features as numpy, scipy sparse, pandas, polars, pyarrow or a list of texts; labels of any hashable kind.
    rows
        One id per training row, used in every result; positions when left out.
    bugs
        Positions of the test rows to explain (or a mask); all misclassified ones when left out.
    X_validation, y_validation
        Rows kept apart, on which the effect of the corrections is reported.
    sample_weight
        One weight per training row, as the model was or is to be fitted with; every fit gets them.
    metadata
        A table with one row per training row, of columns that the model never saw (source, annotator, date), in which
        to look for what the suspects have in common.
    symptom
        What must go away: ``"log_loss"`` (the default: the loss on the test set), ``"misclassified"`` (all bugs are
        misclassified, the paper's conjunction), ``"half"`` (more than half of them are), ``"errors"`` (a count over the
        test set), or a :class:`~psidebug.symptoms.Symptom`.
    prior
        How often labels are wrong: one rate (default 0.05), one per row, one for each value of a column of the features
        or metadata (``{"annotator": {"ann": 0.2, "bob": 0.01}}``), or a :class:`~psidebug.priors.Prior`.
    graybox
        How the learner is predicted without training: ``"auto"`` (the best that there is for it), ``"newton"``,
        ``"newton_residual"``, ``"gradient"``, ``"gradient_residual"`` (logistic models), ``"leaf_derivative"``,
        ``"leaf_refit"``, ``"leaf"``, ``"leaf_residual"`` (trees), ``"surrogate"`` (any learner of numbers),
        ``"retrain"`` (any learner, slowly), or an object.
    engine
        ``"auto"`` (the cheapest whose answer is good enough), ``"closed_form"``, ``"enumeration"``, ``"tilting"`` or
        ``"sampling"``; or a function of prior, learner and symptom that returns estimates.
    check_fidelity
        Whether to compare the gray box with a few real fits, so that the diagnosis can say when its ranking is a
        guess.
    rng
        A seed or a numpy Generator; the same seed gives the same answer.
    progress
        Called with (stage, done, total) as the work goes on.

    Returns
    -------
    Diagnosis
        With ``suspects``, ``slices``, ``repaired_labels``, ``explain(test_row)`` and ``report(path)``.
    """
    tick = progress if progress is not None else _silent
    seed = int(rng_of(rng).integers(2**31))
    # One thread for linear algebra: its sums depend on the number of threads in the last digit, and so would the order
    # of near-equal suspects.
    with threadpool_limits(limits=1, user_api="blas"):
        tick("checking", 0, 1)
        task = Task.of(
            model,
            X_train,
            y_train,
            X_test,
            y_test,
            rows=rows,
            bugs=bugs,
            X_validation=X_validation,
            y_validation=y_validation,
            sample_weight=sample_weight,
            metadata=metadata,
            seed=seed,
        )
        check_options(task, symptom, graybox, engine, check_fidelity=check_fidelity)
        belief = prior_of(prior, task)
        settings = {"noise rate": f"{belief.rates.mean():.4g}", "seed": str(seed)}
        if len(task.bugs) == 0:
            return Diagnosis(task, None, (), None, belief, settings)
        return _diagnosed(task, belief, symptom, graybox, engine, check_fidelity, settings, tick)


def _diagnosed(
    task: Task,
    prior: Prior,
    symptom: str | Symptom,
    graybox: str | GrayBox,
    engine: str | Engine,
    check_fidelity: bool,
    settings: dict[str, str],
    tick: Progress,
) -> Diagnosis:
    tick("profiling", 0, 1)
    box = graybox_of(graybox, task)
    tick("inference", 0, 1)
    phi, estimates = _answered(task, box, prior, symptom, engine)
    order = ranked(estimates)
    tick("slices", 0, 1)
    slices = common_slices(task, estimates.ps, most=SLICES_TRIED)
    judge = Judge(task)
    tried = propose(task, estimates, order, slices, judge, tick)
    measured = _fidelity(box, task, estimates, order, tried, tick) if check_fidelity else None
    settings |= {
        "symptom": str(phi),
        "gray box": box.name,
        "engine": f"{estimates.engine} ({estimates.reason})",
        "fidelity": "not measured" if measured is None else str(measured),
        "fits": str(judge.fits + (0 if measured is None else measured.fits)),
    }
    notes = _notes(box, measured, estimates) + judge.notes
    return Diagnosis(task, estimates, tuple(tried), box, prior, settings, measured, notes)


def _answered(
    task: Task, box: GrayBox, prior: Prior, symptom: str | Symptom, engine: str | Engine
) -> tuple[Symptom, Estimates]:
    """The symptom and PS of every label for it.

    Of an over-confident learner no change of labels moves all bugs to the boundary. The default symptom then asks for
    half of the way, a quarter, … rather than for nothing.
    """
    margins = task.margins(task.learner, task.test)
    phi = symptom_of(symptom, margins, task.bugs)
    share = 1.0
    while True:
        try:
            return phi, sufficiency(box, prior, phi, engine=engine, rng=np.random.default_rng(task.seed))
        except NoWorldWithout:
            share /= 2.0
            if not isinstance(symptom, str) or symptom != "log_loss" or share < LEAST_SHARE:
                raise
            phi = log_loss_above_boundary(margins, task.bugs, share)


def _fidelity(
    box: GrayBox,
    task: Task,
    estimates: Estimates,
    order: npt.NDArray[np.intp],
    tried: list[Correction],
    tick: Progress,
) -> Fidelity | None:
    """The gray box against retraining; the lists of suspects that were verified by retraining come for free."""
    if isinstance(box, Retrain):
        return None
    tick("fidelity", 0, 1)
    known = [(each.codes, each.verified.margins) for each in tried if each.slice is None]
    return fidelity(box, task, suspects=order, proposed=estimates.proposed, retrained=known)


def _notes(box: GrayBox, measured: Fidelity | None, estimates: Estimates) -> tuple[str, ...]:
    notes = tuple(getattr(box, "notes", ()))
    if isinstance(box, Surrogate):  # never without saying how good it is
        notes = (f"{notes[0]}; {'its fidelity was not measured' if measured is None else measured}", *notes[1:])
    return notes + tuple(estimates.warnings)


def _silent(stage: str, done: int, total: int) -> None:
    pass
