"""What every gray box offers: labels in, for many worlds at once; margins of the test points out."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Worlds = npt.NDArray[np.intp]


class GrayBox(Protocol):
    """Labels → margins."""

    name: str

    def margins(self, worlds: Worlds, points: npt.NDArray[np.intp] | None = None) -> Floats:
        """Margins (worlds, points, K-1) of these test points, or of all, in each world (worlds, N)."""
        ...


@runtime_checkable
class LinearGrayBox(GrayBox, Protocol):
    """A gray box whose margins are linear in the labels: m_tr(w) = m_tr + Σ_i c_tri(w_i)."""

    actual: Floats
    """Margins m_tr (points, K-1) of the learner as it is."""

    def effects(self, weights: Floats) -> Floats:
        """Σ_tr u_tr c_tri(k), shape (N, K): what moving label i to class k adds to the weighted margins.

        Nothing of size points × N is built; the effect of the given label is 0.
        """
        ...
