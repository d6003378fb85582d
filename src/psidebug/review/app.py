"""The review app: every address, and the guards around all of them.

Pages and parts of pages are HTML. Changes take JSON with a ``key``, so that a repeated save is stored once, and are
answered when they are on disk. No address leads to a file: static files are read at the start.
"""

from __future__ import annotations

import logging
import mimetypes
from collections.abc import Awaitable, Callable
from functools import cache, partial
from importlib.resources import files
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from psidebug.errors import OutputError, PsiError, UsedKey
from psidebug.exports.suspects import training_set
from psidebug.review.desk import Desk
from psidebug.review.handlers import Changes, Reads
from psidebug.review.login import Entrance
from psidebug.review.requests import LARGEST_IMPORT, LARGEST_REQUEST, body, parsed, part
from psidebug.review.security import Address, Gate, Guard
from psidebug.review.work import Workbench

OWN = ("psi.svg", "review.css", "review.js", "grid.js", "htmx/htmx.min.js")
REPORTS = ("report.css", "vega/vega.min.js", "vega/vega-lite.min.js", "vega/vega-embed.min.js")


def review_app(desk: Desk, *, gate: Gate, address: Address) -> ASGIApp:
    """The app behind its guards."""

    def refused(request: Request, error: Exception) -> Response:
        """What is wrong, in one sentence: JSON for a change, else text. A status of 503 means: try again."""
        said = str(error)
        if request.method != "POST":
            return PlainTextResponse(said, 400)
        if isinstance(error, OutputError):
            logging.getLogger(__name__).warning("%s", error)
        status = 503 if isinstance(error, OutputError) else 409 if isinstance(error, UsedKey) else 400
        return JSONResponse({"wrong": said}, status)

    handlers: dict[Any, Any] = {404: _wrong_address, 405: _wrong_address, PsiError: refused}
    app = Starlette(routes=routes(desk, gate, address), exception_handlers=handlers)
    app.router.redirect_slashes = False  # an address is one address
    return Guard(app, gate=gate, address=address)


def routes(desk: Desk, gate: Gate, address: Address) -> list[Route]:
    """Every address."""
    bench, entrance = Workbench(desk), Entrance(gate, address, training_set(desk.findings.origin))
    reads, changes = Reads(desk, bench), Changes(desk, bench)
    read: dict[str, Callable[[Request], Response]] = {
        "/": reads.page,
        "/board": reads.board,
        "/item": reads.item,
        "/queue": reads.queue,
        "/similar": reads.similar,
        "/reviewers": reads.reviewers,
        "/changes": reads.changes,
        "/work": reads.work,
        "/history": reads.history,
        "/files": reads.files,
        "/export/{name}": reads.export,
        "/static/{name}": static,
        "/enter": entrance.enter,
        "/login": entrance.login_page,
    }
    changed: dict[str, Callable[[Request, Any], dict[str, Any]]] = {
        "/verdict": changes.decide,
        "/undo": partial(changes.step_back, "undo"),
        "/redo": partial(changes.step_back, "redo"),
        "/bulk": changes.bulk,
        "/together": changes.together,
        "/begin": changes.begin,
        "/import": changes.take_in,
        "/name": entrance.rename,
        "/invite": entrance.invite,
    }
    return [
        *(Route(path, answer, methods=["GET"]) for path, answer in read.items()),
        *(Route(path, _changing(desk, change), methods=["POST"]) for path, change in changed.items()),
        Route("/login", entrance.log_in, methods=["POST"]),
    ]


def _changing(
    desk: Desk, change: Callable[[Request, Any], dict[str, Any]]
) -> Callable[[Request], Awaitable[JSONResponse]]:
    """The change of a request, refused if its page shows another run, or if the run was replaced.

    A page left open may meet the server of another run at the same port; its saves then wait for their own server.
    """
    made_from = desk.findings.origin.fingerprint
    shown = {"run": made_from["train"], "tests": made_from["test"]}  # the latter is sent with verdicts on test labels

    async def changing(request: Request) -> JSONResponse:
        limit = LARGEST_IMPORT if request.url.path == "/import" else LARGEST_REQUEST
        sent = parsed(await body(request, limit))
        if any(part(sent, name, mark) != mark for name, mark in shown.items()):
            raise OutputError("this page shows another run, so nothing is saved. Start psi review for that run again.")
        await run_in_threadpool(desk.check_same)
        return JSONResponse(await run_in_threadpool(change, request, sent))

    return changing


def _wrong_address(request: Request, error: Exception) -> Response:
    status = getattr(error, "status_code", 404)
    said = "Page not found." if status == 404 else "Method not allowed."
    return PlainTextResponse(said, status, headers=getattr(error, "headers", None))


def static(request: Request) -> Response:
    """A static file of the page."""
    found = static_files().get(request.path_params["name"])
    if found is None:
        return PlainTextResponse("No such file.", 404)
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
