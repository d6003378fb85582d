"""The verdict store: SQLite in the run directory, append-only.

A step is on disk when the call that stores it returns (write-ahead log, ``synchronous=FULL``). It is stored once
however often it is tried (``key``). Several people and processes write at once; each waits for the other.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from os import PathLike
from pathlib import Path
from typing import Any

from psidebug.errors import UnknownOption, UnreadableRun, UsedKey
from psidebug.review.database import Database, patiently
from psidebug.review.verdicts import ACTIONS, Event, Ledger, Verdict
from psidebug.store.values import as_json, from_json

STORE_FILE = "verdicts.sqlite"


def open_store(run: str | PathLike[str]) -> Store:
    """The verdict store of a run (its directory); made if there is none yet."""
    directory = Path(run)
    if not directory.is_dir():
        raise UnreadableRun(f"{directory} is no directory. Give the directory that a run was saved to.")
    return Store(directory / STORE_FILE)


def now() -> str:
    """The time, UTC, in ISO form."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


class Store:
    """The verdicts on one run. Safe to use from several threads; close it, or use ``with``."""

    def __init__(self, path: Path) -> None:
        self._database = Database(path)
        self._connection = self._database.connection
        self.lock = self._database.lock
        """Held by whoever reads the ledger."""
        self._ledger = Ledger()

    def close(self) -> None:
        """Let go of the file."""
        self._database.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    # ── what holds ──

    def ledger(self) -> Ledger:
        """What holds now, with what other processes have stored meanwhile."""
        with self.lock:
            patiently(self._catch_up)
            return self._ledger

    def current(self) -> dict[int, Verdict]:
        """The verdict that holds for each row (by position) that has one."""
        with self.lock:
            return self.ledger().current()

    def log(self) -> list[Event]:
        """Every step from the first on, with those that were undone."""
        with self.lock:
            return list(self._events_after(0))

    def remarks(self, kind: str) -> list[Event]:
        """The remarks of one kind, as ``retrained``, first to last."""
        with self.lock:
            return [each for each in self.ledger().remarks if each.kind == kind]

    # ── what is added ──

    def record(
        self, verdicts: Iterable[Verdict], *, reviewer: str, browser: str | None = None, key: str | None = None
    ) -> int:
        """Store verdicts as one step, and return its number; one without reviewer or time gets them here.

        The step is the browser's, whatever name stands there; where no browser is given it is the reviewer's.
        """
        made = now()
        lines = [_checked(each, reviewer, made) for each in verdicts]
        return self._add("verdicts", reviewer, key, made, lines=lines, about=_of(browser))

    def undo(self, *, reviewer: str, browser: str | None = None, key: str | None = None) -> int | None:
        """Undo the last step of this browser, or reviewer, and return its number; None if there is none."""
        return self._step_back("undo", Ledger.next_undo, reviewer, browser, key)

    def redo(self, *, reviewer: str, browser: str | None = None, key: str | None = None) -> int | None:
        """Redo the step that was undone last there, and return its number; None if there is none."""
        return self._step_back("redo", Ledger.next_redo, reviewer, browser, key)

    def remark(self, kind: str, about: Mapping[str, Any], *, reviewer: str, key: str | None = None) -> int:
        """Store something that is no verdict, as the result of a retraining."""
        if kind in ("verdicts", "undo", "redo"):
            raise UnknownOption(f"a remark cannot be called {kind!r}: steps of the review are. Choose another word.")
        return self._add(kind, reviewer, key, now(), about=about)

    def _step_back(
        self,
        kind: str,
        choose: Callable[[Ledger, str], int | None],
        reviewer: str,
        browser: str | None,
        key: str | None,
    ) -> int | None:
        def write() -> int | None:
            if key is not None and (known := self._known(key)):
                self._check_same(known[0], kind)
                return known[1]
            self._catch_up()
            target = choose(self._ledger, browser or reviewer)
            if target is not None:
                self._insert(kind, reviewer, key, now(), target=target, about=_of(browser))
            return target

        return self._database.stored(write)

    def _add(self, kind: str, reviewer: str, key: str | None, made: str, *, lines: Any = (), about: Any = None) -> int:
        def write() -> int:
            if key is not None and (known := self._known(key)):
                self._check_same(known[0], kind, lines)
                return known[0]
            number = self._insert(kind, reviewer, key, made, about=about or {})
            self._connection.executemany(
                "INSERT INTO verdicts VALUES (?, ?, ?, ?, ?, ?, ?, ?)", ((number, *line) for line in lines)
            )
            return number

        return self._database.stored(write)

    def known(self, key: str) -> int | None:
        """Number of the step that was stored under this key; None if there is none."""
        with self.lock:
            found = patiently(lambda: self._known(key))
            return None if found is None else found[0]

    def _known(self, key: str) -> tuple[int, int | None] | None:
        """Number and target of the step that was stored under this key."""
        found: tuple[int, int | None] | None
        found = self._connection.execute("SELECT number, target FROM events WHERE key = ?", (key,)).fetchone()
        return found

    def _check_same(self, number: int, kind: str, lines: Any = ()) -> None:
        """What is saved again under a key must be what was saved under it; who and when may differ."""
        stored = self._connection.execute("SELECT kind FROM events WHERE number = ?", (number,)).fetchone()[0]
        verdicts = self._connection.execute(
            "SELECT position, row, action, label, comment FROM verdicts WHERE event = ? ORDER BY position", (number,)
        ).fetchall()
        if stored != kind or verdicts != sorted(line[:5] for line in lines):
            raise UsedKey("another save has this key already, so nothing was stored: send it with a key of its own.")

    def _insert(
        self, kind: str, reviewer: str, key: str | None, made: str, *, target: int | None = None, about: Any = None
    ) -> int:
        values = (key or uuid.uuid4().hex, kind, reviewer, made, target, json.dumps(about or {}))
        added = self._connection.execute(
            "INSERT INTO events (key, kind, reviewer, time, target, about) VALUES (?, ?, ?, ?, ?, ?)", values
        )
        assert added.lastrowid is not None
        return added.lastrowid

    def _catch_up(self) -> None:
        for event in self._events_after(self._ledger.seen):
            self._ledger.apply(event)

    def _events_after(self, number: int) -> Iterator[Event]:
        """Later events in order; verdicts are written with their event, so none of these is read half."""
        found = self._connection.execute(
            "SELECT number, kind, reviewer, time, target, about FROM events WHERE number > ? ORDER BY number", (number,)
        ).fetchall()
        for number, kind, reviewer, made, target, about in found:
            lines = self._connection.execute(
                "SELECT position, row, action, label, comment, reviewer, time FROM verdicts WHERE event = ?", (number,)
            ).fetchall()
            yield Event(number, kind, reviewer, made, target, json.loads(about), tuple(_verdicts(lines)))


def _of(browser: str | None) -> dict[str, str]:
    """What is written about a step: whose it is."""
    return {} if browser is None else {"browser": browser}


def _checked(verdict: Verdict, reviewer: str, made: str) -> tuple[Any, ...]:
    """A verdict as a line of the table."""
    if verdict.action not in ACTIONS:
        raise UnknownOption(f"{verdict.action!r} is no verdict; it is one of {', '.join(ACTIONS)}.")
    row, label = _written(verdict.row), _written(verdict.label)
    by, when = verdict.reviewer or reviewer, verdict.time or made
    return verdict.position, row, verdict.action, label, verdict.comment, by, when


def _written(value: Any) -> str:
    return json.dumps(as_json(value))


def _verdicts(lines: list[tuple[Any, ...]]) -> Iterator[Verdict]:
    """Lines of the table as verdicts; of a hundred thousand lines the ids are read as one JSON list."""
    rows = json.loads(f"[{','.join(line[1] for line in lines)}]")
    for row, (position, _, action, label, comment, reviewer, made) in zip(rows, lines, strict=True):
        yield Verdict(position, from_json(row), action, _label(label), comment, reviewer, made)


@lru_cache(1024)
def _label(written: str) -> Any:
    """A label as it was; there are few of them, and a hundred thousand lines."""
    return from_json(json.loads(written))
