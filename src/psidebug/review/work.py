"""What takes longer than an answer: to retrain with the verdicts so far, and to diagnose again. One at a time."""

from __future__ import annotations

import itertools
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from psidebug.errors import PsiError, UnknownOption
from psidebug.findings import ErrorRate, Verification
from psidebug.review.desk import Desk
from psidebug.store import load_run


@dataclass
class Job:
    """One piece of work, while it goes on and after."""

    kind: str
    """``retrain`` or ``diagnose``."""
    stage: str = "starting"
    done: int = 0
    total: int = 0
    began: float = field(default_factory=time.monotonic)
    failed: str | None = None
    """What went wrong, in one sentence."""
    ended: float | None = None

    @property
    def seconds(self) -> float:
        """How long it has taken so far."""
        return (self.ended or time.monotonic()) - self.began

    def tick(self, stage: str, done: int, total: int) -> None:
        """Where the work is."""
        self.stage, self.done, self.total = stage, done, total


class Workbench:
    """Does the work in a thread of its own, so that the review goes on meanwhile."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.job: Job | None = None
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    @property
    def busy(self) -> bool:
        """Whether something is going on."""
        return self.job is not None and self.job.ended is None

    def begin(self, kind: str, *, reviewer: str) -> Job:
        """Start ``retrain`` or ``diagnose``."""
        acts: dict[str, Callable[[Job, str], None]] = {"retrain": self._retrain, "diagnose": self._diagnose}
        if kind not in acts:
            raise UnknownOption(f"there is no work called {kind!r:.60}: it is {' or '.join(acts)}.")
        with self._lock:
            if self.busy:
                raise UnknownOption("a model is being trained already: wait until that is done.")
            self.job = job = Job(kind)
            self._thread = threading.Thread(target=self._do, args=(acts[kind], job, reviewer), daemon=True)
            self._thread.start()
        return job

    def wait(self) -> None:
        """Wait until the work is done."""
        if self._thread is not None:
            self._thread.join()

    def history(self) -> list[dict[str, Any]]:
        """What every retraining found, first to last."""
        return [dict(each.about) | {"time": each.time} for each in self.desk.store.remarks("retrained")]

    def _do(self, act: Callable[[Job, str], None], job: Job, reviewer: str) -> None:
        try:
            self.desk.check_there()
            act(job, reviewer)
        except PsiError as error:
            job.failed = str(error)
        except Exception as error:  # the page says it; the server goes on
            job.failed = f"an error of Psi itself: {type(error).__name__}: {error}"
        finally:
            job.ended = time.monotonic()

    def _retrain(self, job: Job, reviewer: str) -> None:
        with self.desk.lock:
            settled, digest = self.desk.settled(), self.desk.settled_digest()
        job.tick("training with the verdicts so far", 0, 1)
        effect = self.desk.session.retrain({place: verdict.label for place, verdict in settled.items()})
        about = _told(effect) | {"settled": len(settled), "verdicts": digest, "seconds": round(job.seconds, 2)}
        self.desk.store.remark("retrained", about, reviewer=reviewer)

    def _diagnose(self, job: Job, reviewer: str) -> None:
        settled = self.desk.settled()
        known = {verdict.row: verdict.label for verdict in settled.values()}
        diagnosis = self.desk.session.diagnose_again(known, progress=job.tick)
        job.tick("saving", 0, 1)
        place = self.next_place()
        diagnosis.save(place)
        self.desk.rank_by(load_run(place), sorted(settled))
        about = {"directory": place.name, "settled": len(settled), "verdict": diagnosis.verdict}
        self.desk.store.remark("diagnosed", about | {"known": sorted(settled)}, reviewer=reviewer)

    def next_place(self) -> Path:
        """Where the next diagnosis goes: a name in the run that nothing has, not even a link to nothing."""
        numbers = itertools.count(len(self.desk.store.remarks("diagnosed")) + 1)
        places = (self.desk.run.path / f"again-{number:03d}" for number in numbers)
        return next(place for place in places if not os.path.lexists(place))


def _told(effect: Verification) -> dict[str, Any]:
    """A verification as plain data."""
    rates = ("test_before", "test_after", "validation_before", "validation_after")
    found: dict[str, ErrorRate | None] = {name: getattr(effect, name) for name in rates}
    counts = {name: getattr(effect, name) for name in ("corrected", "bugs_fixed", "points_broken")}
    return counts | {name: None if rate is None else rate.rate for name, rate in found.items()}
