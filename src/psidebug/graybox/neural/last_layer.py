"""Gray box "last_layer": one Newton step of a net's last linear layer from where it stands, all before it held.

The head that Psi retrains has MacKay's ridge (:mod:`psidebug.task.nets`). The net's own head, trained with all other
layers and mostly not to its minimum, answers less than that one: the step is taken with the larger of that ridge and
the one under which the head would stand still where it stands, |g| / |θ|. Of a head at its minimum both are the same.
"""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
from scipy.special import expit, softmax
from sklearn.pipeline import Pipeline

from psidebug.errors import UnsupportedLearner
from psidebug.graybox.logistic import LogisticBox
from psidebug.task import learner as learners
from psidebug.task.nets import Head, standing_ridge
from psidebug.task.task import Task


class LastLayer(LogisticBox):
    """The logistic gray box on the activations that reach the head, at the head's own weights."""

    name = "last_layer"

    def __init__(self, task: Task, *, ridge: float | None = None) -> None:
        head = learners.final_step(task.learner)
        if not isinstance(head, Head):
            raise UnsupportedLearner(
                "graybox='last_layer' is for neural nets: give a torch module or a skorch classifier, or take another."
            )
        self.ridge = max(1.0 / head.C, _standing(head, task)) if ridge is None else ridge
        """λ."""
        held = copy.copy(head)
        held.C = 1.0 / self.ridge
        steps = [*task.learner.steps[:-1], (task.learner.steps[-1][0], held)]
        super().__init__(replace(task, learner=Pipeline(steps)), form="newton")
        self.name = LastLayer.name

    @property
    def notes(self) -> tuple[str, ...]:
        """That the other layers are held, and what else a reader should know."""
        return (
            "all layers of the net but the last are held as they are, which retraining it does not do",
            *super().notes,
        )


def _standing(head: Head, task: Task) -> float:
    """|g| / |θ| of the head's weights on the training rows."""
    A, given = task.seen.train, np.eye(task.encoding.size)[task.train.codes]
    scores = A @ head.coef_.T + head.intercept_
    p = expit(scores) if len(head.coef_) == 1 else softmax(scores, axis=1)
    missed = given[:, -len(head.coef_) :] - p
    if task.data.sample_weight is not None:
        missed *= task.data.sample_weight[:, None]
    return standing_ridge((missed.T @ A).ravel(), float((head.coef_**2).sum()))
