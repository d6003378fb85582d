"""Retraining as a gray box: slow and exact, for any classifier; the reference for all others.

Every fit has one thread, the learner's own ``n_jobs`` included, and worlds are spread over processes instead: sums
depend on the number of threads in the last digit, so the answer is the same for any number of workers.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from psidebug.changes import Relabel
from psidebug.errors import LearnerFailed, UnknownOption
from psidebug.graybox.protocol import Floats, Worlds
from psidebug.task.labels import Codes
from psidebug.task.task import Task
from psidebug.training.backends import Here, Processes, WhenItPays
from psidebug.training.trainer import KEPT_BYTES, Trainer


class Retrain:
    """𝒜 itself: the learner is fitted again in every world, once per world however often it is asked about.

    ``workers`` is the number of processes; None takes as many as there are cores once the fits are worth it.
    """

    name = "retrain"

    def __init__(self, task: Task, *, workers: int | None = None, kept_bytes: int = KEPT_BYTES) -> None:
        if workers is not None and (not isinstance(workers, int) or workers < 1):
            raise UnknownOption(f"workers takes a number of processes from 1, or None, not {workers!r}.")
        backend = WhenItPays() if workers is None else Here() if workers == 1 else Processes(workers)
        if task.data.validation is not None:  # nobody asks a gray box about those rows
            task = replace(task, data=replace(task.data, validation=None))
        if task.whole is not None:  # what a user gives to train a net with may not travel to other processes
            task = replace(task, whole=None)
        self._task = task
        self._trainer = Trainer(task, backend=backend, one_thread=True, kept_bytes=kept_bytes)

    @property
    def fits(self) -> int:
        """How many there were."""
        return self._trainer.fits

    def margins(self, worlds: Worlds, points: npt.NDArray[np.intp] | None = None) -> Floats:
        """Margins of the retrained learner. A world with one class only has a constant classifier.

        A class that no label has in some world scores -∞ there. Raises :class:`LearnerFailed`, naming the world, if
        the learner cannot be trained in it.
        """
        watched = slice(None) if points is None else points
        constant = (worlds == worlds[:, :1]).all(axis=1)
        trained = self._trainer.trained_each([Relabel.of(self._task.data, world) for world in worlds[~constant]])
        answers = []
        for world, alike in zip(worlds, constant.tolist(), strict=True):
            try:
                answers.append((self._constant(world[0]) if alike else next(trained).test)[watched])
            except LearnerFailed as error:
                raise LearnerFailed(f"{error}. That was {_named(self._task, world)}.") from error
        shape = (0, len(np.arange(len(self._task.test))[watched]), self._task.encoding.size - 1)
        return np.stack(answers) if answers else np.empty(shape)

    def _constant(self, code: int) -> Floats:
        """Margins of a classifier that knows one class."""
        right = np.where(self._task.test.codes == code, 1.0, -1.0)
        return np.repeat(right[:, None], self._task.encoding.size - 1, axis=1)


def _named(task: Task, world: Codes) -> str:
    moved = np.flatnonzero(world != task.train.codes)
    if len(moved) == 0:
        return "with the labels as given"
    shown = ", ".join(f"{task.rows[row]} → {task.encoding.classes[world[row]]!r}" for row in moved[:5].tolist()) + (
        f" and {len(moved) - 5} more" if len(moved) > 5 else ""
    )
    return f"in the world where {len(moved)} of {len(world)} labels differ ({shown})"
