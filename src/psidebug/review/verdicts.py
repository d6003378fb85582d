"""A verdict: what a person says about one training row; and the ledger of all that was said, undone and redone."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from psidebug.errors import UnknownOption

ACTIONS = ("correct", "keep", "skip", "second_opinion")
"""The label is another one; it is right as given; not now; somebody else should look."""
DECIDED = ("correct", "keep")
"""Actions that say what the label is."""
LONG_AGO = datetime.min.replace(tzinfo=UTC)
LONGEST_NAME, LONGEST_COMMENT = 100, 2000
"""Characters."""


def moment(written: str) -> datetime:
    """The time that an ISO text says, UTC unless it says another zone; long ago for what is no such text."""
    try:
        found = datetime.fromisoformat(written)
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return LONG_AGO


def checked_name(name: Any) -> str:
    """The name of a reviewer, if it can be one."""
    return _checked(name, "name", LONGEST_NAME, allowed="")


def checked_comment(comment: Any) -> str:
    """A comment, if it can be one; it may have several lines."""
    return _checked(comment, "comment", LONGEST_COMMENT, allowed="\n\r\t")


def _checked(text: Any, what: str, longest: int, *, allowed: str) -> str:
    if not isinstance(text, str):
        raise UnknownOption(f"the {what} is {text!r:.60}, which is no text: write one.")
    if len(text) > longest:
        raise UnknownOption(f"the {what} has {len(text)} characters: make it at most {longest}.")
    if any(unicodedata.category(each) in ("Cc", "Cs") and each not in allowed for each in text):
        raise UnknownOption(f"the {what} has characters that cannot be shown: leave them out.")
    return text


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a person says about one training row."""

    position: int
    row: Any
    """The row's id."""
    action: str
    """One of :data:`ACTIONS`."""
    label: Any = None
    """The class that the row has by this verdict: another one, or the given one where it is kept; else None."""
    comment: str = ""
    reviewer: str = ""
    time: str = ""
    """When, UTC, in ISO form."""

    def is_after(self, other: Verdict | None) -> bool:
        """Whether it is newer than another verdict; one without a time is made now."""
        return other is None or not self.time or moment(self.time) > moment(other.time)


@dataclass(frozen=True, slots=True)
class Event:
    """One step of a review. Nothing is ever changed or deleted: to undo is a step too."""

    number: int
    kind: str
    """``verdicts`` (one, or many at once), ``undo``, ``redo``; other kinds are remarks, as ``retrained``."""
    reviewer: str
    time: str
    target: int | None = None
    """Of an undo or a redo: the number of the step that it undoes or redoes."""
    about: Mapping[str, Any] = field(default_factory=dict)
    """Of a remark: what it says. Of a step: the ``browser`` that it was made in."""
    verdicts: tuple[Verdict, ...] = ()

    @property
    def owner(self) -> str:
        """Who may undo it: the browser, where it is known, since two people may go by one name."""
        return str(self.about.get("browser") or self.reviewer)


class Ledger:
    """What holds after a sequence of events.

    Of several verdicts on a row, by whomever, the last one that was not undone holds; a redone verdict counts as of the
    time when it was redone. Everybody undoes the steps of his own browser, the last one
    first.
    """

    def __init__(self) -> None:
        self.seen = 0
        """Number of the last event."""
        self.remarks: list[Event] = []
        self.changed: set[int] = set()
        """Positions whose verdict may be another one since the reader of this set emptied it."""
        self._steps: dict[int, tuple[Verdict, ...]] = {}
        self._owners: dict[int, str] = {}  # of steps
        self._standing: dict[int, dict[int, Verdict]] = {}  # position → number of the step → verdict, the last holds
        self._done: dict[str, list[int]] = {}
        self._undone: dict[str, list[int]] = {}

    def apply(self, event: Event) -> None:
        """Take one more event into account."""
        done, undone = (each.setdefault(event.owner, []) for each in (self._done, self._undone))
        if event.kind == "verdicts":
            self._steps[event.number] = event.verdicts
            self._owners[event.number] = event.owner
            self._stand(event.number)
            done.append(event.number)
            undone.clear()
        elif event.kind == "undo" and event.target in done:
            for verdict in self._steps[event.target]:
                del self._standing[verdict.position][event.target]
                self.changed.add(verdict.position)
            done.remove(event.target)
            undone.append(event.target)
        elif event.kind == "redo" and event.target in undone:
            self._stand(event.target)
            undone.remove(event.target)
            done.append(event.target)
        elif event.kind not in ("undo", "redo"):
            self.remarks.append(event)
        self.seen = event.number

    def current(self) -> dict[int, Verdict]:
        """The verdict that holds for each row (by position) that has one."""
        return {position: next(reversed(steps.values())) for position, steps in self._standing.items() if steps}

    def at(self, position: int) -> Verdict | None:
        """The verdict that holds for one row."""
        return next(reversed(self._standing.get(position, {}).values()), None)

    def told_at(self, position: int) -> tuple[str, str] | None:
        """The action of the verdict that holds for one row, and whose it is: the browser's, or else the reviewer's."""
        number, verdict = next(reversed(self._standing.get(position, {}).items()), (0, None))
        return None if verdict is None else (verdict.action, self._owners[number])

    def step(self, number: int) -> Sequence[Verdict]:
        """The verdicts of one step, whether they hold or not; none of an event that is no step."""
        return self._steps.get(number, ())

    def next_undo(self, owner: str) -> int | None:
        """Number of the step that this browser, or reviewer, would undo."""
        return next(reversed(self._done.get(owner, [])), None)

    def next_redo(self, owner: str) -> int | None:
        """Number of the step that this browser, or reviewer, would redo."""
        return next(reversed(self._undone.get(owner, [])), None)

    def _stand(self, number: int) -> None:
        for verdict in self._steps[number]:
            self._standing.setdefault(verdict.position, {})[number] = verdict
            self.changed.add(verdict.position)
