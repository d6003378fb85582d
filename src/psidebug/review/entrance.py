"""The way in: a token or a password for a session, a name for it, and a link for somebody else."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import secrets
from typing import Any
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from psidebug.errors import UnknownOption
from psidebug.review import pages
from psidebug.review.answers import LARGEST_REQUEST, body, part, visitor_of
from psidebug.review.security import Address, Gate, cookie_of
from psidebug.review.verdicts import checked_name

SLOW_DOWN, SLOWEST = 0.5, 8.0
"""Seconds that a wrong password costs; each further one costs twice as many, up to the second number."""
MOST_WAITING = 20
"""Attempts that may wait for their turn."""
YEAR = 365 * 24 * 3600

# A redirect would belong to the site that the link was on, and the strict cookie would not be sent; this page is ours.
LET_IN = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="refresh" content="0;url=/">
<title>Psi review</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/static/review.css">
</head>
<body class="login"><main><p><a href="/">Go on to the review</a></p></main></body>
</html>
"""


class Entrance:
    """What can be asked before, or about, a session."""

    def __init__(self, gate: Gate, address: Address, run: str) -> None:
        self.gate, self.address = gate, address
        self.lasting = f"psi-browser-{run}"
        """Name of the cookie by which a browser that comes back to this run is known; it lets nobody in."""
        self._turn = asyncio.Lock()
        self._waiting = self._failures = 0

    def enter(self, request: Request) -> Response:
        """A one-time token for a cookie; who only asks for the head, as previews of links do, does not use it up."""
        if request.method == "HEAD":
            return Response(media_type="text/html")
        secret = self._secret(request)
        session = self.gate.enter(request.query_params.get("token", ""), browser=_browser(secret))
        if session is None:
            said = "This link is not known or used already. Open the link that psi review printed last."
            return Response(said, 403, media_type="text/plain")
        return self._with_cookies(HTMLResponse(LET_IN), session, secret)

    def login_page(self, request: Request) -> Response:
        """Where the password is asked for."""
        return HTMLResponse(pages.render("login.html", wrong=False))

    async def log_in(self, request: Request) -> Response:
        """A password for a cookie: one attempt at a time, and the more were wrong the longer each takes."""
        try:
            sent = parse_qs((await body(request, LARGEST_REQUEST)).decode(errors="replace"))
        except UnknownOption as error:
            return Response(str(error), 413, media_type="text/plain")
        if self._waiting >= MOST_WAITING:
            return Response("Too many passwords are being tried. Wait a little.", 429, media_type="text/plain")
        self._waiting += 1
        try:
            async with self._turn:
                return await self._tried(request, sent.get("password", [""])[0])
        finally:
            self._waiting -= 1

    async def _tried(self, request: Request, password: str) -> Response:
        secret = self._secret(request)
        session = self.gate.log_in(password, browser=_browser(secret))
        if session is not None:
            self._failures = 0
            return self._with_cookies(RedirectResponse("/", 303), session, secret)
        self._failures += 1
        where = "an unknown address" if request.client is None else request.client.host
        logging.getLogger(__name__).warning("A wrong password came from %s (%d in a row).", where, self._failures)
        await asyncio.sleep(min(SLOW_DOWN * 2.0 ** min(self._failures - 1, 10), SLOWEST))
        return HTMLResponse(pages.render("login.html", wrong=True), 403)

    def _secret(self, request: Request) -> str:
        """What this browser was given when it first came to this run, or is given now."""
        return cookie_of(request.headers, self.lasting) or secrets.token_urlsafe(32)

    def _with_cookies(self, answer: Response, session: str, secret: str) -> Response:
        # Lax: it is to be known also when the link is on another site, and by itself it opens nothing.
        answer.set_cookie(self.lasting, secret, max_age=YEAR, httponly=True, samesite="lax", path="/")
        answer.set_cookie(self.address.cookie, session, httponly=True, samesite="strict", path="/")
        return answer

    def rename(self, request: Request, sent: Any) -> dict[str, Any]:
        """Who is at this browser."""
        name = checked_name(part(sent, "name", "")).strip() or visitor_of(request).name
        self.gate.rename(request.scope["session"], name)
        return {"said": f"you are {name}"}

    def invite(self, request: Request, sent: Any) -> dict[str, Any]:
        """A link that lets one more browser in."""
        return {"link": f"http://{request.headers['host']}/enter?token={self.gate.invite()}"}


def _browser(secret: str) -> str:
    """The mark that stands in the log: it tells browsers apart, and the cookie cannot be found from it."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()[:16]
