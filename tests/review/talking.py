"""A server in a thread of its own, and a client that says just what it is told to say."""

from __future__ import annotations

import http.client
import json
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psidebug
from psidebug.review.serve import Served, prepare


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    content: bytes
    cookies: dict[str, str] = field(default_factory=dict)
    """Name → value of those that were set."""

    @property
    def text(self) -> str:
        return self.content.decode("utf-8", "replace")

    @property
    def json(self) -> Any:
        return json.loads(self.text)


@dataclass
class Talk:
    """Speaks HTTP to one server, as one browser."""

    port: int
    cookie: str = ""
    headers: dict[str, str] = field(default_factory=dict)

    def ask(self, path: str, *, method: str = "GET", body: Any = None, **headers: str | None) -> Answer:
        """Names of headers with _ for -; None leaves out one that is sent by default."""
        said: dict[str, str | None] = {"Host": f"127.0.0.1:{self.port}", "Cookie": self.cookie or None}
        if method == "POST":
            said |= {"Origin": f"http://127.0.0.1:{self.port}", "Sec-Fetch-Site": "same-origin"}
        said |= {name.replace("_", "-"): value for name, value in headers.items()}
        content = None if body is None else body if isinstance(body, str | bytes) else json.dumps(body)
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in said.items():
                if value is not None:
                    connection.putheader(name, value)
            data = content.encode() if isinstance(content, str) else content or b""
            if method == "POST":
                connection.putheader("Content-Length", str(len(data)))
            connection.endheaders(data or None)
            answer = connection.getresponse()
            found = {name.lower(): value for name, value in answer.getheaders()}
            set_ = [value.split(";")[0] for name, value in answer.getheaders() if name == "set-cookie"]
            told = [(each.partition("=")[0], each.partition("=")[2]) for each in set_]
            return Answer(answer.status, found, answer.read(), dict(told))
        finally:
            connection.close()

    def say(self, path: str, **body: Any) -> Answer:
        """Something that changes something, with a key of its own unless one is given."""
        return self.ask(path, method="POST", body={"key": uuid.uuid4().hex, **body})

    def enter(self, link: str) -> Answer:
        answer = self.ask("/" + link.split("/", 3)[3])
        self.cookie = "; ".join(f"{name}={value}" for name, value in answer.cookies.items())
        return answer


@dataclass
class Room:
    served: Served
    talk: Talk

    @property
    def desk(self) -> Any:
        return self.served.desk

    def another(self) -> Talk:
        talk = Talk(self.talk.port)
        talk.enter(self.served.link)
        return talk


@contextmanager
def serving(run: Path, **options: Any) -> Iterator[Room]:
    """A server for the run, and a client that was let in."""
    served = prepare(run, psidebug.Diagnosis.load, **{"reviewer": "ann", **options})
    thread = threading.Thread(target=served.run)
    thread.start()
    try:
        talk = Talk(served.address.port)
        if served.gate.password is None:
            talk.enter(served.link)
        yield Room(served, talk)
    finally:
        served.server.should_exit = True
        thread.join()


def first(room: Room, count: int = 1) -> list[int]:
    """Positions of the first suspects."""
    found: list[int] = room.desk.run.order[:count].tolist()
    return found


def work_done(room: Room, kind: str) -> str:
    """What the page says when work of this kind is done."""
    assert room.talk.say("/begin", kind=kind).status == 200
    end = time.monotonic() + 120
    while room.talk.ask("/changes").json["busy"]:
        assert time.monotonic() < end
        time.sleep(0.05)
    return room.talk.ask("/work").text


def line(**changes: Any) -> str:
    """One verdict as a line of an import, with changes."""
    return json.dumps({"row": "picture-0366", "action": "correct", "label": "even", **changes})
