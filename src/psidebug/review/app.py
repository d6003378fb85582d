"""The review app: every address and what is behind it. The guards are around all of it.

Pages and parts of pages are HTML; what changes something takes JSON with a ``key``, so that a save that is tried again
is stored once, and answers after the change is on disk. No address leads to a file: the static ones are read before.
"""

from __future__ import annotations

import mimetypes
from functools import cache
from importlib.resources import files

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from psidebug.exports import training_set
from psidebug.review.answers import Answer, Change, told_or_wrong, written_or_wrong, wrong_address
from psidebug.review.changing import Changing
from psidebug.review.desk import Desk
from psidebug.review.entrance import Entrance
from psidebug.review.security import Address, Gate, Guard
from psidebug.review.showing import Showing
from psidebug.review.work import Workbench

OWN = ("psi.svg", "review.css", "review.js", "htmx/htmx.min.js")
REPORTS = ("report.css", "vega/vega.min.js", "vega/vega-lite.min.js", "vega/vega-embed.min.js")


def review_app(desk: Desk, *, gate: Gate, address: Address) -> ASGIApp:
    """The app behind its guards."""
    app = Starlette(routes=routes(desk, gate, address), exception_handlers={404: wrong_address, 405: wrong_address})
    app.router.redirect_slashes = False  # an address is one address
    return Guard(app, gate=gate, address=address)


def routes(desk: Desk, gate: Gate, address: Address) -> list[Route]:
    """Every address."""
    bench, run = Workbench(desk), desk.findings.origin.fingerprint["train"]
    entrance, showing, changing = (
        Entrance(gate, address, training_set(desk.findings.origin)),
        Showing(desk, bench),
        Changing(desk, bench),
    )
    reads: dict[str, Answer] = {
        "/": showing.page,
        "/board": showing.board,
        "/item": showing.item,
        "/queue": showing.queue,
        "/similar": showing.similar,
        "/changes": showing.changes,
        "/work": showing.work,
        "/history": showing.history,
        "/files": showing.files,
        "/export/{name}": showing.export,
        "/static/{name}": static,
        "/enter": entrance.enter,
        "/login": entrance.login_page,
    }
    writes: dict[str, Change] = {
        "/verdict": changing.judge,
        "/undo": changing.undo,
        "/redo": changing.redo,
        "/bulk": changing.bulk,
        "/begin": changing.begin,
        "/import": changing.take_in,
        "/name": entrance.rename,
        "/invite": entrance.invite,
    }
    return [
        *(Route(path, told_or_wrong(answer), methods=["GET"]) for path, answer in reads.items()),
        *(
            Route(path, written_or_wrong(change, run=run, check=desk.check_same), methods=["POST"])
            for path, change in writes.items()
        ),
        Route("/login", entrance.log_in, methods=["POST"]),
    ]


def static(request: Request) -> Response:
    """A file of the page, by its name among those that were read at the start."""
    found = static_files().get(request.path_params["name"])
    if found is None:
        return Response("There is no such file.", 404, media_type="text/plain")
    return Response(found[0], media_type=found[1], headers={"cache-control": "max-age=3600"})


@cache
def static_files() -> dict[str, tuple[bytes, str]]:
    """Name → content and type of every file that the page loads."""
    places = [("psidebug.review", name) for name in OWN] + [("psidebug.report", name) for name in REPORTS]
    found = {}
    for package, name in places:
        kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
        found[name.rsplit("/", 1)[-1]] = ((files(package) / "static" / name).read_bytes(), kind)
    return found
