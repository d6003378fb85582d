"""The score before the first tree, and how it follows the labels.

From the class totals S_k (see ``weighting``), with shares π_k = S_k / Σ_j S_j:

    constant   given by the user or by the library, whatever the labels
    log_odds   log π_1 - log π_0              one column
    newton     4 π_1 - 2                      one column: one Newton step from score 0
    log_prior  log π_c                        a column per class
    centred    log π_c - mean_j log π_j       a column per class
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from psidebug.graybox.protocol import Floats

Kind = Literal["constant", "log_odds", "newton", "log_prior", "centred"]
SMALLEST_SHARE = 1e-15


@dataclass(frozen=True, eq=False)
class Start:
    """The first score by its rule; ``value`` (columns,) is the one of the given labels."""

    kind: Kind
    value: Floats

    def scores(self, totals: Floats) -> Floats:
        """f_0 for class totals (K, worlds), shape (columns, worlds)."""
        share = np.clip(totals / totals.sum(axis=0), SMALLEST_SHARE, 1.0)
        logs = np.log(share)
        match self.kind:
            case "constant":
                return np.repeat(self.value[:, None], totals.shape[1], axis=1)
            case "log_odds":
                return np.asarray(logs[1:] - logs[:1])
            case "newton":
                return np.asarray(4.0 * share[1:] - 2.0)
            case "log_prior":
                return np.asarray(logs)
            case "centred":
                return np.asarray(logs - logs.mean(axis=0))

    def slopes(self, totals: Floats) -> Floats:
        """∂f_0/∂S for class totals (K,), shape (columns, K)."""
        size, whole = len(totals), totals.sum()
        share = np.clip(totals / whole, SMALLEST_SHARE, 1.0)
        by_log = np.diag(1.0 / (share * whole))
        match self.kind:
            case "constant":
                return np.zeros((len(self.value), size))
            case "log_odds":
                return np.asarray(by_log[1:] - by_log[:1])
            case "newton":
                return 4.0 * np.array([[-share[1] / whole, (1.0 - share[1]) / whole]])
            case "log_prior":
                return np.asarray(by_log - 1.0 / whole)
            case "centred":
                return np.asarray(by_log - by_log.mean(axis=0))


def recognised(kinds: tuple[Kind, ...], value: Floats, totals: Floats) -> Start:
    """The first of these rules that gives the model's own first score from the given labels; constant otherwise."""
    for kind in kinds:
        rule = Start(kind, value)
        if np.allclose(rule.scores(totals[:, None])[:, 0], value, rtol=1e-5, atol=1e-5):
            return rule
    return Start("constant", value)
