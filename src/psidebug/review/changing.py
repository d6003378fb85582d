"""What is changed: verdicts, undo and redo, work in the background, imports. Each request has a key of its own."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request

from psidebug.errors import UnknownOption
from psidebug.review import pages
from psidebug.review.answers import part, visitor_of
from psidebug.review.desk import Desk
from psidebug.review.exchange import read_verdicts
from psidebug.review.queue import Filter
from psidebug.review.work import Workbench


class Changing:
    """Answers that come when the change is on disk."""

    def __init__(self, desk: Desk, bench: Workbench) -> None:
        self.desk, self.bench = desk, bench

    def judge(self, request: Request, sent: Any) -> dict[str, Any]:
        """A verdict on one row."""
        at, action, comment = (
            self.desk.position(part(sent, "at", -1)),
            part(sent, "action", ""),
            part(sent, "comment", ""),
        )
        verdict = self.desk.verdict(at, action, code=_code(sent), comment=comment)
        self.desk.judge([verdict], visitor=visitor_of(request), key=_key(sent))
        return {"at": at, "said": f"{verdict.row}: {pages.told(verdict)}"}

    def bulk(self, request: Request, sent: Any) -> dict[str, Any]:
        """A verdict on every row of the filter, or on those of them whose labels are probably wrong."""
        wanted, expected = Filter.read(part(sent, "filter", {})), part(sent, "expected", 0)
        action, key = part(sent, "action", ""), _key(sent)
        count = self.desk.bulk(
            wanted,
            action,
            code=_code(sent),
            only_wrong=part(sent, "only_wrong", False),
            expected=expected,
            visitor=visitor_of(request),
            key=key,
        )
        return {"said": f"{counted(count, 'row')}: {pages.STATE_NAMES.get(action, action)}"}

    def undo(self, request: Request, sent: Any) -> dict[str, Any]:
        """Take the last step back."""
        who = visitor_of(request)
        number = self.desk.store.undo(reviewer=who.name, browser=who.browser, key=_key(sent))
        return self._stepped(number, "undone", "nothing to undo")

    def redo(self, request: Request, sent: Any) -> dict[str, Any]:
        """Make the step again that was taken back."""
        who = visitor_of(request)
        number = self.desk.store.redo(reviewer=who.name, browser=who.browser, key=_key(sent))
        return self._stepped(number, "redone", "nothing to redo")

    def _stepped(self, number: int | None, done: str, nothing: str) -> dict[str, Any]:
        if number is None:
            return {"said": nothing, "nothing": True}
        with self.desk.lock:
            step = self.desk.ledger().step(number)
        what = str(step[0].row) if len(step) == 1 else f"{len(step):,} rows"
        return {"said": f"{done}: {what}", "at": step[0].position if len(step) == 1 else None}

    def begin(self, request: Request, sent: Any) -> dict[str, Any]:
        """Retrain, or diagnose again."""
        self.bench.begin(part(sent, "kind", ""), reviewer=visitor_of(request).name)
        return {"said": "training has begun"}

    def take_in(self, request: Request, sent: Any) -> dict[str, Any]:
        """Verdicts that were made elsewhere."""
        found = read_verdicts(part(sent, "text", ""), self.desk.findings)
        stored = self.desk.take_in(found.verdicts, visitor=visitor_of(request), key=_key(sent))
        stayed = len(found.verdicts) - stored
        said = [f"{counted(stored, 'verdict')} imported"]
        if stayed:
            said.append(f"{counted(stayed, 'row')} had a verdict as new or newer already, which stays")
        if found.repeated:
            said.append(f"{counted(found.repeated, 'row')} had several in the log, of which the last counts")
        if found.disputed:
            said.append(f"{counted(found.disputed, 'task')} with annotators who disagree: left open")
        if found.unanswered:
            said.append(f"{counted(found.unanswered, 'task')} without an annotation")
        if len(said) == 1 and not stored:
            said.append("no verdict in the file holds: each was undone")
        return {"said": "; ".join(said)}


def counted(number: int, name: str) -> str:
    """A number with what it counts, in the singular or the plural."""
    return f"{number:,} {name}" if number == 1 else f"{number:,} {name}s"


def _key(sent: Any) -> str:
    key = part(sent, "key", "")
    if not 8 <= len(key) <= 100 or not (key.isascii() and key.isprintable()):
        raise UnknownOption("the request has no key, by which a save that is tried again is known.")
    return key


def _code(sent: Any) -> int | None:
    return None if sent.get("code") is None else part(sent, "code", 0)
