"""One thing that was seen in the data before the diagnosis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Check:
    """What was seen, with numbers, and what to do."""

    name: str
    """What was checked, in a few words."""
    sentence: str


def columns_told(names: Sequence[str]) -> str:
    """Some columns with their verb, to begin a sentence with."""
    return f"The column '{names[0]}' has" if len(names) == 1 else f"{len(names):,} columns, such as '{names[0]}', have"
