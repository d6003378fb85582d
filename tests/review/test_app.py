"""The app over HTTP: verdicts, undo, bulk, retraining, a new diagnosis, exports and imports; each seen in the store."""

from __future__ import annotations

import csv
import io
import json
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import psidebug
from psidebug.datasets.digits import mislabelled_digits
from psidebug.errors import InvalidVerdicts
from psidebug.review.desk import Desk
from psidebug.review.exchange import read_verdicts
from psidebug.review.verdict_store import open_store
from psidebug.store import load_run
from tests.review.talking import Room, first, line, serving, work_done


def test_a_verdict_is_on_disk_when_it_is_called_saved(room: Room, digits_run: Path) -> None:
    (at,) = first(room)
    answer = room.talk.say("/verdict", at=at, action="correct", comment="a clear 4")
    assert answer.status == 200
    with open_store(digits_run) as other:
        (found,) = other.current().values()
    assert (found.position, found.row, found.label, found.reviewer) == (
        at,
        room.desk.findings.labels.rows[at],
        "even",
        "ann",
    )
    assert answer.json["said"] == f"{found.row}: corrected to even"
    assert found.comment == "a clear 4"


def test_a_class_by_its_number_and_the_given_one_is_kept(room: Room) -> None:
    at, classes = first(room)[0], room.desk.findings.encoding.classes
    room.talk.say("/verdict", at=at, action="correct", code=classes.index("even"))
    assert room.desk.store.current()[at].action == "correct"
    room.talk.say("/verdict", at=at, action="correct", code=classes.index("odd"))
    assert room.desk.store.current()[at].action == "keep"


@pytest.mark.parametrize(
    "wrong",
    [
        {"action": "burn"}, {"action": None}, {"code": 2, "action": "correct"}, {"code": -1, "action": "correct"},
        {"at": 900}, {"at": None}, {"at": "x"}, {"key": "short"}, {"key": None}, {"comment": "x" * 2001}, {"code": "x"},
    ],
    ids=str,
)  # fmt: skip
def test_a_wrong_verdict_is_refused_with_a_sentence(room: Room, wrong: dict[str, Any]) -> None:
    answer = room.talk.say("/verdict", **{"at": 3, "action": "keep", **wrong})
    assert answer.status == 400
    assert len(answer.json["wrong"]) > 10
    assert room.desk.store.log() == []


@pytest.mark.parametrize("body", ["", "{", "[]", "3", "\x00"])
def test_a_request_that_is_no_json_object_is_refused(room: Room, body: str) -> None:
    assert room.talk.ask("/verdict", method="POST", body=body).status == 400


def test_a_verdict_that_is_sent_again_is_stored_once(room: Room) -> None:
    (at,) = first(room)
    for _ in range(3):
        assert room.talk.say("/verdict", at=at, action="keep", key="the same key").status == 200
    assert len(room.desk.store.log()) == 1


def test_undo_and_redo_say_which_row(room: Room) -> None:
    one, two = first(room, 2)
    room.talk.say("/verdict", at=one, action="keep")
    room.talk.say("/verdict", at=two, action="skip")
    assert room.talk.say("/undo").json["at"] == two
    assert room.talk.say("/undo").json["at"] == one
    assert room.talk.say("/undo").json["said"] == "nothing to undo"
    assert room.talk.say("/redo").json["at"] == one
    assert set(room.desk.store.current()) == {one}


def test_bulk_takes_the_whole_filter_as_one_step_and_only_as_many_as_were_shown(room: Room) -> None:
    wanted = {"slice": "0", "state": "open"}
    count = len(room.desk.findings.slices[0].members(room.desk.run.data))
    assert room.talk.say("/bulk", filter=wanted, action="correct", expected=count - 1).status == 400
    assert room.desk.store.log() == []
    key = "a key for all of them"
    assert (
        f"{count} rows" in room.talk.say("/bulk", filter=wanted, action="correct", expected=count, key=key).json["said"]
    )
    assert room.talk.say("/bulk", filter=wanted, action="correct", expected=count, key=key).status == 200, "tried again"
    assert {each.label for each in room.desk.store.current().values()} == {"even"}
    assert sorted(room.desk.store.current()) == room.desk.findings.slices[0].members(room.desk.run.data).tolist()
    assert len(room.desk.store.log()) == 1
    room.talk.say("/undo")
    assert room.desk.store.current() == {}


def test_two_people_see_each_other_and_undo_their_own(room: Room) -> None:
    bob = room.another()
    bob.say("/name", name=" bob ")
    one, two = first(room, 2)
    room.talk.say("/verdict", at=one, action="keep")
    seen = bob.ask("/changes").json["seen"]
    bob.say("/verdict", at=two, action="keep")
    assert room.talk.ask("/changes").json["seen"] == seen + 1
    assert [room.desk.store.current()[each].reviewer for each in (one, two)] == ["ann", "bob"]
    assert bob.say("/undo").json["at"] == two
    assert bob.say("/undo").json["said"] == "nothing to undo"
    assert "kept as odd" in bob.ask(f"/item?at={one}&state=all").text


def test_another_server_on_the_same_run_sees_the_verdicts(room: Room, digits_run: Path) -> None:
    (at,) = first(room)
    with serving(digits_run) as other:
        other.talk.say("/verdict", at=at, action="correct")
        assert "corrected to even" in room.talk.ask(f"/item?at={at}&state=all").text
        assert "<b>1</b> of" in room.talk.ask("/queue").text


# ── the model ──


def test_retraining_says_what_a_plain_fit_says(room: Room) -> None:
    data = mislabelled_digits(seed=1)
    members = room.desk.findings.slices[0].members(room.desk.run.data)
    room.talk.say("/bulk", filter={"slice": "0"}, action="correct", expected=len(members))
    page = work_done(room, "retrain")
    (found,) = (each.about for each in room.desk.store.remarks("retrained"))
    labels = data.y_train.copy()
    labels[members] = "even"
    before, after = (LogisticRegression(max_iter=1000).fit(data.X_train, y) for y in (data.y_train, labels))
    for name, X, y in (("test", data.X_test, data.y_test), ("validation", data.X_validation, data.y_validation)):
        assert found[f"{name}_before"] == pytest.approx((before.predict(X) != y).mean(), abs=1e-12)
        assert found[f"{name}_after"] == pytest.approx((after.predict(X) != y).mean(), abs=1e-12)
    was, now = before.predict(data.X_test) != data.y_test, after.predict(data.X_test) != data.y_test
    assert (found["bugs_fixed"], found["points_broken"]) == ((was & ~now).sum(), (~was & now).sum())
    assert found["validation_after"] < found["validation_before"]
    assert f"{found['validation_after']:.3f}" in page
    drawn = room.talk.ask("/history").json["data"]["values"]
    assert {(each["rows"], each["error"]) for each in drawn} >= {("validation", found["validation_after"])}


def test_to_diagnose_again_ranks_anew_and_keeps_every_verdict(room: Room, digits_run: Path) -> None:
    order = first(room, 40)
    for at in order[:30]:
        room.talk.say("/verdict", at=at, action="correct")
    room.talk.say("/verdict", at=order[30], action="keep")
    before = room.desk.store.current()
    work_done(room, "diagnose")
    assert room.desk.store.current() == before
    ranked = room.desk.queue.ranked
    assert not set(order[:31]) & set(ranked.order.tolist()), "what a person has settled is no suspect"
    assert room.desk.queue.counts()["correct"] == 30
    assert "corrected to even" in room.talk.ask(f"/item?at={order[0]}&state=all").text
    again = Desk(digits_run, psidebug.Diagnosis.load)
    assert again.queue.ranked.order.tolist() == ranked.order.tolist(), "it is there after a restart"
    assert again.queue.given.tolist() == load_run(digits_run).findings.labels.given.tolist()
    assert again.queue.counts() == room.desk.queue.counts()
    again.close()


def test_only_one_training_at_a_time(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    go_on = threading.Event()
    monkeypatch.setattr(psidebug.Diagnosis, "retrain", lambda run, labels: go_on.wait(60))
    assert room.talk.say("/begin", kind="retrain").status == 200
    assert room.talk.ask("/changes").json["busy"]
    assert "Wait" in room.talk.say("/begin", kind="diagnose").json["wrong"]
    assert "Retraining" in room.talk.ask("/work").text
    assert room.talk.say("/verdict", at=first(room)[0], action="keep").status == 200, "the review goes on"
    go_on.set()
    while room.talk.ask("/changes").json["busy"]:
        time.sleep(0.05)
    assert "unknown job" in room.talk.say("/begin", kind="dance").json["wrong"]


def test_a_run_without_its_learner_says_what_to_do(digits_run: Path) -> None:
    record = json.loads((digits_run / "run.json").read_text())
    del record["files"]["learner"]
    (digits_run / "run.json").write_text(json.dumps(record))
    with serving(digits_run) as room:
        for kind in ("retrain", "diagnose"):
            page = work_done(room, kind)
            assert "has no learner" in page
            assert "run debug again" in page
        assert room.talk.say("/verdict", at=first(room)[0], action="keep").status == 200, "the review goes on"


# ── files ──


def test_the_corrected_data_set_has_its_trace(room: Room) -> None:
    one, two, three = first(room, 3)
    room.talk.say("/verdict", at=one, action="correct")
    room.talk.say("/verdict", at=two, action="keep")
    room.talk.say("/verdict", at=three, action="skip")
    lines = list(csv.DictReader(io.StringIO(room.talk.ask("/export/corrected.csv").text)))
    assert len(lines) == 900
    told = [
        [lines[at][name] for name in ("label", "given", "corrected", "verdict", "reviewer")] for at in (one, two, three)
    ]
    assert told == [
        ["even", "odd", "true", "correct", "ann"],
        ["odd", "odd", "false", "keep", "ann"],
        ["odd", "odd", "false", "skip", "ann"],
    ]
    assert lines[one]["time"] == room.desk.store.current()[one].time
    assert [each["row"] for each in lines] == room.desk.findings.labels.rows.tolist()
    pixels = np.array([[float(each[f"x{n}"]) for n in range(64)] for each in lines])
    np.testing.assert_array_equal(pixels, room.desk.run.data.train.features)


def test_the_log_goes_out_and_comes_in_elsewhere(room: Room, digits_saved: Path, tmp_path: Path) -> None:
    import shutil

    one, two, three = first(room, 3)
    room.talk.say("/verdict", at=one, action="correct", comment="“yes”\n")
    room.talk.say("/verdict", at=two, action="keep")
    room.talk.say("/undo")
    room.talk.say(
        "/bulk",
        filter={"slice": "0"},
        action="second_opinion",
        expected=len(room.desk.findings.slices[0].members(room.desk.run.data)) - 1,
    )
    room.talk.say("/undo")
    room.talk.say("/redo")
    room.talk.say("/verdict", at=three, action="correct")
    text = room.talk.ask("/export/verdicts.jsonl").text
    assert all(isinstance(json.loads(line), dict) for line in text.splitlines())
    with serving(Path(shutil.copytree(digits_saved, tmp_path / "other")), reviewer="carl") as other:
        assert other.talk.say("/import", text=text).status == 200
        assert other.desk.store.current() == room.desk.store.current()
        assert other.desk.queue.counts() == room.desk.queue.counts()
        other.talk.say("/undo")
        assert other.desk.store.current() == {}, "an import is one step"


def test_label_studios_answers_come_in(room: Room) -> None:
    tasks = room.talk.ask("/export/label-studio.json").json
    assert "<Choice value" in room.talk.ask("/export/label-studio.xml").text
    choices = [["even"], ["odd"], [], None]
    for task, chosen in zip(tasks, choices, strict=False):
        result = [{"type": "choices", "from_name": "label", "to_name": "image", "value": {"choices": chosen}}]
        answer = {"result": result if chosen else [], "completed_by": {"email": "d@e.f"}, "created_at": "2026-01-02"}
        task["annotations"] = [] if chosen is None else [answer | {"was_cancelled": not chosen}]
    said = room.talk.say("/import", text=json.dumps(tasks)).json["said"]
    assert said == f"3 verdicts imported; {len(tasks) - 3} tasks without an annotation"
    found = room.desk.store.current()
    told = [(each.action, each.label) for at in first(room, 4) if (each := found.get(at))]
    assert told == [("correct", "even"), ("keep", "odd"), ("skip", None)]
    assert found[first(room)[0]].reviewer == "Label Studio d@e.f"


def task(*choices: str) -> str:
    answer = {"result": [{"value": {"choices": choices}}]}
    return json.dumps([{"data": {"row": "picture-0366"}, "annotations": [answer]}])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "empty"),
        (line() + "\n{nonsense", "line 2 is not JSON"),
        (line() + "\n[]", "line 2: it is not a JSON object"),
        (line() + "\n" + line(row="nobody"), "line 2: no training row of this run has the id 'nobody'"),
        (line(action="burn"), "line 1: unknown action 'burn'"),
        (line(label="blue"), "line 1: 'blue' is not a class"),
        (line(label=None), "line 1: None is not a class"),
        ('{"action": "keep"}', "line 1: it has no row"),
        ("[{]", "not JSON"),
        ('[{"data": {}}]', "task 1: it has no data.row"),
        (task("blue"), "task 1: 'blue' is not a class"),
        (task("odd", "even"), "task 1: it has 2 choices"),
        ("\n".join([line(label="blue")] * 30), "and 20 more"),
    ],
)  # fmt: skip
def test_nothing_is_imported_if_any_line_is_bad(digits_saved: Path, text: str, said: str) -> None:
    with pytest.raises(InvalidVerdicts) as caught:
        read_verdicts(text, load_run(digits_saved).findings)
    assert said in str(caught.value)


def test_a_bad_import_stores_nothing_and_says_why(room: Room) -> None:
    answer = room.talk.say("/import", text=line() + "\n{nonsense")
    assert (answer.status, room.desk.store.log()) == (400, [])
    assert "line 2" in answer.json["wrong"]
