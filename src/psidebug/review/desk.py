"""The desk: one run under review, with its queue and its verdict store."""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any, Protocol

from psidebug.errors import OutputError, PsiError, UnknownOption, UnknownRow, UnreadableRun
from psidebug.findings.effects import Verification
from psidebug.review.queue import Filter, Queue
from psidebug.review.security import Visitor
from psidebug.review.similar import Similar
from psidebug.review.verdict_store import open_store
from psidebug.review.verdicts import ACTIONS, DECIDED, Ledger, Verdict, checked_comment
from psidebug.store import Run, load_run
from psidebug.store.manifest import RUN_FILE
from psidebug.store.values import as_json

AGAIN = re.compile(r"again-\d{3,}")
"""The name of a diagnosis made in the review: a run inside the run."""


class ReviewedDiagnosis(Protocol):
    """What a review needs of a diagnosis: to train with the labels that people have settled."""

    @property
    def verdict(self) -> str:
        """The result in words."""

    def save(self, path: Path) -> None:
        """Write it as a run."""

    def retrain(self, labels: Mapping[int, Any]) -> Verification:
        """Train the learner with these labels, by position, in place of the given ones."""

    def diagnose_again(
        self, known: Mapping[Any, Any], *, progress: Callable[[str, int, int], None] | None = None
    ) -> ReviewedDiagnosis:
        """Diagnose the same rows again, with these labels, by row id, as facts."""


OpenDiagnosis = Callable[[Path], ReviewedDiagnosis]
"""Opens the diagnosis of the run at a path."""


class Desk:
    """Everything that the pages read and change. Hold ``lock`` while you use the queue or the ledger."""

    def __init__(self, path: str | PathLike[str], open_diagnosis: OpenDiagnosis) -> None:
        """``open_diagnosis`` is called when training is first asked for."""
        self._opened = _identity(Path(path))  # before it is read
        self._open_diagnosis = open_diagnosis
        self.run = load_run(path)
        self.findings = self.run.findings
        self.store = open_store(self.run.path)
        self.lock = self.store.lock
        self.queue = Queue(self.run, *self._last_ranked())
        self._similar = threading.Lock()
        self._settled: dict[int, int] = {}  # position → hash of the label that a person settled
        with self.lock:
            self.store.ledger().changed.update(self.store.current())
            self.ledger()

    def close(self) -> None:
        """Close the store."""
        self.store.close()

    def ledger(self) -> Ledger:
        """The verdicts that hold now; the queue is brought up to date with them."""
        ledger = self.store.ledger()
        if ledger.changed:
            rows = list(ledger.changed)
            ledger.changed.clear()
            self.queue.set_states(rows, [ledger.told_at(each) for each in rows])
            for each in rows:
                self._settled[each] = _settled_hash(ledger.at(each))
        return ledger

    @cached_property
    def diagnosis(self) -> ReviewedDiagnosis:
        """The diagnosis of the run, which can train."""
        return self._open_diagnosis(self.run.path)

    @cached_property
    def _nearest(self) -> Similar:
        return Similar(self.run.data.train.features, self.findings.display.text)

    def similar(self, position: int, count: int) -> tuple[int, ...]:
        """Positions of similar training rows."""
        with self._similar:  # the first call builds the index, the others wait
            return self._nearest.rows(position, count)

    def first(self, wanted: Filter, visitor: Visitor) -> int | None:
        """The first row of a filter for this visitor."""
        with self.lock:
            self.ledger()
            return self.queue.select(wanted, visitor.browser).first()

    # ── verdicts ──

    def position(self, asked: Any) -> int:
        """The position in a request, if there is such a row."""
        try:
            found = int(asked)
        except (TypeError, ValueError, OverflowError):
            raise UnknownRow(f"{asked!r:.60} is not the position of a training row.") from None
        if not 0 <= found < len(self.queue.given):
            raise UnknownRow(f"there is no training row {found!r:.60}: there are {len(self.queue.given)} rows.")
        return found

    def verdict(self, position: int, action: str, *, code: int | None = None, comment: str = "") -> Verdict:
        """A verdict on a row; ``correct`` takes the class of this code, or else the proposed one."""
        return next(self.verdicts([position], action, code=code, comment=comment))

    def verdicts(
        self, rows: Sequence[int], action: str, *, code: int | None = None, comment: str = ""
    ) -> Iterator[Verdict]:
        """The same verdict on many rows; to correct a label to the given class is to keep it."""
        if action not in ACTIONS:
            raise UnknownOption(f"unknown verdict {action!r:.60}; it must be one of {', '.join(ACTIONS)}.")
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

    def decide(self, verdicts: Sequence[Verdict], *, visitor: Visitor, key: str) -> int:
        """Save verdicts as one step; they are on disk when this returns."""
        number = self.store.record(verdicts, reviewer=visitor.name, browser=visitor.browser, key=key)
        with self.lock:
            self.ledger()
        return number

    def take_in(self, verdicts: Sequence[Verdict], *, visitor: Visitor, key: str) -> int:
        """Save imported verdicts as one step, except where a row has one as new or newer; return their number."""
        with self.lock:
            ledger = self.ledger()
            if (known := self.store.known(key)) is not None:  # a repeated save
                return len(ledger.step(known))
            newer = [each for each in verdicts if each.is_after(ledger.at(each.position))]
            if newer:
                self.decide(newer, visitor=visitor, key=key)
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
        """The same verdict on every row of a filter, or on the probably wrong ones, as one step; return their number.

        ``expected`` is the number that the reviewer saw; if it has changed since, nothing is saved.
        """
        with self.lock:
            self.ledger()
            if (known := self.store.known(key)) is not None:  # a repeated save
                return len(self.ledger().step(known))
            shown = self.queue.select(wanted, visitor.browser).rows
            rows = (self.queue.probably_wrong(shown) if only_wrong else shown).tolist()
            if len(rows) != expected:
                raise UnknownOption(f"the filter now has {len(rows):,} rows, not {expected:,}. Look again.")
            if not rows:
                raise UnknownOption("the filter has no such rows.")
            self.decide(list(self.verdicts(rows, action, code=code)), visitor=visitor, key=key)
            return len(rows)

    def settled(self) -> dict[int, Verdict]:
        """The verdicts that settle a label."""
        return {place: each for place, each in self.store.current().items() if each.action in DECIDED}

    def settled_digest(self) -> str:
        """A digest of the settled labels, whatever the order in which they were settled."""
        with self.lock:
            self.ledger()
            return f"{sum(self._settled.values()) % 2**64:016x}"

    def is_model_stale(self) -> bool:
        """Whether the settled labels have changed since the last retraining."""
        with self.lock:
            last = next(reversed(self.store.remarks("retrained")), None)
            return last is not None and last.about.get("verdicts", "") not in ("", self.settled_digest())

    # ── after a new diagnosis ──

    def rank_by(self, ranked: Run, known: Sequence[int]) -> None:
        """Take the ranking, slices and causes from a new diagnosis, in which these rows were known."""
        with self.lock:
            self.queue = Queue(self.run, ranked, known)
            self.store.ledger().changed.update(self.store.current())
            self.ledger()

    def _last_ranked(self) -> tuple[Run, list[int]]:
        """The last diagnosis made in the review, with its known rows; the run itself if none can be read."""
        for remark in reversed(self.store.remarks("diagnosed")):
            name = str(remark.about.get("directory", ""))
            place = self.run.path / name
            if AGAIN.fullmatch(name) is None or place.is_symlink():  # never a place outside the run
                continue
            try:
                found = load_run(place)
            except PsiError:
                continue
            if len(found.findings.labels.given) == len(self.findings.labels.given):
                return found, list(remark.about.get("known", []))
        return self.run, []

    def check_same(self) -> None:
        """Raise :class:`OutputError` if the run was moved or replaced since it was opened."""
        found = _identity(self.run.path)
        if found is None:
            raise OutputError(
                f"the run {self.run.path} is gone: it was deleted or moved. Nothing is saved. Put it back, or restart "
                f"psi review."
            )
        if found != self._opened:
            raise OutputError("the run was saved again, so verdicts are not saved until you restart psi review.")

    def check_there(self) -> None:
        """Raise :class:`UnreadableRun` if files that this desk was opened with are no longer there."""
        if not all(self.run.files.place(name).exists() for name in self.run.files.record["files"]):
            raise UnreadableRun(
                f"the files of {self.run.path} are gone: the run was saved again or moved. Restart psi review."
            )


def _identity(run: Path) -> tuple[int, int, int] | None:
    """Device, inode and time of ``run.json``, which change when a run is saved again; None if there is none."""
    try:
        found = (run / RUN_FILE).stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_mtime_ns


def _settled_hash(verdict: Verdict | None) -> int:
    """64 bits that stand for a settled label; 0 if the row is not settled."""
    if verdict is None or verdict.action not in DECIDED:
        return 0
    said = json.dumps([verdict.position, as_json(verdict.label)])
    return int.from_bytes(hashlib.sha256(said.encode()).digest()[:8])
