"""The SQLite file of the verdict store: its schema, its transactions, and the check that it is still there.

SQLite would write happily to a file that was deleted or moved while open, and every write would be lost. So each write
checks that the path still leads to the open file.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from psidebug.errors import OutputError, PsiError, UnreadableRun
from psidebug.files import force
from psidebug.store.manifest import check_plain

PATIENCE = 60.0
"""Seconds to wait for another process."""
BESIDE = ("", "-wal", "-shm", "-journal")
"""Suffixes of the files that SQLite writes."""
VERSION = 2
"""Of the schema; version 1 was never released."""
TABLES = (
    """CREATE TABLE events (
         number INTEGER PRIMARY KEY AUTOINCREMENT,
         key TEXT NOT NULL UNIQUE,
         kind TEXT NOT NULL,
         reviewer TEXT NOT NULL,
         time TEXT NOT NULL,
         target INTEGER REFERENCES events (number),
         about TEXT NOT NULL DEFAULT '{}'
       )""",
    """CREATE TABLE verdicts (
         event INTEGER NOT NULL REFERENCES events (number),
         position INTEGER NOT NULL,
         row TEXT NOT NULL,
         action TEXT NOT NULL,
         label TEXT NOT NULL,
         comment TEXT NOT NULL,
         reviewer TEXT NOT NULL,
         time TEXT NOT NULL,
         PRIMARY KEY (event, position)
       ) WITHOUT ROWID""",
)
APPEND_ONLY = tuple(
    f"CREATE TRIGGER {table}_{verb}_refused BEFORE {verb} ON {table} {when}\n"
    f"BEGIN SELECT RAISE(ABORT, 'the verdict store is append-only'); END"
    for table, same in (
        ("events", "number = NEW.number OR key = NEW.key"),
        ("verdicts", "event = NEW.event AND position = NEW.position"),
    )
    for verb, when in (
        ("UPDATE", ""),
        ("DELETE", ""),
        ("INSERT", f"WHEN EXISTS (SELECT 1 FROM {table} WHERE {same})"),  # INSERT OR REPLACE would delete
    )
)
MADE = {*TABLES, *APPEND_ONLY, "CREATE TABLE sqlite_sequence(name,seq)"}
"""The schema of a store, as SQLite keeps it: whoever made the run may have added views or triggers."""

T = TypeVar("T")


class Database:
    """One SQLite file with a write-ahead log, where a transaction is on disk when it ends."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lock = threading.RLock()
        """Held by whoever uses the connection."""
        for suffix in BESIDE:  # SQLite would follow a link in a run that a stranger made, and write there
            check_plain(Path(f"{path}{suffix}"))
        new = not path.exists()
        try:
            path.touch(mode=0o600)  # SQLite gives the files beside it the same permissions
            if new:
                force(path.parent)  # SQLite does so for the files that it makes itself
        except OSError as error:
            raise OutputError(
                f"cannot open the verdict store {path}: {error.strerror}. Choose a writable directory."
            ) from error
        try:
            self.connection = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
            patiently(self._prepare)
            self._opened = {each: _identity(each) for each in (path, Path(f"{path}-wal"))}
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            raise _told(error, path) from error

    def _prepare(self) -> None:
        execute = self.connection.execute
        if execute("PRAGMA journal_mode").fetchone()[0] != "wal":
            execute("PRAGMA journal_mode = WAL")
        execute("PRAGMA synchronous = FULL")
        execute("PRAGMA foreign_keys = ON")
        if self._version() == 0:
            with self.writing():
                self._create()
        if (found := self._version()) != VERSION:
            raise UnreadableRun(
                f"{self.path} has schema {found}, and this version of Psi reads only schema {VERSION}. Use the version "
                f"that wrote it."
            )
        if {each for (each,) in execute("SELECT sql FROM sqlite_master WHERE sql NOT NULL")} != MADE:
            raise UnreadableRun(
                f"{self.path} is not as Psi made it: its views or triggers could do anything. Do not trust this run; "
                f"move the file away to start over."
            )

    def _create(self) -> None:
        if self._version() == 0:  # else another process was faster
            for statement in (*TABLES, *APPEND_ONLY, f"PRAGMA user_version = {VERSION}"):
                self.connection.execute(statement)

    def _version(self) -> int:
        return int(self.connection.execute("PRAGMA user_version").fetchone()[0])

    def close(self) -> None:
        """Close the file."""
        with self.lock:
            self.connection.close()

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Alone with the connection; what cannot be read is told as damage."""
        with self.lock:
            try:
                yield
            except PsiError:
                raise
            except (sqlite3.DatabaseError, LookupError, RecursionError, TypeError, ValueError) as error:
                raise _told(error, self.path) from error

    @contextmanager
    def writing(self) -> Iterator[None]:
        """A write transaction; it is on disk when this ends."""
        self.connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self.connection.execute("COMMIT")
        except BaseException:
            if self.connection.in_transaction:
                self.connection.execute("ROLLBACK")
            raise

    def stored(self, write: Callable[[], T]) -> T:
        """Run ``write`` in a transaction and return its result once it is on disk."""

        def written() -> T:
            with self.writing():
                return write()

        with self.lock:
            try:
                self._check_there()  # before, too: a save that was not written can be repeated when the run is back
                found = patiently(written)
            except sqlite3.DatabaseError as error:
                raise OutputError(f"could not save the verdict in {self.path}: {error}. Try again.") from error
            self._check_there()
            return found

    def _check_there(self) -> None:
        """The paths must still lead to the files that are open, by device and inode."""
        for path, opened in self._opened.items():
            if opened is not None and _identity(path) != opened:
                raise OutputError(
                    f"the run {self.path.parent} is gone, or its {path.name} is: it was deleted, moved or replaced. "
                    f"Nothing is saved. Put it back, or restart psi review."
                )


def patiently(act: Callable[[], T]) -> T:
    """Repeat ``act`` while another process holds a lock.

    SQLite itself waits for a writer, but not while a file is switched to write-ahead logging or recovered.
    """
    end = time.monotonic() + PATIENCE
    while True:
        try:
            return act()
        except sqlite3.OperationalError as error:
            busy = (getattr(error, "sqlite_errorcode", 0) & 0xFF) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
            if not busy or time.monotonic() > end:
                raise
            time.sleep(0.005)


def _identity(path: Path) -> tuple[int, int] | None:
    """Device and inode of a file; None if there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _told(error: Exception, path: Path) -> PsiError:
    if isinstance(error, sqlite3.OperationalError) and not hasattr(error, "sqlite_errorcode"):  # it is no text
        return UnreadableRun(f"{path} is damaged ({error!s:.100}). Move it away to start over.")
    if isinstance(error, sqlite3.OperationalError):
        return OutputError(f"cannot open the verdict store {path}: {error}. Choose a writable directory.")
    said = " ".join(str(error).split())[:200]  # names and commands of the file, in as many lines as they have there
    return UnreadableRun(f"{path} is damaged ({said}). Move it away to start over; keep it to read it by hand.")
