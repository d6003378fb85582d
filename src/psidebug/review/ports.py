"""Where a run was reviewed before: the same port again, where it is free.

A browser keeps what it could not save for each address by itself, and the port is a part of the address. With another
port after a restart, verdicts that wait in the browser would never be found again.
"""

from __future__ import annotations

import contextlib
import json
import socket
from pathlib import Path

from psidebug.errors import OutputError
from psidebug.files import write_whole
from psidebug.store.manifest import check_plain

PORTS_FILE = "review-ports.json"
MOST = 8
"""Ports that are kept: as many servers for one run find theirs again."""


def listening(host: str, port: int, *, run: Path) -> socket.socket:
    """A socket that listens: on this port, or, where it is 0, on the last free one of this run, else on any.

    Raises :class:`~psidebug.errors.UnreadableRun` where the ports would be read or written through a link.
    """
    check_plain(run / PORTS_FILE)
    kept = kept_ports(run)
    for each in (port,) if port else (*reversed(kept), 0):
        try:
            bound = socket.create_server((host, each), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
        except OSError as error:
            if each not in (port, 0):
                continue
            raise OutputError(
                f"cannot listen on {host} port {port}: {error.strerror or error}. Give another --port."
            ) from error
        found = int(bound.getsockname()[1])
        with contextlib.suppress(OutputError):  # it is a comfort; the store says what cannot be written
            _keep(run, [*(other for other in kept if other != found), found])
        return bound
    raise AssertionError("port 0 is free or an error")


def kept_ports(run: Path) -> list[int]:
    """The ports where this run was reviewed before, the last one last; none where the file is not ours."""
    try:
        found = json.loads((run / PORTS_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    listed = found if isinstance(found, list) else []
    return [each for each in listed if type(each) is int and 1024 <= each <= 65535][-MOST:]


def _keep(run: Path, ports: list[int]) -> None:
    write_whole(run / PORTS_FILE, json.dumps(ports[-MOST:]) + "\n", through_links=False)
