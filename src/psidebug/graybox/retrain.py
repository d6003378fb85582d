"""Retraining as a gray box: slow and exact, for any classifier; the reference for all others.

Every fit has one thread, the learner's own ``n_jobs`` included, and worlds are spread over processes instead: sums
depend on the number of threads in the last digit, so the answer is the same for any number of workers. (Threads would
not do: fits silence warnings, which Python does for the whole process.)

Fits start cold, even where the loss is strictly convex. Measured on logistic regression (lbfgs, newton-cg,
newton-cholesky; 900 × 64, 4,000 × 107, 50,000 × 50): started from the actual coefficients at the learner's own
tolerance, a single flip is up to 7 times faster and wrong by up to as much as it moves the margins, since the solver
finds itself near enough already; at a tolerance that gives the same margins, 5% of the labels take 0.7 to 1.8 times
as long as cold.
"""

from __future__ import annotations

import hashlib
import pickle
import time
from collections import OrderedDict
from collections.abc import Iterator

import joblib
import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from psidebug.errors import LearnerFailed, UnknownOption
from psidebug.graybox.protocol import Floats, Worlds
from psidebug.task.labels import Codes
from psidebug.task.task import Task

WORTH_STARTING = 4.0
"""Seconds of fits from which it pays to start other processes, which takes one or two."""
KEPT_BYTES = 2**28
THREAD_OPTIONS = ("n_jobs", "nthread", "num_threads", "thread_count")


class Retrain:
    """𝒜 itself: the learner is fitted again in every world, once per world however often it is asked about.

    ``workers`` is the number of processes; None takes as many as there are cores once the fits are worth it.
    """

    name = "retrain"

    def __init__(self, task: Task, *, workers: int | None = None, kept_bytes: int = KEPT_BYTES) -> None:
        if workers is not None and (not isinstance(workers, int) or workers < 1):
            raise UnknownOption(f"workers takes a number of processes from 1, or None, not {workers!r}.")
        self._task = _one_threaded(task)
        self._workers = workers
        self._rivals = task.encoding.size - 1
        self._known: OrderedDict[bytes, Floats] = OrderedDict()
        self._room = max(1, kept_bytes // (8 * len(task.test) * self._rivals))
        self.fits = 0

    def margins(self, worlds: Worlds, points: npt.NDArray[np.intp] | None = None) -> Floats:
        """Margins of the retrained learner. A world with one class only has a constant classifier.

        A class that no label has in some world scores -∞ there. Raises :class:`LearnerFailed`, naming the world, if
        the learner cannot be trained in it.
        """
        watched = slice(None) if points is None else points
        places: dict[bytes, list[int]] = {}
        for place, world in enumerate(worlds):
            places.setdefault(_key(world), []).append(place)
        result = np.empty((len(worlds), len(np.arange(len(self._task.test))[watched]), self._rivals))
        for key in [key for key in places if key in self._known]:
            self._known.move_to_end(key)
            result[places.pop(key)] = self._known[key][watched]
        new = list(places)
        for key, margins in zip(new, self._fitted([worlds[places[key][0]] for key in new]), strict=True):
            result[places[key]] = margins[watched]
            self._known[key] = margins
            if len(self._known) > self._room:
                self._known.popitem(last=False)
        return result

    def _fitted(self, worlds: list[Codes]) -> Iterator[Floats]:
        """Margins (points, K-1) in each world, here or in other processes."""
        workers = self._workers
        with threadpool_limits(limits=1):
            start = time.perf_counter()
            for done, world in enumerate(worlds):
                spent, left = time.perf_counter() - start, len(worlds) - done
                if workers is None and done and spent / done * left > WORTH_STARTING:
                    workers = int(joblib.cpu_count())
                if workers is not None and min(workers, left) > 1:
                    yield from self._spread(worlds[done:], workers)
                    return
                self.fits += 1
                yield fitted_margins(self._task, world)

    def _spread(self, worlds: list[Codes], workers: int) -> Iterator[Floats]:
        at_once = 8 * workers
        # Arrays are shared between processes; copied on writing, for learners that refuse read-only ones.
        with joblib.Parallel(n_jobs=workers, mmap_mode="c") as pool:
            for begin in range(0, len(worlds), at_once):
                some = worlds[begin : begin + at_once]
                self.fits += len(some)
                try:
                    yield from pool(joblib.delayed(fitted_margins)(self._task, world) for world in some)
                except pickle.PicklingError:  # a learner that cannot travel is trained at home
                    yield from (fitted_margins(self._task, world) for world in some)


def fitted_margins(task: Task, world: Codes) -> Floats:
    """Margins (points, K-1) on the test set of the learner trained in one world."""
    test, rivals = task.test, task.encoding.size - 1
    if (world == world[0]).all():
        return np.repeat(np.where(test.codes == world[0], 1.0, -1.0)[:, None], rivals, axis=1)
    with threadpool_limits(limits=1):
        try:
            return task.margins(task.refit(world), test)
        except LearnerFailed as error:
            raise LearnerFailed(f"{error}. That was {_named(task, world)}.") from error


def _named(task: Task, world: Codes) -> str:
    moved = np.flatnonzero(world != task.train.codes)
    if len(moved) == 0:
        return "with the labels as given"
    shown = ", ".join(f"{task.rows[row]} → {task.encoding.classes[world[row]]!r}" for row in moved[:5].tolist()) + (
        f" and {len(moved) - 5} more" if len(moved) > 5 else ""
    )
    return f"in the world where {len(moved)} of {len(world)} labels differ ({shown})"


def _one_threaded(task: Task) -> Task:
    """The task with a learner that uses one thread, whatever its options say."""
    options = task.learner.get_params()
    threaded = [key for key in options if key.split("__")[-1] in THREAD_OPTIONS and options[key] != 1]
    return task.with_options(**dict.fromkeys(threaded, 1)) if threaded else task


def _key(world: Codes) -> bytes:
    return hashlib.blake2b(np.ascontiguousarray(world, dtype=np.int32).tobytes(), digest_size=16).digest()
