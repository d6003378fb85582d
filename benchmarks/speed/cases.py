"""What speed is measured on: generated rows of several sizes and forms, with one slice of wrong labels.

A case is a learner, a number of rows, a form of the columns and a number of classes. All labels of one slice, the rows
with a condition on one feature, are class 0; about half of them are wrong with two classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression

from benchmarks.speed.logistic import gaussian, text_like
from psidebug.datasets import Learner
from psidebug.errors import UnknownOption
from psidebug.task.learner import Classifier

Form = Literal["20", "200", "text", "curved"]
Parts = dict[str, Any]
SIZES = (1_000, 10_000, 50_000, 200_000, 1_000_000)
MOST_BOOSTED = 200_000
"""Rows of the largest case of boosted trees."""
MIDDLE = (10_000, 50_000)
"""Sizes of the cases with more columns, texts and more classes."""
POINTS = 1_000
"""Test rows."""
HASHED = 4_096
"""Columns that words are hashed to."""
IN_SLICE = 0.15
"""Share of the rows in the slice."""
STEEP = 3.0
"""How steeply the chance of a class follows its score."""
USUAL: tuple[Form, int] = ("20", 2)
"""The form and the number of classes of the cases of all sizes."""


@dataclass(frozen=True)
class Case:
    """One task."""

    learner: Learner
    rows: int
    form: Form = "20"
    """Number of columns; "text": hashed word counts, sparse; "curved": 20 columns that tell the class together."""
    classes: int = 2

    @property
    def name(self) -> str:
        """Learner, rows, columns, classes: ``logistic-10000-20-2``."""
        return f"{self.learner}-{self.rows}-{self.form}-{self.classes}"

    @property
    def usual(self) -> bool:
        """Whether it is one of the cases of all sizes."""
        return (self.form, self.classes) == USUAL

    def model(self) -> Classifier:
        """The learner, unfitted, for one thread."""
        if self.learner == "logistic":
            return LogisticRegression(max_iter=1000)
        from lightgbm import LGBMClassifier

        return LGBMClassifier(n_estimators=100, num_leaves=31, n_jobs=1, verbose=-1)

    def parts(self, *, points: int = POINTS, seed: int = 0) -> Parts:
        """Rows and labels to train on and to test: ``X_train``, ``given``, ``X_test``, ``y_test``."""
        rng = np.random.default_rng(seed)
        count = self.rows + points
        X = text_like(rng, rows=count, width=HASHED) if self.form == "text" else None
        X = gaussian(rng, rows=count, width=200 if self.form == "200" else 20) if X is None else X
        scores = _curved(X) if self.form == "curved" else np.asarray(X @ rng.normal(size=(X.shape[1], self.classes)))
        labels = _labels(rng, scores)
        train, test = slice(0, self.rows), slice(self.rows, count)
        given = np.where(_slice(X[train]), 0, labels[train])
        return {"X_train": X[train], "given": given, "X_test": X[test], "y_test": labels[test]}


def cases(*, quick: bool = False, patterns: Sequence[str] = ()) -> list[Case]:
    """The grid, small cases first; ``quick`` for the smallest size, ``patterns`` for names with ``*``."""
    found = [Case(learner, rows) for rows in SIZES for learner in _learners(rows)]
    others: tuple[tuple[Form, int], ...] = (("200", 2), ("text", 2), ("20", 10))
    found += [Case(learner, rows, *other) for rows in MIDDLE for other in others for learner in _learners(rows)]
    found += [Case("boosting", rows, "curved") for rows in MIDDLE]
    for pattern in patterns:
        if not any(fnmatchcase(case.name, pattern) for case in found):
            raise UnknownOption(f"{pattern!r} is none of the cases: {', '.join(case.name for case in found)}.")
    if patterns:
        return [case for case in found if any(fnmatchcase(case.name, pattern) for pattern in patterns)]
    return [case for case in found if case.rows == SIZES[0]] if quick else found


def save(parts: Parts, folder: Path) -> None:
    """Write rows and labels, so that another process can load them without making them."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, values in parts.items():
        if sp.issparse(values):
            sp.save_npz(folder / f"{name}.npz", values, compressed=False)
        else:
            np.save(folder / f"{name}.npy", values)


def load(folder: Path) -> Parts:
    """Rows and labels as they were saved."""
    return {
        path.stem: sp.load_npz(path) if path.suffix == ".npz" else np.load(path)
        for path in sorted(folder.iterdir())
        if path.suffix in (".npy", ".npz")
    }


def size_of(parts: Parts) -> int:
    """Bytes of the training data."""
    X = parts["X_train"]
    arrays = (X.data, X.indices, X.indptr) if sp.issparse(X) else (X,)
    return sum(int(each.nbytes) for each in (*arrays, parts["given"]))


def _learners(rows: int) -> tuple[Learner, ...]:
    return ("logistic", "boosting") if rows <= MOST_BOOSTED else ("logistic",)


def _curved(X: Any) -> npt.NDArray[np.float64]:
    """Scores of two classes that no linear learner knows: a product, a wave and a fold."""
    second = X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + X[:, 3] / 2 + np.abs(X[:, 4])
    return np.column_stack([np.zeros(len(second)), second])


def _labels(rng: np.random.Generator, scores: npt.NDArray[np.float64]) -> npt.NDArray[np.intp]:
    """Classes by a softmax of scores of one scale, drawn with Gumbel noise in place of probabilities."""
    scores = STEEP * (scores - scores.mean(axis=0)) / np.maximum(scores.std(axis=0), 1e-9)
    return np.asarray((scores + rng.gumbel(size=scores.shape)).argmax(axis=1), dtype=np.intp)


def _slice(X: Any) -> npt.NDArray[np.bool_]:
    """Rows with a large first feature; of texts, those with the word that is nearest to as many."""
    if not sp.issparse(X):
        return np.asarray(X[:, 0] > np.quantile(X[:, 0], 1.0 - IN_SLICE))
    present = X.tocsc().astype(bool)
    word = int(np.abs(present.mean(axis=0) - IN_SLICE).argmin())
    return np.asarray(present[:, [word]].toarray().ravel())
