"""Fidelity of the gray boxes of nets against retraining, and average precision of who finds wrong labels."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
from scipy.special import log_softmax
from scipy.stats import rankdata
from sklearn.metrics import average_precision_score
from sklearn.neighbors import NearestNeighbors

import psidebug
from benchmarks.nets.line import Line
from benchmarks.nets.tasks import Codes, Floats, NetTask
from psidebug.graybox.neural import AllLayers, LastLayer, Several
from psidebug.margins import log_losses, rival_probabilities
from psidebug.task.task import Task

MOVED = 60
"""Labels in each change, or half of a smaller class."""
SORTS = ("at random", "one class", "corrected")
TRUTH = (101, 102, 103)
"""Seeds of the nets that are trained after each change."""
NETS = 3
FOLDS = 3
NEIGHBOURS = 20


def fidelity_lines(task: NetTask, kind: str, seed: int, changes: int) -> Iterator[Line]:
    """Rank correlation over changes of a test point's predicted and real log loss, the mean over test points.

    A third of the changes is of each of ``SORTS``; told are all together, and each sort. Predicted is what Psi ranks
    by, linear in the labels: ℓ_t(w) = ℓ_t - Σ_r p_tr (m_tr(w) - m_tr). The real one is the mean over nets of three
    seeds, none of them that of the nets that predict.
    """
    given, each = task.given(kind, seed), changes // len(SORTS)
    rng = np.random.default_rng(seed + 1000)
    worlds = np.concatenate([_changes(sort, given, task, each, rng) for sort in SORTS])
    real = np.stack([_losses(task, task.scores_after(worlds, seed)) for seed in TRUTH])
    nets = [task.trained(given, each)[0] for each in range(NETS)]
    tasks = [Task.of(net, task.X_train, given, task.X_test, task.y_test) for net in nets]
    foreseen = {"plain gradient, 1": _plain_gradient(tasks[0], worlds)}
    for name, kind_of_box in (("last layer", LastLayer), ("all layers", AllLayers)):
        boxes = [kind_of_box(each) for each in tasks]
        for count, said in ((1, boxes[0]), (NETS, Several(boxes))):
            moved = said.margins(worlds) - said.actual
            foreseen[f"{name}, {count}"] = -(rival_probabilities(said.actual) * moved).sum(axis=2)
    parts = {"all": slice(None)} | {sort: slice(n * each, (n + 1) * each) for n, sort in enumerate(SORTS)}
    for sort, part in parts.items():

        def line(method: str, value: float, sort: str = sort) -> Line:
            return Line(task.name, kind, seed, f"fidelity, changes: {sort}", method, value, 0.0)

        own = real[:, part]
        among = [_correlation(own[one], own[other]) for one, other in ((0, 1), (0, 2), (1, 2))]
        yield line("one seed against another", float(np.mean(among)))
        for method, losses in foreseen.items():
            yield line(method, _correlation(losses[part], own.mean(axis=0)))


def _changes(sort: str, given: Codes, task: NetTask, count: int, rng: np.random.Generator) -> Codes:
    """Worlds (count, N): labels drawn from all are moved to any other class, from one class to one other, or corrected.

    Those that are corrected are drawn from the wrong ones.
    """
    worlds, K = np.tile(given, (count, 1)), task.classes
    for world in worlds:
        one = int(rng.integers(K))
        among = {
            "at random": np.arange(len(given)),
            "one class": np.flatnonzero(given == one),
            "corrected": np.flatnonzero(given != task.truth),
        }[sort]
        rows = rng.choice(among, min(MOVED, len(among) // 2), replace=False)
        moves = rng.integers(1, K, 1 if sort == "one class" else len(rows))
        world[rows] = task.truth[rows] if sort == "corrected" else (given[rows] + moves) % K
    return worlds


def _losses(task: NetTask, scores: Floats) -> Floats:
    return np.asarray(-log_softmax(scores, axis=2)[:, np.arange(len(task.y_test)), task.y_test])


def _plain_gradient(task: Task, worlds: Codes) -> Floats:
    """One step against the gradient of the last layer, to first order: the Newton step without its Hessian."""
    A, B = (np.column_stack([each, np.ones(len(each))]) for each in (task.seen.train, task.seen.test))
    own, eye = task.learner.steps[0][1].scores(task.test.features), np.eye(task.encoding.size)
    slopes = np.exp(log_softmax(own, axis=1)) - eye[task.test.codes]
    return np.stack([((B @ (A.T @ (eye[world] - eye[task.train.codes]))) * slopes).sum(axis=1) for world in worlds])


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
    asked, train, test = task.shown(net)
    found = psidebug.debug(asked, train, given, test, task.y_test, causes="labels", rng=seed)
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
    net, eye = task.learner.steps[0][1], np.eye(task.encoding.size)
    A, B = task.seen.train, task.seen.test
    slopes = np.exp(log_softmax(net.scores(task.test.features), axis=1)) - eye[task.test.codes]
    own = np.exp(log_softmax(net.scores(task.train.features), axis=1)) - eye[task.train.codes]
    return np.asarray(-(own * (A @ (B.T @ slopes))).sum(axis=1))
