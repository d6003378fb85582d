"""Verdicts from elsewhere: whose rows they are about, what annotators do not agree on, and why nothing came in."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from psidebug.errors import InvalidVerdicts
from psidebug.exports.suspects import label_studio_tasks
from psidebug.review.exchange import read_verdicts
from psidebug.review.verdicts import moment
from psidebug.store import Run, load_run
from tests.review.talking import Room, first, line, work_done


@pytest.fixture(scope="module")
def run(digits_saved: Path) -> Run:
    return load_run(digits_saved)


def answer(choice: str, **more: Any) -> dict[str, Any]:
    return {"result": [{"value": {"choices": [choice]}}], **more}


def answered(run: Run, /, *annotations: Any, **changed: Any) -> str:
    """Psi's own first task with these annotations, and its data changed."""
    (task,) = label_studio_tasks(run.findings, run.data, top=1)
    return json.dumps([task | {"data": task["data"] | changed, "annotations": list(annotations)}])


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"run": "another"}, "task 1: it belongs to a run with other training rows or labels"),
        ({"run": None}, "task 1: it belongs to a run with other"),
        ({"given": "even"}, "task 1: its given label is 'even', but in this run it is 'odd'"),
        ({"given": ["odd"]}, "task 1: its given label is ['odd']"),
    ],
    ids=str,
)
def test_a_task_of_another_run_is_refused(run: Run, changed: dict[str, Any], said: str) -> None:
    assert len(read_verdicts(answered(run, answer("even")), run.findings).verdicts) == 1, (
        "it is taken as it was written"
    )
    with pytest.raises(InvalidVerdicts) as caught:
        read_verdicts(answered(run, answer("even"), **changed), run.findings)
    assert said in str(caught.value)


def test_tasks_after_a_new_diagnosis_are_still_of_this_run(room: Room) -> None:
    for at in first(room, 5):
        room.talk.say("/verdict", at=at, action="correct")
    work_done(room, "diagnose")
    task = room.talk.ask("/export/label-studio.json").json[0] | {"annotations": [answer("even")]}
    assert room.talk.say("/import", text=json.dumps([task])).json["said"] == "1 verdict imported"


@pytest.mark.parametrize(
    ("annotations", "label", "disputed"),
    [
        ([answer("even"), answer("odd")], None, 1),
        ([answer("odd"), answer("even"), answer("even")], None, 1),
        ([answer("even"), answer("even")], "even", 0),
        ([answer("even"), answer("odd", was_cancelled=True)], "even", 0),
    ],
)
def test_what_annotators_disagree_on_is_left_open(
    run: Run, annotations: list[Any], label: str | None, disputed: int
) -> None:
    found = read_verdicts(answered(run, *annotations), run.findings)
    assert [each.label for each in found.verdicts] == ([label] if label else [])
    assert found.disputed == disputed


def test_a_position_that_is_not_that_of_the_row_is_refused(run: Run) -> None:
    at = run.findings.labels.rows.tolist().index("picture-0366")
    assert read_verdicts(line(position=at), run.findings).verdicts[0].position == at
    for wrong in (at + 1, str(at), float(at), True):
        with pytest.raises(InvalidVerdicts, match=f"line 1: its position is .*, but its row is at position {at}"):
            read_verdicts(line(position=wrong), run.findings)


def test_an_import_without_verdicts_says_why(room: Room) -> None:
    run = room.desk.run
    task = json.loads(answered(run))[0]
    short = {"id": 1, "annotator": 1, "annotation_id": 1, "label": "even", **task["data"]}
    undone = line(event=1) + "\n" + json.dumps({"kind": "undo", "event": 2, "target": 1})
    said = {
        answered(run): "0 verdicts imported; 1 task without an annotation",
        answered(
            run, answer("even"), answer("odd")
        ): "0 verdicts imported; 1 task left open because the annotators disagree",
        undone: "0 verdicts imported; every verdict in the file was undone",
    }
    for text, expected in said.items():
        assert room.talk.say("/import", text=text).json["said"] == expected
    for text, expected in (("[]", "the file has no tasks"), (json.dumps([short]), "JSON-MIN")):
        refused = room.talk.say("/import", text=text)
        assert (refused.status, expected in refused.json["wrong"]) == (400, True)
    assert room.desk.store.log() == []


def test_a_time_that_is_still_to_come_is_that_of_the_import(room: Room) -> None:
    before = datetime.now(UTC).replace(microsecond=0)
    assert room.talk.say("/import", text=line(time="2099-01-01")).status == 200
    (found,) = room.desk.store.current().values()
    assert before <= moment(found.time) <= datetime.now(UTC)
