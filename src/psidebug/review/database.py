"""The file under the verdict store: opened patiently, written one transaction at a time, and never when it is gone.

A file that was deleted or moved while it is open would take every write and keep none, so each write looks whether the
path still leads to it.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from psidebug.errors import OutputError, UnreadableRun
from psidebug.review.schema import VERSION, migrate, version_of
from psidebug.store.manifest import check_plain

PATIENCE = 60.0
"""Seconds to wait for another process before giving up."""
BESIDE = ("", "-wal", "-shm", "-journal")
"""What the names of the files that SQLite writes end in."""

T = TypeVar("T")


class Database:
    """One SQLite file with a write-ahead log, where a transaction is on disk when it ends."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lock = threading.RLock()
        """Held by whoever uses the connection."""
        for suffix in BESIDE:  # SQLite would follow a link in a run that a stranger made, and write there
            check_plain(Path(f"{path}{suffix}"))
        try:
            self.connection = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
            patiently(self._prepare)
            self._opened = {each: _identity(each) for each in (path, Path(f"{path}-wal"))}
        except sqlite3.DatabaseError as error:
            raise _told(error, path) from error

    def _prepare(self) -> None:
        execute = self.connection.execute
        if execute("PRAGMA journal_mode").fetchone()[0] != "wal":
            execute("PRAGMA journal_mode = WAL")
        execute("PRAGMA synchronous = FULL")
        execute("PRAGMA foreign_keys = ON")
        if version_of(self.connection) < VERSION:
            with self.writing():
                migrate(self.connection)
        if (found := version_of(self.connection)) > VERSION:
            raise UnreadableRun(
                f"{self.path} was made by a newer Psi (schema {found}; this one knows up to {VERSION}): upgrade with "
                f"pip install --upgrade psidebug."
            )

    def close(self) -> None:
        """Let go of the file."""
        with self.lock:
            self.connection.close()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """A transaction that is the only one that writes; it is on disk when this ends."""
        self.connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self.connection.execute("COMMIT")
        except BaseException:
            if self.connection.in_transaction:
                self.connection.execute("ROLLBACK")
            raise

    def stored(self, write: Callable[[], T]) -> T:
        """What a write returns, when what it wrote is on disk, in the file that the path leads to."""

        def written() -> T:
            with self.writing():
                return write()

        with self.lock:
            try:
                self._check_there()  # else nothing is written, so that it can be tried again when the run is back
                found = patiently(written)
            except sqlite3.DatabaseError as error:
                raise OutputError(f"the verdict could not be stored in {self.path}: {error}. Try again.") from error
            self._check_there()
            return found

    def _check_there(self) -> None:
        """The paths must still lead to the files that are open, by device and inode."""
        for path, opened in self._opened.items():
            if opened is not None and _identity(path) != opened:
                raise OutputError(
                    f"the run is gone from {self.path.parent}, or its {path.name} is: it was deleted, moved or "
                    f"replaced; nothing is saved. Put it back, or restart psi review."
                )


def patiently(act: Callable[[], T]) -> T:
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


def _identity(path: Path) -> tuple[int, int] | None:
    """Device and inode of the file that a path leads to; None if to none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _told(error: sqlite3.DatabaseError, path: Path) -> Exception:
    if isinstance(error, sqlite3.OperationalError):
        return OutputError(f"the verdict store {path} cannot be opened: {error}. Choose a place you can write to.")
    return UnreadableRun(f"{path} is damaged ({error}): move it away to begin anew, and keep it to read it by hand.")
