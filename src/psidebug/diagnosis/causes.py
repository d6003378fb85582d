"""The bugs that are most confidently wrong, each with its first causes."""

from __future__ import annotations

import numpy as np
from threadpoolctl import threadpool_limits

from psidebug.diagnosis.explanation import ranked
from psidebug.errors import InferenceError
from psidebug.findings.effects import Floats
from psidebug.findings.findings import Causes
from psidebug.graybox.protocol import GrayBox, LinearGrayBox
from psidebug.priors import Prior
from psidebug.sufficiency import sufficiency
from psidebug.symptoms import misclassified
from psidebug.task.task import Task

BUGS_EXPLAINED, CAUSES_KEPT = 50, 20
"""Causes are told of so many bugs, those that are most confidently wrong, and of each the first so many."""


def causes_of_bugs(
    task: Task, graybox: GrayBox | None, prior: Prior, p_wrong: Floats | None, *, most: int
) -> tuple[Causes, ...]:
    """The causes of the first ``most`` bugs that can be explained, in the order PS × ``p_wrong``; without it, of PS.

    PS is by the closed form, of the margin against the class that the bug is mistaken for: of a gray box that is not
    linear it would take thousands of fits, and none is explained.
    """
    if not isinstance(graybox, LinearGrayBox):
        return ()
    ahead = task.margins(task.learner, task.test)[task.bugs].min(axis=1)
    explained: list[Causes] = []
    with threadpool_limits(limits=1, user_api="blas"):  # the same answer whatever the number of threads
        for bug in task.bugs[np.argsort(ahead, kind="stable")][:BUGS_EXPLAINED].tolist():
            if len(explained) == most:
                break
            try:
                answer = sufficiency(graybox, prior, misclassified(bug), engine="closed_form")
            except InferenceError:  # no world of the prior is free of this bug: its causes are not known
                continue
            rows = ranked(answer, p_wrong)[:CAUSES_KEPT]
            explained.append(
                Causes(bug, rows, answer.proposed[rows], answer.ps[rows], answer.low[rows], answer.high[rows])
            )
    return tuple(explained)


def unexplained(graybox: GrayBox | None) -> str | None:
    """Why no bug of a diagnosis has causes, as a part of a sentence."""
    if graybox is None or isinstance(graybox, LinearGrayBox):
        return "no change of labels that the prior thinks possible makes one of these bugs go away"
    return f"the gray box {graybox.name!r} is not linear in the labels, so that they would take thousands of fits"
