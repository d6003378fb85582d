"""The mean over several nets, trained alike but for chance: a label's effect is what they agree on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from psidebug.graybox.protocol import Floats, LinearGrayBox, Worlds, coefficients_of


class Several:
    """Linear gray boxes of the same rows as one; the margins that it starts from are those of the first."""

    def __init__(self, boxes: Sequence[LinearGrayBox]) -> None:
        self._boxes = tuple(boxes)
        self.name = self._boxes[0].name
        self.actual: Floats = self._boxes[0].actual

    @property
    def notes(self) -> tuple[str, ...]:
        """Those of the first."""
        return (*getattr(self._boxes[0], "notes", ()), f"effects are the mean over {len(self._boxes)} nets")

    def effects(self, weights: Floats) -> Floats:
        """The mean of theirs, shape (N, K)."""
        return np.asarray(np.mean([each.effects(weights) for each in self._boxes], axis=0))

    def coefficients(self, points: npt.NDArray[np.intp]) -> Floats:
        """The mean of theirs, shape (K, points, K-1, N)."""
        return np.asarray(np.mean([coefficients_of(each, points) for each in self._boxes], axis=0))

    def margins(self, worlds: Worlds, points: npt.NDArray[np.intp] | None = None) -> Floats:
        """Those of the first, moved by the mean of all moves."""
        chosen = slice(None) if points is None else points
        moved = [each.margins(worlds, points) - each.actual[chosen] for each in self._boxes]
        return np.asarray(self.actual[chosen] + np.mean(moved, axis=0))
