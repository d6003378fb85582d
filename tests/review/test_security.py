"""Every attack that the app guards against; each test fails when its guard is taken away."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import psidebug
from psidebug.errors import UnknownOption
from psidebug.review.app import routes
from psidebug.review.desk import Desk
from psidebug.review.requests import LARGEST_REQUEST
from psidebug.review.serve import exposure, prepare
from psidebug.review.verdict_store import open_store
from tests.conftest import Planted
from tests.review.talking import Room, Talk, serving

PAGES = ("/", "/board", "/item?at=3", "/item?at=3&view=grid", "/queue", "/similar?at=3", "/work")
EVIL = "http://evil.example"


def verdict(**changes: Any) -> dict[str, Any]:
    return {"at": 3, "action": "keep", "key": "k" * 16, **changes}


# ── the name of the server ──


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "", "[::1]:{port}"]
)
def test_a_foreign_host_is_refused(room: Room, host: str) -> None:
    answer = room.talk.ask("/", Host=host.format(port=room.talk.port))
    assert answer.status == 421
    assert "picture" not in answer.text


@pytest.mark.parametrize("host", ["127.0.0.1:{port}", "localhost:{port}"])
def test_its_own_names_are_taken(room: Room, host: str) -> None:
    assert room.talk.ask("/", Host=host.format(port=room.talk.port)).status == 200


# ── writes from elsewhere ──


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": EVIL, "Sec_Fetch_Site": "cross-site"},
        {"Origin": EVIL, "Sec_Fetch_Site": None},
        {"Origin": "null", "Sec_Fetch_Site": None},
        {"Origin": "http://127.0.0.1:1", "Sec_Fetch_Site": None},
        {"Origin": None, "Sec_Fetch_Site": "cross-site"},
        {"Origin": None, "Sec_Fetch_Site": "same-site"},
        {"Origin": None, "Sec_Fetch_Site": "none"},
        {"Origin": None, "Sec_Fetch_Site": None},
    ],
    ids=str,
)
def test_a_write_from_another_page_is_refused(room: Room, headers: dict[str, str | None]) -> None:
    answer = room.talk.ask("/verdict", method="POST", body=verdict(), **headers)
    assert answer.status == 403
    assert room.desk.store.log() == []


def test_a_write_from_its_own_page_is_taken(room: Room) -> None:
    for headers in ({"Sec_Fetch_Site": None}, {"Origin": None}, {}):
        told = room.talk.ask("/verdict", method="POST", body=verdict(), **headers)
        assert told.status == 200, told.text
    assert len(room.desk.store.log()) == 1


def test_nothing_is_changed_by_reading(room: Room) -> None:
    for path in ("/verdict", "/undo", "/redo", "/bulk", "/begin", "/import", "/name", "/invite"):
        assert room.talk.ask(path).status == 405, path


# ── the way in ──


def test_a_token_lets_in_once(room: Room) -> None:
    link, stranger = room.served.link, Talk(room.talk.port)
    assert stranger.ask("/").status == 401
    first = stranger.enter(link)
    assert first.status == 200
    assert stranger.ask("/").status == 200
    again = Talk(room.talk.port)
    assert again.enter(link).status == 403
    assert again.ask("/").status == 401


def test_the_cookie_is_hidden_from_scripts_and_other_sites(room: Room) -> None:
    words = {
        each.strip().lower() for each in Talk(room.talk.port).enter(room.served.link).headers["set-cookie"].split(";")
    }
    assert {"httponly", "samesite=strict", "path=/"} <= words


@pytest.mark.parametrize("token", ["", "x", "%00", "a" * 43, "é"])
def test_a_wrong_token_is_refused(room: Room, token: str) -> None:
    answer = Talk(room.talk.port).ask(
        "/enter?token=" + token.encode("utf-8").decode("latin-1") if token.isascii() else "/enter?token=%C3%A9"
    )
    assert answer.status == 403
    assert "set-cookie" not in answer.headers


def test_a_fresh_link_is_told_when_the_last_one_was_used(digits_run: Path) -> None:
    told: list[str] = []
    with serving(digits_run, tell=told.append) as room:
        assert len(told) == 1
        assert Talk(room.talk.port).enter(told[0]).status == 200
        assert len(told) == 2


def every_route(room: Room) -> list[tuple[str, str]]:
    every = routes(room.desk, room.served.gate, room.served.address)
    return [(method, route.path) for route in every for method in sorted(route.methods or ()) if method != "HEAD"]


def test_nothing_is_shown_or_changed_without_a_session(room: Room) -> None:
    free = {("GET", "/enter"), ("GET", "/login"), ("POST", "/login")}
    for cookie in ("", "psi-review-1=x", f"psi-review-{room.talk.port}=wrong", "=;=;,"):
        stranger = Talk(room.talk.port, cookie)
        for method, path in set(every_route(room)) - free:
            path = path.replace("{name}", "review.js")
            assert stranger.ask(path, method=method, body={} if method == "POST" else None).status == 401, path
    assert room.desk.store.log() == []


# ── what goes out ──


class Elements(HTMLParser):
    """Whatever a policy without inline script and style forbids."""

    def __init__(self) -> None:
        super().__init__()
        self.bad: list[str] = []
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = dict(attrs)
        self.tags.append(tag)
        inline = tag == "style" or (tag == "script" and "src" not in names)
        handlers = [name for name in names if name.startswith(("on", "hx-on")) or name == "style"]
        away = [each for each in names.values() if each and re.match(r"(https?:)?//|javascript:", each)]
        if inline or handlers or away:
            self.bad.append(self.get_starttag_text() or tag)


@pytest.mark.parametrize("path", [*PAGES, "/reviewers", "/login", "/nowhere", "/static/review.js", "/enter?token=x"])
def test_every_answer_has_its_headers(room: Room, path: str) -> None:
    for answer in (room.talk.ask(path), Talk(room.talk.port).ask(path), room.talk.ask(path, Host="evil.example")):
        policy = dict(each.strip().split(" ", 1) for each in answer.headers["content-security-policy"].split(";"))
        assert policy["default-src"] == policy["base-uri"] == policy["frame-ancestors"] == "'none'"
        assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == policy["form-action"] == "'self'"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["x-frame-options"] == "DENY"
        assert policy["img-src"] == "'self' data:"
        for name in ("resource", "opener"):
            assert answer.headers[f"cross-origin-{name}-policy"] == "same-origin"
        assert path.startswith("/static/") or answer.headers["cache-control"] == "no-store", (
            "others may use the machine"
        )
        assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize("path", [*PAGES, "/login"])
def test_no_page_needs_what_the_policy_forbids(room: Room, path: str) -> None:
    elements = Elements()
    elements.feed(room.talk.ask(path).text)
    assert len(elements.tags) > 3
    assert elements.bad == []


def test_htmx_evaluates_nothing_and_adds_no_style(room: Room) -> None:
    page = room.talk.ask("/").text
    assert '"allowEval": false' in page
    assert '"includeIndicatorStyles": false' in page


HOSTILE = "\"'><script>alert(1)</script><img src=x onerror=alert(1)>{{7*7}}"


@pytest.fixture(scope="module")
def hostile_run(tmp_path_factory: pytest.TempPathFactory, planted: Planted) -> Path:
    """Every text of the user's that a page shows is an attack."""
    words = np.array(["awful", "plain", "nice"])

    def texts(X: Any) -> list[str]:
        return [f"{words[int(np.sign(a + b)) + 1]} w{int(c)} {HOSTILE}" for a, b, c, _ in X]

    def labels(y: Any) -> list[str]:
        return [f"{each} {HOSTILE}" for each in y]

    diagnosis = psidebug.debug(
        make_pipeline(CountVectorizer(), LogisticRegression()),
        texts(planted.X_train),
        labels(planted.y_train),
        texts(planted.X_test),
        labels(planted.y_test),
        rows=[f"{n} {HOSTILE}" for n in range(len(planted.y_train))],
        check_fidelity=False,
        rng=0,
    )
    place = tmp_path_factory.mktemp("hostile") / "run"
    diagnosis.save(place)
    return place


def test_what_the_data_say_is_shown_and_never_run(hostile_run: Path) -> None:
    with serving(hostile_run, reviewer=HOSTILE) as room:
        at = int(room.desk.queue.ranked.order[0])
        assert room.talk.say("/verdict", at=at, action="correct", comment=HOSTILE).status == 200
        for path in ("/?state=all", f"/item?at={at}&state=all", "/queue?state=all", f"/similar?at={at}", "/board"):
            text = room.talk.ask(path).text
            assert "onerror" in text, "it is shown"
            elements = Elements()
            elements.feed(text)
            assert elements.bad == []
            assert "img" not in elements.tags
            assert "49" not in re.findall(r"alert\(1\)&gt;(\d+)", text)
        assert room.talk.say("/begin", kind=HOSTILE).headers["content-type"].startswith("application/json")


@pytest.mark.parametrize(
    "path",
    [
        "/static/../app.py",
        "/static/../../../../etc/passwd",
        "/static/%2e%2e/app.py",
        "/static/..%2fapp.py",
        "/static/..%5capp.py",
        "/static/%2fetc%2fpasswd",
        "/static/htmx/../review.js",
        "/export/../run.json",
        "/export/..%2frun.json",
        "/export/%2e%2e%2frun.json",
        "/export/verdicts.sqlite",
        "//etc/passwd",
    ],
)
def test_no_address_leads_to_another_file(room: Room, path: str) -> None:
    assert room.talk.ask(path).status == 404


@pytest.mark.parametrize(
    "query", ["at=-1", "at=900", "at=1e3", "at=x", "slice=99", "bug=1", "state=x", "sort=x", "given=x", "least=x"]
)
def test_a_wrong_question_is_answered_with_a_sentence(room: Room, query: str) -> None:
    answer = room.talk.ask(f"/item?{query}")
    assert answer.status == 400, answer.text
    assert answer.headers["content-type"].startswith("text/plain")


def test_a_request_has_a_limit(room: Room) -> None:
    answer = room.talk.say("/verdict", **verdict(comment="x" * LARGEST_REQUEST))
    assert answer.status == 400
    assert "bytes" in answer.json["wrong"]


def test_a_log_leads_to_no_run_outside_of_its_own(digits_run: Path, tmp_path: Path) -> None:
    other = Path(shutil.copytree(digits_run, tmp_path / "other"))
    with open_store(digits_run) as store:
        for directory in ("../other", str(other), "..", "", "."):
            store.remark("diagnosed", {"directory": directory, "known": []}, reviewer="eve")
    desk = Desk(digits_run, psidebug.Diagnosis.load)
    assert desk.queue.ranked is desk.run
    desk.close()


# ── no pickle ──

UNPICKLED = """
import contextlib, sys
from pathlib import Path
with contextlib.suppress(ImportError): import dask.dataframe  # unpickles its own operators when others import it
import psidebug.review.serve
from tests.review.talking import serving
found = []
sys.addaudithook(lambda event, given: found.append(given) if event == "pickle.find_class" else None)
with serving(Path(sys.argv[1])) as room:
    at = int(room.desk.queue.ranked.order[0])
    assert room.talk.ask("/").status == room.talk.ask(f"/similar?at={at}").status == 200
    assert room.talk.say("/verdict", at=at, action="correct").status == 200
    assert room.talk.say("/begin", kind="retrain").status == 200
    while room.talk.ask("/changes").json["busy"]: pass
    assert len(room.desk.store.remarks("retrained")) == 1
    assert found == [], found
    import pickle
    pickle.loads(pickle.dumps(Path))
    assert found, "the hook hears pickles"
print("none")
"""


def test_the_server_loads_no_pickle(digits_run: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", UNPICKLED, str(digits_run)], capture_output=True, text=True, timeout=120
    )
    assert done.stdout == "none\n", done.stderr


# ── to listen elsewhere ──


def test_it_listens_on_this_machine_only_and_on_any_port(digits_run: Path, tmp_path: Path) -> None:
    one, other = (
        prepare(digits_run, psidebug.Diagnosis.load, reviewer="ann"),
        prepare(digits_run, psidebug.Diagnosis.load, reviewer="ann"),
    )
    places = [each.sockets[0].getsockname() for each in (one, other)]
    for each in (one, other):
        each.sockets[0].close()
        each.desk.close()
    assert {host for host, _ in places} == {"127.0.0.1"}
    assert places[0] != places[1]


@pytest.mark.parametrize("password", [None, "", "short"])
def test_to_listen_elsewhere_takes_a_password(digits_run: Path, password: str | None) -> None:
    with pytest.raises(UnknownOption, match="password"):
        prepare(digits_run, psidebug.Diagnosis.load, reviewer="ann", listen="0.0.0.0", password=password)


def test_the_password_lets_in_and_nothing_else_does(digits_run: Path) -> None:
    with serving(digits_run, listen="0.0.0.0", password="correct horse") as room:
        stranger = room.talk
        assert stranger.ask("/").headers["location"] == "/login"
        assert stranger.ask("/queue").status == 401
        assert stranger.ask("/login", method="POST", body="password=wrong").status == 403
        assert stranger.ask("/login", method="POST", body="password=correct+horse", Origin=EVIL).status == 403
        answer = stranger.ask("/login", method="POST", body="password=correct+horse")
        assert answer.status == 303
        stranger.cookie = answer.headers["set-cookie"].split(";")[0]
        assert stranger.ask("/").status == 200
        assert stranger.ask("/", Host=f"10.1.2.3:{stranger.port}").status == 200, "a number cannot be rebound"
        assert stranger.ask("/", Host=f"evil.example:{stranger.port}").status == 421
        said = exposure(room.served.address)
        assert "password" in said
        assert "encrypted" in said


def test_a_password_is_a_way_in_only_for_those_from_elsewhere(digits_run: Path) -> None:
    with serving(digits_run, password="correct horse") as room:
        assert "token=" in room.served.link
        assert Talk(room.talk.port).ask("/login", method="POST", body="password=correct+horse").status == 403


def test_without_a_password_there_is_no_way_by_one(room: Room) -> None:
    assert Talk(room.talk.port).ask("/login", method="POST", body="password=").status == 403
