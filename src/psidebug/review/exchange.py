"""Verdicts to and from other places: the log as JSON lines, written and read, and the JSON of Label Studio.

An import is all or nothing: if any line is wrong, nothing is imported and the error names each bad line.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from psidebug.errors import InvalidVerdicts, UnknownOption
from psidebug.exports.suspects import training_set
from psidebug.findings.about_tests import about_tests
from psidebug.findings.findings import Findings
from psidebug.report.rows import Part
from psidebug.review.imported import Imported, Rows, part_of, record_of, refuse, rows_of
from psidebug.review.studio import from_label_studio
from psidebug.review.verdicts import PARTS, Event, Ledger, Verdict
from psidebug.store.values import as_json

KINDS = ("verdicts", "undo", "redo", "retrained", "diagnosed")
"""Of lines."""
Place = tuple[Part, int]
"""A set, and a position in it."""


def log_lines(events: Sequence[Event], findings: Findings) -> Iterator[str]:
    """The log as JSON lines: one for each verdict, undo, redo and remark. A verdict on a test label says so."""
    home, of_tests = (training_set(each.origin) for each in (findings, about_tests(findings)))
    for event in events:
        common = {"event": event.number, "kind": event.kind, "run": home}
        whose = {"browser": event.about["browser"]} if "browser" in event.about else {}
        for each in event.verdicts:
            said = {"action": each.action, "label": as_json(each.label), "comment": each.comment}
            who = {"reviewer": each.reviewer, "time": each.time, "by": event.reviewer, **whose}
            about = {"row": as_json(each.row), "position": each.position}
            about |= {"set": "test", "run": of_tests} if each.part == "test" else {}
            yield json.dumps(common | about | said | who) + "\n"
        if event.kind != "verdicts":
            about = {"target": event.target, **whose} if event.target is not None else {"about": dict(event.about)}
            yield json.dumps(common | about | {"reviewer": event.reviewer, "time": event.time}) + "\n"


def read_verdicts(text: str, findings: Findings) -> Imported:
    """The verdicts of a file: JSON lines, in which undone verdicts do not count, or the JSON of Label Studio."""
    if not text.strip():
        raise InvalidVerdicts("the file is empty: there is nothing to import.")
    if text.lstrip().startswith("["):
        return from_label_studio(text, rows_of(findings))
    return Lines(rows_of(findings)).read(text)


class Lines:
    """JSON lines of verdicts. Lines with an event number are replayed as a log; each other line is a step."""

    def __init__(self, rows: Mapping[Part, Rows]) -> None:
        """``rows`` are those of the run, by set; lines about other rows are refused."""
        self.rows = rows
        self.steps: dict[int, dict[Place, Verdict]] = {}
        self.later: list[tuple[int, Mapping[str, Any]]] = []
        self.last = 0
        self.loose: dict[Place, int] = {}  # place → line, of verdicts without an event number
        self.logged: dict[Place, int] = {}  # place → number of its verdicts in the log

    def read(self, text: str) -> Imported:
        """The verdicts that hold after all lines."""
        wrong: list[str] = []
        for number, line in enumerate(text.split("\n"), start=1):
            if not line.strip():
                continue
            try:
                self._take(number, record_of(json.loads(line)))
            except (InvalidVerdicts, UnknownOption) as error:
                wrong.append(f"line {number}: {str(error).rstrip('.')}")
            except (ValueError, RecursionError):  # or a number of thousands of digits
                wrong.append(f"line {number} is not JSON")
        refuse(wrong)
        ledger = Ledger()
        for event, record in self.later:
            kind = record.get("kind", "verdicts")
            owner = str(record.get("browser", record.get("by", record.get("reviewer", ""))))
            lines = tuple(self.steps[event].values()) if kind == "verdicts" else ()
            ledger.apply(Event(event, kind, owner, "", record.get("target"), {}, lines))
        standing = [verdict for part in PARTS for verdict in ledger.current(part).values()]
        return Imported(standing, sum(count > 1 for count in self.logged.values()))

    def _take(self, number: int, record: dict[str, Any]) -> None:
        kind, event = record.get("kind", "verdicts"), record.get("event")
        if kind not in KINDS:
            raise InvalidVerdicts(f"unknown kind {kind!r:.60}; it must be one of {', '.join(KINDS)}")
        self.rows[part_of(record)].check_home(record)
        if event is not None:
            if type(event) is not int or event < 1:
                raise InvalidVerdicts(f"event must be a positive integer, not {event!r:.60}")
            if event < self.last:
                raise InvalidVerdicts(f"event {event} comes after event {self.last}: the log is out of order")
            self.last = event
        if kind == "verdicts":
            self._take_verdict(number, event, record)
        elif kind in ("undo", "redo"):
            if not isinstance(record.get("target"), int) or record["target"] not in self.steps:
                raise InvalidVerdicts(f"its target {record.get('target')!r:.60} is not an earlier event of this file")
            self.later.append((event or -number, record))

    def _take_verdict(self, number: int, event: int | None, record: Mapping[str, Any]) -> None:
        found = self.rows[part_of(record)].verdict(record)
        at, step = (found.part, found.position), -number if event is None else event
        if at in self.loose or (event is None and at in self.logged):
            before = f"line {self.loose[at]}" if at in self.loose else "an earlier line"
            raise InvalidVerdicts(f"{before} already has a verdict on {str(found.row)!r}; remove one of them")
        if at in self.steps.get(step, {}):
            raise InvalidVerdicts(f"event {step} already has a verdict on {str(found.row)!r}; remove one of them")
        if event is None:
            self.loose[at] = number
        else:
            self.logged[at] = self.logged.get(at, 0) + 1
        if step not in self.steps:
            self.steps[step] = {}
            self.later.append((step, record))
        self.steps[step][at] = found
