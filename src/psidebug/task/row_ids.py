"""What the rows are called where nobody says so: by the index of a pandas table."""

from __future__ import annotations

import sys
from typing import Any


def index_of(*tables: Any) -> list[Any] | None:
    """The index of the first of these that is pandas, if it tells rows apart: its names are those a user looks up by.

    None where it is only the positions, says a row twice, or is no plain list of numbers or words.
    """
    pandas: Any = sys.modules.get("pandas")  # nobody has a pandas table without it
    if pandas is None:
        return None
    index = next((each.index for each in tables if isinstance(each, pandas.DataFrame | pandas.Series)), None)
    if index is None or isinstance(index, pandas.MultiIndex) or not index.is_unique or index.hasnans:
        return None
    names: list[Any] = index.tolist()
    plain = all(isinstance(each, str | int) and not isinstance(each, bool) for each in names)
    return names if plain and names != list(range(len(names))) else None
