"""Half of the labels of a rare class may be missed, and nothing shows: how many test rows it would take.

Where the model does not recognise a class, single labels tell nothing, and only shares do. Of m test rows of the class
and c training rows for each test row, c m labels are expected and c m / 2 are there. If both sets have one share, it is
q = (1 + c/2) / (1 + c) of that of the test set, and the labels are less likely by

    m g,   g = log(1/q) + (c/2) log(½ / q)

nats. A noise rate of its own is charged with ½ log N + log 2 K(K-1): it takes that many nats.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from psidebug import policy
from psidebug.evidence.hypotheses import Hypothesis
from psidebug.task.labels import quoted
from psidebug.task.task import Task


def needed_test_rows(train: int, test: int, size: int) -> int:
    """m for which half of the labels of a class can be seen to be missed, with sets of these sizes and K classes."""
    c = train / test
    q = (1.0 + c / 2) / (1.0 + c)
    g = np.log(1.0 / q) + c / 2 * np.log(0.5 / q)
    return int(np.ceil((0.5 * np.log(train) + np.log(2 * size * (size - 1))) / g))


def notes_on_rare_classes(task: Task, hypotheses: Sequence[Hypothesis]) -> tuple[str, ...]:
    """Classes with too few test rows to see that half of their labels are missed, where nothing else is likely."""
    if not hypotheses or hypotheses[0].likely:
        return ()
    size, codes = task.encoding.size, task.test.codes
    needed = needed_test_rows(len(task.train), len(codes), size)
    tested = np.bincount(codes, minlength=size)
    recognised = np.bincount(codes[task.predicted == codes], minlength=size)
    unseen = (tested >= policy.LEAST_ROWS) & (tested < needed) & (recognised < policy.MAJORITY * tested)
    return tuple(
        f"too few test rows have the class {quoted(task.encoding.classes[code])}, {tested[code]}, and most of them are "
        f"misclassified: if half of its training labels were missed, nothing would show; it takes about {needed}"
        for code in np.flatnonzero(unseen).tolist()
    )
