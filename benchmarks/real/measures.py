"""How well ``p_wrong`` is stated, when the wrong labels are known.

For rows i with p_i = p_wrong and w_i = 1 where the label is wrong, else 0:

    stated rate                  (1/N) Σ_i p_i, beside the true rate (1/N) Σ_i w_i
    F1 at ½                      2 TP / (2 TP + FP + FN), where p_i > ½ says "wrong"
    expected calibration error   Σ_b (n_b / N) |mean of p in b - mean of w in b|, over ten bins b of equal width
    won back                     (given - after) / (given - clean), of errors of the model
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from benchmarks.measures import Mask
from benchmarks.real.loaders import Floats

BINS = 10


class Bin(NamedTuple):
    """A point of the reliability curve: what is stated of the rows of a bin, and how many of them are wrong."""

    rows: int
    stated: float
    wrong: float


def f1(p_wrong: Floats, wrong: Mask) -> float:
    """F1 of the rows with p_wrong above ½; 0 where there is nothing on either side."""
    said = p_wrong > 0.5
    return float(2 * (said & wrong).sum() / max(1, said.sum() + wrong.sum()))


def reliability(p_wrong: Floats, wrong: Mask, bins: int = BINS) -> dict[int, Bin]:
    """The bins that have rows, by number; bin b has b/10 ≤ p < (b+1)/10, the last one also p = 1."""
    which = np.minimum((p_wrong * bins).astype(np.intp), bins - 1)
    return {
        int(b): Bin(int((which == b).sum()), float(p_wrong[which == b].mean()), float(wrong[which == b].mean()))
        for b in np.unique(which)
    }


def calibration_error(p_wrong: Floats, wrong: Mask, bins: int = BINS) -> float:
    """Σ_b (n_b / N) |stated - wrong|."""
    return sum(each.rows * abs(each.stated - each.wrong) for each in reliability(p_wrong, wrong, bins).values()) / len(
        wrong
    )


def won_back(clean: float, given: float, after: float, *, least: float = 1e-9) -> float | None:
    """The share of the lost accuracy that is there again; None where wrong labels have cost nothing."""
    return (given - after) / (given - clean) if given - clean > least else None
