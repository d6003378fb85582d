"""How questions are answered: what goes wrong is a sentence, and a change is said to be made after it is."""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from psidebug.errors import OutputError, PsiError, UnknownOption
from psidebug.review.security import Visitor

LARGEST_REQUEST, LARGEST_IMPORT = 100_000, 100_000_000
"""Bytes."""

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


def written_or_wrong(act: Change) -> Callable[[Request], Awaitable[Response]]:
    """The change is made, and then it is said that it is; a failed write can be tried again, a wrong one cannot."""

    async def written(request: Request) -> Response:
        try:
            limit = LARGEST_IMPORT if request.url.path == "/import" else LARGEST_REQUEST
            sent = json.loads(await body(request, limit))
            if not isinstance(sent, dict):
                raise UnknownOption("the request is no JSON object.")
            return JSONResponse(await run_in_threadpool(act, request, sent))
        except OutputError as error:
            logging.getLogger(__name__).warning("%s", error)
            return JSONResponse({"wrong": str(error)}, 503)
        except (PsiError, ValueError, TypeError, OverflowError, RecursionError) as error:  # or no JSON, no number
            return JSONResponse({"wrong": str(error)}, 400)

    return written


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
