"""The server: its address and port, and the warning when other machines can reach it.

A run keeps its port where it can. A browser stores unsaved verdicts by address, and the port is a part of the address:
on another port after a restart, the verdicts that wait in the browser would not be found.
"""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from psidebug.errors import OutputError, PsiError, UnknownOption
from psidebug.files import write_whole
from psidebug.review import pages
from psidebug.review.app import review_app, static_files
from psidebug.review.desk import Desk, OpenDiagnosis
from psidebug.review.filters import Filter
from psidebug.review.security import Address, Gate, Visitor, number_of
from psidebug.store.manifest import check_plain

if TYPE_CHECKING:
    import uvicorn

HOME = "127.0.0.1"
SHORTEST_PASSWORD = 8
GRACE = 2
"""Seconds that open connections get when the server stops."""
PORTS_FILE = "review-ports.json"
MOST = 8
"""Ports that are kept, so that as many servers of one run find theirs again."""


@dataclass(frozen=True, eq=False)
class Served:
    """A server, ready to run."""

    address: Address
    gate: Gate
    desk: Desk
    server: uvicorn.Server
    sockets: list[socket.socket]

    @property
    def link(self) -> str:
        """What to open in a browser: a link with a one-time token, or the login page."""
        where = _where(self.address)
        return where if self.gate.password is not None else f"{where}enter?token={self.gate.invite()}"

    def run(self) -> None:
        """Serve until interrupted."""
        try:
            self.server.run(sockets=self.sockets)
        finally:
            self.desk.close()


def prepare(
    run: str | PathLike[str],
    open_diagnosis: OpenDiagnosis,
    *,
    reviewer: str,
    port: int = 0,
    listen: str | None = None,
    password: str | None = None,
    tell: Callable[[str], None] = lambda link: None,
) -> Served:
    """A server for this run, bound to its port; other machines can reach it only if ``listen`` names an address.

    Port 0 means the port of the last review of this run, if it is free, or else any. ``open_diagnosis`` is called when
    training is first asked for, and ``tell`` with a fresh link when the last one was used, for another browser.
    """
    import uvicorn

    from psidebug.review.connections import Connection

    if listen is not None and (password is None or len(password) < SHORTEST_PASSWORD):
        raise UnknownOption(
            f"--listen {listen} needs a password of at least {SHORTEST_PASSWORD} characters in PSI_REVIEW_PASSWORD."
        )
    host = HOME if listen is None else listen
    static_files()  # a broken installation fails here, not in the browser
    desk = Desk(run, open_diagnosis)
    try:
        bound = listening(host, port, run=desk.run.path)
    except PsiError:
        desk.close()
        raise
    _warm(desk)  # its thread must not run while Python ends
    address = _address(host, bound.getsockname()[1], elsewhere=listen is not None)
    gate = Gate(reviewer, password if listen is not None else None)
    gate.tell = lambda token: tell(f"{_where(address)}enter?token={token}")
    config = uvicorn.Config(
        review_app(desk, gate=gate, address=address),
        log_level="warning",
        access_log=False,  # it would hold tokens
        server_header=False,
        timeout_graceful_shutdown=GRACE,
        lifespan="off",
        ws="none",
        http=Connection,
    )
    return Served(address, gate, desk, uvicorn.Server(config), [bound])


def _warm(desk: Desk) -> None:
    """Compute what the first page needs; build the index of similar rows, which takes longer, in the background."""
    nobody = Visitor("", "")
    pages.page(desk, Filter(), None, nobody)
    first = desk.first(Filter(), nobody)
    if first is not None:
        threading.Thread(target=desk.similar, args=(first, pages.SIMILAR), daemon=True).start()


def exposure(address: Address) -> str:
    """The warning when other machines can reach the server."""
    numbered = ", by this name or by any address of this machine," if address.any_number else ""
    return (
        f"Everyone who can reach {_host(address)} port {address.port}{numbered} and knows the password can see and "
        f"change the labels of this run. Nothing is encrypted: use a network you trust, or a tunnel."
    )


def _where(address: Address) -> str:
    return f"http://{_host(address)}:{address.port}/"


def _host(address: Address) -> str:
    """The host to show: the name of this machine if the server listens on every address."""
    return socket.gethostname() if address.any_number else _written(address.host)


def listening(host: str, port: int, *, run: Path) -> socket.socket:
    """A socket that listens on this port; port 0 means the last free port of this run, or else any.

    Raises :class:`~psidebug.errors.UnreadableRun` if the file of ports is a link.
    """
    check_plain(run / PORTS_FILE)
    kept = kept_ports(run)
    for each in (port,) if port else (*reversed(kept), 0):
        try:
            bound = socket.create_server((host, each), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
        except OSError as error:
            if each not in (port, 0):
                continue
            why = error.strerror or error
            raise OutputError(f"cannot listen on {host} port {port}: {why}. Give another --port.") from error
        found = int(bound.getsockname()[1])
        ports = [*(other for other in kept if other != found), found][-MOST:]
        with contextlib.suppress(OutputError):  # a kept port is only a convenience
            write_whole(run / PORTS_FILE, json.dumps(ports) + "\n", through_links=False, private=True)
        return bound
    raise AssertionError("port 0 is free or an error")


def kept_ports(run: Path) -> list[int]:
    """The ports of earlier reviews of this run, the last one last; none if the file is not ours."""
    try:
        found = json.loads((run / PORTS_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    listed = found if isinstance(found, list) else []
    return [each for each in listed if type(each) is int and 1024 <= each <= 65535][-MOST:]


def _address(host: str, port: int, *, elsewhere: bool) -> Address:
    if not elsewhere:
        return Address(host, port)
    names = {_written(host), "localhost", socket.gethostname(), socket.getfqdn()}
    number = number_of(host)
    return Address(host, port, frozenset(names), any_number=number is not None and number.is_unspecified)


def _written(host: str) -> str:
    return f"[{host}]" if ":" in host else host
