"""Test labels in the review: a queue of their own, verdicts that touch no training label, saved, undone, exchanged."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import psidebug
from psidebug.errors import InvalidVerdicts, UnknownOption
from psidebug.review.desk import Desk
from psidebug.review.exchange import read_verdicts
from psidebug.review.filters import Filter
from psidebug.review.verdict_store import STORE_FILE, open_store
from psidebug.review.verdicts import Verdict
from psidebug.store import Run, load_run
from tests.review.talking import Room, serving

TESTS = Filter(part="test")


@pytest.fixture
def run(wrong_tests: Path, tmp_path: Path) -> Path:
    """A run of one's own."""
    return Path(shutil.copytree(wrong_tests / "psi-run", tmp_path / "run"))


@pytest.fixture
def room(run: Path) -> Iterator[Room]:
    with serving(run) as room:
        yield room


def suspects(run: Run) -> list[int]:
    assert run.findings.suspect_tests is not None
    found: list[int] = run.findings.suspect_tests.rows.tolist()
    return found


def decided(room: Room, at: int, action: str, **more: Any) -> None:
    answer = room.talk.say("/verdict", set="test", at=at, action=action, **more)
    assert answer.status == 200, answer.text


# ── the queue and its pages ──


def test_a_run_whose_test_labels_are_wrong_opens_with_them(room: Room) -> None:
    first = suspects(room.desk.run)[0]
    page = room.talk.ask("/").text
    assert f"test row test-{first:03d}" in page
    assert "A label of the test set." in page
    assert 'name="set" value="test"' in page
    assert room.desk.queues["test"].select(TESTS).rows.tolist() == suspects(room.desk.run)
    training = room.talk.ask("/?set=train").text
    assert "There are no suspects among the training labels" in training
    assert "A label of the test set." not in training


def test_a_run_without_suspect_tests_shows_no_tabs(digits_run: Path) -> None:
    with serving(digits_run) as room:
        assert room.desk.opens_with == "train"
        assert 'class="sets"' not in room.talk.ask("/").text
        assert "Corrected test data" not in room.talk.ask("/files").text


def test_a_test_row_is_shown_with_its_own_values_and_similar_training_rows(room: Room) -> None:
    at = suspects(room.desk.run)[0]
    own = room.desk.run.data.test.features.iloc[at]
    item = room.talk.ask(f"/item?set=test&at={at}").text
    assert str(own["weight"]) in item
    assert f"set=test&amp;at={at}" in item
    near = room.talk.ask(f"/similar?set=test&at={at}").text
    found = room.desk.similar(at, 6, "test")
    assert all(f"train-{each:03d}" in near for each in found)
    rows = room.desk.run.data.train.features
    assert (rows["kind"].iloc[list(found)] == own["kind"]).all(), "near in what it is, not by its place"
    assert room.talk.ask("/similar?set=test").status == 400, "a row must be named"


@pytest.mark.parametrize("asked", ["/?set=both", "/item?set=test&at=180", "/item?set=test&slice=0", "/?set=test&bug=0"])
def test_what_the_test_set_does_not_have_is_refused(room: Room, asked: str) -> None:
    answer = room.talk.ask(asked)
    assert answer.status == 400
    assert "Traceback" not in answer.text


def test_the_error_follows_the_verdicts(room: Room) -> None:
    tests, first = room.desk.findings.predictions, suspects(room.desk.run)[:5]
    assert tests.wrong[first].all()
    for at in first:
        decided(room, at, "correct")
    listed = room.talk.ask("/queue?set=test").text
    assert f"{tests.wrong.mean():.3f}" in listed
    assert f"{(tests.wrong.sum() - 5) / len(tests.labels):.3f}" in listed


# ── verdicts ──


def test_a_verdict_on_a_test_label_is_none_on_the_training_row_at_its_place(room: Room) -> None:
    at = suspects(room.desk.run)[0]
    decided(room, at, "correct", comment="clearly late")
    assert room.desk.store.current() == {}
    (found,) = room.desk.store.current("test").values()
    assert (found.part, found.position, found.row) == ("test", at, f"test-{at:03d}")
    assert (found.action, found.label, found.comment) == ("correct", "late", "clearly late")
    assert room.desk.settled() == {}
    assert room.desk.queue.counts()["correct"] == 0
    assert room.desk.queues["test"].counts()["correct"] == 1
    digest = room.desk.settled_digest()
    decided(room, at, "keep")
    assert room.desk.settled_digest() == digest, "what is trained with has not changed"


def test_undo_goes_through_the_steps_of_both_sets(room: Room) -> None:
    at = suspects(room.desk.run)[0]
    decided(room, at, "correct")
    assert room.talk.say("/verdict", at=at, action="correct", code=0).status == 200
    assert room.talk.say("/undo").json == {"said": f"undone: train-{at:03d}", "at": at, "set": "train"}
    assert (len(room.desk.store.current()), len(room.desk.store.current("test"))) == (0, 1)
    assert room.talk.say("/undo").json == {"said": f"undone: test row test-{at:03d}", "at": at, "set": "test"}
    assert room.desk.store.current("test") == {}
    room.talk.say("/redo")
    assert list(room.desk.store.current("test")) == [at]


def test_bulk_on_the_test_set_is_one_step_there(room: Room) -> None:
    rows = suspects(room.desk.run)
    filter_ = {"set": "test"}
    assert room.talk.say("/bulk", filter=filter_, action="correct", expected=len(rows)).status == 200
    assert sorted(room.desk.store.current("test")) == sorted(rows)
    assert room.desk.store.current() == {}


def test_verdicts_survive_a_restart_and_a_new_diagnosis(run: Path) -> None:
    desk = Desk(run, psidebug.Diagnosis.load)
    first, second, *_ = suspects(desk.run)
    desk.store.record([desk.verdict(first, "correct", part="test")], reviewer="ann")
    desk.store.record([desk.verdict(second, "keep", part="test")], reviewer="ann")
    desk.rank_by(desk.run, [])
    assert desk.queues["test"].left() == len(suspects(desk.run)) - 2
    desk.close()
    again = Desk(run, psidebug.Diagnosis.load)
    assert {at: each.action for at, each in again.store.current("test").items()} == {first: "correct", second: "keep"}
    assert again.queues["test"].left() == len(suspects(again.run)) - 2
    assert again.queue.counts()["correct"] == 0
    again.close()


def test_a_page_of_another_test_set_saves_nothing(room: Room) -> None:
    answer = room.talk.say("/verdict", set="test", tests="another", at=0, action="keep")
    assert answer.status == 503, "it waits for its own server"
    assert room.desk.store.log() == []


# ── the store ──


def test_an_older_version_takes_no_test_verdict_for_one_on_a_training_row(tmp_path: Path) -> None:
    """It knows steps by the kind ``verdicts``, and passes over what it does not know."""
    with open_store(tmp_path) as store:
        store.record([Verdict(3, "a", "keep", "x")], reviewer="ann")
        store.record([Verdict(3, "b", "correct", "x", part="test")], reviewer="ann")
        with pytest.raises(UnknownOption, match="as two steps"):
            store.record([Verdict(1, "a", "skip"), Verdict(1, "b", "skip", part="test")], reviewer="ann")
        with pytest.raises(UnknownOption, match="test_verdicts"):
            store.remark("test_verdicts", {}, reviewer="ann")
    with sqlite3.connect(tmp_path / STORE_FILE) as file:
        kinds = file.execute("SELECT kind, row FROM events JOIN verdicts ON event = number").fetchall()
    file.close()
    assert kinds == [("verdicts", '"a"'), ("test_verdicts", '"b"')]


def test_a_repeated_save_is_stored_once_in_its_own_set(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        number = store.record([Verdict(3, "b", "skip", part="test")], reviewer="ann", key="the key")
        assert store.record([Verdict(3, "b", "skip", part="test")], reviewer="ann", key="the key") == number
        assert (list(store.current()), list(store.current("test"))) == ([], [3])


# ── exchange ──


def test_the_log_comes_in_elsewhere_with_the_sets_kept_apart(room: Room, wrong_tests: Path, tmp_path: Path) -> None:
    first, second, third, *_ = suspects(room.desk.run)
    decided(room, first, "correct")
    decided(room, second, "keep", comment="seen")
    decided(room, third, "correct")
    room.talk.say("/undo")
    room.talk.say("/verdict", at=first, action="skip")
    log = room.talk.ask("/export/verdicts.jsonl").text
    marks = {record.get("set"): record["run"] for record in map(json.loads, log.splitlines()) if "row" in record}
    assert len(set(marks.values())) == 2, "each set has a mark of its own"
    with serving(Path(shutil.copytree(wrong_tests / "psi-run", tmp_path / "other"))) as other:
        assert other.talk.say("/import", text=log, key="an import key").json["said"] == "3 verdicts imported"
        assert other.desk.store.current("test").keys() == {first, second}
        assert other.desk.store.current("test")[second].comment == "seen"
        assert other.desk.store.current().keys() == {first}
        other.talk.say("/import", text=log, key="an import key")
        assert len(other.desk.store.log()) == 2, "repeated, it is stored once: a step for each set"
        assert other.talk.ask("/export/verdicts.jsonl").text.count('"set": "test"') == 2


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"run": "another"}, "line 1: it belongs to a run with other test rows or labels"),
        ({"row": "train-003"}, "line 1: no test row of this run has the id 'train-003'"),
        ({"set": "validation"}, "line 1: unknown set 'validation'; it must be train or test"),
        ({"set": None}, "line 1: unknown set None"),
    ],
    ids=str,
)
def test_a_line_about_other_test_rows_is_refused(wrong_tests: Path, changed: dict[str, Any], said: str) -> None:
    findings = load_run(wrong_tests / "psi-run").findings
    line = {"set": "test", "row": "test-003", "action": "correct", "label": "late"}
    assert read_verdicts(json.dumps(line), findings).verdicts[0].part == "test"
    with pytest.raises(InvalidVerdicts) as caught:
        read_verdicts(json.dumps(line | changed), findings)
    assert said in str(caught.value)


def test_a_line_of_each_set_may_have_the_same_id(wrong_tests: Path) -> None:
    findings = load_run(wrong_tests / "psi-run").findings
    lines = [{"set": each, "row": f"{each}-003", "action": "keep"} for each in ("train", "test")]
    found = read_verdicts("\n".join(map(json.dumps, lines)), findings).verdicts
    assert [(each.part, each.position) for each in found] == [("train", 3), ("test", 3)]


def test_label_studios_answers_about_test_labels_come_in(room: Room) -> None:
    tasks = room.talk.ask("/export/label-studio-tests.json").json
    answer = {"result": [{"value": {"choices": ["late"]}}], "completed_by": 7}
    said = room.talk.say("/import", text=json.dumps([tasks[0] | {"annotations": [answer]}])).json["said"]
    assert said == "1 verdict imported"
    assert list(room.desk.store.current("test")) == [suspects(room.desk.run)[0]]
    assert room.desk.store.current() == {}


def test_the_corrected_files_have_each_their_own_verdicts(room: Room, wrong_tests: Path, tmp_path: Path) -> None:
    at = suspects(room.desk.run)[0]
    decided(room, at, "correct")
    assert "Corrected test data, CSV" in room.talk.ask("/files").text
    tables = {}
    for name in ("corrected-tests.csv", "corrected.csv"):
        (tmp_path / name).write_bytes(room.talk.ask(f"/export/{name}").content)
        tables[name] = pd.read_csv(tmp_path / name).set_index("id")
    tests, training = tables.values()
    assert tests.index[tests["corrected"]].tolist() == [f"test-{at:03d}"]
    assert tests["label"][f"test-{at:03d}"] == "late"
    assert not training["corrected"].any()
    assert training["label"].tolist() == pd.read_csv(wrong_tests / "train.csv")["label"].tolist()
