"""Margins, and all that follows from them: rivals, log losses, probabilities, predictions.

A test point t with right class y_t has K-1 rivals, the other classes in order: rival r is class r, or r + 1 from y_t
on. From the scores f_k of the classes,

    m_tr = f_{y_t} - f_r                    margin, the right class's advantage over rival r
    ℓ_t  = log(1 + Σ_r exp(-m_tr))          log loss
    p_tr = exp(-m_tr - ℓ_t)                 probability that the classifier gives to rival r: -∂ℓ_t/∂m_tr

and the point is misclassified where min_r m_tr < 0. Margins are arrays (…, points, K-1), as decision 4 has it.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.intp]

SMOOTHING = 0.01
"""a, what is added to a share of votes or rows before its logarithm."""


def sums_of_rows(table: Floats) -> Floats:
    """Σ_k t_nk (n,). Two classes are added as columns, to the same digit: numpy is slow at many rows of two numbers."""
    return table[:, 0] + table[:, 1] if table.shape[1] == 2 else np.asarray(table.sum(axis=1))


def largest_of_rows(table: Floats) -> Floats:
    """max_k t_nk (n,), in the same way."""
    return np.maximum(table[:, 0], table[:, 1]) if table.shape[1] == 2 else np.asarray(table.max(axis=1))


def rivals_of(right: Codes, classes: int) -> Codes:
    """The classes other than each point's right one, in order, shape (points, K-1)."""
    rival = np.arange(classes - 1)
    return np.asarray(rival + (rival >= right[:, None]))


def margins_of(scores: Floats, right: Codes) -> Floats:
    """m_tr = f_{y_t} - f_r, shape (…, points, K-1), from scores (…, points, K); 0 between two scores of -∞."""
    points = np.arange(len(right))
    own = scores[..., points, right][..., None]
    with np.errstate(invalid="ignore"):
        advantage = own - scores[..., points[:, None], rivals_of(right, scores.shape[-1])]
    return np.asarray(np.where(np.isnan(advantage), 0.0, advantage))


def by_class(weights: Floats, right: Codes) -> Floats:
    """v with Σ_tr u_tr m_tr = Σ_tk v_tk f_tk, shape (points, K): the transpose of :func:`margins_of`.

    v_t = Σ_r u_tr (e_{y_t} - e_r) for weights u (points, K-1).
    """
    points = np.arange(len(right))
    classes = weights.shape[1] + 1
    signed = np.zeros((len(right), classes))
    signed[points[:, None], rivals_of(right, classes)] = -weights
    signed[points, right] = weights.sum(axis=1)
    return signed


def with_signs(margins: Floats, wrong: npt.NDArray[np.bool_]) -> Floats:
    """Margins (points, K-1) whose sign is that of the learner's own predictions, ties included.

    Where it breaks a tie against the right class, the margin is the smallest negative number; where for it, 0.
    """
    margins = margins.copy()
    disagree = np.flatnonzero(wrong != is_wrong(margins))
    nearest = margins[disagree].argmin(axis=1)
    margins[disagree, nearest] = np.where(wrong[disagree], -np.finfo(np.float64).tiny, 0.0)
    right = disagree[~wrong[disagree]]
    margins[right] = np.maximum(margins[right], 0.0)
    return margins


def is_wrong(margins: Floats) -> npt.NDArray[np.bool_]:
    """Which points are misclassified: min_r m_tr < 0."""
    return np.asarray(margins.min(axis=-1) < 0)


def best_rival(margins: Floats, right: Codes) -> Codes:
    """The class with the highest score beside the right one, for margins (points, K-1)."""
    rival = margins.argmin(axis=1)
    return np.asarray(rival + (rival >= right))


def predicted_by(margins: Floats, right: Codes) -> Codes:
    """The classes that a model of these margins (points, K-1) predicts: the best rival where it is ahead."""
    return np.where(is_wrong(margins), best_rival(margins, right), right)


def log_losses(margins: Floats) -> Floats:
    """ℓ_t = log(1 + Σ_r exp(-m_tr)), shape (…, points), without overflow."""
    largest = np.maximum(-margins.min(axis=-1), 0.0)
    finite = np.where(np.isfinite(largest), largest, 0.0)
    with np.errstate(over="ignore"):
        return np.asarray(finite + np.log(np.exp(-finite) + np.exp(-margins - finite[..., None]).sum(axis=-1)))


def rival_probabilities(margins: Floats) -> Floats:
    """p_tr = exp(-m_tr - ℓ_t), of the same shape as the margins."""
    return np.asarray(np.exp(-margins - log_losses(margins)[..., None]))


def loss_weights(margins: Floats) -> Floats:
    """u_tr = p_tr / |Δ|, what the mean log loss of the points falls by for each unit of m_tr, shape (points, K-1)."""
    return rival_probabilities(margins) / len(margins)


def log_shares(shares: Floats) -> Floats:
    """log((p + a) / (1 + K a)), a = 0.01, of shares p of votes or of training rows over the last axis of K classes.

    A share of exactly 0 says that no such row was seen, not that there is none: its own logarithm would let a few such
    points decide the log loss. The order of the classes stays, and with it the prediction.
    """
    return np.asarray(np.log((shares + SMOOTHING) / (1.0 + shares.shape[-1] * SMOOTHING)))
