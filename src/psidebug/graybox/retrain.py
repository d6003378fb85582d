"""Retraining as a gray box: slow and exact, for any classifier; the reference for all others."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from psidebug.graybox.protocol import Floats, Worlds
from psidebug.task import Task


class Retrain:
    """𝒜 itself: the learner is fitted again in every world, once per world however often it is asked about."""

    name = "retrain"

    def __init__(self, task: Task) -> None:
        self._task = task
        self._known: dict[bytes, Floats] = {}

    def margins(self, worlds: Worlds, points: npt.NDArray[np.intp] | None = None) -> Floats:
        """Margins of the retrained learner. A world with one class only has a constant classifier."""
        watched = slice(None) if points is None else points
        return np.stack([self._margins(world)[watched] for world in worlds]) if len(worlds) else self._nothing(watched)

    def _margins(self, world: npt.NDArray[np.intp]) -> Floats:
        key = world.astype(np.int32).tobytes()
        if key not in self._known:
            self._known[key] = self._fitted_margins(world)
        return self._known[key]

    def _fitted_margins(self, world: npt.NDArray[np.intp]) -> Floats:
        test, rivals = self._task.test, self._task.encoding.size - 1
        if (world == world[0]).all():
            return np.repeat(np.where(test.codes == world[0], 1.0, -1.0)[:, None], rivals, axis=1)
        return self._task.margins(self._task.refit(world), test)

    def _nothing(self, watched: slice | npt.NDArray[np.intp]) -> Floats:
        points = np.arange(len(self._task.test))[watched]
        return np.empty((0, len(points), self._task.encoding.size - 1))
