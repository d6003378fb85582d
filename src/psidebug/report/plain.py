"""Values of any kind as what JSON can hold."""

from __future__ import annotations

import math
from typing import Any

import narwhals as nw
import numpy as np

Plain = dict[str, Any]

LONGEST_LABEL = 80
"""Characters of a label or an id."""


def plain(value: Any) -> Any:
    """Strings, numbers, booleans as they are; what is not a number as None; labels and ids of other kinds as text."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, bool | int | float) or value is None:
        return value
    text = str(value).encode("utf-8", "backslashreplace").decode("utf-8")  # half a character, as its number
    return text if len(text) <= LONGEST_LABEL else f"{text[:LONGEST_LABEL]}…"


def records(frame: Any) -> list[Plain]:
    """The rows of a data frame of any library."""
    rows = nw.from_native(frame, eager_only=True).rows(named=True)
    return [{key: plain(value) for key, value in row.items()} for row in rows]
