"""Verdicts made elsewhere, and ours for others: JSON lines of the log, and what Label Studio exports.

Nothing is imported unless every line is good; each bad line is named with what is wrong with it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from psidebug.errors import InvalidVerdicts
from psidebug.exports.written import plain
from psidebug.review.verdicts import ACTIONS, DECIDED, Event, Ledger, Verdict
from psidebug.runs.run import Run
from psidebug.runs.values import as_json, from_json

MOST_NAMED = 10
"""Bad lines that an error names."""


def log_lines(events: Sequence[Event]) -> Iterator[str]:
    """Every step as JSON lines: one for each verdict, one for each undo, redo and remark."""
    for event in events:
        common = {"event": event.number, "kind": event.kind}
        for each in event.verdicts:
            said = {"action": each.action, "label": as_json(each.label), "comment": each.comment}
            who = {"reviewer": each.reviewer, "time": each.time, "by": event.reviewer}
            yield _line(common | {"row": as_json(each.row), "position": each.position} | said | who)
        if event.kind != "verdicts":
            about = {"target": event.target} if event.target is not None else {"about": dict(event.about)}
            yield _line(common | about | {"reviewer": event.reviewer, "time": event.time})


def read_verdicts(text: str, run: Run) -> list[Verdict]:
    """The verdicts of a file: our JSON lines, where an undone verdict does not count, or Label Studio's JSON."""
    if not text.strip():
        raise InvalidVerdicts("the file is empty: there is nothing to import.")
    places = {_hashable(row): place for place, row in enumerate(run.rows.tolist())}
    for place, row in enumerate(run.rows.tolist()):  # as other tools write it: a date is a text there
        places.setdefault(json.dumps(plain(row)), place)
    if text.lstrip().startswith("["):
        return _from_label_studio(text, run, places)
    return _from_lines(text, run, places)


def _from_lines(text: str, run: Run, places: Mapping[Any, int]) -> list[Verdict]:
    wrong: list[str] = []
    steps: dict[int, list[Any]] = {}
    later: list[Any] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            record = _record(json.loads(line))
            if record.get("kind", "verdicts") != "verdicts":
                later.append((record.get("event"), record))
                continue
            found = _verdict(record, run, places)
            event = record.get("event", -number)  # a line without a step is one by itself
            if event not in steps:
                steps[event] = []
                later.append((event, record | {"kind": "verdicts"}))
            steps[event].append(found)
        except json.JSONDecodeError:
            wrong.append(f"line {number} is no JSON")
        except InvalidVerdicts as error:
            wrong.append(f"line {number}: {error}")
    _refuse(wrong)
    ledger = Ledger()
    for place, (event, record) in enumerate(later):
        kind, reviewer = record["kind"], str(record.get("by", record.get("reviewer", "")))
        number = event if isinstance(event, int) else -1_000_000 - place
        lines = tuple(steps[event]) if kind == "verdicts" else ()
        ledger.apply(Event(number, kind, reviewer, "", record.get("target"), {}, lines))
    return list(ledger.current().values())


def _from_label_studio(text: str, run: Run, places: Mapping[Any, int]) -> list[Verdict]:
    try:
        tasks = json.loads(text)
    except json.JSONDecodeError as error:
        raise InvalidVerdicts(f"the file is no JSON ({error}): export it again.") from None
    wrong: list[str] = []
    verdicts: dict[int, Verdict] = {}
    for number, task in enumerate(tasks, start=1):
        try:
            found = _of_task(_record(task), run, places)
            if found is not None:
                verdicts[found.position] = found
        except InvalidVerdicts as error:
            wrong.append(f"task {number}: {error}")
    _refuse(wrong)
    return list(verdicts.values())


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
        label = given if label is None and action == "keep" else label
        if label not in run.encoding.classes:
            raise InvalidVerdicts(f"{label!r} is no class of this run")
        action = "keep" if label == given else "correct"
    parts = {name: str(record.get(name) or "") for name in ("comment", "reviewer", "time")}
    return Verdict(place, run.rows[place], str(action), label, **parts)


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
