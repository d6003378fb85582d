"""What may be changed in a task, as values: applied to :class:`Data`, counted, and told apart by a key.

A cause is a change under which the error goes away, so whoever retrains, proves or reviews speaks in changes::

    change = Relabel.of(data, codes)
    changed = change.applied(data)   # a new Data; ``data`` is as it was, which is how a change is undone
    change.count(data)               # labels, rows, weights or cells that differ

All are positions in the training set, or columns by the name that :func:`psidebug.task.columns.columns` gives them.
"""

from __future__ import annotations

from psidebug.changes.columns import Blank, Mask, Rescale, Swap
from psidebug.changes.rows import NOTHING, Change, Drop, InTurn, Join, Relabel, Weigh

__all__ = ["NOTHING", "Blank", "Change", "Drop", "InTurn", "Join", "Mask", "Relabel", "Rescale", "Swap", "Weigh"]
