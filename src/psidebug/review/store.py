"""The verdict store: SQLite in the run directory, append-only.

A step is on disk when the call that stores it returns (write-ahead log, ``synchronous=FULL``). It is stored once
however often it is tried (``key``). Several people and processes write at once; each waits for the other. A file that
was deleted or moved while it is open would take every write and keep none, so each write looks whether it is there.
"""

from __future__ import annotations

import json
import sqlite3
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import lru_cache
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

from psidebug.errors import OutputError, UnknownOption, UnreadableRun
from psidebug.review.schema import VERSION, migrate, version_of
from psidebug.review.verdicts import ACTIONS, Event, Ledger, Verdict
from psidebug.runs.values import as_json, from_json

STORE_FILE = "verdicts.sqlite"
PATIENCE = 60.0
"""Seconds to wait for another process before giving up."""

T = TypeVar("T")


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
        self.path = path
        self.lock = threading.RLock()
        """Held by whoever reads the ledger."""
        self._ledger = Ledger()
        try:
            self._connection = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
            _patiently(self._prepare)
            self._opened = {each: _identity(each) for each in (path, Path(f"{path}-wal"))}
        except sqlite3.DatabaseError as error:
            raise _told(error, path) from error

    def _prepare(self) -> None:
        execute = self._connection.execute
        if execute("PRAGMA journal_mode").fetchone()[0] != "wal":
            execute("PRAGMA journal_mode = WAL")
        execute("PRAGMA synchronous = FULL")
        execute("PRAGMA foreign_keys = ON")
        if version_of(self._connection) < VERSION:
            with self._writing():
                migrate(self._connection)
        if (found := version_of(self._connection)) > VERSION:
            raise UnreadableRun(
                f"{self.path} was made by a newer Psi (schema {found}; this one knows up to {VERSION}): upgrade with "
                f"pip install --upgrade psidebug."
            )

    def close(self) -> None:
        """Let go of the file."""
        with self.lock:
            self._connection.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    # ── what holds ──

    def ledger(self) -> Ledger:
        """What holds now, with what other processes have stored meanwhile."""
        with self.lock:
            _patiently(self._catch_up)
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
            with self._writing():
                if key is not None and (known := self._known(key)):
                    return known[1]
                self._catch_up()
                target = choose(self._ledger, browser or reviewer)
                if target is not None:
                    self._insert(kind, reviewer, key, now(), target=target, about=_of(browser))
                return target

        return self._stored(write)

    def _add(self, kind: str, reviewer: str, key: str | None, made: str, *, lines: Any = (), about: Any = None) -> int:
        def write() -> int:
            with self._writing():
                if key is not None and (known := self._known(key)):
                    return known[0]
                number = self._insert(kind, reviewer, key, made, about=about or {})
                self._connection.executemany(
                    "INSERT INTO verdicts VALUES (?, ?, ?, ?, ?, ?, ?, ?)", ((number, *line) for line in lines)
                )
                return number

        return self._stored(write)

    def _stored(self, write: Callable[[], T]) -> T:
        with self.lock:
            try:
                self._check_there()  # else nothing is written, so that it can be tried again when the run is back
                stored = _patiently(write)
            except sqlite3.DatabaseError as error:
                raise OutputError(f"the verdict could not be stored in {self.path}: {error}. Try again.") from error
            self._check_there()
            return stored

    def _check_there(self) -> None:
        """The paths must still lead to the files that are open, by device and inode."""
        for path, opened in self._opened.items():
            if opened is not None and _identity(path) != opened:
                raise OutputError(
                    f"the run is gone from {self.path.parent}, or its {path.name} is: it was deleted, moved or "
                    f"replaced; nothing is saved. Put it back, or restart psi review."
                )

    def known(self, key: str) -> int | None:
        """Number of the step that was stored under this key; None if there is none."""
        with self.lock:
            found = _patiently(lambda: self._known(key))
            return None if found is None else found[0]

    def _known(self, key: str) -> tuple[int, int | None] | None:
        """Number and target of the step that was stored under this key."""
        found: tuple[int, int | None] | None
        found = self._connection.execute("SELECT number, target FROM events WHERE key = ?", (key,)).fetchone()
        return found

    def _insert(
        self, kind: str, reviewer: str, key: str | None, made: str, *, target: int | None = None, about: Any = None
    ) -> int:
        values = (key or uuid.uuid4().hex, kind, reviewer, made, target, json.dumps(about or {}))
        added = self._connection.execute(
            "INSERT INTO events (key, kind, reviewer, time, target, about) VALUES (?, ?, ?, ?, ?, ?)", values
        )
        assert added.lastrowid is not None
        return added.lastrowid

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """A transaction that is the only one that writes; it is on disk when this ends."""
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise

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
            )
            verdicts = tuple(_verdict(line) for line in lines)
            yield Event(number, kind, reviewer, made, target, json.loads(about), verdicts)


def _of(browser: str | None) -> dict[str, str]:
    """What is written about a step: whose it is."""
    return {} if browser is None else {"browser": browser}


def _identity(path: Path) -> tuple[int, int] | None:
    """Device and inode of the file that a path leads to; None if to none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _checked(verdict: Verdict, reviewer: str, made: str) -> tuple[Any, ...]:
    """A verdict as a line of the table."""
    if verdict.action not in ACTIONS:
        raise UnknownOption(f"{verdict.action!r} is no verdict; it is one of {', '.join(ACTIONS)}.")
    row, label = (json.dumps(as_json(each)) for each in (verdict.row, verdict.label))
    by, when = verdict.reviewer or reviewer, verdict.time or made
    return verdict.position, row, verdict.action, label, verdict.comment, by, when


def _verdict(line: tuple[Any, ...]) -> Verdict:
    position, row, action, label, comment, reviewer, made = line
    return Verdict(position, from_json(json.loads(row)), action, _label(label), comment, reviewer, made)


@lru_cache(1024)
def _label(written: str) -> Any:
    """A label as it was; there are few of them, and a hundred thousand lines."""
    return from_json(json.loads(written))


def _patiently(act: Callable[[], T]) -> T:
    """Try until no other process is in the way.

    SQLite waits by itself for a writer; it does not while a file becomes a write-ahead one or is recovered.
    """
    end = time.monotonic() + PATIENCE
    while True:
        try:
            return act()
        except sqlite3.OperationalError as error:
            busy = (error.sqlite_errorcode & 0xFF) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
            if not busy or time.monotonic() > end:
                raise
            time.sleep(0.005)


def _told(error: sqlite3.DatabaseError, path: Path) -> Exception:
    if isinstance(error, sqlite3.OperationalError):
        return OutputError(f"the verdict store {path} cannot be opened: {error}. Choose a place you can write to.")
    return UnreadableRun(f"{path} is damaged ({error}): move it away to begin anew, and keep it to read it by hand.")
