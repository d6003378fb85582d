"""``--prior``: how often labels are wrong, as typed: a rate, or ``COLUMN=VALUE:RATE`` for each value of a column."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from psidebug.errors import InvalidPrior

BY_VALUE = re.compile(r"(?P<column>[^=]+)=(?P<value>.*):(?P<rate>[^:]+)", re.S)


def prior_from(typed: Sequence[str], table: Any) -> float | dict[str, dict[Any, float]] | None:
    """The prior that ``debug`` takes; ``table`` has the training rows, whose values are found by how they are written.

    None if nothing was typed.
    """
    if not typed:
        return None
    if len(typed) == 1 and "=" not in typed[0]:
        return _rate(typed[0], typed[0])
    found: dict[str, dict[Any, float]] = {}
    for each in typed:
        parts = BY_VALUE.fullmatch(each)
        if parts is None:
            raise _not_understood(each)
        column = parts["column"]
        if column not in table.column_names:
            raise InvalidPrior(f"--prior {each}: the training file has no column {column!r}.")
        written = {str(value): value for value in table[column].unique().to_pylist()}
        value = written.get(parts["value"], parts["value"])
        found.setdefault(column, {})[value] = _rate(parts["rate"], each)
    if len(found) > 1:
        raise InvalidPrior(f"--prior takes the values of one column, not of {' and '.join(map(repr, found))}.")
    return found


def _rate(text: str, typed: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise _not_understood(typed) from None


def _not_understood(typed: str) -> InvalidPrior:
    return InvalidPrior(
        f"--prior {typed} is neither a rate, such as 0.05, nor COLUMN=VALUE:RATE, such as annotator=bob:0.2."
    )
