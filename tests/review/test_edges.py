"""What happens at the edges: files that go away, names that are shared, links from elsewhere, imports that lie."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from psidebug.errors import InvalidVerdicts
from psidebug.review import login
from psidebug.review.exchange import read_verdicts
from psidebug.review.filters import Filter
from psidebug.review.similar import Similar
from psidebug.store import load_run
from tests.review.running import PSI, running
from tests.review.talking import Room, Talk, first, line, serving, work_done


def delete_run(run: Path) -> None:
    shutil.rmtree(run)


def delete_store(run: Path) -> None:
    for each in run.glob("verdicts.sqlite*"):
        each.unlink()


def replace_store(run: Path) -> None:
    delete_store(run)
    (run / "verdicts.sqlite").write_bytes(b"")


def move_run(run: Path) -> None:
    run.rename(run.with_name("moved"))


@pytest.mark.parametrize("harm", [delete_run, delete_store, replace_store, move_run])
def test_nothing_is_called_saved_when_the_store_is_gone(room: Room, digits_run: Path, harm: Any) -> None:
    assert room.talk.say("/verdict", at=3, action="keep").status == 200
    harm(digits_run)
    for path, sent in (("/verdict", {"at": 4, "action": "keep"}), ("/undo", {})):
        answer = room.talk.say(path, **sent)
        assert answer.status == 503
        assert f"the run {digits_run} is gone" in answer.json["wrong"]
        assert "Nothing is saved" in answer.json["wrong"]


def test_a_run_that_is_moved_back_takes_the_save_that_is_tried_again(room: Room, digits_run: Path) -> None:
    move_run(digits_run)
    assert room.talk.say("/verdict", at=4, action="keep", key="tried again").status == 503
    digits_run.with_name("moved").rename(digits_run)
    assert room.talk.say("/verdict", at=4, action="keep", key="tried again").status == 200
    assert set(room.desk.store.current()) == {4}


def test_similar_rows_of_a_row_whose_category_is_missing() -> None:
    rng = np.random.default_rng(0)
    kinds = np.array(["x", "y", None, 1], dtype=object)[rng.integers(0, 4, 200)]
    frame = pd.DataFrame({"a": rng.normal(size=200), "kind": kinds})
    for twin, kind in ((50, None), (60, 1)):
        frame.loc[twin - 1, "kind"] = kind
        frame.loc[twin] = frame.loc[twin - 1]
        assert Similar(frame).rows(twin, 1) == (twin - 1,)


def test_undo_is_by_browser_whatever_the_names(room: Room) -> None:
    one, two = first(room, 2)
    other = room.another()
    room.talk.say("/verdict", at=one, action="keep")
    assert other.say("/undo").json["said"] == "nothing to undo", "both are called ann"
    other.say("/verdict", at=two, action="keep")
    room.talk.say("/name", name="anna")
    assert room.talk.say("/undo").json["at"] == one, "a new name keeps what can be undone"
    assert set(room.desk.store.current()) == {two}


def test_who_comes_back_after_a_restart_can_undo(digits_run: Path) -> None:
    with serving(digits_run) as room:
        room.talk.say("/verdict", at=3, action="keep")
        cookie = room.talk.cookie
    with serving(digits_run) as room:
        assert room.talk.say("/undo").json["said"] == "nothing to undo", "another browser"
        back = Talk(room.talk.port, cookie)
        assert back.ask("/").status == 401, "to be known is not to be let in"
        back.enter(room.served.link)
        assert back.say("/undo").json["at"] == 3


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (line(action="keep"), "line 1: keep means the given label, 'odd', but the label is 'even'"),
        (line(action="skip"), "line 1: skip takes no label"),
        (line(action="second_opinion"), "line 1: second_opinion takes no label"),
        (line(time="yesterday"), "line 1: its time must be in ISO form, not 'yesterday'"),
        (line(time=3), "line 1: its time must be in ISO form, not 3"),
        (line(reviewer=["ann"]), "line 1: the name must be text, not ['ann']"),
        (line(reviewer="x" * 101), "line 1: the name has 101 characters"),
        (line(reviewer="a\x1bb"), "line 1: the name has control characters"),
        (line(comment={}), "line 1: the comment must be text, not {}"),
        (line(comment="x" * 2001), "line 1: the comment has 2001"),
        (line(comment="\x00"), "line 1: the comment has control characters"),
        (line(kind="dance"), "line 1: unknown kind 'dance'"),
        (line(run="another"), "line 1: it belongs to a run with other"),
        (line() + "\n\n" + line(), "line 3: line 1 already has a verdict on 'picture-0366'"),
        (line(event=2) + "\n" + line(event=1), "line 2: event 1 comes after event 2"),
        (line(event=2) + "\n" + line(event=2), "line 2: event 2 already has a verdict on 'picture-0366'"),
        (line(event=[]), "line 1: event must be a positive integer, not []"),
        (line(kind="undo", target=7), "line 1: its target 7 is not an earlier event"),
    ],
)  # fmt: skip
def test_a_line_that_cannot_be_true_is_named(digits_saved: Path, text: str, said: str) -> None:
    with pytest.raises(InvalidVerdicts) as caught:
        read_verdicts(text, load_run(digits_saved).findings)
    assert said in str(caught.value)


def test_an_import_says_what_it_did_and_leaves_newer_verdicts(room: Room) -> None:
    log = line(event=1, time="2020-01-01") + "\n" + line(event=2, action="keep", label=None, time="2020-01-02")
    said = room.talk.say("/import", text=log).json["said"]
    assert said == "1 verdict imported; 1 row had several verdicts in the log, and the last one counts"
    (found,) = room.desk.store.current().values()
    assert (found.action, found.time) == ("keep", "2020-01-02T00:00:00.000+00:00")
    older = room.talk.say("/import", text=line(time="2019-12-31")).json["said"]
    assert older == "0 verdicts imported; 1 row already had a verdict as new or newer, which stays"
    assert room.talk.say("/import", text=line(time="2020-01-03")).json["said"] == "1 verdict imported"
    assert [each.label for each in room.desk.store.current().values()] == ["even"]
    lines = [json.loads(each) for each in room.talk.ask("/export/verdicts.jsonl").text.splitlines()]
    assert len({each["run"] for each in lines}) == 1


def test_a_link_leads_on_by_its_own_page_and_a_look_at_its_head_does_not_use_it_up(room: Room) -> None:
    path = "/" + room.served.link.split("/", 3)[3]
    stranger = Talk(room.talk.port)
    assert stranger.ask(path, method="HEAD").cookies == {}
    answer = stranger.ask(path)
    assert answer.status == 200
    assert "location" not in answer.headers
    assert '<meta http-equiv="refresh" content="0;url=/">' in answer.text
    assert "is invalid or already used" in stranger.ask(path).text


def test_a_run_that_was_saved_anew_says_to_restart(room: Room, digits_run: Path) -> None:
    for each in digits_run.glob("tables-*"):
        each.rename(each.with_name("tables-anew"))
    page = work_done(room, "retrain")
    assert "saved again or moved. Restart psi review." in page
    assert "Psi itself" not in page


def test_a_verdict_that_is_undone_after_a_new_diagnosis_leaves_its_row_in_the_queue(
    room: Room, digits_run: Path
) -> None:
    at = first(room)[0]
    room.talk.say("/verdict", at=at, action="correct")
    work_done(room, "diagnose")
    assert at not in room.desk.queue.ranked.order
    total = sum(room.desk.queue.counts().values())
    assert room.talk.say("/undo").json["at"] == at
    assert room.talk.ask(f"/item?at={at}").status == 200
    with serving(digits_run) as again:
        for each in (room, again):
            each.talk.ask("/queue")
            assert sum(each.desk.queue.counts().values()) == total
            assert each.desk.queue.select(Filter()).rows[-1] == at
            assert each.desk.queue.proposed[at] == each.desk.findings.encoding.classes.index("even")


def test_passwords_are_tried_one_at_a_time_ever_slower_and_are_told(
    digits_run: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    import asyncio

    waits: list[float] = []
    within: list[int] = []
    sleep = asyncio.sleep

    async def noted(seconds: float) -> None:
        within.append(1)
        waits.append(seconds)
        assert len(within) == 1, "another attempt was let through meanwhile"
        await sleep(0.01)
        within.pop()

    fake = type("Time", (), {"sleep": staticmethod(noted), "Lock": asyncio.Lock})
    monkeypatch.setattr(login, "asyncio", fake)
    with serving(digits_run, listen="127.0.0.1", password="correct horse") as room:
        answers: list[int] = []

        def guess() -> None:
            answers.append(Talk(room.talk.port).ask("/login", method="POST", body="password=wrong").status)

        threads = [threading.Thread(target=guess) for _ in range(6)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        assert answers == [403] * 6
        assert waits == [0.5, 1.0, 2.0, 4.0, 8.0, 8.0]
        assert room.talk.ask("/login", method="POST", body="password=correct+horse").status == 303
    told = [each.getMessage() for each in caplog.records if "Wrong password" in each.getMessage()]
    assert told[-1] == "Wrong password from 127.0.0.1 (6 in a row)."


@pytest.mark.parametrize("body", ['{"at":1e400,"action":"keep","key":"12345678"}', "[" * 90_000])
def test_numbers_without_end_are_refused(room: Room, body: str) -> None:
    assert room.talk.ask("/verdict", method="POST", body=body).status == 400


@pytest.mark.parametrize("query", ["least=nan", "least=inf", "given=99", "proposed=-1"])
def test_a_filter_that_cannot_be_is_refused(room: Room, query: str) -> None:
    assert room.talk.ask(f"/board?{query}").status == 400


@pytest.mark.parametrize("name", ["x" * 101, "a\x00b", "a\nb", ["a"]])
def test_a_name_that_cannot_be_is_refused(room: Room, name: Any) -> None:
    assert room.talk.say("/name", name=name).status == 400


def test_to_listen_without_a_password_or_a_terminal_ends_at_once(digits_run: Path) -> None:
    done = subprocess.run(
        [PSI, "review", str(digits_run), "--listen", "127.0.0.1"],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, start_new_session=True,
    )  # fmt: skip
    assert done.returncode == 2
    assert "needs a password of at least 8 characters in PSI_REVIEW_PASSWORD" in done.stderr


def test_to_be_ended_by_another_process_is_as_good_as_ctrl_c(digits_run: Path) -> None:
    with running(str(digits_run)) as process:
        assert process.stdout is not None
        link = process.stdout.readline().strip()
        assert Talk(int(link.split(":")[2].split("/")[0])).enter(link).status == 200
        process.send_signal(signal.SIGTERM)
        told = process.communicate(timeout=30)[1]
        assert "The review has ended" in told
        assert process.returncode == 0
