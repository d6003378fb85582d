"""Where independent fits run: here, in other processes, or, once somebody writes it, on a cluster.

A back end maps a function over jobs and yields the answers in their order, which must not depend on it. So whoever
spreads fits gives each of them one thread.
"""

from __future__ import annotations

import multiprocessing
import operator
import os
import pickle
import random
import time
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from threading import Lock
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import joblib
import numpy as np
from joblib.parallel import get_active_backend
from sklearn.utils.parallel import Parallel, delayed

S = TypeVar("S")
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
SAFE_PATH = "PYTHONSAFEPATH"
WORTH_STARTING = 12.0
"""Seconds of work from which it pays to start other processes: two take 2 to 5 seconds until they have imported all."""


class Several(Protocol[T_co]):
    """Things whose number is known; each may be made when it is asked for."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[T_co]: ...


@dataclass(frozen=True)
class Lazily(Generic[S, T]):
    """What a function makes of each of several things, made when it is asked for and not kept."""

    make: Callable[[S], T]
    of: Several[S]

    def __len__(self) -> int:
        return len(self.of)

    def __iter__(self) -> Iterator[T]:
        return map(self.make, self.of)


class Backend(Protocol):
    """Runs jobs that do not depend on each other.

    Jobs of one function take about as long as each other; if the function has a ``kind``, those of one kind do.
    """

    def map(self, function: Callable[[S], T], jobs: Several[S]) -> Iterator[T]:
        """``function(job)`` of every job, in order."""
        ...


class Here:
    """One after the other, in this process."""

    def map(self, function: Callable[[S], T], jobs: Iterable[S]) -> Iterator[T]:
        """Each answer when it is asked for, and each job with it."""
        return map(function, jobs)


@dataclass(frozen=True)
class Processes:
    """In ``workers`` processes; threads would not do, since fits silence warnings, for the whole process.

    These are joblib's, whatever a ``parallel_config`` says. Where a process may start none, since it is a worker
    itself, the work is done in it.
    """

    workers: int

    def map(self, function: Callable[[S], T], jobs: Iterable[S]) -> Iterator[T]:
        """Eight jobs a worker at a time; from the first on that cannot travel, or whose answer cannot, here."""
        waiting, at_once = iter(jobs), 0 if _is_worker() else 8 * self.workers
        if at_once:
            _STARTED_IN.add(os.getpid())
        # Arrays are shared between processes; copied on writing, for learners that refuse read-only ones.
        # Parallel and delayed are scikit-learn's: they take its configuration along.
        while some := list(islice(waiting, at_once)):
            try:
                with no_modules_of_the_folder(), Parallel(self.workers, backend="loky", mmap_mode="c") as pool:
                    answers = pool(delayed(operator.call)(function, job) for job in some)
            except Exception:  # of whatever kind: at home it does not come, or says what it is about
                waiting = chain(some, waiting)
                break
            yield from answers
        yield from map(function, waiting)


def _is_worker() -> bool:
    """Whether somebody else has spread his work already, and this is a part of it.

    So is a fork of a process that has started workers: it would wait for them for ever.
    """
    forked = bool(_STARTED_IN) and os.getpid() not in _STARTED_IN
    return forked or multiprocessing.current_process().daemon or bool(get_active_backend()[0].nesting_level)


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


_STARTED_IN: set[int] = set()
"""This process, if it has started others; in a fork of it, its parent."""
_LOCK = Lock()
_BEFORE: list[str | None] = []
"""What the variable was, and an entry for every further thread that wants it set."""


class WhenItPays:
    """Here, until what is left is worth the start of as many processes as there are cores, if these are several.

    What draws from a generator of the whole process (numpy's, Python's) stays here, where a user can seed that; so
    does what came back from other processes undone.
    """

    def __init__(self) -> None:
        self._seconds: dict[Hashable, float] = {}
        """What the last job of a kind took."""
        self._at_home: set[Hashable] = set()
        """Kinds of jobs that stay here."""

    def map(self, function: Callable[[S], T], jobs: Several[S]) -> Iterator[T]:
        """By the time that the last job took, wherever it was done."""
        kind, waiting, spread = getattr(function, "kind", function), iter(jobs), False
        answers = Here().map(partial(_observed, function), waiting)
        for left in range(len(jobs), 0, -1):
            if not spread and self._pays(kind, left) and (workers := int(joblib.cpu_count())) > 1:
                answers, spread = Processes(workers).map(partial(_observed, function), waiting), True
            done = next(answers)
            self._seconds[kind] = done.seconds
            if done.drew or (spread and done.process == os.getpid()):
                self._at_home.add(kind)
            yield done.answer

    def _pays(self, kind: Hashable, left: int) -> bool:
        expected = self._seconds.get(kind, 0.0) * left
        return left > 1 and expected > WORTH_STARTING and kind not in self._at_home


class _Done(NamedTuple):
    """The answer to a job, and how it came about."""

    answer: Any
    seconds: float
    process: int
    drew: bool
    """Whether it drew from a generator of the whole process."""


def _observed(function: Callable[[Any], Any], job: Any) -> _Done:
    start, before = time.perf_counter(), _generators()
    answer = function(job)
    return _Done(answer, time.perf_counter() - start, os.getpid(), _generators() != before)


def _generators() -> bytes:
    """The states of those that the whole process shares."""
    return pickle.dumps((np.random.get_state(legacy=False), random.getstate()))  # noqa: NPY002 - it is watched, not used
