"""Verdicts made elsewhere, and ours for others: JSON lines of the log, and what Label Studio exports.

Nothing is imported unless every line is good; each bad line is named with what is wrong with it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from psidebug.errors import InvalidVerdicts, UnknownOption
from psidebug.exports.written import plain
from psidebug.review.verdicts import (
    ACTIONS,
    DECIDED,
    LONG_AGO,
    Event,
    Ledger,
    Verdict,
    checked_comment,
    checked_name,
    moment,
)
from psidebug.runs.run import Run
from psidebug.runs.values import as_json, from_json

KINDS = ("verdicts", "undo", "redo", "retrained", "diagnosed")
"""Of lines."""
MOST_NAMED = 10
"""Bad lines that an error names."""


@dataclass(frozen=True)
class Imported:
    """What a file says."""

    verdicts: list[Verdict]
    """One for each row."""
    repeated: int = 0
    """Rows that have several in the log, of which the last counts."""


def training_set(run: Run) -> str:
    """A short digest of the training rows, their given labels and ids: what verdicts are about."""
    said = json.dumps([run.fingerprint.get(name) for name in ("train", "rows")])
    return hashlib.sha256(said.encode()).hexdigest()[:16]


def log_lines(events: Sequence[Event], run: Run) -> Iterator[str]:
    """Every step as JSON lines: one for each verdict, one for each undo, redo and remark."""
    home = training_set(run)
    for event in events:
        common = {"event": event.number, "kind": event.kind, "run": home}
        whose = {"browser": event.about["browser"]} if "browser" in event.about else {}
        for each in event.verdicts:
            said = {"action": each.action, "label": as_json(each.label), "comment": each.comment}
            who = {"reviewer": each.reviewer, "time": each.time, "by": event.reviewer, **whose}
            yield _line(common | {"row": as_json(each.row), "position": each.position} | said | who)
        if event.kind != "verdicts":
            about = {"target": event.target, **whose} if event.target is not None else {"about": dict(event.about)}
            yield _line(common | about | {"reviewer": event.reviewer, "time": event.time})


def read_verdicts(text: str, run: Run) -> Imported:
    """The verdicts of a file: our JSON lines, where an undone verdict does not count, or Label Studio's JSON."""
    if not text.strip():
        raise InvalidVerdicts("the file is empty: there is nothing to import.")
    places = {_hashable(row): place for place, row in enumerate(run.rows.tolist())}
    for place, row in enumerate(run.rows.tolist()):  # as other tools write it: a date is a text there
        places.setdefault(json.dumps(plain(row)), place)
    if text.lstrip().startswith("["):
        return _from_label_studio(text, run, places)
    return _Lines(run, places).read(text)


class _Lines:
    """Our log, or lines like it. Lines with the number of a step are replayed; others are a step each."""

    def __init__(self, run: Run, places: Mapping[Any, int]) -> None:
        self.run, self.places, self.home = run, places, training_set(run)
        self.steps: dict[int, dict[int, Verdict]] = {}
        self.later: list[tuple[int, Mapping[str, Any]]] = []
        self.last = 0
        self.loose: dict[int, int] = {}  # position → line, of verdicts that are no step of a log
        self.logged: dict[int, int] = {}  # position → number of its verdicts in the log

    def read(self, text: str) -> Imported:
        wrong: list[str] = []
        for number, line in enumerate(text.split("\n"), start=1):
            if not line.strip():
                continue
            try:
                self._take(number, _record(json.loads(line)))
            except (json.JSONDecodeError, RecursionError):
                wrong.append(f"line {number} is no JSON")
            except (InvalidVerdicts, UnknownOption) as error:
                wrong.append(f"line {number}: {str(error).rstrip('.')}")
        _refuse(wrong)
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
        found = _verdict(record, self.run, self.places)
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


def _from_label_studio(text: str, run: Run, places: Mapping[Any, int]) -> Imported:
    try:
        tasks = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise InvalidVerdicts(f"the file is no JSON ({error}): export it again.") from None
    wrong: list[str] = []
    verdicts: dict[int, Verdict] = {}
    for number, task in enumerate(tasks, start=1):
        try:
            found = _of_task(_record(task), run, places)
            if found is not None and found.position in verdicts:
                raise InvalidVerdicts(f"{str(found.row)!r} was decided in a task before, so one of them is too many")
            if found is not None:
                verdicts[found.position] = found
        except (InvalidVerdicts, UnknownOption) as error:
            wrong.append(f"task {number}: {str(error).rstrip('.')}")
    _refuse(wrong)
    return Imported(list(verdicts.values()))


def _of_task(task: Mapping[str, Any], run: Run, places: Mapping[Any, int]) -> Verdict | None:
    """The verdict of a task; of several annotations the last counts, and without any there is none."""
    data = _record(task.get("data", task))
    if "row" not in data:
        raise InvalidVerdicts("it has no data.row, so its training row is not known; export it from Psi's own tasks")
    annotations = [_record(each) for each in task.get("annotations", [])]
    if not annotations:
        return None
    last = annotations[-1]
    who = last.get("completed_by", "")
    who = who.get("email", who.get("id", "")) if isinstance(who, Mapping) else who
    record: dict[str, Any] = {"row": data["row"], "reviewer": f"Label Studio {who}".strip()}
    record["time"] = str(last.get("updated_at") or last.get("created_at") or "")
    chosen = [choice for each in last.get("result", []) for choice in _record(each.get("value", {})).get("choices", [])]
    texts = [each["value"]["text"] for each in last.get("result", []) if "text" in _record(each.get("value", {}))]
    record["comment"] = " ".join(str(part) for each in texts for part in (each if isinstance(each, list) else [each]))
    if last.get("was_cancelled") or not chosen:
        return _verdict(record | {"action": "skip"}, run, places)
    if len(chosen) > 1:
        raise InvalidVerdicts(f"it has {len(chosen)} choices; a row has one label")
    named = {str(label): label for label in run.encoding.classes}
    if chosen[0] not in named:
        raise InvalidVerdicts(f"{chosen[0]!r} is no class of this run")
    return _verdict(record | {"action": "correct", "label": as_json(named[chosen[0]])}, run, places)


def _verdict(record: Mapping[str, Any], run: Run, places: Mapping[Any, int]) -> Verdict:
    action = record.get("action")
    if action not in ACTIONS:
        raise InvalidVerdicts(f"its action is {action!r}, which is none of {', '.join(ACTIONS)}")
    if "row" not in record:
        raise InvalidVerdicts("it names no row")
    place = places.get(_hashable(from_json(record["row"])), places.get(json.dumps(record["row"])))
    if place is None:
        raise InvalidVerdicts(f"{record['row']!r} is not the id of a training row of this run")
    label = None
    if action in DECIDED:
        label = from_json(record.get("label"))
        given = run.encoding.classes[run.given[place]]
        if action == "keep" and label is not None and label != given:
            raise InvalidVerdicts(f"it keeps the given label, {given!r}, and says {label!r}")
        label = given if label is None and action == "keep" else label
        if label not in run.encoding.classes:
            raise InvalidVerdicts(f"{label!r} is no class of this run")
        action = "keep" if label == given else "correct"
    elif record.get("label") is not None:
        raise InvalidVerdicts(f"it says {action}, which has no label, and the label {record['label']!r:.60}")
    comment, reviewer = checked_comment(_text(record, "comment")), checked_name(_text(record, "reviewer"))
    return Verdict(place, run.rows[place], str(action), label, comment, reviewer, _time(record))


def _text(record: Mapping[str, Any], name: str) -> Any:
    return "" if record.get(name) is None else record[name]


def _time(record: Mapping[str, Any]) -> str:
    """When it was made, UTC; "" where nothing is said."""
    written = _text(record, "time")
    if written == "":
        return ""
    if not isinstance(written, str) or moment(written) == LONG_AGO:
        raise InvalidVerdicts(f"its time is {written!r:.60}, which is no date and time in ISO form")
    return moment(written).isoformat(timespec="milliseconds")


def _record(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InvalidVerdicts("it is no JSON object")
    return value


def _hashable(row: Any) -> Any:
    return json.dumps(as_json(row))


def _refuse(wrong: Sequence[str]) -> None:
    if wrong:
        more = f"; and {len(wrong) - MOST_NAMED} more" if len(wrong) > MOST_NAMED else ""
        raise InvalidVerdicts(f"nothing was imported: {'; '.join(wrong[:MOST_NAMED])}{more}. Mend the file.")


def _line(record: Mapping[str, Any]) -> str:
    return json.dumps(record, ensure_ascii=True) + "\n"
