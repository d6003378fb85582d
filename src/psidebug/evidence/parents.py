"""What is said of a slice may be true of more rows: slices that some of its conditions make."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from psidebug.slices.conditions import Slice
from psidebug.task.task import Task


def parents(task: Task, one: Slice) -> list[Slice]:
    """The slices of one of its conditions and its label; how far they stand out is not known.

    Of three conditions two are not tried: slices of two that are a little better than others compete well with errors
    that follow the look of their row, and find fewer of them.
    """
    if len(one.conditions) < 2:
        return []
    own = task.train.codes == one.given
    if task.data.known is not None:
        own = own & ~task.data.known
    nan = float("nan")
    wider = [replace(one, conditions=(each,), held=None, z=nan, log_p_value=nan) for each in one.conditions]
    return [replace(each, members=np.flatnonzero(own & each.everyone(task))) for each in wider]
