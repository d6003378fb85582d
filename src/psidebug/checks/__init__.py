"""Checks before the diagnosis: what is odd about the data whatever the labels are, in a few sentences.

Each check is a function of the data that returns a :class:`Check`, or None. All together cost about as much as one
simple fit: a pass over each column of numbers, a hash of each other column, and one sort of the rows.
"""

from __future__ import annotations

from psidebug import policy
from psidebug.checks.check import Check
from psidebug.checks.classes import shares, spellings
from psidebug.checks.date_texts import date_texts
from psidebug.checks.number_texts import number_texts
from psidebug.checks.outside import outside
from psidebug.checks.pairs import Pairs
from psidebug.checks.rows import contradictions, overlap, rows_of
from psidebug.checks.useless import constants, ids
from psidebug.task.data import Data

__all__ = ["Check", "checks_of"]


def checks_of(data: Data) -> tuple[Check, ...]:
    """What was seen, the most important first, and no more than a person reads."""
    train, test = data.train.features, data.test.features
    pairs = Pairs(train, test)
    rows = rows_of(data, last=True)
    seen = (
        overlap(rows),
        contradictions(rows, data),
        spellings(data),
        outside(data, pairs),
        shares(data),
        ids(data, pairs),
        constants(data, pairs),
        date_texts(data),
        number_texts(data),
    )
    return tuple(check for check in seen if check is not None)[: policy.MOST_CHECKS]
