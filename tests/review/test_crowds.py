"""Many clients at once, with --listen: they stop nobody else."""

from __future__ import annotations

import http.client
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from psidebug.review import connections, login, requests
from tests.review.talking import Room, serving

PASSWORD = "correct horse"
ELSEWHERE = "127.0.0.2"


@pytest.fixture
def open_room(digits_run: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Room]:
    monkeypatch.setattr(connections, "PATIENCE", 0.3)
    monkeypatch.setattr(login, "SLOWEST", 1.0)
    with serving(digits_run, listen="127.0.0.1", password=PASSWORD) as room:
        yield room


def log_in(port: int, password: str, address: str) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30, source_address=(address, 0))
    try:
        sent = {"Host": f"127.0.0.1:{port}", "Origin": f"http://127.0.0.1:{port}"}
        connection.request("POST", "/login", f"password={password.replace(' ', '+')}", sent)
        return connection.getresponse().status
    except OSError:
        return 0
    finally:
        connection.close()


def test_wrong_passwords_from_one_address_lock_nobody_else_out(
    open_room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(login, "SLOW_DOWN", 60.0)  # so that the line stands still, however slow the machine is
    monkeypatch.setattr(login, "SLOWEST", 60.0)
    port = open_room.talk.port
    crowd = [threading.Thread(target=log_in, args=(port, "wrong", ELSEWHERE)) for _ in range(25)]
    for each in crowd:
        each.start()
    time.sleep(0.3)
    assert log_in(port, PASSWORD, "127.0.0.1") == 303
    assert log_in(port, "wrong", ELSEWHERE) == 429, "they wait in a line of their own"
    open_room.served.server.should_exit = True
    for each in crowd:
        each.join()


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nHost: x"], ids=["nothing", "half a request"])
def test_connections_that_ask_nothing_are_closed(open_room: Room, sent: bytes) -> None:
    with socket.create_connection(("127.0.0.1", open_room.talk.port), timeout=5) as idle:
        idle.sendall(sent)
        assert idle.recv(1) == b""
    assert log_in(open_room.talk.port, PASSWORD, "127.0.0.1") == 303


def test_one_address_does_not_take_all_connections(open_room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "PATIENCE", 30.0)
    port = open_room.talk.port
    taken = [
        socket.create_connection(("127.0.0.1", port), timeout=5, source_address=(ELSEWHERE, 0))
        for _ in range(connections.MOST_OF_ONE + 5)
    ]
    assert log_in(port, "wrong", ELSEWHERE) == 0
    assert log_in(port, PASSWORD, "127.0.0.1") == 303
    for each in taken:
        each.close()


def test_a_body_that_does_not_come_is_not_waited_for(digits_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that trickles would else hold its connection, and its part in memory, without end."""
    monkeypatch.setattr(requests, "SLOWEST", 0.2)
    with serving(digits_run) as room:
        port = room.talk.port
        head = f"POST /verdict HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nOrigin: http://127.0.0.1:{port}\r\n"
        head += f"Cookie: {room.talk.cookie}\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n"
        with socket.create_connection(("127.0.0.1", port), timeout=10) as slow:
            slow.sendall(head.encode() + b'{"key"')
            answer = slow.recv(4096).decode()
        assert answer.startswith("HTTP/1.1 4")
        assert room.talk.ask("/").status == 200
