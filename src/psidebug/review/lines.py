"""JSON lines of verdicts: our own log, replayed, or lines like it from elsewhere."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from psidebug.errors import InvalidVerdicts, UnknownOption
from psidebug.review.imported import Imported, Rows, record_of, refuse
from psidebug.review.verdicts import Event, Ledger, Verdict

KINDS = ("verdicts", "undo", "redo", "retrained", "diagnosed")
"""Of lines."""


class Lines:
    """Our log, or lines like it. Lines with the number of a step are replayed; others are a step each."""

    def __init__(self, rows: Rows, home: str) -> None:
        """``home`` is the training set of the run; lines of another are refused."""
        self.rows, self.home = rows, home
        self.steps: dict[int, dict[int, Verdict]] = {}
        self.later: list[tuple[int, Mapping[str, Any]]] = []
        self.last = 0
        self.loose: dict[int, int] = {}  # position → line, of verdicts that are no step of a log
        self.logged: dict[int, int] = {}  # position → number of its verdicts in the log

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
                wrong.append(f"line {number} is no JSON")
        refuse(wrong)
        ledger = Ledger()
        for event, record in self.later:
            kind = record.get("kind", "verdicts")
            owner = str(record.get("browser", record.get("by", record.get("reviewer", ""))))
            lines = tuple(self.steps[event].values()) if kind == "verdicts" else ()
            ledger.apply(Event(event, kind, owner, "", record.get("target"), {}, lines))
        return Imported(list(ledger.current().values()), sum(count > 1 for count in self.logged.values()))

    def _take(self, number: int, record: dict[str, Any]) -> None:
        kind, event = record.get("kind", "verdicts"), record.get("event")
        if kind not in KINDS:
            raise InvalidVerdicts(f"its kind is {kind!r:.60}, which is none of {', '.join(KINDS)}")
        if record.get("run", self.home) != self.home:
            raise InvalidVerdicts("it is of a run with other training rows or labels")
        if event is not None:
            if not isinstance(event, int) or isinstance(event, bool) or event < 1:
                raise InvalidVerdicts(f"its event is {event!r:.60}, which is no number of a step")
            if event < self.last:
                raise InvalidVerdicts(f"its event {event} comes after event {self.last}, so the log is out of order")
            self.last = event
        if kind == "verdicts":
            self._decide(number, event, record)
        elif kind in ("undo", "redo"):
            if not isinstance(record.get("target"), int) or record["target"] not in self.steps:
                raise InvalidVerdicts(f"its target is {record.get('target')!r:.60}, which is no step in this file")
            self.later.append((event or -number, record))

    def _decide(self, number: int, event: int | None, record: Mapping[str, Any]) -> None:
        found = self.rows.verdict(record)
        at, step = found.position, -number if event is None else event
        if at in self.loose or (event is None and at in self.logged):
            before = f"line {self.loose[at]}" if at in self.loose else "a line before"
            raise InvalidVerdicts(f"{str(found.row)!r} was decided on {before} already, so one of them is too many")
        if at in self.steps.get(step, {}):
            raise InvalidVerdicts(f"{str(found.row)!r} is in event {step} already, so one of them is too many")
        if event is None:
            self.loose[at] = number
        else:
            self.logged[at] = self.logged.get(at, 0) + 1
        if step not in self.steps:
            self.steps[step] = {}
            self.later.append((step, record))
        self.steps[step][at] = found
