"""``psidebug.debug``: the whole path from a model and its data to a diagnosis."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from psidebug.diagnosis.as_findings import origin_of
from psidebug.diagnosis.diagnosis import Diagnosis
from psidebug.diagnosis.find import Progress, find
from psidebug.diagnosis.named_options import check_spec, prior_of, rng_of
from psidebug.diagnosis.repairs import unwatched
from psidebug.display import display_for
from psidebug.graybox.protocol import GrayBox
from psidebug.priors import Prior
from psidebug.spec import Effort, Spec, StatedPrior
from psidebug.sufficiency import Engine
from psidebug.symptoms import Symptom
from psidebug.task.task import Task
from psidebug.threads import few_threads
from psidebug.timings import staged, stopwatch
from psidebug.training.trainer import one_blas_thread


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
    annotations: Any = None,
    known: Any = None,
    symptom: str | Symptom = "log_loss",
    prior: float | npt.ArrayLike | Mapping[str, Mapping[Any, float]] | Prior | None = None,
    graybox: str | GrayBox = "auto",
    engine: str | Engine = "auto",
    rounds: int = 1,
    check_fidelity: bool = True,
    causes: Literal["all", "labels"] = "all",
    images: tuple[int, ...] | str | None = None,
    text: str | None = None,
    effort: Effort = "decide",
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
        Rows kept apart, on which the effect of the corrections is reported; they veto one that does harm there.
    sample_weight
        One weight per training row, as the model was or is to be fitted with; every fit gets them.
    metadata
        A table with one row per training row, of columns that the model never saw (source, annotator, date), in which
        to look for what the suspects have in common. Dates may be written as text, such as 2024-03-01.
    annotations
        What several annotators said about the training rows, people or labelling rules: a table with a column for each
        of them and a line for each training row (or ids in a column ``row``), or one with the columns ``row``,
        ``annotator`` and ``label``. Empty cells are no answers. Rows with answers are then judged by these, not by the
        label in ``y_train``; see ``Diagnosis.annotators``, ``answers`` and ``ask_again``.
    known
        Labels that are facts, since a person has settled them: training rows (ids) that are right as they are, or a
        mapping from ids to the right labels. They are trained on, and are neither suspects nor changed; what they came
        with teaches how labels go wrong. A fitted model is fitted anew.
    symptom
        What must go away: ``"log_loss"`` (the default: the loss on the test set), ``"misclassified"`` (all bugs are
        misclassified, the paper's conjunction), ``"half"`` (more than half of them are), ``"errors"`` (a count over the
        test set), or a :class:`~psidebug.symptoms.Symptom`.
    prior
        How often labels are wrong; learned from the evidence when left out. Otherwise one rate, one per row, one for
        each value of a column of the features or metadata (``{"annotator": {"ann": 0.2, "bob": 0.01}}``), or a
        :class:`~psidebug.priors.Prior`, which can also say in which direction.
    graybox
        How the learner is predicted without training: ``"auto"`` (the best that there is for it), ``"newton"``,
        ``"newton_residual"``, ``"gradient"``, ``"gradient_residual"`` (logistic models), ``"leaf_derivative"``,
        ``"leaf_refit"``, ``"leaf_refits"``, ``"leaf"``, ``"leaf_residual"`` (trees), ``"surrogate"`` (any learner of
        numbers), ``"retrain"`` (any learner, slowly), or an object.
    engine
        ``"auto"`` (the cheapest whose answer is good enough), ``"closed_form"``, ``"enumeration"``, ``"tilting"`` or
        ``"sampling"``; or a function of prior, learner and symptom that returns estimates.
    rounds
        How often at most to correct, retrain and diagnose again; it ends earlier when nothing more is gained. Every
        round is kept in ``Diagnosis.later``.
    check_fidelity
        Whether the proof compares the gray box with a few real fits, so that it can say when the ranking is a guess.
    causes
        ``"all"``: units, codes, copies, class shares, test labels and others compete with wrong training labels;
        ``"labels"``: only these are asked about.
    images, text
        How rows are shown. ``images=(8, 8)``: a row of the features is itself a picture of that height and width (or
        height, width, 3); ``images="column"``: a column of the features or metadata holds paths of image files, or
        arrays. ``text="column"``: the column that a person reads.
    effort
        ``"rank"``: PS of every label by the gray box, with the default or stated prior, and nothing else: nothing is
        decided. ``"decide"``: what is wrong, and one correction, proved by retraining; the curve, the controls and the
        fidelity are made when they are asked for. ``"prove"``: all of that at once.
    rng
        A seed or a numpy Generator; the same seed gives the same answer.
    progress
        Called with (stage, done, total) as the work goes on, and with ("fit", fits so far, 0) before each fit that the
        decision takes. What it raises stops the work. If it has a method ``first_suspects``, that gets a data frame of
        the first labels by PS alone, as soon as these are known.

    Returns
    -------
    Diagnosis
        With ``suspects``, ``slices``, ``repaired_labels``, ``explain(test_row)`` and ``report(path)``.
    """
    seed = int(rng_of(rng).integers(2**31))
    watch, tick = stopwatch(), staged(progress or unwatched)
    begun, show = watch.fits, getattr(progress, "first_suspects", None)
    with watch.watching("checking"), few_threads(len(y_train) if hasattr(y_train, "__len__") else 0):
        tick("checking", 0, 1)
        with one_blas_thread():
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
                annotations=annotations,
                known=known,
                seed=seed,
            )
        display = display_for(images, text, features=task.train.features, metadata=task.data.metadata)
        stated = None if prior is None else _stated(prior, task)
        spec = Spec(symptom, stated, graybox, engine, rounds, check_fidelity, causes, display, seed, effort)
        check_spec(spec, len(task.test))
        again = "of a Generator" if isinstance(rng, np.random.Generator) else str(0 if rng is None else int(rng))
        found = find(task, spec, origin_of(task, again), tick, begun=begun, show=show)
        return Diagnosis.of(found, spec, watch, tick)


def _stated(prior: Any, task: Task) -> StatedPrior:
    """The prior as the spec keeps it, if it is one."""
    prior_of(prior, task)
    if isinstance(prior, Prior | Mapping):
        return prior
    rates = np.array(prior, dtype=np.float64)
    return float(rates) if rates.ndim == 0 else rates
