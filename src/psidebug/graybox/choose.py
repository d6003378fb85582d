"""Which gray box: by name, or the best that there is for the learner."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from psidebug.errors import LearnerError, LearnerMismatch, NoBestFit, UnknownOption, UnsupportedLearner
from psidebug.graybox import bayes, logistic, margin, neighbours
from psidebug.graybox.bayes import NaiveBayes
from psidebug.graybox.logistic import FORMS, LogisticBox
from psidebug.graybox.margin import MarginBox
from psidebug.graybox.mlp import MLPBox
from psidebug.graybox.neighbours import Neighbours
from psidebug.graybox.neural import AllLayers, LastLayer
from psidebug.graybox.protocol import GrayBox
from psidebug.graybox.retrain import Retrain
from psidebug.graybox.surrogate import Surrogate
from psidebug.graybox.trees.adapters import adapter_of
from psidebug.graybox.trees.derivative import LeafDerivative
from psidebug.graybox.trees.linear import Leaf, LeafResidual
from psidebug.graybox.trees.refit import LeafRefit, LeafRefits
from psidebug.task.learner import final_step
from psidebug.task.nets import Head
from psidebug.task.task import Task


def graybox_for(task: Task, name: Any = "auto") -> GrayBox:
    """The gray box of this name; ``"auto"`` is the first that knows the learner, and a surrogate if none does.

    One asked for by name raises :class:`LearnerMismatch` or :class:`NoBestFit` where ``"auto"`` takes a surrogate.
    """
    check_name(name)
    return GRAYBOXES[name](task)


def check_name(name: Any) -> None:
    """Raise :class:`UnknownOption` unless there is a gray box of this name."""
    if not isinstance(name, str) or name not in GRAYBOXES:
        raise UnknownOption(f"graybox={name!r} is not one of {', '.join(sorted(GRAYBOXES))}.")


def _best(task: Task) -> GrayBox:
    """The first of ``KNOWN`` that knows the learner; a surrogate for others, and for fits that it refuses."""
    model = final_step(task.learner)
    own = next((box for knows, box in KNOWN if knows(model)), None)
    if own is None:
        return Surrogate(task, because=f"there is no gray box for {type(model).__name__}")
    try:
        return own(task)
    except (UnsupportedLearner, LearnerMismatch, NoBestFit) as refusal:
        try:
            return Surrogate(task, because=_reason(task, refusal))
        except UnsupportedLearner:  # what the learner's own gray box asks for is nearer to the user's model
            raise refusal from None


def _is_head_of_net(model: Any) -> bool:
    return isinstance(model, Head)


def _is_trees(model: Any) -> bool:
    return adapter_of(model) is not None


def _reason(task: Task, refusal: LearnerError) -> str:
    """Why the learner's own gray box will not do, as the first half of a sentence."""
    name = type(final_step(task.learner)).__name__
    if not isinstance(refusal, LearnerMismatch):
        return str(refusal).split(". ")[0].removesuffix(".")
    if not task.fitted_by_user:
        return f"the gray box of {name} does not reproduce this fit"
    return (
        f"the model as it came does not agree with a fit on these rows (this {name} was fitted on other rows, labels "
        f"or weights, or in a way that a plain fit does not repeat)"
    )


KNOWN: tuple[tuple[Callable[[Any], bool], Callable[[Task], GrayBox]], ...] = (
    (_is_head_of_net, LastLayer),
    (margin.supports, MarginBox),
    (logistic.supports, LogisticBox),
    (_is_trees, LeafDerivative),
    (neighbours.supports, Neighbours),
    (bayes.supports, NaiveBayes),
)
"""Whether a learner is of this kind, and its gray box. ``MLPBox`` is not among them: a surrogate follows better."""

GRAYBOXES: dict[str, Callable[[Task], GrayBox]] = (
    {form: partial(LogisticBox, form=form) for form in FORMS}
    | {box.name: box for box in (Leaf, LeafResidual, LeafRefit, LeafRefits, LeafDerivative)}
    | {box.name: box for box in (MarginBox, Neighbours, NaiveBayes, MLPBox, AllLayers, LastLayer)}
    | {"auto": _best, "retrain": Retrain, "surrogate": Surrogate}
)
