"""Priors p_T over worlds: how labels may be wrong.

Labels are independent. Label i keeps its given value y_i with probability 1 - ε_i and moves to class k ≠ y_i with
probability ε_i π_i(k). A world is an array of N codes; many worlds are an array of shape (worlds, N).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from psidebug.errors import InvalidPrior

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Prior:
    """p_T as a table: ``moves[i, k]`` is the probability that label i is class k."""

    given: Codes
    moves: Floats

    @property
    def size(self) -> int:
        """N, the number of labels."""
        return len(self.given)

    @property
    def rates(self) -> Floats:
        """ε_i, the probability that label i differs from the given one."""
        others = self.moves.copy()
        others[np.arange(self.size), self.given] = 0.0
        return np.asarray(others.sum(axis=1))

    def draw(self, count: int, rng: np.random.Generator) -> Codes:
        """``count`` worlds, by inverting the cumulative distribution of each label."""
        uniform = rng.random((count, self.size))
        steps = np.cumsum(self.moves, axis=1)
        world = np.zeros((count, self.size), dtype=np.intp)
        for k in range(self.moves.shape[1] - 1):
            world += uniform >= steps[:, k]
        return world

    def log_probability(self, worlds: Codes) -> Floats:
        """log p_T(w) of each world."""
        with np.errstate(divide="ignore"):
            log_moves = np.log(self.moves)
        return np.asarray(log_moves[np.arange(self.size), worlds].sum(axis=1))


def noise(given: Codes, classes: int, rate: float | npt.ArrayLike, proposal: npt.ArrayLike | None = None) -> Prior:
    """Labels wrong at a rate: one number ε for all rows, or one per row.

    ``proposal`` says where a wrong label moves: a (K, K) table by given class or an (N, K) table by row; uniform over
    the other classes when left out. Its entry for the given class is ignored.
    """
    rates = np.asarray(rate, dtype=np.float64)
    if rates.ndim > 1 or (rates.ndim == 1 and len(rates) != len(given)):
        raise InvalidPrior(
            f"a prior is one noise rate, or one per training row: got shape {rates.shape} for {len(given)} rows."
        )
    if not np.all(np.isfinite(rates)) or np.any(rates < 0) or np.any(rates >= 1):
        raise InvalidPrior("a noise rate is a probability of at least 0 and below 1 (for instance 0.05).")
    targets = _proposals(given, classes, proposal)
    moves = targets * np.broadcast_to(rates, given.shape)[:, None]
    moves[np.arange(len(given)), given] = 1.0 - moves.sum(axis=1)
    return Prior(given, moves)


def _proposals(given: Codes, classes: int, proposal: npt.ArrayLike | None) -> Floats:
    rows = np.arange(len(given))
    if proposal is None:
        targets = np.full((len(given), classes), 1.0)
    else:
        table = np.asarray(proposal, dtype=np.float64)
        if table.shape not in ((classes, classes), (len(given), classes)):
            raise InvalidPrior(
                f"a proposal is a table of {classes} × {classes} by given class, or {len(given)} × {classes} by row: "
                "got "
                f"shape {table.shape}."
            )
        if not np.all(np.isfinite(table)) or np.any(table < 0):
            raise InvalidPrior("a proposal holds probabilities: numbers of at least 0.")
        targets = (table[given] if table.shape == (classes, classes) else table).copy()
    targets[rows, given] = 0.0
    totals = targets.sum(axis=1)
    if np.any(totals <= 0):
        raise InvalidPrior("a proposal must leave each label at least one other class to move to.")
    return np.asarray(targets / totals[:, None])
