"""Gray box of ``MLPClassifier``: its last layer is a logistic regression on what the layers before make of a row.

The layers before are held as they are. The last one, with the network's own weights, answers to labels by the Newton
step of a logistic regression on its own penultimate activations; the network's margins are moved by as much. The
penalty is the network's: α for each batch, so α N / batch for all rows.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier

from psidebug.errors import LearnerMismatch, UnsupportedLearner
from psidebug.graybox.logistic import LogisticBox
from psidebug.graybox.protocol import Floats, Worlds
from psidebug.task import learner as learners
from psidebug.task.data import LabelledSet
from psidebug.task.task import Task

ACTIVATIONS = {"identity": np.asarray, "logistic": expit, "tanh": np.tanh, "relu": lambda z: np.maximum(z, 0.0)}
DEFAULT_BATCH = 200  # the library's own
HELD = "the layers before the last are held as they are, which retraining does not do"


def supports(model: Any) -> bool:
    """Whether it is scikit-learn's network of one output layer over classes."""
    return isinstance(model, MLPClassifier)


class MLPBox:
    """A logistic gray box on the penultimate activations, at the network's own last layer."""

    name = "mlp"

    def __init__(self, task: Task) -> None:
        model = learners.final_step(task.learner)
        if not supports(model):
            raise UnsupportedLearner(f"{type(model).__name__} is no MLPClassifier, which graybox='mlp' takes.")
        if len(model.classes_) != task.encoding.size:
            raise LearnerMismatch(
                f"the network knows {len(model.classes_)} classes where the labels have {task.encoding.size}. Give an "
                f"unfitted model."
            )
        self.actual: Floats = task.margins(task.learner, task.test)
        self._box = LogisticBox(_head_of(task, model))
        self.notes = (HELD, *task.seen.notes, *self._box.notes)

    def effects(self, weights: Floats) -> Floats:
        """Those of the last layer, shape (N, K)."""
        return self._box.effects(weights)

    def coefficients(self, points: npt.NDArray[np.intp]) -> Floats:
        """Those of the last layer, shape (K, points, K-1, N)."""
        return self._box.coefficients(points)

    def margins(self, worlds: Worlds, points: npt.NDArray[np.intp] | None = None) -> Floats:
        """The network's margins, moved as its last layer moves them."""
        chosen = slice(None) if points is None else points
        return np.asarray(self.actual[chosen] + self._box.margins(worlds, points) - self._box.actual[chosen])


def _head_of(task: Task, model: Any) -> Task:
    """The same task, the learner its last layer on the activations before it."""
    batch = len(task.train) if model.solver == "lbfgs" else model.batch_size
    batch = min(DEFAULT_BATCH if batch == "auto" else batch, len(task.train))
    penalty = model.alpha * len(task.train) / batch
    head = LogisticRegression(C=1.0 / penalty if penalty > 0 else np.inf, max_iter=1)
    head.classes_, head.coef_, head.intercept_ = model.classes_, model.coefs_[-1].T, model.intercepts_[-1]
    head.n_iter_ = np.array([head.max_iter])  # a network stops where it stops, not at a minimum
    head.n_features_in_ = head.coef_.shape[1]
    train, test = (
        LabelledSet(activations(model, table), part.codes)
        for table, part in ((task.seen.train, task.train), (task.seen.test, task.test))
    )
    return replace(task, learner=head, data=replace(task.data, train=train, test=test, validation=None, metadata=None))


def activations(model: Any, table: Any) -> Floats:
    """What the last layer of a fitted network sees of these rows."""
    layer = table if hasattr(table, "toarray") else np.asarray(table, dtype=np.float64)
    for weights, intercepts in zip(model.coefs_[:-1], model.intercepts_[:-1], strict=True):
        layer = ACTIVATIONS[model.activation](np.asarray(layer @ weights) + intercepts)
    return np.asarray(layer)
