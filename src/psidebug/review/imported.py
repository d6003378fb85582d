"""One imported verdict: every part of it is checked, and errors say what is wrong."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from psidebug.errors import InvalidVerdicts
from psidebug.exports.suspects import training_set
from psidebug.exports.table_files import plain
from psidebug.findings.about_tests import about_tests
from psidebug.findings.effects import counted
from psidebug.findings.findings import Findings
from psidebug.report.rows import Part
from psidebug.review.verdicts import (
    ACTIONS,
    DECIDED,
    LONG_AGO,
    PARTS,
    Verdict,
    checked_comment,
    checked_name,
    moment,
    part_named,
)
from psidebug.store.values import as_json, from_json

MOST_NAMED = 10
"""Bad lines that an error names."""


@dataclass(frozen=True)
class Imported:
    """The verdicts of a file."""

    verdicts: list[Verdict]
    """One for each row."""
    repeated: int = 0
    """Rows with several verdicts in the log; the last one counts."""
    unanswered: int = 0
    """Tasks without an annotation."""
    disputed: int = 0
    """Tasks left open because their annotators disagree."""

    def told(self, stored: int) -> str:
        """What became of the file, if so many of its verdicts were saved."""
        said = [f"{counted(stored, 'verdict')} imported"]
        if kept := len(self.verdicts) - stored:
            said.append(f"{counted(kept, 'row')} already had a verdict as new or newer, which stays")
        if self.repeated:
            said.append(f"{counted(self.repeated, 'row')} had several verdicts in the log, and the last one counts")
        if self.disputed:
            said.append(f"{counted(self.disputed, 'task')} left open because the annotators disagree")
        if self.unanswered:
            said.append(f"{counted(self.unanswered, 'task')} without an annotation")
        if len(said) == 1 and not stored:
            said.append("every verdict in the file was undone")
        return "; ".join(said)


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of one set, found by their ids."""

    part: Part
    findings: Findings
    """About the labels of this set."""
    places: Mapping[str, int]
    """Position by id, as Psi writes it and as other tools do, which write a date as text."""

    @classmethod
    def of(cls, findings: Findings, part: Part) -> Rows:
        """The rows of a set."""
        findings = about_tests(findings) if part == "test" else findings
        ids = findings.labels.rows.tolist()
        places = {json.dumps(as_json(row)): place for place, row in enumerate(ids)}
        for place, row in enumerate(ids):
            places.setdefault(json.dumps(plain(row)), place)
        return cls(part, findings, places)

    @property
    def name(self) -> str:
        """Of the set, in words."""
        return "training" if self.part == "train" else "test"

    @cached_property
    def home(self) -> str:
        """The mark of verdicts on this very set."""
        return training_set(self.findings.origin)

    def check_home(self, record: Mapping[str, Any]) -> None:
        """Refuse what carries the mark of another set."""
        if record.get("run", self.home) != self.home:
            raise InvalidVerdicts(f"it belongs to a run with other {self.name} rows or labels")

    def place(self, written: Any) -> int:
        """The position of the row with this id."""
        found = self.places.get(json.dumps(as_json(_value(written))), self.places.get(json.dumps(written)))
        if found is None:
            raise InvalidVerdicts(f"no {self.name} row of this run has the id {written!r:.100}")
        return found

    def verdict(self, record: Mapping[str, Any]) -> Verdict:
        """The verdict of a record: a row, an action, a label; a reviewer and a time if it has them."""
        action = record.get("action")
        if action not in ACTIONS:
            raise InvalidVerdicts(f"unknown action {action!r:.60}; it must be one of {', '.join(ACTIONS)}")
        if "row" not in record:
            raise InvalidVerdicts("it has no row")
        place = self.place(record["row"])
        position = record.get("position")
        if position is not None and (type(position) is not int or position != place):
            raise InvalidVerdicts(f"its position is {position!r:.60}, but its row is at position {place}")
        label = None
        if action in DECIDED:
            label = self._label(place, action, _value(record.get("label")))
            action = "keep" if label == self.given(place) else "correct"
        elif record.get("label") is not None:
            raise InvalidVerdicts(f"{action} takes no label, but the label is {record['label']!r:.60}")
        comment, reviewer = checked_comment(_text(record, "comment")), checked_name(_text(record, "reviewer"))
        row, made = self.findings.labels.rows[place], _time(record)
        return Verdict(place, row, str(action), label, comment, reviewer, made, self.part)

    def given(self, place: int) -> Any:
        """The given label of a row."""
        return self.findings.encoding.classes[self.findings.labels.given[place]]

    def _label(self, place: int, action: Any, label: Any) -> Any:
        given = self.given(place)
        if action == "keep" and label is not None and label != given:
            raise InvalidVerdicts(f"keep means the given label, {given!r}, but the label is {label!r:.60}")
        label = given if label is None and action == "keep" else label
        if label not in self.findings.encoding.classes:
            raise InvalidVerdicts(f"{label!r:.60} is not a class of this run")
        return label


def rows_of(findings: Findings) -> dict[Part, Rows]:
    """The rows of both sets."""
    return {part: Rows.of(findings, part) for part in PARTS}


def part_of(record: Mapping[str, Any]) -> Part:
    """The set that a record is about: that of its ``set``, else the training set."""
    return part_named(record.get("set", "train"))


def record_of(value: Any) -> dict[str, Any]:
    """A JSON object."""
    if not isinstance(value, dict):
        raise InvalidVerdicts("it is not a JSON object")
    return value


def list_of(value: Any) -> list[Any]:
    """A JSON list; null is an empty one."""
    if value is not None and not isinstance(value, list):
        raise InvalidVerdicts(f"{value!r:.60} is not a list")
    return value or []


def refuse(wrong: Sequence[str]) -> None:
    """Raise an error that names the bad lines, if there are any."""
    if wrong:
        more = f"; and {len(wrong) - MOST_NAMED} more" if len(wrong) > MOST_NAMED else ""
        raise InvalidVerdicts(f"nothing was imported: {'; '.join(wrong[:MOST_NAMED])}{more}. Correct the file.")


def _value(written: Any) -> Any:
    """A label or an id as Psi writes it; a value of a wrong type may fail in any way."""
    try:
        found = from_json(written)
        hash(found)
    except Exception:
        raise InvalidVerdicts(f"{written!r:.60} is not a valid id or label") from None
    return found


def _text(record: Mapping[str, Any], name: str) -> Any:
    return "" if record.get(name) is None else record[name]


def _time(record: Mapping[str, Any]) -> str:
    """When it was made, UTC; "" stands for the time of import: no time is given, or one in the future."""
    written = _text(record, "time")
    if written == "":
        return ""
    if not isinstance(written, str) or moment(written) == LONG_AGO:
        raise InvalidVerdicts(f"its time must be in ISO form, not {written!r:.60}")
    made = moment(written)
    return "" if made > datetime.now(UTC) else made.isoformat(timespec="milliseconds")
