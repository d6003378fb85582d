"""Where independent fits run: here, in other processes, or, once somebody writes it, on a cluster.

A back end maps a function over jobs and yields the answers in their order, which must not depend on it. So whoever
spreads fits gives each of them one thread.
"""

from __future__ import annotations

import os
import pickle
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import Any, Protocol, TypeVar

import joblib
from sklearn.utils.parallel import Parallel, delayed

T = TypeVar("T")
SAFE_PATH = "PYTHONSAFEPATH"
WORTH_STARTING = 4.0
"""Seconds of work from which it pays to start other processes, which takes one or two."""


class Backend(Protocol):
    """Runs jobs that do not depend on each other."""

    def map(self, function: Callable[..., T], jobs: Sequence[tuple[Any, ...]]) -> Iterator[T]:
        """``function(*job)`` of every job, in order."""
        ...


class Here:
    """One after the other, in this process."""

    def map(self, function: Callable[..., T], jobs: Sequence[tuple[Any, ...]]) -> Iterator[T]:
        """Each answer when it is asked for."""
        yield from (function(*job) for job in jobs)


@dataclass(frozen=True)
class Processes:
    """In ``workers`` processes; threads would not do, since fits silence warnings, for the whole process."""

    workers: int

    def map(self, function: Callable[..., T], jobs: Sequence[tuple[Any, ...]]) -> Iterator[T]:
        """Eight jobs a worker at a time."""
        at_once = 8 * self.workers
        # Arrays are shared between processes; copied on writing, for learners that refuse read-only ones.
        # Parallel and delayed are scikit-learn's: they take its configuration along.
        for begin in range(0, len(jobs), at_once):
            some = jobs[begin : begin + at_once]
            try:
                with no_modules_of_the_folder(), Parallel(n_jobs=self.workers, mmap_mode="c") as pool:
                    answers = pool(delayed(function)(*job) for job in some)
            except (pickle.PicklingError, BrokenProcessPool):  # a learner that cannot travel is trained at home
                yield from Here().map(function, some)
            else:
                yield from answers


@contextmanager
def no_modules_of_the_folder() -> Iterator[None]:
    """Keep processes that start meanwhile from looking for modules in the current folder.

    They are started as ``python -c …`` or ``-m …``, which look there first: whoever made the folder could put a
    joblib.py in it. The variable is the whole process's: of several threads the last one takes it away.
    """
    with _LOCK:
        if not _BEFORE:
            _BEFORE.append(os.environ.get(SAFE_PATH))
            os.environ[SAFE_PATH] = "1"
        else:
            _BEFORE.append(None)
    try:
        yield
    finally:
        with _LOCK:
            if len(_BEFORE) > 1:
                _BEFORE.pop()
            elif (before := _BEFORE.pop()) is None:
                os.environ.pop(SAFE_PATH, None)
            else:
                os.environ[SAFE_PATH] = before


_LOCK = Lock()
_BEFORE: list[str | None] = []
"""What the variable was, and an entry for every further thread that wants it set."""


class WhenItPays:
    """Here, until what is left is worth the start of as many processes as there are cores, if these are several."""

    def __init__(self) -> None:
        self._seconds: dict[Callable[..., Any], float] = {}
        """What the last job of a function took."""

    def map(self, function: Callable[..., T], jobs: Sequence[tuple[Any, ...]]) -> Iterator[T]:
        """By the time that the last job took."""
        for done, job in enumerate(jobs):
            left = len(jobs) - done
            expected = self._seconds.get(function, 0.0) * left
            if left > 1 and expected > WORTH_STARTING and (workers := int(joblib.cpu_count())) > 1:
                yield from Processes(workers).map(function, jobs[done:])
                return
            start = time.perf_counter()
            answer = function(*job)
            self._seconds[function] = time.perf_counter() - start
            yield answer
