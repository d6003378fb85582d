"""What is said of a slice may be true of more rows: slices that some of its conditions make."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np

from psidebug.slices.conditions import Slice
from psidebug.task.task import Task


def parents(task: Task, one: Slice) -> list[Slice]:
    """The slices with fewer of its conditions and its label, fewest first; how far they stand out is not known."""
    own = task.train.codes == one.given
    if task.data.known is not None:
        own = own & ~task.data.known
    shorter = (some for count in range(1, len(one.conditions)) for some in combinations(one.conditions, count))
    wider = [replace(one, conditions=some, z=float("nan"), log_p_value=float("nan")) for some in shorter]
    return [replace(each, members=np.flatnonzero(own & each.everyone(task))) for each in wider]
