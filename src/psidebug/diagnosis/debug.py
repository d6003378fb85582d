"""``psidebug.debug``: the whole path from a model and its data to a diagnosis."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from psidebug import policy
from psidebug.diagnosis.curve import Curve, curve_of
from psidebug.diagnosis.diagnosis import Diagnosis
from psidebug.diagnosis.notes import on_classes, on_estimates
from psidebug.diagnosis.options import check_options, graybox_of, prior_of, rng_of, symptom_of
from psidebug.diagnosis.proof import Prover
from psidebug.diagnosis.repair import enough_evidence, retrained
from psidebug.display import display_for
from psidebug.errors import NoWorldWithout, SymptomAbsent, UnknownOption
from psidebug.evidence.compete import compete
from psidebug.evidence.hypotheses import Hypothesis
from psidebug.graybox.fidelity import Fidelity, fidelity
from psidebug.graybox.protocol import GrayBox, LinearGrayBox
from psidebug.graybox.retrain import Retrain
from psidebug.inference.estimates import Estimates, no_causes
from psidebug.margins import loss_weights
from psidebug.priors import Prior, noise
from psidebug.sufficiency import Engine, sufficiency
from psidebug.symptoms import Symptom, log_loss_above_boundary
from psidebug.task.labels import Codes
from psidebug.task.task import Task
from psidebug.training.trainer import Trainer

Progress = Callable[[str, int, int], None]


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
    known: Any = None,
    symptom: str | Symptom = "log_loss",
    prior: float | npt.ArrayLike | Mapping[str, Mapping[Any, float]] | Prior | None = None,
    graybox: str | GrayBox = "auto",
    engine: str | Engine = "auto",
    rounds: int = 1,
    check_fidelity: bool = True,
    images: tuple[int, ...] | str | None = None,
    text: str | None = None,
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
        Whether to compare the gray box with a few real fits, so that the diagnosis can say when its ranking is a
        guess.
    images, text
        How rows are shown. ``images=(8, 8)``: a row of the features is itself a picture of that height and width (or
        height, width, 3); ``images="column"``: a column of the features or metadata holds paths of image files, or
        arrays. ``text="column"``: the column that a person reads.
    rng
        A seed or a numpy Generator; the same seed gives the same answer, unless the learner draws from numpy's global
        generator, which Psi leaves alone: give such a learner a ``random_state``.
    progress
        Called with (stage, done, total) as the work goes on.

    Returns
    -------
    Diagnosis
        With ``suspects``, ``slices``, ``repaired_labels``, ``explain(test_row)`` and ``report(path)``.
    """
    tick = progress if progress is not None else _silent
    if isinstance(rounds, bool) or not isinstance(rounds, int | np.integer) or rounds < 1:
        raise UnknownOption(f"rounds takes a whole number from 1, not {rounds!r}.")
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
            known=known,
            seed=seed,
        )
        display = display_for(images, text, features=task.train.features, metadata=task.metadata)
        check_options(task, symptom, graybox, engine, check_fidelity=check_fidelity)
        stated = None if prior is None else _sparing(prior_of(prior, task), task.known)
        settings = {"noise rate": "stated" if stated is not None else "not learned", "seed": _seed_given(rng)}
        if len(task.bugs) == 0:
            belief = noise(task.train.codes, task.encoding.size, policy.DEFAULT_RATE) if stated is None else stated
            hypotheses = _without_errors(task, stated, tick)
            return Diagnosis(
                task, None, (), None, belief, settings, hypotheses=hypotheses, known=_facts(task), display=display
            )
        first = _diagnosed(task, stated, symptom, graybox, engine, check_fidelity, settings, tick)
        later: list[Diagnosis] = []
        while len(later) + 1 < rounds and (last := [first, *later][-1]).correction is not None:
            again = Trainer(last.task).after(last.correction.change)
            if len(again.bugs) == 0:
                break
            options = dict(settings) | {"round": str(len(later) + 2)}
            later.append(
                _diagnosed(again, _carried(stated, again), symptom, graybox, engine, check_fidelity, options, tick)
            )
        return replace(first, later=tuple(later), display=display)


def _seed_given(rng: int | np.random.Generator | None) -> str:
    """What to give again to repeat the diagnosis."""
    return "of a Generator" if isinstance(rng, np.random.Generator) else str(0 if rng is None else int(rng))


def _diagnosed(
    task: Task,
    stated: Prior | None,
    symptom: str | Symptom,
    graybox: str | GrayBox,
    engine: str | Engine,
    check_fidelity: bool,
    settings: dict[str, str],
    tick: Progress,
) -> Diagnosis:
    tick("profiling", 0, 1)
    box = graybox_of(graybox, task)
    prover = Prover(task)
    weighed = enough_evidence(task)
    hypotheses: list[Hypothesis] = []
    if weighed:
        hypotheses = compete(task, prover.trainer, _effects(box, task), _moves(stated), tick)
    tried = retrained(prover, hypotheses, tick)
    prior = stated if stated is not None else _learned(task, hypotheses[0] if weighed else None)
    tick("inference", 0, 1)
    phi, estimates = _answered(task, box, prior, symptom, engine)
    found = Diagnosis(
        task,
        estimates,
        tuple(tried),
        box,
        prior,
        settings,
        symptom=phi,
        prover=prover,
        hypotheses=tuple(hypotheses),
        known=_facts(task),
    )
    curve = curve_of(
        prover,
        found.order,
        found.proposed,
        estimates.ps,
        found.p_wrong,
        suggested=found.corrected,
        tick=tick,
    )
    tick("controls", 0, 1)
    best = found.correction
    controls = None if best is None else prover.controls(best.change)
    measured = _fidelity(box, task, found, curve, tick) if check_fidelity else None
    settings |= {
        "noise rate": f"{prior.rates.mean():.4g}" + ("" if stated is not None else ", learned" * weighed),
        "symptom": str(phi),
        "gray box": box.name,
        "engine": f"{estimates.engine} ({estimates.reason})",
        "fidelity": "not measured" if measured is None else str(measured),
        "fits": str(prover.fits + (0 if measured is None else measured.fits)),
    }
    notes = on_estimates(box, measured, estimates) + prover.notes + on_classes(task)
    return replace(found, settings=settings, fidelity=measured, notes=notes, curve=curve, controls=controls)


def _without_errors(task: Task, stated: Prior | None, tick: Progress) -> tuple[Hypothesis, ...]:
    """What is to be said of the labels where no test point is wrong: no label is a cause, but some may be wrong."""
    if (task.predicted != task.test.codes).any() or not enough_evidence(task):
        return ()
    return tuple(compete(task, Trainer(task), None, _moves(stated), tick))


def _effects(box: GrayBox, task: Task) -> npt.NDArray[np.float64] | None:
    """What the best move of each label takes off the test log loss, by a linear gray box: Σ_tr p_tr c_tri."""
    if not isinstance(box, LinearGrayBox):
        return None
    effects = len(task.test) * box.effects(loss_weights(box.actual))
    effects[np.arange(len(effects)), task.train.codes] = -np.inf
    return np.asarray(effects.max(axis=1))


def _carried(stated: Prior | None, again: Task) -> Prior | None:
    """The stated prior for labels of which some were corrected: what may be wrong, and how often, stays."""
    if stated is None:
        return None
    return noise(again.train.codes, again.encoding.size, np.minimum(stated.rates, 0.5))


def _sparing(prior: Prior, known: npt.NDArray[np.bool_] | None) -> Prior:
    """The prior under which labels that are facts never move."""
    if known is None:
        return prior
    return Prior(prior.given, np.where(known[:, None], np.eye(prior.classes)[prior.given], prior.moves))


def _facts(task: Task) -> Codes | None:
    """Labels (N,) that are facts, -1 elsewhere."""
    return None if task.known is None else np.where(task.known, task.train.codes, -1)


def _moves(stated: Prior | None) -> npt.NDArray[np.float64] | None:
    return None if stated is None else stated.moves


def _learned(task: Task, hypothesis: Hypothesis | None) -> Prior:
    """p_T from the best explanation: how many labels are wrong in all, and where each would move.

    One rate for all rows: with the learned rates of a guilty slice its labels would nearly all differ in every world,
    and putting one of many back brings nothing back. That a label is wrong is what p_wrong says; PS asks what it does.
    """
    given, size = task.train.codes, task.encoding.size
    if hypothesis is None or not hypothesis.likely:
        return _sparing(noise(given, size, policy.DEFAULT_RATE), task.known)
    rate = float(np.clip(hypothesis.p_wrong(given).mean(), policy.LEAST_RATE, policy.MOST_RATE))
    return _sparing(noise(given, size, rate, hypothesis.posterior + 1e-9), task.known)


def _answered(
    task: Task, box: GrayBox, prior: Prior, symptom: str | Symptom, engine: str | Engine
) -> tuple[Symptom, Estimates]:
    """The symptom and PS of every label for it.

    Of an over-confident learner no change of labels moves all bugs to the boundary. The default symptom then asks for
    half of the way, a quarter, … rather than for nothing. If labels move them no way at all, none is a cause.
    """
    margins = task.margins(task.learner, task.test)
    phi = symptom_of(symptom, margins, task.bugs)
    share = 1.0
    while True:
        try:
            return phi, sufficiency(box, prior, phi, engine=engine, rng=np.random.default_rng(task.seed))
        except (NoWorldWithout, SymptomAbsent) as error:
            share /= 2.0
            if not isinstance(symptom, str) or symptom != "log_loss" or not prior.rates.any():
                raise
            if share < policy.LEAST_SHARE_OF_THE_WAY or isinstance(error, SymptomAbsent):  # all on the boundary already
                return phi, no_causes(prior, reason="no change of labels takes the errors away, by the gray box")
            phi = log_loss_above_boundary(margins, task.bugs, share)


def _fidelity(box: GrayBox, task: Task, found: Diagnosis, curve: Curve, tick: Progress) -> Fidelity | None:
    """The gray box against retraining; of the lists of suspects that were retrained one comes for free."""
    if isinstance(box, Retrain):
        return None
    tick("fidelity", 0, 1)
    known = []
    for point in curve.points[1:]:
        codes = task.train.codes.copy()
        first = found.order[: point.corrected]
        codes[first] = found.proposed[first]
        known.append((codes, point.verified.margins))
    return fidelity(box, task, suspects=found.order, proposed=found.proposed, retrained=known)


def _silent(stage: str, done: int, total: int) -> None:
    pass
