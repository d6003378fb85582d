"""The way in: a token or a password for a session, a name for it, and a link for somebody else."""

from __future__ import annotations

import time
from typing import Any
from urllib.parse import parse_qs

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from psidebug.errors import UnknownOption
from psidebug.review import pages
from psidebug.review.answers import LARGEST_REQUEST, body, reviewer_of
from psidebug.review.security import Address, Gate

SLOW_DOWN = 0.5
"""Seconds that a wrong password costs."""
LONGEST_NAME = 80


class Entrance:
    """What can be asked before, or about, a session."""

    def __init__(self, gate: Gate, address: Address) -> None:
        self.gate, self.address = gate, address

    def enter(self, request: Request) -> Response:
        """A one-time token for a cookie."""
        return self._let_in(self.gate.enter(request.query_params.get("token", "")), "This link was used already.")

    def login_page(self, request: Request) -> Response:
        """Where the password is asked for."""
        return HTMLResponse(pages.render("login.html", wrong=False))

    async def log_in(self, request: Request) -> Response:
        """A password for a cookie."""
        try:
            sent = parse_qs((await body(request, LARGEST_REQUEST)).decode(errors="replace"))
        except UnknownOption as error:
            return Response(str(error), 413, media_type="text/plain")
        session = self.gate.log_in(sent.get("password", [""])[0])
        if session is None:
            await run_in_threadpool(time.sleep, SLOW_DOWN)
            return HTMLResponse(pages.render("login.html", wrong=True), 403)
        return self._let_in(session, "")

    def _let_in(self, session: str | None, refusal: str) -> Response:
        if session is None:
            return Response(f"{refusal} Open the link that psi review printed last.", 403, media_type="text/plain")
        answer = RedirectResponse("/", 303)
        answer.set_cookie(self.address.cookie, session, httponly=True, samesite="strict", path="/")
        return answer

    def rename(self, request: Request, sent: Any) -> dict[str, Any]:
        """Who is at this browser."""
        name = str(sent.get("name") or "").strip()[:LONGEST_NAME] or reviewer_of(request)
        self.gate.rename(request.scope["session"], name)
        return {"said": f"you are {name}"}

    def invite(self, request: Request, sent: Any) -> dict[str, Any]:
        """A link that lets one more browser in."""
        return {"link": f"http://{request.headers['host']}/enter?token={self.gate.invite()}"}
