"""What else could be done with the same rows: each gives a score to every training row, and maybe a repair.

Here y_i is the given label of row i and p a model's probability. Loss, folds and neighbours see the training rows only;
the judge sees the trusted rows only; the calibrated labeller (``calibrated.py``) sees both, as Psi does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import NearestNeighbors

import psidebug
from benchmarks.real.loaders import Codes, Floats, Rows
from benchmarks.real.tasks import RealTask
from psidebug.task import learner as learners

FOLDS = 5
NEIGHBOURS = 10
LEAST = 1e-12


@dataclass(frozen=True, eq=False)
class Finding:
    """What a method says of the training labels, and, if it has one, its repair."""

    scores: Floats
    """(N,), higher is more likely wrong."""
    p_wrong: Floats | None = None
    labels: Codes | None = None
    """Labels (N,) to train on instead of the given ones."""
    kept: npt.NDArray[np.bool_] | None = None
    """Rows (N,) to train on."""
    weights: Floats | None = None
    """Weights (N,) of those labels."""
    model: learners.Classifier | None = None
    """Its own fitted model, the best that it offers."""


@dataclass(frozen=True)
class Rival:
    """A method to compare."""

    name: str
    find: Callable[[RealTask], Finding]
    about: str


def fitted(task: RealTask, X: Rows, y: Codes, weights: Floats | None = None) -> learners.Classifier:
    """The user's whole pipeline, trained on these rows."""
    return learners.refit(task.learner, X, y, seed=task.seed, sample_weight=weights)


def probabilities(model: learners.Classifier, X: Any, size: int) -> Floats:
    """Probabilities (rows, K) of all classes: 0 for a class that the model has not seen."""
    full = np.zeros((X.shape[0], size))
    full[:, np.asarray(model.classes_, dtype=np.intp)] = model.predict_proba(X)
    return full


def out_of_fold(fit: Callable[[Rows, Codes], learners.Classifier], X: Any, y: Codes, size: int, seed: int) -> Floats:
    """Probabilities (rows, K), each row by a fit that has not seen it."""
    folds = min(FOLDS, max(2, int(np.bincount(y).max())))
    result = np.zeros((len(y), size))
    for others, fold in StratifiedKFold(folds, shuffle=True, random_state=seed).split(y, y):
        result[fold] = probabilities(fit(X[others], y[others]), X[fold], size)
    return result


def encoded(task: RealTask, *others: Rows) -> tuple[Any, ...]:
    """The training rows, and others, as the final estimator of the user's pipeline sees them."""
    if not hasattr(task.learner, "steps"):
        return (task.X_train, *others)
    encoder = learners.fresh(task.learner[:-1]).fit(task.X_train)
    return tuple(encoder.transform(rows) for rows in (task.X_train, *others))


def _of(p: Floats, task: RealTask) -> Finding:
    """score_i = -log p_i(y_i) and p_wrong_i = 1 - p_i(y_i)."""
    belief = p[np.arange(len(task.given)), task.given]
    return Finding(-np.log(np.clip(belief, LEAST, 1.0)), p_wrong=1.0 - belief)


def training_loss(task: RealTask) -> Finding:
    """-log p(y_i | x_i) under the learner fitted on the given labels."""
    return _of(probabilities(fitted(task, task.X_train, task.given), task.X_train, task.size), task)


def self_confidence(task: RealTask) -> Finding:
    """-log p(y_i | x_i) by five folds of the learner."""
    return _of(_five_folds(task), task)


def confident_learning(task: RealTask) -> Finding:
    """The same order, and the issues of confident learning are left out (Northcutt, Jiang and Chuang 2021)."""
    p = _five_folds(task)
    return replace(_of(p, task), kept=~issues(p, task.given))


def issues(p: Floats, y: Codes) -> npt.NDArray[np.bool_]:
    """What cleanlab's ``find_label_issues`` finds by default: "prune by noise rate".

    With t_k the mean of p(k) over the rows labelled k, row i counts in C[y_i, l] for the class l with p_i(l) ≥ t_l, the
    likeliest of all if there are several. Each line of C is scaled to the number of labels of its class. For each pair
    k ≠ l, the C[k, l] rows labelled k with the largest p(l) - p(k) are issues. A row whose own label is the likeliest
    is none.
    """
    size = p.shape[1]
    counts = np.bincount(y, minlength=size)
    thresholds = np.array([p[y == k, k].mean() if counts[k] else np.inf for k in range(size)])
    above = p >= thresholds - 1e-6
    guess = np.where(above.sum(axis=1) > 1, p.argmax(axis=1), above.argmax(axis=1))
    joint = np.zeros((size, size))
    np.add.at(joint, (y[above.any(axis=1)], guess[above.any(axis=1)]), 1.0)
    joint[np.diag_indices(size)] = np.maximum(np.diag(joint), 1.0)
    joint *= (counts / joint.sum(axis=1))[:, None]
    found = np.zeros(len(y), dtype=bool)
    for k in np.flatnonzero(counts > 1):
        rows = np.flatnonzero(y == k)
        pruned = _rounded(joint[k])
        for other in np.flatnonzero((pruned > 0) & (np.arange(size) != k)):
            margin = p[rows, other] - p[rows, k]
            found[rows[np.argsort(-margin)[: pruned[other]]]] = True
    return np.asarray(found & (p.argmax(axis=1) != y))


def _rounded(line: Floats) -> Codes:
    """Whole numbers with the same sum: those that rounding moved most go the other way."""
    whole = line.round()
    missing = int(round(line.sum()) - whole.sum())
    moved = np.argsort(line - whole)[:: -1 if missing > 0 else 1][: abs(missing)]
    whole[moved] += np.sign(missing)
    return whole.astype(np.intp)


def knn_vote(task: RealTask) -> Finding:
    """1 - the share of the ten nearest other rows that have the label y_i."""
    (X,) = encoded(task)
    near = NearestNeighbors(n_neighbors=NEIGHBOURS, metric="cosine" if sp.issparse(X) else "euclidean").fit(X)
    others = near.kneighbors(return_distance=False)
    share = np.mean(task.given[others] != task.given[:, None], axis=1)
    return Finding(share, p_wrong=share)


def judge(task: RealTask) -> Finding:
    """-log q(y_i | x_i) under the learner fitted on the trusted rows alone, which is also its repaired model."""
    model = fitted(task, task.X_trusted, task.y_trusted)
    return replace(_of(probabilities(model, task.X_train, task.size), task), model=model)


def psi(task: RealTask) -> Finding:
    """One call with all defaults; the trusted rows are the test set.

    Weights and a model are there as far as this version of Psi offers them.
    """
    found = psidebug.debug(task.learner, task.X_train, task.given, task.X_trusted, task.y_trusted, rng=task.seed)
    scores = found.p_wrong.copy()
    scores[found.order] = 1.0 + np.arange(len(found.order), 0, -1)
    weights = getattr(found, "repaired_weights", None)
    return Finding(
        scores,
        p_wrong=np.asarray(found.p_wrong),
        labels=np.asarray(found.repaired_labels, dtype=np.intp),
        weights=None if weights is None else np.asarray(weights, dtype=np.float64),
        model=getattr(found, "repaired_model", None),
    )


def _five_folds(task: RealTask) -> Floats:
    return out_of_fold(lambda X, y: fitted(task, X, y), task.X_train, task.given, task.size, task.seed)
