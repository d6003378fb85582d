"""The desk: one run under review, with its queues and its verdict store."""

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
from psidebug.report.rows import Part
from psidebug.review.filters import Filter
from psidebug.review.queue import Queue
from psidebug.review.security import Visitor
from psidebug.review.similar import Similar
from psidebug.review.verdict_store import open_store
from psidebug.review.verdicts import ACTIONS, DECIDED, PARTS, Ledger, Verdict, checked_comment
from psidebug.store import Run, load_run
from psidebug.store.manifest import RUN_FILE
from psidebug.store.values import as_json
from psidebug.timings import Tick

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

    def diagnose_again(self, known: Mapping[Any, Any], *, progress: Tick | None = None) -> ReviewedDiagnosis:
        """Diagnose the same rows again, with these labels, by row id, as facts."""


OpenDiagnosis = Callable[[Path], ReviewedDiagnosis]
"""Opens the diagnosis of the run at a path."""


class Desk:
    """Everything that the pages read and change. Hold ``lock`` while you use the queues or the ledger."""

    def __init__(self, path: str | PathLike[str], open_diagnosis: OpenDiagnosis) -> None:
        """``open_diagnosis`` is called when training is first asked for."""
        self._opened = _identity(Path(path))  # before it is read
        self._open_diagnosis = open_diagnosis
        self.run = load_run(path)
        self.findings = self.run.findings
        self._sizes = {"train": len(self.findings.labels.given), "test": len(self.findings.predictions.labels)}
        self.store = open_store(self.run.path)
        self.lock = self.store.lock
        self._similar = threading.Lock()
        self._settled: dict[int, int] = {}  # position → hash of the label that a person settled
        try:
            self.queues = self._queues(*self._last_ranked())
            """The suspects of each set."""
            with self.lock:
                self._note_all()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the store."""
        self.store.close()

    def ledger(self) -> Ledger:
        """The verdicts that hold now; the queues are brought up to date with them."""
        ledger = self.store.ledger()
        for part, changed in ledger.changed.items():
            if rows := list(changed):
                if max(rows) >= self._sizes[part]:
                    raise UnreadableRun(
                        f"{self.run.path} has a verdict on a row that is not there: its store is damaged, or of "
                        f"another run. Move the store away to start over."
                    )
                changed.clear()
                self.queues[part].set_states(rows, [ledger.told_at(each, part) for each in rows])
                disputed = [len(set(ledger.judged_at(each, part).values())) > 1 for each in rows]
                self.queues[part].set_disputed(rows, disputed)
                if part == "train":
                    self._settled |= {each: _settled_hash(ledger.at(each)) for each in rows}
        return ledger

    @property
    def queue(self) -> Queue:
        """The suspects among the training labels."""
        return self.queues["train"]

    @property
    def opens_with(self) -> Part:
        """The set that the review begins with: the test set if its labels are what is wrong with the task."""
        causes = self.queue.last.causes
        return "test" if causes and causes[0].cause == "test_labels" and self.has_tests else "train"

    @property
    def has_tests(self) -> bool:
        """Whether there is a test label to look at, suspected or decided."""
        return any(self.queues["test"].counts().values())

    @cached_property
    def diagnosis(self) -> ReviewedDiagnosis:
        """The diagnosis of the run, which can train."""
        return self._open_diagnosis(self.run.path)

    @cached_property
    def _nearest(self) -> Similar:
        data = self.run.data
        return Similar(data.train.features, self.findings.display.text, others=data.test.features)

    def similar(self, position: int, count: int, part: Part = "train") -> tuple[int, ...]:
        """Positions of similar training rows, to one of either set."""
        with self._similar:  # the first call builds the index, the others wait
            return self._nearest.rows(position, count, part == "test")

    def first(self, wanted: Filter, visitor: Visitor) -> int | None:
        """The first row of a filter for this visitor."""
        with self.lock:
            self.ledger()
            return self.queues[wanted.part].select(wanted, visitor.browser).first()

    # ── verdicts ──

    def position(self, asked: Any, part: Part = "train") -> int:
        """The position in a request, if there is such a row in the set."""
        rows, name = len(self.queues[part].given), "training" if part == "train" else "test"
        try:
            found = int(asked)
        except (TypeError, ValueError, OverflowError):
            raise UnknownRow(f"{asked!r:.60} is not the position of a {name} row.") from None
        if not 0 <= found < rows:
            raise UnknownRow(f"there is no {name} row {found!r:.60}: there are {rows} rows.")
        return found

    def verdict(
        self, position: int, action: str, *, code: int | None = None, comment: str = "", part: Part = "train"
    ) -> Verdict:
        """A verdict on a row; ``correct`` takes the class of this code, or else the proposed one."""
        return next(self.verdicts([position], action, code=code, comment=comment, part=part))

    def verdicts(
        self, rows: Sequence[int], action: str, *, code: int | None = None, comment: str = "", part: Part = "train"
    ) -> Iterator[Verdict]:
        """The same verdict on many rows; to correct a label to the given class is to keep it."""
        if action not in ACTIONS:
            raise UnknownOption(f"unknown verdict {action!r:.60}; it must be one of {', '.join(ACTIONS)}.")
        classes, said = self.findings.encoding.classes, checked_comment(comment)
        if action == "correct" and code is not None and not 0 <= code < len(classes):
            raise UnknownOption(f"there is no class number {code}: there are {len(classes)} classes.")
        queue = self.queues[part]
        given, ids = queue.given[rows].tolist(), queue.findings.labels.rows[rows].tolist()
        proposed = queue.proposed[rows].tolist() if code is None else [code] * len(rows)
        chosen = proposed if action == "correct" else given
        for position, row, old, new in zip(rows, ids, given, chosen, strict=True):
            if action in DECIDED:
                yield Verdict(position, row, "keep" if new == old else "correct", classes[new], said, part=part)
            else:
                yield Verdict(position, row, action, None, said, part=part)

    def decide(self, verdicts: Sequence[Verdict], *, visitor: Visitor, key: str) -> int:
        """Save verdicts as one step; they are on disk when this returns."""
        number = self.store.record(verdicts, reviewer=visitor.name, browser=visitor.browser, key=key)
        with self.lock:
            self.ledger()
        return number

    def take_in(self, verdicts: Sequence[Verdict], *, visitor: Visitor, key: str) -> int:
        """Save imported verdicts, except where a row has one as new or newer; return their number.

        They are one step, or two if some are about training labels and some about test labels.
        """
        taken = 0
        with self.lock:
            for part in PARTS:
                ledger, own_key = self.ledger(), key if part == "train" else f"{key} {part}"
                if (known := self.store.known(own_key)) is not None:  # a repeated save
                    taken += len(ledger.step(known))
                    continue
                own = [each for each in verdicts if each.part == part]
                newer = [each for each in own if each.is_after(ledger.at(each.position, part))]
                if newer:
                    self.decide(newer, visitor=visitor, key=own_key)
                taken += len(newer)
        return taken

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
            queue = self.queues[wanted.part]
            shown = queue.select(wanted, visitor.browser).rows
            rows = (queue.probably_wrong(shown) if only_wrong else shown).tolist()
            if len(rows) != expected:
                raise UnknownOption(f"the filter now has {len(rows):,} rows, not {expected:,}. Look again.")
            if not rows:
                raise UnknownOption("the filter has no such rows.")
            self.decide(list(self.verdicts(rows, action, code=code, part=wanted.part)), visitor=visitor, key=key)
            return len(rows)

    def decide_together(
        self, places: Sequence[int], action: str, *, code: int | None, part: Part, visitor: Visitor, key: str
    ) -> int:
        """The same verdict on chosen rows, as one step; return their number."""
        rows = list(dict.fromkeys(self.position(each, part) for each in places))
        if not rows:
            raise UnknownOption("no row is chosen: choose some first.")
        self.decide(list(self.verdicts(rows, action, code=code, part=part)), visitor=visitor, key=key)
        return len(rows)

    def settled(self) -> dict[int, Verdict]:
        """The verdicts that settle a training label."""
        return {place: each for place, each in self.store.current().items() if each.action in DECIDED}

    def settled_digest(self) -> str:
        """A digest of the settled training labels, whatever the order in which they were settled."""
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
        """Take the ranking, slices and causes from a new diagnosis, in which these training rows were known."""
        with self.lock:
            self.queues = self._queues(ranked, known)
            self._note_all()

    def _queues(self, ranked: Run, known: Sequence[int]) -> dict[Part, Queue]:
        return {"train": Queue(self.run, ranked, known), "test": Queue(self.run, ranked, part="test")}

    def _note_all(self) -> None:
        """Bring new queues up to date."""
        for part, changed in self.store.ledger().changed.items():
            changed.update(self.store.current(part))
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
