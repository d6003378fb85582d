"""Gray box "last_layer": one Newton step of a net's last linear layer from where it stands, all before it held."""

from __future__ import annotations

from psidebug.errors import UnsupportedLearner
from psidebug.graybox.logistic import LogisticBox
from psidebug.task import learner as learners
from psidebug.task.nets import Head
from psidebug.task.task import Task


class LastLayer(LogisticBox):
    """The logistic gray box on the activations that reach the head, at the head's own weights."""

    name = "last_layer"

    def __init__(self, task: Task) -> None:
        if not isinstance(learners.final_step(task.learner), Head):
            raise UnsupportedLearner(
                "graybox='last_layer' is for neural nets: give a torch module or a skorch classifier, or take another."
            )
        super().__init__(task, form="newton")
        self.name = LastLayer.name

    @property
    def notes(self) -> tuple[str, ...]:
        """That the other layers are held, and what else a reader should know."""
        return (
            "all layers of the net but the last are held as they are, which retraining it does not do",
            *super().notes,
        )
