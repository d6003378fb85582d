"""One verdict made elsewhere: whatever a file may say of a row is checked here, and what is wrong with it is said."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from psidebug.errors import InvalidVerdicts
from psidebug.exports.written import plain
from psidebug.findings import Findings
from psidebug.review.verdicts import (
    ACTIONS,
    DECIDED,
    LONG_AGO,
    Verdict,
    checked_comment,
    checked_name,
    moment,
)
from psidebug.store.values import as_json, from_json

MOST_NAMED = 10
"""Bad lines that an error names."""


@dataclass(frozen=True)
class Imported:
    """What a file says."""

    verdicts: list[Verdict]
    """One for each row."""
    repeated: int = 0
    """Rows that have several in the log, of which the last counts."""
    unanswered: int = 0
    """Tasks without an annotation."""
    disputed: int = 0
    """Tasks whose annotators disagree, which are left open."""


@dataclass(frozen=True, eq=False)
class Rows:
    """The training rows that verdicts are about, found by their ids."""

    findings: Findings
    places: Mapping[str, int]
    """Position by id, written as we write it or as other tools do: a date is a text there."""

    @classmethod
    def of(cls, findings: Findings) -> Rows:
        """The rows that findings are about."""
        ids = findings.labels.rows.tolist()
        places = {json.dumps(as_json(row)): place for place, row in enumerate(ids)}
        for place, row in enumerate(ids):
            places.setdefault(json.dumps(plain(row)), place)
        return cls(findings, places)

    def place(self, written: Any) -> int:
        """The position of the row with this id."""
        found = self.places.get(json.dumps(as_json(_value(written))), self.places.get(json.dumps(written)))
        if found is None:
            raise InvalidVerdicts(f"{written!r:.100} is not the id of a training row of this run")
        return found

    def verdict(self, record: Mapping[str, Any]) -> Verdict:
        """The verdict that a record says: a row, an action, a label; who and when, if it is said."""
        action = record.get("action")
        if action not in ACTIONS:
            raise InvalidVerdicts(f"its action is {action!r:.60}, which is none of {', '.join(ACTIONS)}")
        if "row" not in record:
            raise InvalidVerdicts("it names no row")
        place = self.place(record["row"])
        position = record.get("position")
        if position is not None and (type(position) is not int or position != place):
            raise InvalidVerdicts(
                f"it contradicts itself: its row is at position {place}, and it says {position!r:.60}"
            )
        label = None
        if action in DECIDED:
            label = self._label(place, action, _value(record.get("label")))
            action = "keep" if label == self.given(place) else "correct"
        elif record.get("label") is not None:
            raise InvalidVerdicts(f"it says {action}, which has no label, and the label {record['label']!r:.60}")
        comment, reviewer = checked_comment(_text(record, "comment")), checked_name(_text(record, "reviewer"))
        return Verdict(place, self.findings.labels.rows[place], str(action), label, comment, reviewer, _time(record))

    def given(self, place: int) -> Any:
        """The label that a row came with."""
        return self.findings.encoding.classes[self.findings.labels.given[place]]

    def _label(self, place: int, action: Any, label: Any) -> Any:
        given = self.given(place)
        if action == "keep" and label is not None and label != given:
            raise InvalidVerdicts(f"it keeps the given label, {given!r}, and says {label!r:.60}")
        label = given if label is None and action == "keep" else label
        if label not in self.findings.encoding.classes:
            raise InvalidVerdicts(f"{label!r:.60} is no class of this run")
        return label


def record_of(value: Any) -> dict[str, Any]:
    """A JSON object."""
    if not isinstance(value, dict):
        raise InvalidVerdicts("it is no JSON object")
    return value


def list_of(value: Any) -> list[Any]:
    """A JSON list; what is not there is an empty one."""
    if value is not None and not isinstance(value, list):
        raise InvalidVerdicts(f"{value!r:.60} is no list")
    return value or []


def refuse(wrong: Sequence[str]) -> None:
    """Raise an error that names every bad line, if there is any."""
    if wrong:
        more = f"; and {len(wrong) - MOST_NAMED} more" if len(wrong) > MOST_NAMED else ""
        raise InvalidVerdicts(f"nothing was imported: {'; '.join(wrong[:MOST_NAMED])}{more}. Mend the file.")


def _value(written: Any) -> Any:
    """A label or an id as we write it; a type that a file names wrongly may fail in any way, and is no id or label."""
    try:
        found = from_json(written)
        hash(found)
    except Exception:
        raise InvalidVerdicts(f"{written!r:.60} can be no id and no label") from None
    return found


def _text(record: Mapping[str, Any], name: str) -> Any:
    return "" if record.get(name) is None else record[name]


def _time(record: Mapping[str, Any]) -> str:
    """When it was made, UTC; "" for the time of import, where nothing is said, or a time that is still to come."""
    written = _text(record, "time")
    if written == "":
        return ""
    if not isinstance(written, str) or moment(written) == LONG_AGO:
        raise InvalidVerdicts(f"its time is {written!r:.60}, which is no date and time in ISO form")
    made = moment(written)
    return "" if made > datetime.now(UTC) else made.isoformat(timespec="milliseconds")
