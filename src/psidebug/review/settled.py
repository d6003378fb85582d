"""Which labels are settled, as one short digest that is kept up to date row by row."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

from psidebug.review.verdicts import DECIDED, Verdict
from psidebug.store.values import as_json


class Settled:
    """A sum of hashes, one for each settled row: the order does not count, and a change costs what changed."""

    def __init__(self) -> None:
        self._hashes: dict[int, int] = {}
        self._sum = 0

    def note(self, standing: Mapping[int, Verdict | None]) -> None:
        """Take the verdicts that hold now for these rows into account."""
        for position, verdict in standing.items():
            self._sum -= self._hashes.pop(position, 0)
            if verdict is not None and verdict.action in DECIDED:
                self._hashes[position] = _hash(verdict)
                self._sum += self._hashes[position]

    @property
    def digest(self) -> str:
        """The same for the same labels of the same rows."""
        return f"{self._sum % 2**64:016x}"


def _hash(verdict: Verdict) -> int:
    said = json.dumps([verdict.position, as_json(verdict.label)])
    return int.from_bytes(hashlib.sha256(said.encode()).digest()[:8])
