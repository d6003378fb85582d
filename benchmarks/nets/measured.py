"""Fidelity of the gray boxes of nets against retraining, and average precision of who finds wrong labels."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import log_softmax
from scipy.stats import rankdata
from sklearn.metrics import average_precision_score
from sklearn.neighbors import NearestNeighbors

import psidebug
from benchmarks.nets.tasks import Codes, Floats, NetTask
from psidebug.graybox.neural import AllLayers, LastLayer, Several
from psidebug.margins import log_losses
from psidebug.task.nets import scores_of
from psidebug.task.task import Task

MOVED = 60
"""Labels in each change, or half of a smaller class."""
SORTS = ("one class", "at random")
TRUTH = (101, 102, 103)
"""Seeds of the nets that are trained after each change."""
NETS = 3
FOLDS = 3
NEIGHBOURS = 20


@dataclass(frozen=True)
class Line:
    """One figure."""

    task: str
    errors: str
    seed: int
    measure: str
    """"fidelity" after a sort of change, or "average precision"."""
    method: str
    value: float
    processor_seconds: float


def fidelity_lines(task: NetTask, kind: str, seed: int, changes: int) -> Iterator[Line]:
    """Rank correlation over changes of a test point's predicted and real log loss, the mean over test points.

    The real one is the mean over nets of three seeds, none of them that of the nets that predict.
    """
    given = task.given(kind, seed)
    tasks = [
        Task.of(task.trained(given, each)[0], task.X_train, given, task.X_test, task.y_test) for each in range(NETS)
    ]
    boxes: dict[str, list[Any]] = {"last layer": [], "all layers": []}
    for name, box in (("last layer", LastLayer), ("all layers", AllLayers)):
        boxes[name] = [box(each) for each in tasks]
    for sort in SORTS:
        worlds = _changes(sort, given, task.classes, changes, np.random.default_rng(seed + 1000))
        real = np.stack([_losses(task, task.scores_after(worlds, each)) for each in TRUTH])

        def line(method: str, value: float, sort: str = sort) -> Line:
            return Line(task.name, kind, seed, f"fidelity, {sort}", method, value, 0.0)

        pairs = [(0, 1), (0, 2), (1, 2)]
        yield line("one seed against another", float(np.mean([_correlation(real[i], real[j]) for i, j in pairs])))
        for name, made in boxes.items():
            for count, said in ((1, made[0]), (NETS, Several(made))):
                yield line(f"{name}, {count}", _correlation(log_losses(said.margins(worlds)), real.mean(axis=0)))
        yield line("plain gradient", _correlation(_plain_gradient(tasks[0], worlds), real.mean(axis=0)))


def _changes(sort: str, given: Codes, classes: int, count: int, rng: np.random.Generator) -> Codes:
    """Worlds (count, N): labels drawn at random, each moved to any other class; or of one class, moved to one other."""
    worlds = np.tile(given, (count, 1))
    for world in worlds:
        one = int(rng.integers(classes))
        members = np.flatnonzero(given == one) if sort == "one class" else np.arange(len(given))
        rows = rng.choice(members, min(MOVED, len(members) // 2), replace=False)
        moves = rng.integers(1, classes) if sort == "one class" else rng.integers(1, classes, len(rows))
        world[rows] = (given[rows] + moves) % classes
    return worlds


def _losses(task: NetTask, scores: Floats) -> Floats:
    return np.asarray(-log_softmax(scores, axis=2)[:, np.arange(len(task.y_test)), task.y_test])


def _plain_gradient(task: Task, worlds: Codes) -> Floats:
    """One step against the gradient of the last layer, as short as it takes: the Newton step without its Hessian."""
    A, B = (np.column_stack([each, np.ones(len(each))]) for each in (task.seen.train, task.seen.test))
    own, eye = scores_of(task.learner.steps[0][1].layer, task.seen.test), np.eye(task.encoding.size)
    moved = [own + 1e-4 * B @ (A.T @ (eye[world] - eye[task.train.codes])) for world in worlds]
    return np.stack([-log_softmax(each, axis=1)[np.arange(len(own)), task.test.codes] for each in moved])


def _correlation(left: Floats, right: Floats) -> float:
    """Spearman's over changes (first axis), the mean over test points that move."""
    a, b = (rankdata(each, axis=0) - (len(each) + 1) / 2 for each in (left, right))
    norms = np.sqrt((a**2).sum(axis=0) * (b**2).sum(axis=0))
    return float(((a * b).sum(axis=0) / np.where(norms > 0, norms, 1.0)).mean())


def finding_lines(task: NetTask, kind: str, seed: int) -> Iterator[Line]:
    """Average precision of everyone who ranks training labels by how likely they are wrong."""
    given = task.given(kind, seed)
    wrong = given != task.truth
    begun = time.process_time()
    net, area = task.trained(given, seed)
    trained = time.process_time() - begun
    begun = time.process_time()
    found = psidebug.debug(net, task.X_train, given, task.X_test, task.y_test, causes="labels", rng=seed)
    spent = time.process_time() - begun
    scores: dict[str, tuple[Floats, float]] = {
        "Psi": (found.findings.labels.p_wrong, spent),
        "area under the margin": (-area, 0.0),
    }
    of = Task.of(net, task.X_train, given, task.X_test, task.y_test)
    scores["loss"] = log_losses(of.margins(of.learner, of.train)), 0.0
    begun = time.process_time()
    scores["self-confidence, 3 folds"] = _unconfident(task, given, seed), time.process_time() - begun + trained
    scores["kNN vote"] = _outvoted(of.seen.train, given), 0.0
    scores["plain-gradient influence"] = _influence(of), 0.0
    for name, (score, seconds) in scores.items():
        yield Line(
            task.name, kind, seed, "average precision", name, float(average_precision_score(wrong, score)), seconds
        )


def _unconfident(task: NetTask, given: Codes, seed: int) -> Floats:
    """1 - the probability of the label, by nets of other folds."""
    fold, said = np.random.default_rng(seed).permutation(len(given)) % FOLDS, np.empty(len(given))
    for each in range(FOLDS):
        own = fold == each
        net, _ = task.trained(given, seed, (~own).astype(np.float64))
        of = Task.of(net, task.X_train, given, task.X_test, task.y_test)
        said[own] = log_losses(of.margins(of.learner, of.train))[own]
    return said


def _outvoted(rows: Floats, given: Codes) -> Floats:
    near = NearestNeighbors(n_neighbors=NEIGHBOURS + 1).fit(rows).kneighbors(rows, return_distance=False)[:, 1:]
    return np.asarray((given[near] != given[:, None]).mean(axis=1))


def _influence(task: Task) -> Floats:
    """What taking the label's own gradient of the last layer away would take off the test loss, to first order."""
    layer, eye = task.learner.steps[0][1].layer, np.eye(task.encoding.size)
    A, B = task.seen.train, task.seen.test
    slopes = np.exp(log_softmax(scores_of(layer, B), axis=1)) - eye[task.test.codes]
    own = np.exp(log_softmax(scores_of(layer, A), axis=1)) - eye[task.train.codes]
    return np.asarray(-(own * (A @ (B.T @ slopes))).sum(axis=1))
