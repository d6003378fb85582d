"""Verdicts of reviewers on rows of either set, and the ledger of all that were made, undone and redone."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from psidebug.errors import UnknownOption
from psidebug.report.rows import Part

PARTS: tuple[Part, ...] = ("train", "test")
"""A verdict is about a label of one of the two sets."""
ACTIONS = ("correct", "keep", "skip", "second_opinion")
"""The label is wrong; it is right; decide later; another reviewer should look."""
DECIDED = ("correct", "keep")
"""Actions that settle the label."""
LONG_AGO = datetime.min.replace(tzinfo=UTC)
LONGEST_NAME, LONGEST_COMMENT = 100, 2000
"""Characters."""


def part_named(name: Any) -> Part:
    """The set of this name."""
    found = next((part for part in PARTS if part == name), None)
    if found is None:
        raise UnknownOption(f"unknown set {name!r:.60}; it must be {' or '.join(PARTS)}.")
    return found


def moment(written: str) -> datetime:
    """An ISO time, UTC unless it has a zone; ``LONG_AGO`` for any other text."""
    try:
        found = datetime.fromisoformat(written)
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return LONG_AGO


def checked_name(name: Any) -> str:
    """A valid name of a reviewer."""
    return _checked(name, "name", LONGEST_NAME, allowed="")


def checked_comment(comment: Any) -> str:
    """A valid comment; it may have several lines."""
    return _checked(comment, "comment", LONGEST_COMMENT, allowed="\n\r\t")


def _checked(text: Any, what: str, longest: int, *, allowed: str) -> str:
    if not isinstance(text, str):
        raise UnknownOption(f"the {what} must be text, not {text!r:.60}.")
    if len(text) > longest:
        raise UnknownOption(f"the {what} has {len(text)} characters; at most {longest} are allowed.")
    if any(unicodedata.category(each) in ("Cc", "Cs") and each not in allowed for each in text):
        raise UnknownOption(f"the {what} has control characters: remove them.")
    return text


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a reviewer says about one row of the training or the test set."""

    position: int
    row: Any
    """The row's id."""
    action: str
    """One of :data:`ACTIONS`."""
    label: Any = None
    """The settled class; None if the verdict does not settle it."""
    comment: str = ""
    reviewer: str = ""
    time: str = ""
    """When, UTC, in ISO form."""
    part: Part = "train"
    """The set that the row is in."""

    def is_after(self, other: Verdict | None) -> bool:
        """Whether it is newer than another verdict; one without a time is new."""
        return other is None or not self.time or moment(self.time) > moment(other.time)


@dataclass(frozen=True, slots=True)
class Event:
    """One event of a review. Nothing is ever changed or deleted: an undo is an event too."""

    number: int
    kind: str
    """``verdicts`` (a step of one or many), ``undo``, ``redo``; other kinds are remarks, such as ``retrained``."""
    reviewer: str
    time: str
    target: int | None = None
    """Number of the step that an undo or redo is about."""
    about: Mapping[str, Any] = field(default_factory=dict)
    """Content of a remark; the ``browser`` of a step."""
    verdicts: tuple[Verdict, ...] = ()
    """Those of a step, all on rows of one set."""

    @property
    def owner(self) -> str:
        """Who may undo it: the browser if it is known, since two people may have one name."""
        return str(self.about.get("browser") or self.reviewer)


class Ledger:
    """What holds after a sequence of events.

    Of several verdicts on a row, the last one that was not undone holds, whoever made it; a redone verdict counts from
    the time of the redo. Each browser undoes its own steps, the last one first.
    """

    def __init__(self) -> None:
        self.seen = 0
        """Number of the last event."""
        self.remarks: list[Event] = []
        self.changed: dict[Part, set[int]] = {part: set() for part in PARTS}
        """Positions in each set whose verdict may have changed; the reader empties these."""
        self._steps: dict[int, tuple[Verdict, ...]] = {}
        self._owners: dict[int, str] = {}  # of steps
        # set → position → number of the step → verdict, of which the last holds
        self._standing: dict[Part, dict[int, dict[int, Verdict]]] = {part: {} for part in PARTS}
        self._done: dict[str, list[int]] = {}
        self._undone: dict[str, list[int]] = {}

    def apply(self, event: Event) -> None:
        """Add one event."""
        done, undone = (each.setdefault(event.owner, []) for each in (self._done, self._undone))
        if event.kind == "verdicts":
            self._steps[event.number] = event.verdicts
            self._owners[event.number] = event.owner
            self._stand(event.number)
            done.append(event.number)
            undone.clear()
        elif event.kind == "undo" and event.target in done:
            for verdict in self._steps[event.target]:
                del self._standing[verdict.part][verdict.position][event.target]
                self.changed[verdict.part].add(verdict.position)
            done.remove(event.target)
            undone.append(event.target)
        elif event.kind == "redo" and event.target in undone:
            self._stand(event.target)
            undone.remove(event.target)
            done.append(event.target)
        elif event.kind not in ("undo", "redo"):
            self.remarks.append(event)
        self.seen = event.number

    def current(self, part: Part = "train") -> dict[int, Verdict]:
        """The verdict that holds for each row of a set (by position) that has one."""
        return {position: next(reversed(steps.values())) for position, steps in self._standing[part].items() if steps}

    def at(self, position: int, part: Part = "train") -> Verdict | None:
        """The verdict that holds for one row."""
        return next(reversed(self._standing[part].get(position, {}).values()), None)

    def told_at(self, position: int, part: Part = "train") -> tuple[str, str] | None:
        """Action and owner (browser or reviewer) of the verdict that holds for one row."""
        number, verdict = next(reversed(self._standing[part].get(position, {}).items()), (0, None))
        return None if verdict is None else (verdict.action, self._owners[number])

    def judged_at(self, position: int, part: Part = "train") -> dict[str, Any]:
        """Reviewer → the label that each settled for one row; of one reviewer the last verdict counts."""
        standing = self._standing[part].get(position, {}).values()
        return {each.reviewer: each.label for each in standing if each.action in DECIDED}

    def judged(self, part: Part = "train") -> dict[int, dict[str, Any]]:
        """Position → reviewer → settled label, of every row that somebody has settled."""
        found = {position: self.judged_at(position, part) for position in self._standing[part]}
        return {position: labels for position, labels in found.items() if labels}

    def step(self, number: int) -> Sequence[Verdict]:
        """The verdicts of one step, also of an undone one; empty for other events."""
        return self._steps.get(number, ())

    def next_to(self, kind: str, owner: str) -> int | None:
        """Number of the step that this browser, or reviewer, would ``undo`` or ``redo``."""
        return next(reversed((self._done if kind == "undo" else self._undone).get(owner, [])), None)

    def _stand(self, number: int) -> None:
        for verdict in self._steps[number]:
            self._standing[verdict.part].setdefault(verdict.position, {})[number] = verdict
            self.changed[verdict.part].add(verdict.position)
