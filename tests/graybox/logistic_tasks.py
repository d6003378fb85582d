"""Small tasks and the comparison with retraining that the tests of the logistic gray box share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.stats import spearmanr
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from psidebug.graybox.logistic import LogisticBox
from psidebug.graybox.protocol import Floats
from psidebug.graybox.retrain import Retrain
from psidebug.task.task import Task


@dataclass(frozen=True, eq=False)
class Data:
    X_train: Any
    y_train: npt.NDArray[np.intp]
    X_test: Any
    y_test: npt.NDArray[np.intp]

    def task(self, model: Any, **options: Any) -> Task:
        with threadpool_limits(limits=1, user_api="blas"):
            return Task.of(model, self.X_train, self.y_train, self.X_test, self.y_test, **options)


def census_like(*, rows: int = 300, tests: int = 60, classes: int = 2, seed: int = 1) -> Data:
    """One-hot categories and a few numbers, labels from a softmax."""
    rng = np.random.default_rng(seed)
    everyone = rows + tests
    categories = [np.eye(size)[rng.integers(size, size=everyone)][:, 1:] for size in (4, 6, 3)]
    X = np.column_stack([*categories, rng.normal(size=(everyone, 3))])
    scores = X @ rng.normal(size=(X.shape[1], classes)) + rng.gumbel(size=(everyone, classes))
    y = scores.argmax(axis=1)
    return Data(X[:rows], y[:rows], X[rows:], y[rows:])


def text_like(*, rows: int = 120, tests: int = 40, words: int = 1500, classes: int = 2, seed: int = 0) -> Data:
    """Normalised sparse word counts with many more words than rows."""
    rng = np.random.default_rng(seed)
    y = rng.integers(classes, size=rows + tests)
    frequency = np.exp(rng.normal(scale=0.7, size=(classes, words))) / np.arange(1, words + 1) ** 0.8
    counts = np.stack([rng.multinomial(50, row / row.sum()) for row in frequency[y]])
    X = np.log1p(counts)
    matrix = sp.csr_matrix(X / np.linalg.norm(X, axis=1, keepdims=True))
    return Data(matrix[:rows], y[:rows], matrix[rows:], y[rows:])


def precise(**options: Any) -> LogisticRegression:
    """Fitted until rounding, so that differences between fits mean something."""
    return LogisticRegression(**{"tol": 1e-10, "max_iter": 10_000, "solver": "newton-cholesky"} | options)


def single_moves(task: Task, count: int, *, seed: int = 1) -> npt.NDArray[np.intp]:
    """Worlds in which one label has moved to another class."""
    rng = np.random.default_rng(seed)
    rows = rng.choice(len(task.train), size=count, replace=False)
    worlds = np.tile(task.train.codes, (count, 1))
    worlds[np.arange(count), rows] += rng.integers(1, task.encoding.size, size=count)
    return worlds % task.encoding.size


def changes(task: Task, box: LogisticBox, worlds: npt.NDArray[np.intp]) -> tuple[Floats, Floats]:
    """Changes of all margins in these worlds: predicted, and by retraining."""
    with threadpool_limits(limits=1, user_api="blas"):
        return box.margins(worlds) - box.actual, Retrain(task).margins(worlds) - box.actual


def agreement(task: Task, box: LogisticBox, *, moves: int = 25) -> float:
    """Rank correlation of margins' changes between the gray box and retraining, over single moved labels."""
    predicted, retrained = changes(task, box, single_moves(task, moves))
    return float(spearmanr(predicted.ravel(), retrained.ravel()).statistic)
