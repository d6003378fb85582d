"""What sample statements draw from: discrete distributions whose values an engine can list.

Worlds are drawn by engines, from the prior itself (``Prior.draw``): nothing is drawn inside a program.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from psidebug.priors import Floats, Prior

Array = npt.NDArray[Any]
BLOCK = 2**14
"""Values listed at once."""


class Distribution(Protocol):
    """A distribution over values, or over values for label i."""

    @property
    def about_index(self) -> bool:
        """Whether it depends on the index i."""

    def support_size(self, index: int | None) -> float:
        """Number of values of positive probability; ∞ where floating point cannot hold it."""

    def support(self, index: int | None) -> Iterator[tuple[Array, Floats]]:
        """Every value of positive probability with its probability, in blocks."""


@dataclass(frozen=True, eq=False)
class Labels:
    """p_T: the labels of a world."""

    prior: Prior
    name: str = "p_T"
    about_index = False

    def support_size(self, index: int | None) -> float:
        """Number of worlds of positive probability."""
        return self.prior.worlds

    def support(self, index: int | None) -> Iterator[tuple[Array, Floats]]:
        """Every world of positive probability."""
        options = [np.flatnonzero(row > 0) for row in self.prior.moves]
        count = int(self.prior.worlds)
        for first in range(0, count, BLOCK):
            number = np.arange(first, min(first + BLOCK, count))
            worlds = np.empty((len(number), self.prior.size), dtype=np.intp)
            for label, choices in enumerate(options):
                number, digit = np.divmod(number, len(choices))
                worlds[:, label] = choices[digit]
            yield worlds, np.exp(self.prior.log_probability(worlds))

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, eq=False)
class Alternative:
    """π_i: the class of label i, given that it is not the given one."""

    prior: Prior
    about_index = True

    def support_size(self, index: int | None) -> int:
        """Number of classes that label i may move to."""
        return len(self._table(index)[0])

    def support(self, index: int | None) -> Iterator[tuple[Array, Floats]]:
        """The classes that label i may move to."""
        yield self._table(index)

    def _table(self, index: int | None) -> tuple[npt.NDArray[np.intp], Floats]:
        if index is None:
            raise ValueError("π_i is about label i: say which")
        possible = self.prior.proposals[:, index] > 0
        return self.prior.alternatives[possible, index], self.prior.proposals[possible, index]

    def __str__(self) -> str:
        return "π_i"
