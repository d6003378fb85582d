"""What every gray box offers: labels in, for many worlds at once; margins of the test points out."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Protocol, TypeVar, runtime_checkable

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Worlds = npt.NDArray[np.intp]
Box = TypeVar("Box")


class GrayBox(Protocol):
    """Labels → margins."""

    name: str

    def margins(self, worlds: Worlds, points: npt.NDArray[np.intp] | None = None) -> Floats:
        """Margins (worlds, points, K-1) of these test points, or of all, in each world (worlds, N)."""


@runtime_checkable
class LinearGrayBox(GrayBox, Protocol):
    """A gray box whose margins are linear in the labels: m_tr(w) = m_tr + Σ_i c_tri(w_i)."""

    actual: Floats
    """Margins m_tr (points, K-1) of the learner as it is."""

    def effects(self, weights: Floats) -> Floats:
        """Σ_tr u_tr c_tri(k), shape (N, K): what moving label i to class k adds to the weighted margins.

        Nothing of size points × N is built; the effect of the given label is 0.
        """


def solved_once(effects: Callable[[Box, Floats], Floats]) -> Callable[[Box, Floats], Floats]:
    """The method ``effects`` of a linear gray box, made to remember its last answer, which may not be written to.

    A diagnosis asks for the effects on the log loss three times: for the slices, for PS and for the fidelity. Each
    answer is a linear system solved, or a pass over all trees, for the same weights u_tr = p_tr / |Δ|.
    """

    @wraps(effects)
    def remembering(box: Box, weights: Floats) -> Floats:
        known: tuple[Floats, Floats] | None = vars(box).get("_last_effects")
        if known is None or not np.array_equal(known[0], weights):
            answer = np.asarray(effects(box, weights))
            answer.setflags(write=False)
            known = vars(box)["_last_effects"] = np.array(weights), answer
        return known[1]

    return remembering


def coefficients_of(graybox: LinearGrayBox, points: npt.NDArray[np.intp]) -> Floats:
    """c_tri(k) for these points, shape (K, points, K-1, N): one weighted margin at a time, unless the box is faster."""
    if hasattr(graybox, "coefficients"):
        return np.asarray(graybox.coefficients(points))
    columns = []
    for point in points:
        for rival in range(graybox.actual.shape[1]):
            unit = np.zeros_like(graybox.actual)
            unit[point, rival] = 1.0
            columns.append(graybox.effects(unit).T)
    table = np.stack(columns, axis=1)
    return table.reshape(table.shape[0], len(points), graybox.actual.shape[1], table.shape[2])
