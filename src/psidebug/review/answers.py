"""How questions are answered: what goes wrong is a sentence, and a change is said to be made after it is."""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from psidebug.errors import OutputError, PsiError, UnknownOption, UsedKey
from psidebug.review.security import Visitor

LARGEST_REQUEST, LARGEST_IMPORT = 100_000, 100_000_000
"""Bytes."""

TYPES: dict[type, str] = {int: "a whole number", str: "a text", dict: "an object", bool: "true or false"}

T = TypeVar("T")
Answer = Callable[[Request], Response]
Change = Callable[[Request, Any], dict[str, Any]]


def told_or_wrong(answer: Answer) -> Answer:
    """The answer, or what is wrong with the question."""

    def told(request: Request) -> Response:
        try:
            return answer(request)
        except PsiError as error:
            return Response(str(error), 400, media_type="text/plain")

    return told


def written_or_wrong(act: Change, *, run: str, check: Callable[[], None]) -> Callable[[Request], Awaitable[Response]]:
    """The change is made, and then it is said that it is; a failed write can be tried again, a wrong one cannot.

    A page that was left open may meet the server of another run at its port: what it sends waits until its own is back.
    So it does while ``check`` raises, which looks whether the run is still the one that was opened.
    """

    async def written(request: Request) -> Response:
        try:
            limit = LARGEST_IMPORT if request.url.path == "/import" else LARGEST_REQUEST
            sent = parsed(await body(request, limit))
            if part(sent, "run", run) != run:
                raise OutputError("this page is of another run: nothing is saved. Start psi review for that run again.")
            await run_in_threadpool(check)
            return JSONResponse(await run_in_threadpool(act, request, sent))
        except OutputError as error:
            logging.getLogger(__name__).warning("%s", error)
            return JSONResponse({"wrong": str(error)}, 503)
        except PsiError as error:
            return JSONResponse({"wrong": str(error)}, 409 if isinstance(error, UsedKey) else 400)

    return written


def parsed(content: bytes) -> dict[str, Any]:
    """What was sent, as a JSON object."""
    try:
        sent = json.loads(content)
    except (ValueError, RecursionError):  # no JSON, no UTF-8, a number of thousands of digits, a list in a list in …
        raise UnknownOption("the request is no JSON: send an object.") from None
    if not isinstance(sent, dict):
        raise UnknownOption("the request is no JSON object: send one.")
    return sent


def part(sent: Mapping[str, Any], name: str, default: T) -> T:
    """A part of what was sent, of the same type as its default, which stands for a part that is not there."""
    found = sent.get(name)
    if found is None:
        return default
    if type(found) is not type(default):
        raise UnknownOption(f"{name} is {found!r:.60}, and has to be {TYPES[type(default)]}: send that.")
    return found


def wrong_address(request: Request, error: Exception) -> Response:
    """Where there is nothing, or nothing to be done in this way."""
    status = getattr(error, "status_code", 404)
    said = "There is nothing at this address." if status == 404 else "This address is not to be asked in this way."
    return Response(said, status, media_type="text/plain", headers=getattr(error, "headers", None))


async def body(request: Request, limit: int) -> bytes:
    """What was sent, if it is not too much."""
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > limit:
            raise UnknownOption(f"the request has more than {limit:,} bytes.")
        parts.append(part)
    return b"".join(parts)


def visitor_of(request: Request) -> Visitor:
    """Whose session it is."""
    visitor: Visitor = request.scope["visitor"]
    return visitor
