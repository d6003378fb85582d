"""What the work takes, stage by stage: seconds, processor time, fits of the user's learner, memory.

A stopwatch is watching inside of ``with``; whoever fits or begins a stage tells the one that watches, if any does. It
only looks at clocks and counters, so that nothing depends on it but what is told of the work.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

TOTAL = "total"
STAGES = {
    "causes": "causes in the rows",
    "profiling": "gray box",
    "threshold": "curve",
}
"""Stages of ``progress`` that are told in other words; all others are told as they are."""
FIT = "fit"
"""Told to ``progress`` before a single fit: no stage of its own."""

Tick = Callable[[str, int, int], None]


@dataclass
class Timing:
    """What one stage took, all its parts together."""

    stage: str
    seconds: float = 0.0
    processor_seconds: float = 0.0
    """Of this process; what other processes of a back end take is not in it."""
    fits: int = 0
    """Of the user's learner."""
    peak_memory_mb: float = float("nan")
    """The most memory that the process had by the end of the stage, since it began; NaN where that is not known."""


class Stopwatch:
    """Adds up what every stage takes, in the order in which they first began."""

    def __init__(self) -> None:
        self._timings: dict[str, Timing] = {}
        self._now: list[str] = []
        """The stages that are under way, one inside the other; the last one's time runs."""
        self._since = (0.0, 0.0)

    @property
    def fits(self) -> int:
        """Of the user's learner, so far."""
        return sum(each.fits for each in self._timings.values())

    @property
    def timings(self) -> tuple[Timing, ...]:
        """A line for each stage, and the total."""
        lines = list(self._timings.values())
        peaks = [each.peak_memory_mb for each in lines if each.peak_memory_mb == each.peak_memory_mb]
        total = Timing(
            TOTAL,
            sum(each.seconds for each in lines),
            sum(each.processor_seconds for each in lines),
            self.fits,
            max(peaks, default=float("nan")),
        )
        return (*lines, total)

    @contextmanager
    def watching(self, stage: str) -> Iterator[Stopwatch]:
        """It watches this stage, and what is begun inside; afterwards whoever watched before."""
        token = _watching.set(self)
        depth = len(self._now)
        self._close()
        self._open(stage)
        try:
            yield self
        finally:
            self._close()
            del self._now[depth:]
            _watching.reset(token)

    def begin(self, stage: str) -> None:
        """The stage that is under way ends, this one begins."""
        self._close()
        del self._now[-1:]
        self._open(stage)

    def count_fit(self) -> None:
        """One fit more, in the stage that is under way."""
        if self._now:  # another thread may have ended the stage: counts may be off by one, the work goes on
            self._timings[self._now[-1]].fits += 1

    def _open(self, stage: str) -> None:
        self._now.append(stage)
        self._timings.setdefault(stage, Timing(stage))

    def _close(self) -> None:
        """Add the time since the last change to the stage that is under way."""
        clocks = time.perf_counter(), time.process_time()
        if self._now:
            timing = self._timings[self._now[-1]]
            timing.seconds += clocks[0] - self._since[0]
            timing.processor_seconds += clocks[1] - self._since[1]
            timing.peak_memory_mb = _peak_memory_mb()
        self._since = clocks


_watching: ContextVar[Stopwatch | None] = ContextVar("stopwatch", default=None)


def stopwatch() -> Stopwatch:
    """The one that is watching; a new one if none is."""
    return _watching.get() or Stopwatch()


def begin(stage: str) -> None:
    """Tell the stopwatch, if one is watching, that a stage begins."""
    if (watch := _watching.get()) is not None:
        watch.begin(stage)


def count_fit() -> None:
    """Tell the stopwatch, if one is watching, that the user's learner is fitted once more."""
    if (watch := _watching.get()) is not None:
        watch.count_fit()


def staged(tick: Tick) -> Tick:
    """The same callback; a stage that it is told of begins on the stopwatch, too."""

    def told(stage: str, done: int, total: int) -> None:
        if stage != FIT:
            begin(STAGES.get(stage, stage))
        tick(stage, done, total)

    return told


def _peak_memory_mb() -> float:
    try:
        import resource
    except ImportError:  # Windows
        return float("nan")
    import sys

    unit = 2**20 if sys.platform == "darwin" else 2**10  # bytes there, else kilobytes
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
