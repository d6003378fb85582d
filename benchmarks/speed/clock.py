"""How long some work takes. CPU time (``time.process_time``) leaves out whatever else the machine does."""

from __future__ import annotations

import time
from collections.abc import Callable

Work = Callable[[], object]
Clock = Callable[[], float]


def seconds_of(work: Work, clock: Clock = time.perf_counter) -> float:
    """Seconds of doing it once."""
    start = clock()
    work()
    return clock() - start


def best_of(times: int, work: Work, clock: Clock = time.perf_counter) -> float:
    """Seconds of the fastest of so many times."""
    return min(seconds_of(work, clock) for _ in range(times))
