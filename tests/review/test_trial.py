"""What people stumble over: keys of classes called 4, many rows at once, a run saved anew, a key used twice, figures
that are no longer true, and names."""

from __future__ import annotations

import json
import socket
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from psidebug.review import pages
from psidebug.review.filters import Filter
from psidebug.review.security import Visitor
from psidebug.review.serve import exposure
from psidebug.review.verdict_store import open_store
from tests.review.talking import Room, first, serving, work_done


@pytest.mark.parametrize(
    ("classes", "keys"),
    [
        ([str(each) for each in range(10)], {str(each): each for each in range(10)}),
        (["1", "10", "2"], {"1": 0, "2": 2}),
        (["4", "cat"], {"4": 0}),
        (["even", "odd"], {"1": 0, "2": 1}),
        (["a", "²", "b"], {"1": 0, "2": 1, "3": 2}),
        ([f"class {each}" for each in range(30)], {str(each + 1): each for each in range(9)}),
    ],
)
def test_a_key_is_the_class_that_has_its_name(classes: list[str], keys: dict[str, int]) -> None:
    assert pages.class_keys(classes) == keys


def test_many_can_be_corrected_where_they_are_probably_wrong(room: Room) -> None:
    wanted, queue = {"slice": "0", "state": "all"}, room.desk.queue
    members = room.desk.findings.slices[0].members(room.desk.run.data)
    queue.p_wrong[members[:7]] = 0.5
    wrong = members[queue.p_wrong[members] > 0.5].tolist()
    assert 0 < len(wrong) <= len(members) - 7
    assert f'data-wrong="{len(wrong)}"' in room.talk.ask("/queue?slice=0&state=all").text
    asked = {"filter": wanted, "action": "correct", "only_wrong": True}
    assert room.talk.say("/bulk", **asked, expected=len(members)).status == 400
    assert room.talk.say("/bulk", **asked, expected=len(wrong)).status == 200
    assert sorted(room.desk.store.current()) == sorted(wrong)
    assert room.talk.say("/bulk", **asked | {"only_wrong": 1}, expected=len(wrong)).status == 400


def test_nothing_is_saved_when_the_run_was_saved_anew(room: Room, digits_run: Path) -> None:
    (at,) = first(room)
    record = json.loads((digits_run / "run.json").read_text())
    (digits_run / "new.json").write_text(json.dumps(record))
    (digits_run / "new.json").replace(digits_run / "run.json")  # as a run is saved over another
    for path in ("/verdict", "/undo", "/redo", "/bulk", "/begin", "/import"):
        answer = room.talk.say(path, at=at, action="keep", text="[]", kind="retrain")
        assert answer.status == 503, "the page keeps it, and sends it after a restart"
        assert "the run was saved again" in answer.json["wrong"]
        assert "restart psi review" in answer.json["wrong"]
    with open_store(digits_run) as other:
        assert other.log() == []


def test_a_key_that_another_save_has_is_refused(room: Room) -> None:
    one, two = first(room, 2)
    key, sent = "the same key", {"at": one, "action": "correct", "comment": "x"}
    assert room.talk.say("/verdict", **sent, key=key).status == 200
    assert room.talk.say("/verdict", **sent, key=key).status == 200, "the same again is no other save"
    for change in ({"at": two}, {"action": "keep"}, {"comment": "y"}, {"action": "skip"}):
        answer = room.talk.say("/verdict", **sent | change, key=key)
        assert answer.status == 409
        assert "another save already has this key" in answer.json["wrong"]
    assert room.talk.say("/undo", key=key).status == 409
    assert len(room.desk.store.log()) == 1


def test_the_model_says_when_it_knows_other_verdicts(room: Room) -> None:
    one, two = first(room, 2)
    told, hidden = 'id="work-stale" class="stale">', 'id="work-stale" class="stale" hidden>'
    room.talk.say("/verdict", at=one, action="correct")
    assert hidden in work_done(room, "retrain")
    steps = [
        ("/verdict", {"at": two, "action": "skip"}, False),
        ("/verdict", {"at": two, "action": "keep"}, True),
        ("/undo", {}, False),
        ("/undo", {}, False),
        ("/undo", {}, True),
        ("/redo", {}, False),
    ]
    for path, sent, stale in steps:
        room.talk.say(path, **sent)
        assert (told if stale else hidden) in room.talk.ask("/work").text
        assert f'data-stale="{int(stale)}"' in room.talk.ask("/queue").text
    with serving(room.desk.run.path) as again:
        assert hidden in again.talk.ask("/work").text, "the same after a restart"


def test_without_a_suspect_it_is_said_that_there_is_none(room: Room) -> None:
    def empty() -> str:
        return pages.render("item.html", **pages.item(room.desk, Filter(), None, Visitor("", "")))

    assert "Every row of this filter is decided." in empty()
    room.desk.queue._suspect[:] = False
    assert "There are no suspects among the training labels of this run." in empty()


def test_errors_go_by_the_ids_of_their_test_rows(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    run = room.desk.run
    at = next(each for each in run.order.tolist() if room.desk.queue.bugs_of(each))
    (number, _), *_ = room.desk.queue.bugs_of(at)
    assert f"Pin test row {number}" in room.talk.ask(f"/item?at={at}").text
    ids = np.array([f"case-{each}" for each in run.findings.predictions.rows])
    found = replace(run.findings, predictions=replace(run.findings.predictions, ids=ids))
    monkeypatch.setattr(room.desk, "findings", found)
    assert f"Pin test row case-{number}" in room.talk.ask(f"/item?at={at}").text
    assert f">test row case-{number}</option>" in room.talk.ask("/board").text


def test_a_link_for_every_address_goes_by_the_name_of_the_machine(digits_run: Path) -> None:
    with serving(digits_run, listen="0.0.0.0", password="correct horse") as room:
        served, name = room.served, socket.gethostname()
        assert served.link == f"http://{name}:{served.address.port}/"
        assert served.address.knows(f"{name}:{served.address.port}")
        assert "0.0.0.0" not in exposure(served.address)
        assert "192.0.2.7" in exposure(replace(served.address, host="192.0.2.7", any_number=False))


def test_a_label_that_may_be_cut_has_the_whole_of_it_as_its_title(room: Room) -> None:
    page = room.talk.ask("/item").text
    for name in ("even", "odd"):
        assert f'<span class="label" title="{name}">{name}</span>' in page
        assert f'<span class="cut" title="{name}">{name}</span>' in page
