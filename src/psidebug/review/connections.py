"""Connections that ask nothing are closed, and no address has too many: others still get theirs."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any, ClassVar

from uvicorn.protocols.http.h11_impl import H11Protocol

PATIENCE = 15.0
"""Seconds in which a connection must have sent a request."""
MOST_OF_ONE = 40
"""Connections of one address at a time; a browser has six."""
HERE = ("127.0.0.1", "::1")
"""Addresses that may have any number: the tunnels of several people may end at them."""


class Connection(H11Protocol):
    """One connection of the review server."""

    _open: ClassVar[Counter[str]] = Counter()
    """How many connections each address has."""
    _from: str | None = None
    """Its address while it is open."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin, or close at once if the address has its share."""
        super().connection_made(transport)
        self._from = "" if self.client is None else self.client[0]
        self._open[self._from] += 1
        if self._open[self._from] > MOST_OF_ONE and self._from not in HERE:
            transport.abort()
        else:
            self.loop.call_later(PATIENCE, self._look, self.cycle)

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        if self._from is not None:
            self._open[self._from] -= 1
            if not self._open[self._from]:
                del self._open[self._from]
            self._from = None
        super().connection_lost(exc)

    def _look(self, before: Any) -> None:
        """Close the connection if nothing was asked since the last look, and nothing is being answered."""
        if self._from is None:
            return
        answered = self.cycle is None or self.cycle.response_complete
        if answered and self.cycle is before:
            self.transport.close()
        else:
            self.loop.call_later(PATIENCE, self._look, self.cycle)
