"""Which gray box: by name, or the best that there is for the learner."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from psidebug.errors import UnknownOption, UnsupportedLearner
from psidebug.graybox.adapters import adapter_of
from psidebug.graybox.logistic import FORMS, LogisticBox, supports
from psidebug.graybox.protocol import GrayBox
from psidebug.graybox.retrain import Retrain
from psidebug.graybox.surrogate import Surrogate
from psidebug.graybox.trees.derivative import LeafDerivative
from psidebug.graybox.trees.forms import FORMS as TREE_FORMS
from psidebug.learner import final_step
from psidebug.task import Task


def graybox_for(task: Task, name: str = "auto") -> GrayBox:
    """The gray box of this name; ``"auto"`` is the first that knows the learner, and a surrogate if none does.

    Raises :class:`UnknownOption` for a name that is not there, :class:`UnsupportedLearner` if the learner has no gray
    box of the wanted kind.
    """
    check_name(name)
    return GRAYBOXES[name](task)


def check_name(name: Any) -> None:
    """Raise :class:`UnknownOption` unless there is a gray box of this name."""
    if not isinstance(name, str) or name not in GRAYBOXES:
        raise UnknownOption(f"graybox={name!r} is not one of {', '.join(sorted(GRAYBOXES))}.")


def _best(task: Task) -> GrayBox:
    """Newton step for logistic models, leaf derivative for trees; a surrogate for others, and for settings refused."""
    model = final_step(task.learner)
    refusal = f"there is no gray box for {type(model).__name__}"
    try:
        if supports(model):
            return LogisticBox(task)
        if adapter_of(model) is not None:
            return LeafDerivative(task)
    except UnsupportedLearner as error:
        refusal = str(error).split(". ")[0]
    return Surrogate(task, because=refusal)


GRAYBOXES: dict[str, Callable[[Task], GrayBox]] = (
    {form: partial(LogisticBox, form=form) for form in FORMS}
    | TREE_FORMS
    | {"auto": _best, "retrain": Retrain, "surrogate": Surrogate}
)
