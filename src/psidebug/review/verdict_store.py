"""The verdict store: SQLite in the run directory, append-only.

A step is on disk when the call that saves it returns (write-ahead log, ``synchronous=FULL``), and a repeated save
(same ``key``) is stored once. Several processes can write; each waits for the others.

A step is about rows of one set. Verdicts on test labels are events of a kind of their own, so an older version of Psi
passes over them, and takes none for a verdict on a training row.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from os import PathLike
from pathlib import Path
from typing import Any

from psidebug.errors import UnknownOption, UnreadableRun, UsedKey
from psidebug.report.rows import Part
from psidebug.review.database import Database, patiently
from psidebug.review.verdicts import ACTIONS, Event, Ledger, Verdict
from psidebug.store.values import as_json, from_json

STORE_FILE = "verdicts.sqlite"
KINDS: dict[Part, str] = {"train": "verdicts", "test": "test_verdicts"}
"""How the file names a step, by the set that it is about."""
Known = tuple[int, int | None, str]
"""Number, target and kind of the step that has a key."""


def open_store(run: str | PathLike[str]) -> Store:
    """The verdict store in the directory of a run; created if there is none."""
    directory = Path(run)
    if not directory.is_dir():
        raise UnreadableRun(f"{directory} is not a directory. Give the directory of a saved run.")
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
        """To be held while the ledger is read."""
        self._ledger = Ledger()

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    # ── reading ──

    def ledger(self) -> Ledger:
        """The verdicts that hold now, with those of other processes."""
        with self._database.reading():
            patiently(self._catch_up)
            return self._ledger

    def current(self, part: Part = "train") -> dict[int, Verdict]:
        """The verdict that holds for each row of a set (by position) that has one."""
        with self.lock:
            return self.ledger().current(part)

    def log(self) -> list[Event]:
        """Every event, also those that were undone."""
        with self._database.reading():
            return list(self._events_after(0))

    def remarks(self, kind: str) -> list[Event]:
        """The remarks of one kind, such as ``retrained``, first to last."""
        with self.lock:
            return [each for each in self.ledger().remarks if each.kind == kind]

    # ── writing ──

    def record(
        self, verdicts: Iterable[Verdict], *, reviewer: str, browser: str | None = None, key: str | None = None
    ) -> int:
        """Save verdicts on rows of one set as one step, and return its number.

        A verdict without reviewer or time gets them here. The step belongs to the browser or, if none is given, to
        the reviewer.
        """
        made, verdicts = now(), list(verdicts)
        kinds = {KINDS[each.part] for each in verdicts} or {KINDS["train"]}
        if len(kinds) > 1:
            raise UnknownOption("a step is about training labels or about test labels: save them as two steps.")
        lines = [_checked(each, reviewer, made) for each in verdicts]
        return self._add(kinds.pop(), reviewer, key, made, _of(browser), lines)

    def undo(self, *, reviewer: str, browser: str | None = None, key: str | None = None) -> int | None:
        """Undo the last step of this browser (or reviewer) and return its number; None if there is none."""
        return self._step_back("undo", reviewer, browser, key)

    def redo(self, *, reviewer: str, browser: str | None = None, key: str | None = None) -> int | None:
        """Redo the step that was undone last and return its number; None if there is none."""
        return self._step_back("redo", reviewer, browser, key)

    def remark(self, kind: str, about: Mapping[str, Any], *, reviewer: str, key: str | None = None) -> int:
        """Save something other than a verdict, such as the result of retraining."""
        if kind in (*KINDS.values(), "undo", "redo"):
            raise UnknownOption(f"a remark cannot have the kind {kind!r}, which means a step of the review.")
        return self._add(kind, reviewer, key, now(), about)

    def _step_back(self, kind: str, reviewer: str, browser: str | None, key: str | None) -> int | None:
        def write() -> int | None:
            if (known := self._repeated(key, kind)) is not None:
                return known[1]
            self._catch_up()
            target = self._ledger.next_to(kind, browser or reviewer)
            if target is not None:
                self._insert(kind, reviewer, key, now(), target, _of(browser))
            return target

        return self._database.stored(write)

    def _add(self, kind: str, reviewer: str, key: str | None, made: str, about: Any, lines: Any = ()) -> int:
        def write() -> int:
            if (known := self._repeated(key, kind, lines)) is not None:
                return known[0]
            number = self._insert(kind, reviewer, key, made, None, about)
            self._connection.executemany(
                "INSERT INTO verdicts VALUES (?, ?, ?, ?, ?, ?, ?, ?)", ((number, *line) for line in lines)
            )
            return number

        return self._database.stored(write)

    def known(self, key: str) -> int | None:
        """Number of the step with this key; None if there is none."""
        with self._database.reading():
            found = patiently(lambda: self._known(key))
            return None if found is None else found[0]

    def _known(self, key: str | None) -> Known | None:
        found: Known | None
        found = self._connection.execute("SELECT number, target, kind FROM events WHERE key = ?", (key,)).fetchone()
        return found

    def _repeated(self, key: str | None, kind: str, lines: Any = ()) -> Known | None:
        """The step that was saved with this key; it must be the same, but for reviewer and time."""
        found = self._known(key)
        if found is None:
            return None
        verdicts = self._connection.execute(
            "SELECT position, row, action, label, comment FROM verdicts WHERE event = ? ORDER BY position", found[:1]
        ).fetchall()
        if found[2] != kind or verdicts != sorted(line[:5] for line in lines):
            raise UsedKey("another save already has this key, so nothing was saved. Use a new key.")
        return found

    def _insert(self, kind: str, reviewer: str, key: str | None, made: str, target: int | None, about: Any) -> int:
        values = (key or uuid.uuid4().hex, kind, reviewer, made, target, json.dumps(about))
        added = self._connection.execute(
            "INSERT INTO events (key, kind, reviewer, time, target, about) VALUES (?, ?, ?, ?, ?, ?)", values
        )
        assert added.lastrowid is not None
        return added.lastrowid

    def _catch_up(self) -> None:
        for event in self._events_after(self._ledger.seen):
            self._ledger.apply(event)

    def _events_after(self, number: int) -> Iterator[Event]:
        """Later events in order, each with all its verdicts, since they are written in one transaction."""
        found = self._connection.execute(
            "SELECT number, kind, reviewer, time, target, about FROM events WHERE number > ? ORDER BY number", (number,)
        ).fetchall()
        for number, kind, reviewer, made, target, about in found:
            lines = self._connection.execute(
                "SELECT position, row, action, label, comment, reviewer, time FROM verdicts WHERE event = ?", (number,)
            ).fetchall()
            part: Part = "test" if kind == KINDS["test"] else "train"
            kind = "verdicts" if kind in KINDS.values() else kind
            told = json.loads(about)
            _check_types((number, int), (kind, str), (reviewer, str), (made, str), (told, dict))
            _check_types((0 if target is None else target, int))
            yield Event(number, kind, reviewer, made, target, told, tuple(_verdicts(lines, part)))


def _check_types(*parts: tuple[Any, type]) -> None:
    """SQLite keeps whatever was put into a column: a store from elsewhere may hold bytes in place of texts."""
    for part, kind in parts:
        if type(part) is not kind:
            raise TypeError(f"{part!r:.40} is no {kind.__name__}")


def _of(browser: str | None) -> dict[str, str]:
    return {} if browser is None else {"browser": browser}


def _checked(verdict: Verdict, reviewer: str, made: str) -> tuple[Any, ...]:
    """A verdict as a line of the table."""
    if verdict.action not in ACTIONS:
        raise UnknownOption(f"unknown verdict {verdict.action!r}; it must be one of {', '.join(ACTIONS)}.")
    row, label = _written(verdict.row), _written(verdict.label)
    by, when = verdict.reviewer or reviewer, verdict.time or made
    return verdict.position, row, verdict.action, label, verdict.comment, by, when


def _written(value: Any) -> str:
    return json.dumps(as_json(value))


def _verdicts(lines: list[tuple[Any, ...]], part: Part) -> Iterator[Verdict]:
    """Lines of the table as verdicts; the ids are parsed as one JSON list, since there may be 100,000."""
    rows = json.loads(f"[{','.join(line[1] for line in lines)}]")
    for row, (position, _, action, label, comment, reviewer, made) in zip(rows, lines, strict=True):
        _check_types((position, int), (label, str), (comment, str), (reviewer, str), (made, str))
        if position < 0 or action not in ACTIONS:
            raise ValueError(f"no row {position}, or no verdict {action!r:.40}")
        yield Verdict(position, from_json(row), action, _label(label), comment, reviewer, made, part)


@lru_cache(1024)
def _label(written: str) -> Any:
    return from_json(json.loads(written))
