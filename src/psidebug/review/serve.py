"""The server: where it listens, what it says about that, and how it ends."""

from __future__ import annotations

import ipaddress
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING

from psidebug.errors import PsiError, UnknownOption
from psidebug.review import pages
from psidebug.review.app import review_app, static_files
from psidebug.review.desk import Desk
from psidebug.review.ports import listening
from psidebug.review.queue import Filter
from psidebug.review.security import Address, Gate, Visitor
from psidebug.review.session import OpenSession

if TYPE_CHECKING:
    import uvicorn

HOME = "127.0.0.1"
SHORTEST_PASSWORD = 8
GRACE = 2
"""Seconds that open connections get when the server ends."""


@dataclass(frozen=True, eq=False)
class Served:
    """A server that is ready to run."""

    address: Address
    gate: Gate
    desk: Desk
    server: uvicorn.Server
    sockets: list[socket.socket]

    @property
    def link(self) -> str:
        """What to open in a browser: with a one-time token, or the page that asks for the password."""
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
    open_session: OpenSession,
    *,
    reviewer: str,
    port: int = 0,
    listen: str | None = None,
    password: str | None = None,
    tell: Callable[[str], None] = lambda link: None,
) -> Served:
    """A server for this run, bound to its port: on this machine only, unless ``listen`` names another address.

    Without a port it is the one where this run was last reviewed, if that is free, else any (:mod:`.ports`).

    ``open_session`` makes who can retrain, when that is first asked for.

    ``tell`` is called with a fresh link when the last one was used, for another browser.
    """
    import uvicorn

    if listen is not None and (password is None or len(password) < SHORTEST_PASSWORD):
        raise UnknownOption(
            f"to listen on {listen} takes a password of {SHORTEST_PASSWORD} characters or more, in PSI_REVIEW_PASSWORD."
        )
    host = HOME if listen is None else listen
    static_files()  # a broken installation is said here, not in the browser
    desk = Desk(run, open_session)
    _warm(desk)
    try:
        bound = listening(host, port, run=desk.run.path)
    except PsiError:
        desk.close()
        raise
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
    )
    return Served(address, gate, desk, uvicorn.Server(config), [bound])


def _warm(desk: Desk) -> None:
    """What the first screen needs once is found before there is one; similar rows, which may take longer, meanwhile."""
    nobody = Visitor("", "")
    pages.page(desk, Filter(), None, nobody)
    first = desk.first(Filter(), nobody)
    if first is not None:
        threading.Thread(target=desk.similar, args=(first, pages.SIMILAR), daemon=True).start()


def exposure(address: Address) -> str:
    """What it means to listen elsewhere than on this machine."""
    numbered = ", by this name or by any address of this machine," if address.any_number else ""
    return (
        f"Everyone who can reach {_host(address)} port {address.port}{numbered} and knows the password sees the rows "
        f"and labels of this run and can decide on them. Nothing is encrypted: use it in a network you trust, or "
        f"through a tunnel."
    )


def _where(address: Address) -> str:
    """The address of the page."""
    return f"http://{_host(address)}:{address.port}/"


def _host(address: Address) -> str:
    """How to call the server: one that listens on every address goes by the name of its machine."""
    return socket.gethostname() if address.any_number else _written(address.host)


def _address(host: str, port: int, *, elsewhere: bool) -> Address:
    if not elsewhere:
        return Address(host, port)
    names = {_written(host), "localhost", socket.gethostname(), socket.getfqdn()}
    return Address(host, port, frozenset(names), any_number=_any(host))


def _any(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False


def _written(host: str) -> str:
    return f"[{host}]" if ":" in host else host
