"""Background work, one job at a time: retrain with the verdicts so far, or diagnose again."""

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
from psidebug.review.desk import Desk
from psidebug.store import load_run


@dataclass
class Job:
    """One job, running or ended."""

    kind: str
    """``retrain`` or ``diagnose``."""
    stage: str = "starting"
    done: int = 0
    total: int = 0
    began: float = field(default_factory=time.monotonic)
    failed: str | None = None
    """Why it failed, in one sentence."""
    ended: float | None = None

    @property
    def seconds(self) -> float:
        """Time taken so far."""
        return (self.ended or time.monotonic()) - self.began

    def tick(self, stage: str, done: int, total: int) -> None:
        """Note the progress; single fits are not shown."""
        if stage != "fit":
            self.stage, self.done, self.total = stage, done, total


class Workbench:
    """Runs jobs in a thread of their own, so that the review can go on."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.job: Job | None = None
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    @property
    def busy(self) -> bool:
        """Whether a job is running."""
        return self.job is not None and self.job.ended is None

    def begin(self, kind: str, *, reviewer: str) -> Job:
        """Start ``retrain`` or ``diagnose``."""
        acts: dict[str, Callable[[Job, str], None]] = {"retrain": self._retrain, "diagnose": self._diagnose}
        if kind not in acts:
            raise UnknownOption(f"unknown job {kind!r:.60}; it must be {' or '.join(acts)}.")
        with self._lock:
            if self.busy:
                raise UnknownOption("a model is already being trained. Wait until it is done.")
            self.job = job = Job(kind)
            self._thread = threading.Thread(target=self._do, args=(acts[kind], job, reviewer), daemon=True)
            self._thread.start()
        return job

    def wait(self) -> None:
        """Wait until the job has ended."""
        if self._thread is not None:
            self._thread.join()

    def history(self) -> list[dict[str, Any]]:
        """The result of every retraining, first to last."""
        return [dict(each.about) | {"time": each.time} for each in self.desk.store.remarks("retrained")]

    def _do(self, act: Callable[[Job, str], None], job: Job, reviewer: str) -> None:
        try:
            self.desk.check_there()
            act(job, reviewer)
        except PsiError as error:
            job.failed = str(error)
        except Exception as error:  # the page shows it, and the server goes on
            job.failed = f"Internal error: {type(error).__name__}: {error}"
        finally:
            job.ended = time.monotonic()

    def _retrain(self, job: Job, reviewer: str) -> None:
        with self.desk.lock:
            settled, digest = self.desk.settled(), self.desk.settled_digest()
        job.tick("training with the verdicts so far", 0, 1)
        effect = self.desk.diagnosis.retrain({place: verdict.label for place, verdict in settled.items()})
        counts = {name: getattr(effect, name) for name in ("corrected", "bugs_fixed", "points_broken")}
        about = counts | {"settled": len(settled), "verdicts": digest, "seconds": round(job.seconds, 2)}
        self.desk.store.remark("retrained", about | effect.rates, reviewer=reviewer)

    def _diagnose(self, job: Job, reviewer: str) -> None:
        settled = self.desk.settled()
        known = {verdict.row: verdict.label for verdict in settled.values()}
        diagnosis = self.desk.diagnosis.diagnose_again(known, progress=job.tick)
        job.tick("saving", 0, 1)
        place = self.next_place()
        diagnosis.save(place)
        self.desk.rank_by(load_run(place), sorted(settled))
        about = {"directory": place.name, "settled": len(settled), "verdict": diagnosis.verdict}
        self.desk.store.remark("diagnosed", about | {"known": sorted(settled)}, reviewer=reviewer)

    def next_place(self) -> Path:
        """Directory of the next diagnosis: an unused name in the run; even a broken link counts as used."""
        numbers = itertools.count(len(self.desk.store.remarks("diagnosed")) + 1)
        places = (self.desk.run.path / f"again-{number:03d}" for number in numbers)
        return next(place for place in places if not os.path.lexists(place))
