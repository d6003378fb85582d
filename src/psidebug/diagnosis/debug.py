"""``psidebug.debug``: the whole path from a model and its data to a diagnosis."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from os import PathLike
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from psidebug.blocks import comes_in_blocks
from psidebug.diagnosis.as_findings import origin_of
from psidebug.diagnosis.diagnosis import Diagnosis
from psidebug.diagnosis.find import find
from psidebug.diagnosis.named_options import check_spec, prior_of, rng_of
from psidebug.display import display_for
from psidebug.errors import UnknownOption
from psidebug.graybox.protocol import GrayBox
from psidebug.priors import Prior
from psidebug.progress import watched
from psidebug.spec import Effort, Spec, StatedPrior
from psidebug.sufficiency import Engine
from psidebug.symptoms import Symptom
from psidebug.task.row_ids import index_of
from psidebug.task.task import Task
from psidebug.threads import few_threads, one_blas_thread
from psidebug.timings import Tick, staged, stopwatch


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
    pred_probs: Any = None,
    pred_probs_test: Any = None,
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
    train: Callable[[npt.NDArray[Any], npt.NDArray[np.float64] | None], Any] | None = None,
    fits: int | None = None,
    rng: int | np.random.Generator | None = None,
    run: str | PathLike[str] | None = None,
    progress: Tick | bool | None = None,
) -> Diagnosis:
    """Which training labels cause the classifier's errors on the test set.

    Parameters
    ----------
    model
        A scikit-learn-compatible classifier, fitted on the training data or not, alone or at the end of a Pipeline; a
        trained ``torch.nn.Module`` that ends in a linear layer; a skorch classifier. It is never changed. None: there
        is no model at hand; a logistic regression on ``X_train`` (embeddings, say) is the learner, and what is proved
        is proved for it.
    X_train, y_train, X_test, y_test
        Features as numpy, scipy sparse, pandas, polars, pyarrow or a list of texts; labels of any hashable kind.
        For a neural net also arrays and tensors of any dimension, mappings of arrays, torch datasets and Hugging Face
        datasets; labels that these hold may be left out (None).
        Rows larger than memory: ``X_train`` is a path, a folder, a pattern such as ``"train/*.parquet"`` or a
        ``pyarrow.dataset`` of Parquet files, and ``y_train`` the name of the label column; ``X_test`` is a Parquet file
        or a data frame with the same columns. They are read in blocks (docs/scale.md). Data frames of Dask and Spark
        are taken the same way, where they are; so is a ``dask.array`` with one of its labels. ``rows``,
        ``sample_weight`` and ``metadata`` are then names of columns.
    rows
        One id per training row, used in every result. When left out, the index of a pandas ``X_train`` (else of
        ``y_train``) if that tells the rows apart; else positions.
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
    pred_probs, pred_probs_test
        What a model of your own, trained elsewhere, says: probabilities (rows, classes), columns in sorted order of the
        classes or a data frame with their names. Those of training rows must be out of fold. They are one opinion
        among those that decide which labels are wrong. Without a model ``X_train`` and ``X_test`` may be None: the
        features are then the logarithms of these probabilities.
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
        ``"leaf_refit"``, ``"leaf_refits"``, ``"leaf"``, ``"leaf_residual"`` (trees), ``"margin"`` (support vectors,
        ridge, SGD), ``"neighbours"``, ``"naive_bayes"``, ``"mlp"`` (the last layer of an ``MLPClassifier``),
        ``"last_layer"``, ``"all_layers"`` (neural nets), ``"surrogate"`` (any learner of numbers), ``"retrain"`` (any
        learner, slowly), or an object.
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
    train, fits
        Of a neural net: ``train(labels, weights)`` trains one on the training rows with these labels (weights may be
        None) and returns it; a skorch classifier has its own way. It is called at most ``fits`` times (6 if left out),
        to prove what the net's last layer has proved. Without a way to train, corrections are proved for that layer.
    rng
        A seed or a numpy Generator; the same seed gives the same answer.
    run
        Of rows that are read in blocks: the directory to write the run to, with a table of every label. A temporary
        one if left out.
    progress
        A bar in a terminal or notebook if left out, with the first suspects in a notebook; False for none. Or what is
        called with (stage, done, total) as the work goes on, and with ("fit", fits so far, 0) before each fit that the
        decision takes. What it raises stops the work. If it has a method ``first_suspects``, that gets a data frame of
        the first labels by PS alone, as soon as these are known.

    Returns
    -------
    Diagnosis
        With ``suspects``, ``slices``, ``repaired_labels``, ``explain(test_row)`` and ``report(path)``.

    Examples
    --------
    Every flower with long sepals was marked "setosa", by mistake.

    >>> import psidebug
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import train_test_split
    >>> data = load_iris()
    >>> X_train, X_test, y_train, y_test = train_test_split(
    ...     data.data, data.target_names[data.target], test_size=0.5, random_state=0
    ... )
    >>> y_train[X_train[:, 0] > 6.5] = "setosa"
    >>> model = LogisticRegression(max_iter=1000)
    >>> diagnosis = psidebug.debug(model, X_train, y_train, X_test, y_test, progress=False)
    >>> diagnosis.cause, diagnosis.corrected
    ('training_labels', 20)
    >>> diagnosis.suspects[["row", "given", "proposed"]].head(3)
       row   given   proposed
    0   39  setosa  virginica
    1   61  setosa  virginica
    2   28  setosa  virginica
    """
    seed = int(rng_of(rng).integers(2**31))
    if run is not None and not comes_in_blocks(X_train):
        raise UnknownOption("run is for rows that are read in blocks: save this diagnosis by diagnosis.save(run).")
    if comes_in_blocks(X_train):
        from psidebug.diagnosis.debug_blocks import check_options, debug_blocks

        check_options(
            bugs=bugs,
            annotations=annotations,
            known=known,
            pred_probs=pred_probs,
            pred_probs_test=pred_probs_test,
            images=images,
            text=text,
            train=train,
            fits=fits,
            symptom=None if symptom == "log_loss" else symptom,
            graybox=None if graybox == "auto" else graybox,
            engine=None if engine == "auto" else engine,
            rounds=None if rounds == 1 else rounds,
            prior=None if prior is None or isinstance(prior, float) else prior,
            effort=None if effort in ("rank", "decide") else effort,
        )
        own: dict[str, Any] = {"causes": causes, "effort": effort, "prior": prior}
        given: dict[str, Any] = {
            "X_validation": X_validation,
            "y_validation": y_validation,
            "run": run,
            "ids": rows,
            "weight": sample_weight,
            "metadata": metadata,
        }
        own |= {"seed": seed, "again": _again(rng)}
        with watched(progress) as told:
            return debug_blocks(model, X_train, y_train, X_test, y_test, **own, **given, progress=told)
    watch, count = stopwatch(), len(y_train) if hasattr(y_train, "__len__") else 0
    with watched(progress) as told, watch.watching("checking"), few_threads(count):
        begun, show, tick = watch.fits, getattr(told, "first_suspects", None), staged(told)
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
                pred_probs=pred_probs,
                pred_probs_test=pred_probs_test,
                seed=seed,
                train=train,
                fits=fits,
            )
        display = display_for(images, text, features=task.train.features, metadata=task.data.metadata)
        stated = None if prior is None else _stated(prior, task)
        spec = Spec(symptom, stated, graybox, engine, rounds, check_fidelity, causes, display, seed, effort)
        check_spec(spec, len(task.test))
        found = find(task, spec, origin_of(task, _again(rng)), tick, begun=begun, show=show)
        made = Diagnosis.of(found, spec, watch, tick)
        ids = index_of(X_test, y_test)  # as of the training rows, so that tables of test rows can be looked up
        return made if ids is None else made.described(test_ids=ids)


def _again(rng: int | np.random.Generator | None) -> str:
    """What to give again to repeat the diagnosis."""
    return "of a Generator" if isinstance(rng, np.random.Generator) else str(0 if rng is None else int(rng))


def _stated(prior: Any, task: Task) -> StatedPrior:
    """The prior as the spec keeps it, if it is one."""
    prior_of(prior, task)
    if isinstance(prior, Prior | Mapping):
        return prior
    rates = np.array(prior, dtype=np.float64)
    return float(rates) if rates.ndim == 0 else rates
