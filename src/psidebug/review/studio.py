"""Label Studio's JSON of the tasks that came from here: of each the last annotation is a verdict."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from psidebug.errors import InvalidVerdicts, UnknownOption
from psidebug.review.imported import Imported, Rows, list_of, record_of, refuse
from psidebug.review.verdicts import Verdict
from psidebug.runs.values import as_json


def from_label_studio(text: str, rows: Rows) -> Imported:
    """The verdicts of a file of tasks."""
    try:
        tasks = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidVerdicts(f"the file is no JSON ({error}): export it again.") from None
    wrong: list[str] = []
    verdicts: dict[int, Verdict] = {}
    for number, task in enumerate(tasks, start=1):
        try:
            found = _verdict(record_of(task), rows)
            if found is not None and found.position in verdicts:
                raise InvalidVerdicts(f"{str(found.row)!r} was decided in a task before, so one of them is too many")
            if found is not None:
                verdicts[found.position] = found
        except (InvalidVerdicts, UnknownOption) as error:
            wrong.append(f"task {number}: {str(error).rstrip('.')}")
    refuse(wrong)
    return Imported(list(verdicts.values()))


def _verdict(task: Mapping[str, Any], rows: Rows) -> Verdict | None:
    """The verdict of a task; of several annotations the last counts, and without any there is none."""
    data = record_of(task.get("data", task))
    if "row" not in data:
        raise InvalidVerdicts("it has no data.row, so its training row is not known; export it from Psi's own tasks")
    annotations = [record_of(each) for each in list_of(task.get("annotations"))]
    if not annotations:
        return None
    last = annotations[-1]
    record = {"row": data["row"], "reviewer": _annotator(last), **_said(last)}
    record["time"] = str(last.get("updated_at") or last.get("created_at") or "")
    chosen = record.pop("chosen")
    if last.get("was_cancelled") or not chosen:
        return rows.verdict(record | {"action": "skip"})
    if len(chosen) > 1:
        raise InvalidVerdicts(f"it has {len(chosen)} choices; a row has one label")
    named = {str(label): label for label in rows.run.encoding.classes}
    if not isinstance(chosen[0], str) or chosen[0] not in named:
        raise InvalidVerdicts(f"{chosen[0]!r:.60} is no class of this run")
    return rows.verdict(record | {"action": "correct", "label": as_json(named[chosen[0]])})


def _annotator(annotation: Mapping[str, Any]) -> str:
    who = annotation.get("completed_by", "")
    who = who.get("email", who.get("id", "")) if isinstance(who, Mapping) else who
    return f"Label Studio {who}".strip()


def _said(annotation: Mapping[str, Any]) -> dict[str, Any]:
    """The classes that were chosen, and what was written beside them."""
    values = [record_of(record_of(each).get("value", {})) for each in list_of(annotation.get("result"))]
    chosen = [choice for each in values for choice in list_of(each.get("choices"))]
    texts = [each["text"] for each in values if "text" in each]
    parts = [str(part) for each in texts for part in (each if isinstance(each, list) else [each])]
    return {"chosen": chosen, "comment": " ".join(parts)}
