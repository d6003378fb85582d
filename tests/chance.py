"""How often chance may fail a test: a budget that the test states, and what a count may be within it."""

from __future__ import annotations

from scipy.stats import binom


def allowed(draws: int, rate: float, budget: float) -> int:
    """The smallest m with P(Bin(draws, rate) > m) ≤ budget.

    The rate is the one that is claimed, or, where far less happens than is claimed, one that was measured.
    """
    return next(m for m in range(draws + 1) if binom.sf(m, draws, rate) <= budget)
