"""The port: any free one at first, and the same one again after a restart, so that browsers find what they kept."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest

from psidebug.review.serve import MOST, PORTS_FILE, kept_ports, listening
from tests.review.talking import serving


def port_of(bound: socket.socket) -> int:
    """Its port; the socket is closed."""
    with bound:
        found: int = bound.getsockname()[1]
        return found


def test_a_restart_takes_the_port_of_before(digits_run: Path) -> None:
    with serving(digits_run) as room:
        port = room.talk.port
    for _ in range(3):
        with serving(digits_run) as room:
            assert room.talk.port == port
    with serving(digits_run) as one, serving(digits_run) as two:
        assert one.talk.port == port != two.talk.port
        others = {one.talk.port, two.talk.port}
    with serving(digits_run) as one, serving(digits_run) as two:
        assert {one.talk.port, two.talk.port} == others, "each of two servers finds one of the two again"


def test_a_port_that_is_taken_is_left_and_not_forgotten(tmp_path: Path) -> None:
    port = port_of(listening("127.0.0.1", 0, run=tmp_path))
    with socket.create_server(("127.0.0.1", port)):
        other = port_of(listening("127.0.0.1", 0, run=tmp_path))
    assert other != port
    assert kept_ports(tmp_path) == [port, other]
    assert port_of(listening("127.0.0.1", port, run=tmp_path)) == port, "a port that is asked for"
    assert kept_ports(tmp_path) == [other, port], "is the last one now"


def test_ports_are_not_kept_without_end(tmp_path: Path) -> None:
    held = [listening("127.0.0.1", 0, run=tmp_path) for _ in range(MOST + 3)]
    ports = [port_of(each) for each in held]
    assert kept_ports(tmp_path) == ports[-MOST:]


@pytest.mark.parametrize("text", ["", "{", "{}", "7", '["80"]', "[80]", "[true]", "[99999]", "[-1]", "[1e3]", "\x00"])
def test_a_file_that_says_no_port_is_as_good_as_none(tmp_path: Path, text: str) -> None:
    (tmp_path / PORTS_FILE).write_text(text)
    port = port_of(listening("127.0.0.1", 0, run=tmp_path))
    assert port >= 1024
    assert json.loads((tmp_path / PORTS_FILE).read_text()) == [port]


def test_where_nothing_can_be_written_any_port_will_do(tmp_path: Path) -> None:
    assert port_of(listening("127.0.0.1", 0, run=tmp_path / "gone")) >= 1024
