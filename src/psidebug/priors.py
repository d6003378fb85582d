"""Priors p_T over worlds: how labels may be wrong.

Labels are independent. Label i keeps its given value y_i with probability 1 - ε_i and moves to class k ≠ y_i with
probability ε_i π_i(k). A world is an array of N codes; many worlds are an array of shape (worlds, N).
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from psidebug.errors import InvalidPrior
from psidebug.margins import sums_of_rows

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.intp]
NOWHERE = "a proposal must leave each label at least one other class to move to."
WORLDS_OF = 4096
"""Labels whose worlds are multiplied at a time: there are soon more than a number can say."""


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
    def classes(self) -> int:
        """K, the number of classes."""
        return int(self.moves.shape[1])

    @cached_property
    def worlds(self) -> float:
        """How many worlds have positive probability: Π_i |{k: p_i(k) > 0}|, exact below 2^53.

        In floating point, so that 2^N worlds of a million labels are ∞ and not an integer of a million bits.
        """
        worlds = 1.0
        with np.errstate(over="ignore"):
            for start in range(0, self.size, WORLDS_OF):
                worlds *= float(np.prod((self.moves[start : start + WORLDS_OF] > 0).sum(axis=1), dtype=np.float64))
                if worlds == np.inf:
                    break
        return worlds

    @cached_property
    def rates(self) -> Floats:
        """ε_i, the probability that label i differs from the given one."""
        return over_alternatives(self.at_alternatives(self.moves))

    @cached_property
    def alternatives(self) -> Codes:
        """The K-1 classes other than the given one, in order: shape (K-1, N)."""
        ranks = np.arange(self.classes - 1)[:, None]
        return np.asarray(ranks + (ranks >= self.given))

    @cached_property
    def proposals(self) -> Floats:
        """π_i over the alternatives, shape (K-1, N); 0 for a label that never moves."""
        if self.classes == 2:
            return (self.rates > 0).astype(np.float64)[None]
        moves = self.at_alternatives(self.moves)
        return np.divide(moves, self.rates, out=np.zeros_like(moves), where=self.rates > 0)

    def at_alternatives(self, table: Floats) -> Floats:
        """The entries of an (N, K) table at the alternatives, shape (K-1, N): every alternative is one long row."""
        if self.classes == 2:
            return np.where(self.given == 0, table[:, 1], table[:, 0])[None]
        return np.take_along_axis(table.T, self.alternatives, axis=0)

    def draw(self, count: int, rng: np.random.Generator) -> Codes:
        """``count`` worlds, by inverting the cumulative distribution of each label."""
        uniform = rng.random((count, self.size))
        steps = np.cumsum(self.moves, axis=1)
        world = np.zeros((count, self.size), dtype=np.intp)
        for k in range(self.classes - 1):
            world += uniform >= steps[:, k]
        return world

    def log_probability(self, worlds: Codes) -> Floats:
        """log p_T(w) of each world."""
        with np.errstate(divide="ignore"):
            log_moves = np.log(self.moves)
        return np.asarray(log_moves[np.arange(self.size), worlds].sum(axis=1))

    def sparing(self, known: npt.NDArray[np.bool_] | None) -> Prior:
        """The prior under which these labels (N,) never move, since they are facts."""
        if known is None:
            return self
        return Prior(self.given, np.where(known[:, None], np.eye(self.classes)[self.given], self.moves))

    def carried(self, codes: Codes) -> Prior:
        """The prior after some labels were corrected: what may be wrong, how often, and in which direction, stays.

        Of a label that is another one now the rate stays, at most one half, and it moves to the other classes in
        proportion to what was thought of each; most often back.
        """
        changed = codes != self.given
        if not changed.any():
            return self
        rates = np.minimum(self.rates[changed], 0.5)
        moves = self.moves.copy()
        moves[changed] = noise(codes[changed], self.classes, rates, self.moves[changed]).moves
        return Prior(codes, moves)

    def tilted(self, exponents: Floats) -> Prior:
        """The prior with label i's class k made exp(exponents[i, k]) times as likely, then normalised."""
        with np.errstate(divide="ignore"):
            logits = np.log(self.moves) + exponents
        weights = np.exp(logits - logits.max(axis=1, keepdims=True))
        return Prior(self.given, weights / weights.sum(axis=1, keepdims=True))


def over_alternatives(table: Floats) -> Floats:
    """The sum over the first axis of a (K-1, N) table; with two classes that is its only row, and not copied."""
    return table[0] if len(table) == 1 else np.asarray(table.sum(axis=0))


def noise(given: Codes, classes: int, rate: float | npt.ArrayLike, proposal: npt.ArrayLike | None = None) -> Prior:
    """Labels wrong at a rate: one number ε for all rows, or one per row.

    ``proposal`` says where a wrong label moves: a (K, K) table by given class or an (N, K) table by row; uniform over
    the other classes when left out. Its entry for the given class is ignored.
    """
    given = np.asarray(given)
    if given.ndim != 1 or given.dtype.kind not in "iu" or np.any((given < 0) | (given >= classes)):
        raise InvalidPrior(f"the given labels are codes 0 to {classes - 1}, one whole number per training row.")
    given = given.astype(np.intp, copy=False)
    try:
        rates = np.asarray(rate, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidPrior(f"a noise rate is a number such as 0.05, not {rate!r}.") from None
    if rates.ndim > 1 or (rates.ndim == 1 and len(rates) != len(given)):
        raise InvalidPrior(
            f"a prior is one noise rate, or one per training row: got shape {rates.shape} for {len(given)} rows."
        )
    if not np.all(np.isfinite(rates)) or np.any(rates < 0) or np.any(rates >= 1):
        raise InvalidPrior("a noise rate is a probability of at least 0 and below 1 (for instance 0.05).")
    moves = _proposals(given, classes, proposal) * np.broadcast_to(rates, given.shape)[:, None]
    moves[np.arange(len(given)), given] = np.maximum(1.0 - sums_of_rows(moves), np.finfo(np.float64).tiny)
    return Prior(given, moves)


def noise_by_group(
    given: Codes, classes: int, groups: Sequence[Hashable], rates: Mapping[Hashable, float], *, otherwise: float
) -> Prior:
    """One noise rate for each value of a column (annotator, source); ``otherwise`` for values without one."""
    if len(groups) != len(given):
        raise InvalidPrior(f"the column that gives the noise rates has {len(groups)} values for {len(given)} rows.")
    unknown = set(rates) - set(groups)
    if unknown:
        raise InvalidPrior(
            f"a noise rate is given for {sorted(map(repr, unknown))[0]}, which the column never has: it has "
            f"{', '.join(sorted(map(repr, set(groups)))[:6])}."
        )
    return noise(given, classes, np.array([rates.get(group, otherwise) for group in groups], dtype=np.float64))


def _proposals(given: Codes, classes: int, proposal: npt.ArrayLike | None) -> Floats:
    if classes < 2:
        raise InvalidPrior(NOWHERE)
    if proposal is None:
        targets = np.full((len(given), classes), 1.0 / (classes - 1))
        targets[np.arange(len(given)), given] = 0.0
        return targets
    table = np.asarray(proposal, dtype=np.float64)
    if table.shape not in ((classes, classes), (len(given), classes)):
        raise InvalidPrior(
            f"a proposal is a table of {classes} × {classes} by given class, or {len(given)} × {classes} by row: "
            f"got shape {table.shape}."
        )
    if not np.all(np.isfinite(table)) or np.any(table < 0):
        raise InvalidPrior("a proposal holds probabilities: numbers of at least 0.")
    targets = (table[given] if table.shape == (classes, classes) else table).copy()
    targets[np.arange(len(given)), given] = 0.0
    totals = sums_of_rows(targets)
    if np.any(totals <= 0):
        raise InvalidPrior(NOWHERE)
    return np.asarray(targets / totals[:, None])
