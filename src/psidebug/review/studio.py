"""The JSON of Label Studio, of tasks exported from Psi: what the annotators of a task agree on is a verdict."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from psidebug.errors import InvalidVerdicts, UnknownOption
from psidebug.report.rows import Part
from psidebug.review.imported import Imported, Rows, list_of, part_of, record_of, refuse
from psidebug.review.verdicts import Verdict
from psidebug.store.values import as_json

Annotations = list[dict[str, Any]]


def from_label_studio(text: str, rows: Mapping[Part, Rows]) -> Imported:
    """The verdicts of a file of tasks; ``rows`` are those of the run, by set, and tasks about others are refused."""
    try:
        tasks = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidVerdicts(f"the file is not JSON ({error}). Export it again.") from None
    if not tasks:
        raise InvalidVerdicts("the file has no tasks: there is nothing to import.")
    wrong: list[str] = []
    verdicts: dict[tuple[Part, int], Verdict] = {}
    unanswered = disputed = 0
    for number, task in enumerate(tasks, start=1):
        try:
            data = _data(record_of(task), rows)
            annotations = [record_of(each) for each in list_of(task.get("annotations"))]
            if not annotations:
                unanswered += 1
            elif _disagree(annotations):
                disputed += 1
            else:
                found = _verdict(data, annotations, rows[part_of(data)])
                if (found.part, found.position) in verdicts:
                    raise InvalidVerdicts(
                        f"an earlier task already has a verdict on {str(found.row)!r}; remove one of them"
                    )
                verdicts[found.part, found.position] = found
        except (InvalidVerdicts, UnknownOption) as error:
            wrong.append(f"task {number}: {str(error).rstrip('.')}")
    refuse(wrong)
    return Imported(list(verdicts.values()), unanswered=unanswered, disputed=disputed)


def _data(task: Mapping[str, Any], rows: Mapping[Part, Rows]) -> dict[str, Any]:
    """The data that Psi wrote into a task, if they fit a row of this run."""
    if "data" not in task and "annotations" not in task:
        raise InvalidVerdicts("it has no data and no annotations; export from Label Studio as JSON, not as JSON-MIN")
    data = record_of(task.get("data", task))
    if "row" not in data:
        raise InvalidVerdicts("it has no data.row; only tasks that Psi exported can be imported")
    own = rows[part_of(data)]
    own.check_home(data)
    given = str(own.given(own.place(data["row"])))
    if str(data.get("given", given)) != given:
        raise InvalidVerdicts(f"its given label is {data['given']!r:.60}, but in this run it is {given!r:.60}")
    return data


def _disagree(annotations: Annotations) -> bool:
    """Whether two annotations differ; cancelled ones do not count."""
    chosen = [found for each in annotations if (found := _chosen(each))]
    return any(each != chosen[0] for each in chosen)


def _verdict(data: Mapping[str, Any], annotations: Annotations, rows: Rows) -> Verdict:
    """The verdict of annotations that agree, by the last annotator; without an answer the row is skipped."""
    last = ([each for each in annotations if _chosen(each)] or annotations)[-1]
    time = str(last.get("updated_at") or last.get("created_at") or "")
    record = {"row": data["row"], "reviewer": _annotator(last), "comment": _comment(last), "time": time}
    chosen = _chosen(last)
    if not chosen:
        return rows.verdict(record | {"action": "skip"})
    if len(chosen) > 1:
        raise InvalidVerdicts(f"it has {len(chosen)} choices, but a row has one label")
    named = {str(label): label for label in rows.findings.encoding.classes}
    if not isinstance(chosen[0], str) or chosen[0] not in named:
        raise InvalidVerdicts(f"{chosen[0]!r:.60} is not a class of this run")
    return rows.verdict(record | {"action": "correct", "label": as_json(named[chosen[0]])})


def _annotator(annotation: Mapping[str, Any]) -> str:
    who = annotation.get("completed_by", "")
    who = who.get("email", who.get("id", "")) if isinstance(who, Mapping) else who
    return f"Label Studio {who}".strip()


def _chosen(annotation: Mapping[str, Any]) -> list[Any]:
    """The chosen classes; none if it was cancelled."""
    if annotation.get("was_cancelled"):
        return []
    return [choice for each in _values(annotation) for choice in list_of(each.get("choices"))]


def _comment(annotation: Mapping[str, Any]) -> str:
    """The text of an annotation."""
    texts = [each["text"] for each in _values(annotation) if "text" in each]
    return " ".join(str(part) for each in texts for part in (each if isinstance(each, list) else [each]))


def _values(annotation: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [record_of(record_of(each).get("value", {})) for each in list_of(annotation.get("result"))]
