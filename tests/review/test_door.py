"""Whatever is sent to the server: it answers 4xx with a sentence, goes on, and loses and changes nothing."""

from __future__ import annotations

import contextlib
import json
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from psidebug.errors import InvalidVerdicts, UnreadableRun
from psidebug.review.exchange import read_verdicts
from psidebug.review.filters import Filter
from psidebug.review.requests import LARGEST_REQUEST
from psidebug.store import load_run
from psidebug.store.values import _TAGS
from tests.review.talking import Answer, Room, Talk, serving

KEY = "a key of its own"
WRITES = ("/verdict", "/together", "/undo", "/redo", "/bulk", "/begin", "/import", "/name", "/invite")
READS = (
    "/",
    "/board",
    "/item",
    "/queue",
    "/similar",
    "/reviewers",
    "/changes",
    "/work",
    "/history",
    "/files",
    "/export/x",
)
OTHER: list[Any] = [True, -1, 900, 1.5, 10**400, "x", "\x00", "\ud800", "", [], [1], {}, {"a": None}]


@pytest.fixture(scope="module")
def door(digits_saved: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Room]:
    """A server with one verdict, which is there to the end."""
    with serving(Path(shutil.copytree(digits_saved, tmp_path_factory.mktemp("door") / "run"))) as room:
        assert room.talk.say("/verdict", at=3, action="keep", comment="stays").status == 200
        yield room
        assert room.talk.ask("/").status == 200, "the server goes on"
        assert [each.kind for each in room.desk.store.log()] == ["verdicts"]
        assert room.desk.store.current()[3].comment == "stays"


def refused(answer: Answer) -> str:
    """The sentence of a refusal."""
    assert 400 <= answer.status < 500, (answer.status, answer.text)
    said = answer.json["wrong"] if answer.headers["content-type"].startswith("application/json") else answer.text
    assert len(said.split()) >= 3, said
    assert said.rstrip()[-1] in ".:", said
    assert "Traceback" not in said
    assert len(said) < 2000
    return str(said)


def post(door: Room, path: str, body: Any, **headers: str | None) -> Answer:
    return door.talk.ask(path, method="POST", body=body, **headers)


PARTS = [
    *(("/verdict", {"at": 4, "action": "keep"}, name) for name in ("at", "action", "code", "comment", "key")),
    *(("/bulk", {"filter": {}, "action": "keep", "expected": 9}, each) for each in ("filter", "action", "expected")),
    ("/bulk", {"action": "correct"}, "code"),
    ("/begin", {}, "kind"),
    ("/import", {}, "text"),
    ("/name", {}, "name"),
]


@pytest.mark.parametrize(("path", "sent", "name"), PARTS, ids=lambda each: str(each))
def test_a_part_of_another_type_is_refused(door: Room, path: str, sent: dict[str, Any], name: str) -> None:
    fine: dict[str, list[Any]] = {
        "code": [],
        "comment": ["x", ""],
        "filter": [{}, {"a": None}],
        "expected": [],
        "name": ["x", ""],
    }
    for wrong in OTHER:
        if wrong in fine.get(name, []) and type(wrong) is not bool:
            continue
        body = {"key": KEY, **sent, name: wrong}
        if name == "code":
            body["action"] = "correct"
        if path == "/bulk" and name == "code":  # so that nothing else is a reason to refuse it
            body["expected"] = len(door.desk.queue.select(Filter.read({}), "a browser").rows)
        refused(post(door, path, body))


@pytest.mark.parametrize("name", ["state", "among", "given", "proposed", "least", "slice", "bug", "sort", "view"])
def test_a_filter_of_another_type_is_refused(door: Room, name: str) -> None:
    every: list[Any] = [7, 0.5, True, [], {}, "nan", "\x00", "9" * 5000, "x"]
    for wrong in every:
        said = refused(post(door, "/bulk", {"key": KEY, "filter": {name: wrong}, "action": "keep", "expected": 9}))
        assert "Look again" not in said, "it was taken for a filter, and its rows were counted"


BODIES = [
    b"",
    b"{",
    b"null",
    b"3",
    b'"x"',
    b"[]",
    b"\x00",
    b"\xff\xfe",
    b'{"a": \xc3}',
    b"[" * 90_000,
    b"1" * 9_000,
    b"NaN",
]


@pytest.mark.parametrize("path", [each for each in WRITES if each != "/login"])
def test_a_body_that_is_no_object_is_refused(door: Room, path: str) -> None:
    for body in BODIES:
        refused(post(door, path, body))
    if path != "/import":
        refused(post(door, path, b'{"comment": "' + b"x" * LARGEST_REQUEST + b'"}'))


def test_an_import_has_a_limit_and_says_what_to_do(door: Room) -> None:
    """A large one takes thirty times its size in memory."""
    answer = post(door, "/import", b'{"text": "' + b"x" * 25_000_000 + b'"}')
    assert "Split it." in refused(answer)


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "PROPFIND", "CONNECT"])
def test_other_methods_are_refused(door: Room, method: str) -> None:
    own = {"Origin": f"http://127.0.0.1:{door.talk.port}", "Sec_Fetch_Site": "same-origin"}
    for path in (*READS, *WRITES, "/static/review.js", "/login", "/enter"):
        refused(door.talk.ask(path, method=method, **own))


@pytest.mark.parametrize(
    "path",
    [
        "/" + "a/" * 4000, "/verdict/", "/verdict/3", "/%00", "/%ff%fe", "/item/..", "/static/", "/static/%00",
        "/export/", "/export/%00", "/export/" + "x" * 30_000, "/export/corrected.csv/..", "/.git/config", "/verdict%2f",
    ],
    ids=lambda each: each[:20],
)  # fmt: skip
def test_addresses_where_nothing_is(door: Room, path: str) -> None:
    refused(door.talk.ask(path))


@pytest.mark.parametrize("name", ["at", "state", "given", "proposed", "least", "slice", "bug", "sort"])
@pytest.mark.parametrize("value", ["%00", "x", "-1", "9" * 5000, "1e999", "%ff", "0x10", "1.5", "%F0%9F%98%80"])
def test_questions_with_wrong_words(door: Room, name: str, value: str) -> None:
    if (name, value) in (("least", "-1"), ("least", "1.5")):
        return  # numbers, that every row or none is above
    for path in ("/", "/board", "/item", "/queue"):
        refused(door.talk.ask(f"{path}?{name}={value}"))


@pytest.mark.parametrize("other", ['a={"x":1}', 'a="', "a=b=c", "=", "\u00e9=1", "a b=1", '"', "[]={}"])
def test_odd_cookies_of_other_applications_lock_nobody_out(door: Room, other: str) -> None:
    for cookie in (f"{other}; {door.talk.cookie}", f"{door.talk.cookie}; {other}"):
        assert Talk(door.talk.port, cookie).ask("/board").status == 200


def test_without_a_cookie_or_with_a_strange_one(door: Room) -> None:
    for cookie in (None, "", "=", "psi-review-=;", f"psi-review-{door.talk.port}=\x7f", "a" * 20_000, ";;;=;é"):
        for path in READS:
            refused(Talk(door.talk.port).ask(path, Cookie=cookie))
        for path in WRITES:
            refused(Talk(door.talk.port).ask(path, method="POST", body={"key": KEY}, Cookie=cookie))


@pytest.mark.parametrize(
    "host", ["", "evil.example", "127.0.0.1", "127.0.0.1:0", "127.0.0.1:{}:1", "@127.0.0.1:{}", "x" * 9000]
)
def test_other_names_and_places(door: Room, host: str) -> None:
    refused(door.talk.ask("/", Host=host.format(door.talk.port)))
    origin = f"http://{host.format(door.talk.port)}" if host != "127.0.0.1:{}" else "null"
    refused(post(door, "/verdict", {"at": 4, "action": "keep", "key": KEY}, Origin=origin))
    refused(post(door, "/verdict", {"at": 4, "action": "keep", "key": KEY}, Origin=None, Sec_Fetch_Site="cross-site"))


@pytest.mark.parametrize(
    "raw",
    [
        b"nonsense\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET  HTTP/9.9\r\nHost: 127.0.0.1\r\n\r\n",
        b"POST /verdict HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Length: x\r\n\r\n",
        b"POST /verdict HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"GET /\x00 HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nHost: 127.0.0.1:{port}\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00",
    ],
    ids=lambda each: repr(each[:20]),
)
def test_what_is_no_request(door: Room, raw: bytes) -> None:
    with socket.create_connection(("127.0.0.1", door.talk.port), timeout=10) as connection:
        connection.sendall(raw.replace(b"{port}", str(door.talk.port).encode()))
        connection.shutdown(socket.SHUT_WR)
        answer = connection.makefile("rb").readline()
    assert answer == b"" or answer.split()[1].startswith(b"4"), answer


def test_what_a_page_of_another_run_sends_waits_for_its_own(door: Room) -> None:
    own = door.desk.findings.origin.fingerprint["train"]
    for path in WRITES:
        answer = door.talk.say(path, at=4, action="keep", run=own[::-1])
        assert answer.status == 503, "it is tried again"
        assert "this page shows another run, so nothing is saved" in answer.json["wrong"]
        refused(door.talk.say(path, at=4, action="burn", run=3))
    refused(door.talk.say("/verdict", at=4, action="burn", run=own))


# ── imports ──

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(allow_nan=False) | st.text(max_size=5)
    | st.sampled_from(["picture-0366", "even", "odd", "keep", "correct", "skip", "2024-01-01"]),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.sampled_from(["type", "value", "text", "choices", "id"]), inner, max_size=3)
    | st.builds(lambda name, value: {"type": name, "value": value}, st.sampled_from([*_TAGS, "x"]), inner),
    max_leaves=6,
)  # fmt: skip
NAMES = ("row", "action", "label", "kind", "event", "target", "comment", "reviewer", "time", "run", "browser", "by")
GOOD = {"row": "picture-0366", "action": "keep"}
RECORDS = st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=5).map(lambda changes: {**GOOD, **changes})
TASKS = st.dictionaries(st.sampled_from(["data", "annotations"]), VALUES, max_size=2) | st.builds(
    lambda answer: {"data": {"row": "picture-0366"}, "annotations": [answer]},
    st.dictionaries(st.sampled_from(["result", "completed_by", "updated_at", "was_cancelled"]), VALUES, max_size=3)
    | st.builds(lambda value: {"result": [{"value": value}]}, VALUES),
)


@settings(
    max_examples=100, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(RECORDS | VALUES, max_size=3) | st.lists(TASKS | VALUES, max_size=2).map(lambda tasks: [tasks]))
def test_an_import_is_taken_or_refused_in_a_sentence(digits_saved: Path, lines: list[Any]) -> None:
    run = loaded(digits_saved)
    text = "\n".join(json.dumps(each) for each in lines)
    with contextlib.suppress(InvalidVerdicts):
        assert all(
            each.row == run.findings.labels.rows[each.position] for each in read_verdicts(text, run.findings).verdicts
        )


RUNS: dict[Path, Any] = {}


def loaded(path: Path) -> Any:
    return RUNS.setdefault(path, load_run(path))


def test_a_bad_import_over_http_is_refused(door: Room) -> None:
    tagged = json.dumps({"row": {"type": "date", "value": []}, "action": "keep"})
    array = json.dumps({**GOOD, "label": {"type": "datetime64", "value": [["2020"], "<M8[D]"]}})
    task = {"data": {"row": "picture-0366"}, "annotations": [{"result": [{"value": {"choices": [["even"]]}}]}]}
    for text in (
        "[3]",
        '[{"annotations": 3, "data": {"row": 1}}]',
        tagged,
        array,
        json.dumps([task]),
        "\x00",
        "[" * 99_999,
    ):
        refused(door.talk.say("/import", text=text))


# ── files that go away ──


def test_a_run_that_is_deleted_under_the_app_is_said_in_a_sentence(digits_saved: Path, tmp_path: Path) -> None:
    place = Path(shutil.copytree(digits_saved, tmp_path / "run"))
    with serving(place) as room:
        run = load_run(place)
        assert room.talk.ask("/").status == 200
        shutil.rmtree(place)
        for name in ("learner", "train"):
            with pytest.raises(UnreadableRun, match="is gone"):
                (run.files.content if name == "learner" else run.files.table)(name)
        for path in (*READS[:-1], "/item?at=7", "/similar?at=7", "/export/corrected.csv", "/export/label-studio.json"):
            answer = room.talk.ask(path)
            assert answer.status == 200 or refused(answer), path
