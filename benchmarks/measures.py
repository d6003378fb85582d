"""How good a ranking of training rows is, when the wrong ones among them are known.

``order`` has positions of rows, most suspicious first; rows that it leaves out are never found. ``wrong`` says of every
row whether its label is wrong, n of them. With w_k = 1 where the k-th row of the order is wrong, else 0:

    precision after k rows   P(k) = (w_1 + … + w_k) / k
    P@n                      P(n)
    average precision        (1/n) Σ_k w_k P(k)
    share found after k      (w_1 + … + w_k) / n

Where n = 0 there is nothing to find and every measure is None.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Order = npt.NDArray[np.intp]
Mask = npt.NDArray[np.bool_]

LOOKED_AT = (0.01, 0.05, 0.10, 0.20)
"""Shares of the rows that a person looks at, for the detection curve."""


def order_of(scores: npt.NDArray[np.float64]) -> Order:
    """All rows, highest score first; rows with the same score in the order they came in."""
    return np.argsort(-scores, kind="stable")


def average_precision(order: Order, wrong: Mask) -> float | None:
    """(1/n) Σ_k w_k P(k): the mean, over the wrong rows, of the precision where each is found."""
    n = int(wrong.sum())
    if n == 0:
        return None
    hits = wrong[order]
    precision = np.cumsum(hits) / np.arange(1, len(hits) + 1)
    return float(precision[hits].sum() / n)


def precision_at_n(order: Order, wrong: Mask) -> float | None:
    """P(n): the share of wrong rows among the first n, which is also the share of wrong rows that are found."""
    n = int(wrong.sum())
    return float(wrong[order[:n]].sum() / n) if n else None


def detection_curve(order: Order, wrong: Mask, looked_at: Sequence[float] = LOOKED_AT) -> list[float] | None:
    """Share of the wrong rows found after looking at these shares of all rows (rounded up to whole rows)."""
    n = int(wrong.sum())
    if n == 0:
        return None
    return [float(wrong[order[: int(np.ceil(share * len(wrong)))]].sum() / n) for share in looked_at]
