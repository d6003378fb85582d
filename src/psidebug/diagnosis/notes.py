"""What a reader of a diagnosis should know beside its answer."""

from __future__ import annotations

import numpy as np
from scipy.stats import chi2_contingency

from psidebug import policy
from psidebug.graybox.fidelity import Fidelity
from psidebug.graybox.protocol import GrayBox
from psidebug.graybox.surrogate import Surrogate
from psidebug.inference.estimates import Estimates
from psidebug.task.labels import quoted
from psidebug.task.task import Task


def on_classes(task: Task) -> tuple[str, ...]:
    """What the classes of the test set allow to be said."""
    trained, tested = (np.bincount(each.codes, minlength=task.encoding.size) for each in (task.train, task.test))
    if len(task.test) > 1 and (tested > 0).sum() == 1:
        return ("the test set has one class only: it cannot tell wrong labels from a biased model; none is corrected",)
    names = ", ".join(
        quoted(task.encoding.classes[code]) for code in np.flatnonzero(tested < policy.LEAST_TEST_ROWS_OF_A_CLASS)
    )
    told: tuple[str, ...] = ()
    if names:
        told = (f"too few test rows have the class {names}: nothing can be said about such labels",)
    shares = np.array([trained, tested])[:, (trained > 0) & (tested > 0)]
    if shares.shape[1] > 1 and chi2_contingency(shares).pvalue < policy.CLASS_SHARES_DIFFER:
        told += (
            "the classes are not as frequent in the test set as in training; if both were drawn so, part of what looks "
            "like wrong labels is that",
        )
    return told


def on_estimates(box: GrayBox, measured: Fidelity | None, estimates: Estimates) -> tuple[str, ...]:
    """What the gray box and the engine have to say."""
    notes = tuple(getattr(box, "notes", ()))
    if isinstance(box, Surrogate):  # never without saying how good it is
        notes = (f"{notes[0]}; {'its fidelity was not measured' if measured is None else measured}", *notes[1:])
    return notes + tuple(estimates.warnings)
