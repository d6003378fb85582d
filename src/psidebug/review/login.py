"""Sign-in: a token or a password opens a session; the name of the reviewer; links for other browsers."""

from __future__ import annotations

import asyncio
import hashlib
import ipaddress
import logging
import secrets
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response

from psidebug.errors import UnknownOption
from psidebug.review import pages
from psidebug.review.requests import LARGEST_REQUEST, body, part, visitor_of
from psidebug.review.security import Address, Gate, cookie_of, number_of
from psidebug.review.verdicts import checked_name

SLOW_DOWN, SLOWEST = 0.5, 8.0
"""Seconds of delay after a wrong password; they double with each further one, up to the second number."""
MOST_WAITING = 20
"""Login attempts of one address that may wait in line."""
MOST_LINES = 1000
"""Addresses whose wrong attempts are remembered."""
YEAR = 365 * 24 * 3600


@dataclass
class Line:
    """The login attempts of one address: one at a time, slower after each wrong one. Other addresses do not wait."""

    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    waiting: int = 0
    failures: int = 0


class Entrance:
    """The addresses that open or change a session."""

    def __init__(self, gate: Gate, address: Address, run: str) -> None:
        self.gate, self.address = gate, address
        self.lasting = f"psi-browser-{run}"
        """Name of the cookie that recognises a returning browser; it does not open a session."""
        self._lines: dict[str, Line] = {}

    def enter(self, request: Request) -> Response:
        """Exchange a one-time token for a session cookie. A HEAD request, as link previews send, does not use it up."""
        if request.method == "HEAD":
            return Response(media_type="text/html")
        secret = self._secret(request)
        session = self.gate.enter(request.query_params.get("token", ""), browser=_browser(secret))
        if session is None:
            return PlainTextResponse(
                "This link is invalid or already used. Open the link that psi review printed last.", 403
            )
        # Not a redirect: that would count as cross-site, and the browser would not send the strict cookie.
        return self._with_cookies(HTMLResponse(pages.render("let_in.html")), session, secret)

    def login_page(self, request: Request) -> Response:
        """The page that asks for the password."""
        return HTMLResponse(pages.render("login.html", wrong=False))

    async def log_in(self, request: Request) -> Response:
        """Exchange a password for a session cookie: one attempt at a time, slower after each wrong one."""
        try:
            sent = parse_qs((await body(request, LARGEST_REQUEST)).decode(errors="replace"))
        except UnknownOption as error:
            return PlainTextResponse(str(error), 413)
        line = self._line(_network(request))
        if line.waiting >= MOST_WAITING:
            return PlainTextResponse("Too many login attempts from your address. Wait a little.", 429)
        line.waiting += 1
        try:
            async with line.turn:
                return await self._tried(request, sent.get("password", [""])[0], line)
        finally:
            line.waiting -= 1

    def _line(self, network: str) -> Line:
        if network not in self._lines and len(self._lines) >= MOST_LINES:
            self._lines = {name: line for name, line in self._lines.items() if line.waiting}
        return self._lines.setdefault(network, Line())

    async def _tried(self, request: Request, password: str, line: Line) -> Response:
        secret = self._secret(request)
        session = self.gate.log_in(password, browser=_browser(secret))
        if session is not None:
            line.failures = 0
            return self._with_cookies(RedirectResponse("/", 303), session, secret)
        line.failures += 1
        logging.getLogger(__name__).warning("Wrong password from %s (%d in a row).", _network(request), line.failures)
        await asyncio.sleep(min(SLOW_DOWN * 2.0 ** min(line.failures - 1, 10), SLOWEST))
        return HTMLResponse(pages.render("login.html", wrong=True), 403)

    def _secret(self, request: Request) -> str:
        """The secret that this browser got on its first visit, or a new one."""
        return cookie_of(request.headers, self.lasting) or secrets.token_urlsafe(32)

    def _with_cookies(self, answer: Response, session: str, secret: str) -> Response:
        # Lax: it must be sent also when the link is on another site, and by itself it opens nothing.
        answer.set_cookie(self.lasting, secret, max_age=YEAR, httponly=True, samesite="lax", path="/")
        answer.set_cookie(self.address.cookie, session, httponly=True, samesite="strict", path="/")
        return answer

    def rename(self, request: Request, sent: Any) -> dict[str, Any]:
        """Set the name of the reviewer."""
        name = checked_name(part(sent, "name", "")).strip() or visitor_of(request).name
        self.gate.rename(request.scope["session"], name)
        return {"said": f"you are {name}"}

    def invite(self, request: Request, sent: Any) -> dict[str, Any]:
        """A link for one more browser."""
        return {"link": f"http://{request.headers['host']}/enter?token={self.gate.invite()}"}


def _network(request: Request) -> str:
    """Where a request comes from; addresses of IPv6 by their first half, since everybody has as many as he likes."""
    host = "an unknown address" if request.client is None else request.client.host
    number = number_of(host)
    return host if number is None or number.version == 4 else str(ipaddress.ip_network((int(number), 64), strict=False))


def _browser(secret: str) -> str:
    """The name of a browser in the log; the cookie cannot be derived from it."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()[:16]
