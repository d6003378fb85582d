"""What a request holds, checked: its body, the parts of it, and the browser that it comes from."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any, TypeVar

from starlette.requests import Request

from psidebug.errors import UnknownOption
from psidebug.review.security import Visitor

LARGEST_REQUEST, LARGEST_IMPORT = 100_000, 25_000_000
"""Bytes."""
SLOWEST = 60.0
"""Seconds in which a body must have come: one that trickles would hold its connection without end."""
TYPES: dict[type, str] = {int: "an integer", str: "a string", dict: "an object", bool: "true or false", list: "a list"}

T = TypeVar("T")


async def body(request: Request, limit: int) -> bytes:
    """The body, if it has at most ``limit`` bytes and comes in time."""
    content = bytearray()
    try:
        async with asyncio.timeout(SLOWEST):
            async for piece in request.stream():
                content += piece
                if len(content) > limit:
                    raise UnknownOption(f"the request is larger than {limit:,} bytes. Split it.")
    except TimeoutError:
        raise UnknownOption(f"the request had not come after {SLOWEST:.0f} seconds. Send it again.") from None
    return bytes(content)


def parsed(content: bytes) -> dict[str, Any]:
    """A body as a JSON object."""
    try:
        sent = json.loads(content)
    except (ValueError, RecursionError):  # no JSON, no UTF-8, a number of thousands of digits, a list in a list in …
        raise UnknownOption("the request is not JSON: send an object.") from None
    if not isinstance(sent, dict):
        raise UnknownOption("the request is not a JSON object.")
    return sent


def part(sent: Mapping[str, Any], name: str, default: T) -> T:
    """A part of what was sent; it must have the type of its default."""
    found = sent.get(name)
    if found is None:
        return default
    if type(found) is not type(default):
        raise UnknownOption(f"{name} must be {TYPES[type(default)]}, not {found!r:.60}.")
    return found


def key_of(sent: Mapping[str, Any]) -> str:
    """The key by which a repeated save is recognised."""
    key = part(sent, "key", "")
    if not 8 <= len(key) <= 100 or not (key.isascii() and key.isprintable()):
        raise UnknownOption("the request needs a key of 8 to 100 printable ASCII characters.")
    return key


def visitor_of(request: Request) -> Visitor:
    """Whose session it is."""
    visitor: Visitor = request.scope["visitor"]
    return visitor
