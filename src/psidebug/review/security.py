"""Guards around the whole app, so that no route can forget them.

1. ``Host`` must be a name of this server: a foreign name that resolves to 127.0.0.1 (DNS rebinding) is refused.
2. Changes must come from the page itself, by ``Sec-Fetch-Site`` and ``Origin``.
3. Everything needs a session: a ``SameSite=Strict``, ``HttpOnly`` cookie, given in exchange for a one-time token or, if
   other machines can reach the server, for the password.
4. Every answer carries a content security policy without inline script, inline style or ``eval``.
"""

from __future__ import annotations

import ipaddress
import secrets
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
}
"""Of every answer."""
READS = ("GET", "HEAD")
OPEN_PATHS = ("/enter", "/login", "/static/review.css")
"""Addresses that need no session."""


@dataclass(frozen=True)
class Visitor:
    """Who a session belongs to."""

    name: str
    """The reviewer shown with the verdicts."""
    browser: str
    """Undo goes by browser: two people may have one name, and a name may change."""


@dataclass
class Gate:
    """Tokens and sessions. A token lets one browser in, once."""

    reviewer: str
    """Name of the reviewer until a session changes it."""
    password: str | None = None
    tell: Callable[[str], None] = lambda token: None
    """Called with a fresh token when the last one was used."""
    _tokens: set[str] = field(default_factory=set)
    _sessions: dict[str, Visitor] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def invite(self) -> str:
        """A new token."""
        token = secrets.token_urlsafe(32)
        with self._lock:
            self._tokens.add(token)
        return token

    def enter(self, token: str, *, browser: str) -> str | None:
        """Exchange a token for a session; None if it is wrong or used."""
        with self._lock:
            known = next((each for each in self._tokens if secrets.compare_digest(each.encode(), token.encode())), None)
            if known is None:
                return None
            self._tokens.remove(known)
        session = self._begin(browser)
        if not self._tokens:
            self.tell(self.invite())
        return session

    def log_in(self, password: str, *, browser: str) -> str | None:
        """Exchange the password for a session; None if it is wrong."""
        if self.password is None or not secrets.compare_digest(self.password.encode(), password.encode()):
            return None
        return self._begin(browser)

    def visitor(self, session: str | None) -> Visitor | None:
        """The owner of a session; None if there is no such session."""
        return None if session is None else self._sessions.get(session)

    def rename(self, session: str, reviewer: str) -> None:
        """Change the name of the reviewer."""
        self._sessions[session] = replace(self._sessions[session], name=reviewer)

    def _begin(self, browser: str) -> str:
        session = secrets.token_urlsafe(32)
        self._sessions[session] = Visitor(self.reviewer, browser)
        return session


@dataclass(frozen=True)
class Address:
    """Where the server listens, and the host names that it accepts."""

    host: str
    port: int
    names: frozenset[str] = frozenset({"127.0.0.1", "localhost"})
    any_number: bool = False
    """Whether any numeric address is accepted; those cannot be rebound to another machine."""

    @property
    def cookie(self) -> str:
        """Name of the session cookie; it has the port, since browsers do not tell cookies of two ports apart."""
        return f"psi-review-{self.port}"

    def knows(self, host: str) -> bool:
        """Whether a ``Host`` header names this server."""
        name, _, port = host.rpartition(":")
        if port != str(self.port):
            return False
        return name in self.names or (self.any_number and number_of(name.strip("[]")) is not None)


class Guard:
    """Checks every request before the app sees it."""

    def __init__(self, app: ASGIApp, *, gate: Gate, address: Address) -> None:
        self.app, self.gate, self.address = app, gate, address

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse the request or pass it on, with the security headers in either case."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            return  # only HTTP is served
        headers = Headers(scope=scope)

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                written = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    written[name] = value
                if not scope["path"].startswith("/static/"):
                    written["cache-control"] = "no-store"
            await send(message)

        refused = self._refused(scope["method"], scope["path"], headers)
        if refused is None:
            scope["session"] = session = cookie_of(headers, self.address.cookie)
            scope["visitor"] = self.gate.visitor(session)
            if scope["visitor"] is None and scope["path"] not in OPEN_PATHS:
                refused = self._without_session(scope["path"])
        await (refused or self.app)(scope, receive, send_with_headers)

    def _refused(self, method: str, path: str, headers: Headers) -> PlainTextResponse | None:
        host = headers.get("host", "")
        if not self.address.knows(host):
            return PlainTextResponse("Unknown host name.", 421)
        if method in READS:
            return None
        site, origin = headers.get("sec-fetch-site"), headers.get("origin")
        own = origin in (f"http://{host}", f"https://{host}")
        if (site is None and origin is None) or site not in (None, "same-origin") or (origin is not None and not own):
            return PlainTextResponse("Changes are accepted only from the review page itself.", 403)
        return None

    def _without_session(self, path: str) -> PlainTextResponse:
        if self.gate.password is not None and path == "/":
            return PlainTextResponse("", 303, {"location": "/login"})
        return PlainTextResponse("Not signed in. Open the link that psi review printed last.", 401)


def cookie_of(headers: Headers, name: str) -> str | None:
    """The value of a cookie; None if there is none."""
    return cookie_parser(headers.get("cookie", "")).get(name)


def number_of(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """A host that is given as a number; None for a name."""
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None
