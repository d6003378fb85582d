"""What the final estimator of a Pipeline sees: its training features, those of the test set, and what to know of them.

For most steps ``transform`` gives the training rows as the estimator saw them. A step that learns from the labels may
cross-fit, as TargetEncoder does: each row is encoded without its own label, and only ``fit_transform`` does that. Such
steps are fitted once more, on the same rows and labels. Where chance has a part in that and the model came fitted, what
it saw cannot be known, and ``transform`` has to do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from psidebug.graybox.protocol import Floats
from psidebug.task import learner as learners
from psidebug.task.tables import Table
from psidebug.task.task import Task


@dataclass(frozen=True, eq=False)
class Seen:
    """Training and test rows as they reach the final estimator."""

    train: Table
    test: Table
    notes: tuple[str, ...] = ()
    exact: bool = True
    """Whether the training rows are known to be those of the fit."""


def seen_by_final_step(task: Task) -> Seen:
    """The rows of the task after every step of a Pipeline but the last; as they are for a learner without steps."""
    train, test = (learners.before_final_step(task.learner, each.features) for each in (task.train, task.test))
    supervised = [part for part in learners.earlier_parts(task.learner) if _learns_from_labels(part)]
    if not supervised:
        return Seen(train, test)
    names = " and ".join(sorted({type(part).__name__ for part in supervised}))
    held = f"steps that learn from the labels ({names}) are held as they are, which retraining does not do"
    trained = _trained(task, task.seed)
    if task.fitted_by_user and not np.array_equal(_scores(task, trained), _scores(task, _trained(task, task.seed + 1))):
        unknown = (
            f"the features that the model was trained on are known only approximately, since chance has a part in "
            f"{names} (give it a fixed seed, or give the model unfitted)"
        )
        return Seen(train, test, (held, unknown), exact=False)
    return Seen(trained, test, (held,))


def _trained(task: Task, seed: int) -> Table:
    labels = task.encoding.native[task.train.codes]
    return learners.trained_before_final_step(task.learner, task.train.features, labels, seed=seed)


def _scores(task: Task, table: Table) -> Floats:
    """What the final estimator makes of such features: numbers, of whatever kind the table is."""
    return learners.scores(learners.final_step(task.learner), table, task.encoding.native_codes, task.encoding.size)


def _learns_from_labels(part: Any) -> bool:
    """Whether it says so, by scikit-learn's tag."""
    try:
        return bool(part.__sklearn_tags__().target_tags.required)
    except AttributeError:  # made without scikit-learn's base class, or no estimator at all
        return False
