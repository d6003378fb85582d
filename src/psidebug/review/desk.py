"""The desk: one run under review, with its queue, its verdict store and the work that goes on in the background."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Sequence
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

from psidebug.errors import OutputError, PsiError, UnknownOption, UnknownRow, UnreadableRun
from psidebug.review.queue import Filter, Queue
from psidebug.review.security import Visitor
from psidebug.review.session import OpenSession, Session
from psidebug.review.settled import Settled
from psidebug.review.similar import Similar
from psidebug.review.store import open_store
from psidebug.review.verdicts import ACTIONS, DECIDED, Ledger, Verdict, checked_comment
from psidebug.store import Run, load_run
from psidebug.store.format import RUN_FILE

AGAIN = re.compile(r"again-\d{3,}")
"""The name of a diagnosis made in the review: a run inside of the run."""


class Desk:
    """Everything that the pages ask for and change. Whoever uses the queue or the ledger holds the lock."""

    def __init__(self, path: str | PathLike[str], open_session: OpenSession) -> None:
        """``open_session`` makes who can retrain, when that is first asked for."""
        self._opened = _identity(Path(path))  # before it is read
        self._open_session = open_session
        self.run = load_run(path)
        self.findings = self.run.findings
        self.store = open_store(self.run.path)
        self.lock = self.store.lock
        self.queue = Queue(self.run, *self._last_ranked())
        self._similar = threading.Lock()
        self._settled = Settled()
        with self.lock:
            self.store.ledger().changed.update(self.store.current())
            self.ledger()

    def close(self) -> None:
        """Let go of the store."""
        self.store.close()

    def ledger(self) -> Ledger:
        """What holds now; the queue knows it too."""
        ledger = self.store.ledger()
        if ledger.changed:
            rows = list(ledger.changed)
            ledger.changed.clear()
            self.queue.set_states(rows, [ledger.told_at(each) for each in rows])
            self._settled.note({each: ledger.at(each) for each in rows})
        return ledger

    @cached_property
    def session(self) -> Session:
        """Who can retrain."""
        return self._open_session(self.run.path)

    @cached_property
    def _nearest(self) -> Similar:
        return Similar(self.run.data.train.features, self.findings.display.text)

    def similar(self, position: int, count: int) -> tuple[int, ...]:
        """Positions of training rows like this one."""
        with self._similar:  # the first one to ask makes what is needed, the others wait
            return self._nearest.rows(position, count)

    def first(self, wanted: Filter, visitor: Visitor) -> int | None:
        """The first row that a filter lets through, as this visitor is to see it."""
        with self.lock:
            self.ledger()
            return self.queue.select(wanted, visitor.browser).first()

    # ── verdicts ──

    def position(self, asked: Any) -> int:
        """A position that was asked for, if there is such a row."""
        try:
            found = int(asked)
        except (TypeError, ValueError, OverflowError):
            raise UnknownRow(f"{asked!r:.60} is no position of a training row.") from None
        if not 0 <= found < len(self.queue.given):
            count = len(self.queue.given)
            raise UnknownRow(f"there is no training row at position {found!r:.60}: there are {count} rows.")
        return found

    def verdict(self, position: int, action: str, *, code: int | None = None, comment: str = "") -> Verdict:
        """A verdict on a row; to correct takes the class of this code, or the proposed one."""
        return next(self.verdicts([position], action, code=code, comment=comment))

    def verdicts(
        self, rows: Sequence[int], action: str, *, code: int | None = None, comment: str = ""
    ) -> Iterator[Verdict]:
        """The same verdict on many rows; where the class is the given one, it is kept."""
        if action not in ACTIONS:
            raise UnknownOption(f"{action!r:.60} is no verdict; it is one of {', '.join(ACTIONS)}.")
        classes, said = self.findings.encoding.classes, checked_comment(comment)
        if action == "correct" and code is not None and not 0 <= code < len(classes):
            raise UnknownOption(f"there is no class number {code}: there are {len(classes)} classes.")
        given, ids = self.queue.given[rows].tolist(), self.findings.labels.rows[rows].tolist()
        proposed = self.queue.proposed[rows].tolist() if code is None else [code] * len(rows)
        chosen = proposed if action == "correct" else given
        for position, row, old, new in zip(rows, ids, given, chosen, strict=True):
            if action in DECIDED:
                yield Verdict(position, row, "keep" if new == old else "correct", classes[new], said)
            else:
                yield Verdict(position, row, action, None, said)

    def judge(self, verdicts: Sequence[Verdict], *, visitor: Visitor, key: str) -> int:
        """Store verdicts as one step; they are on disk when this returns."""
        number = self.store.record(verdicts, reviewer=visitor.name, browser=visitor.browser, key=key)
        with self.lock:
            self.ledger()
        return number

    def take_in(self, verdicts: Sequence[Verdict], *, visitor: Visitor, key: str) -> int:
        """Store verdicts made elsewhere as one step, but those on rows with one as new or newer; their number."""
        with self.lock:
            ledger = self.ledger()
            if (known := self.store.known(key)) is not None:  # a save that is tried again
                return len(ledger.step(known))
            newer = [each for each in verdicts if each.is_after(ledger.at(each.position))]
            if newer:
                self.judge(newer, visitor=visitor, key=key)
            return len(newer)

    def bulk(
        self,
        wanted: Filter,
        action: str,
        *,
        code: int | None,
        only_wrong: bool = False,
        expected: int,
        visitor: Visitor,
        key: str,
    ) -> int:
        """The same verdict on every row of a filter, or on its probably wrong ones, as one step; returns their number.

        ``expected`` is the number that the person was shown: where it is another one by now, nothing is stored.
        """
        with self.lock:
            self.ledger()
            if (known := self.store.known(key)) is not None:  # a save that is tried again, when the filter has changed
                return len(self.ledger().step(known))
            shown = self.queue.select(wanted, visitor.browser).rows
            rows = (self.queue.probably_wrong(shown) if only_wrong else shown).tolist()
            if len(rows) != expected:
                raise UnknownOption(f"there are {len(rows):,} rows by now, not {expected:,}: look again.")
            if not rows:
                raise UnknownOption("there is no such row, so there is nothing to decide.")
            self.judge(list(self.verdicts(rows, action, code=code)), visitor=visitor, key=key)
            return len(rows)

    def settled(self) -> dict[int, Verdict]:
        """The verdicts that say what a label is."""
        return {place: each for place, each in self.store.current().items() if each.action in DECIDED}

    def settled_digest(self) -> str:
        """A digest of what is settled; another one when any label of it is another."""
        with self.lock:
            self.ledger()
            return self._settled.digest

    def is_model_stale(self) -> bool:
        """Whether other labels are settled than those that the model was last retrained with."""
        with self.lock:
            last = next(reversed(self.store.remarks("retrained")), None)
            return last is not None and last.about.get("verdicts", "") not in ("", self.settled_digest())

    # ── after a new diagnosis ──

    def rank_by(self, ranked: Run, known: Sequence[int]) -> None:
        """Take the order, the figures, the slices and the causes from a diagnosis that took these rows as known."""
        with self.lock:
            self.queue = Queue(self.run, ranked, known)
            self.store.ledger().changed.update(self.store.current())
            self.ledger()

    def _last_ranked(self) -> tuple[Run, list[int]]:
        """The last diagnosis after this run with the rows it took as known; the run itself if none can be read."""
        for remark in reversed(self.store.remarks("diagnosed")):
            name = str(remark.about.get("directory", ""))
            place = self.run.path / name
            if AGAIN.fullmatch(name) is None or place.is_symlink():  # never a place outside of the run
                continue
            try:
                found = load_run(place)
            except PsiError:
                continue
            if len(found.findings.labels.given) == len(self.findings.labels.given):
                return found, list(remark.about.get("known", []))
        return self.run, []

    def check_same(self) -> None:
        """Raise :class:`OutputError` if the run at this place is no longer the one that was opened."""
        found = _identity(self.run.path)
        if found is None:
            raise OutputError(
                f"the run is gone from {self.run.path}: it was deleted or moved; nothing is saved. Put it back, or "
                f"restart psi review."
            )
        if found != self._opened:
            raise OutputError("the run was saved anew: nothing is saved until you restart psi review.")

    def check_there(self) -> None:
        """Raise :class:`UnreadableRun` if files that this desk was opened with are no longer there."""
        if not all(self.run.files.place(name).exists() for name in self.run.files.record["files"]):
            raise UnreadableRun(
                f"the files of {self.run.path} are gone: the run was saved anew or moved meanwhile. Restart psi review."
            )


def _identity(run: Path) -> tuple[int, int, int] | None:
    """What is another one when a run is saved anew, which replaces its ``run.json``; None where there is none."""
    try:
        found = (run / RUN_FILE).stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_mtime_ns
