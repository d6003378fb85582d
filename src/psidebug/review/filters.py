"""What a reviewer asks to see: which rows of which set, in which order, one by one or as a grid."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any
from urllib.parse import urlencode

from psidebug.errors import UnknownOption
from psidebug.report.rows import Part
from psidebug.review.verdicts import ACTIONS, part_named

STATES = ("open", *ACTIONS, "all")
"""A row is open, or has a verdict of one kind; ``all`` is no filter. As a filter, ``open`` means every row to decide:
also skipped rows, last, and those on which another reviewer wants a second opinion."""
DISPUTED = "disputed"
"""As a filter only: the rows on which two reviewers disagree."""
SHOWN = (*STATES, DISPUTED)
SORTS = ("rank", "doubt", "ps", "p_wrong", "row")
AMONG = ("wrong", "all")
"""Rows that are probably wrong; or all suspects, and every row of a slice, an error or a search."""
VIEWS = ("row", "grid")
LONGEST_SEARCH = 200
"""Characters."""


@dataclass(frozen=True)
class Filter:
    """Which rows to show, and how."""

    part: Part = "train"
    """The set that they are in."""
    state: str = "open"
    among: str = ""
    """One of :data:`AMONG`; if it is not said, those that are probably wrong unless the filter itself names rows."""
    find: str = ""
    """Words that are looked for in ids, texts and values."""
    given: int | None = None
    """Code of the given label."""
    proposed: int | None = None
    least: float = 0.0
    """Smallest p_wrong."""
    slice: int | None = None
    bug: int | None = None
    sort: str = "rank"
    view: str = "row"

    @property
    def names_rows(self) -> bool:
        """Whether it is about rows of a slice, the causes of an error, or what was searched."""
        return self.slice is not None or self.bug is not None or bool(self.find)

    @property
    def wide(self) -> bool:
        """Whether it shows more than the rows that are probably wrong."""
        return self.among == "all" or (not self.among and self.names_rows)

    @classmethod
    def read(cls, asked: Mapping[str, Any], *, part: Part = "train") -> Filter:
        """The filter in the query of an address; ``part`` is the set if it names none."""
        if any(not isinstance(each, str) for each in asked.values() if each is not None):
            raise UnknownOption("filter values must be strings.")
        try:
            whole: dict[str, Any] = {
                name: int(asked[name])
                for name in ("given", "proposed", "slice", "bug")
                if asked.get(name) not in (None, "")
            }
            least = float(asked.get("least") or 0.0)
            if not math.isfinite(least):
                raise ValueError
        except (TypeError, ValueError, OverflowError):
            raise UnknownOption("filter value must be a number.") from None
        find = str(asked.get("find") or "").strip()
        if len(find) > LONGEST_SEARCH:
            raise UnknownOption(f"the search has {len(find)} characters; at most {LONGEST_SEARCH} are allowed.")
        plain = cls()
        chosen: dict[str, Any] = {
            name: str(asked.get(name) or getattr(plain, name)) for name in ("state", "among", "sort", "view")
        }
        for name, known in (("state", SHOWN), ("among", ("", *AMONG)), ("sort", SORTS), ("view", VIEWS)):
            if chosen[name] not in known:
                raise UnknownOption(f"unknown {name} {chosen[name]!r:.60} in the filter.")
        return cls(**whole, **chosen, part=part_named(asked.get("set") or part), least=least, find=find)

    @property
    def address(self) -> str:
        """The query of an address that means this filter."""
        plain = Filter()
        asked = {each.name: getattr(self, each.name) for each in fields(self)}
        others = {name: value for name, value in asked.items() if value != getattr(plain, name) and name != "part"}
        return urlencode({"set": self.part} | others)
