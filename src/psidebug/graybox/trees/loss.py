"""Losses by what leaves need of them: gradient, Hessian, and how both move with the scores.

With weights a_i and weighted labels W_ic (see ``weighting``) and scores f_ic, every leaf l of a tree in column c has

    G_l = Σ_{i∈l} g_ic,   g_ic = a_i p_ic - W_ic,        H_l = Σ_{i∈l} h_ic,   h_ic = κ a_i q_ic,
    value  s_l = -ρ G_l / (H_l + λ).

p = p(f) is the link, q its curvature: log loss has p = 1/(1+e^-f) or softmax and q = p(1-p); the mean (forests) has
p = 0, q = 1, so that s_l is the weighted mean of the labels. Arrays are (columns, rows, worlds).
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from psidebug.graybox.protocol import Floats


class Loss(Protocol):
    """The link p(f), its curvature q(p), and the Jacobian ∂p/∂f, which is symmetric in the columns."""

    scale: float
    """κ, the library's factor on the Hessian."""

    def probability(self, f: Floats) -> Floats:
        """p(f)."""
        ...

    def curvature(self, p: Floats) -> Floats:
        """q(p)."""
        ...

    def curvature_slope(self, p: Floats) -> Floats:
        """∂q/∂p."""
        ...

    def moved(self, p: Floats, change: Floats) -> Floats:
        """(∂p/∂f) · change: a change of the scores to one of p, or, being symmetric, a pull on p to one on f."""
        ...


class Sigmoid:
    """Log loss of two classes with one column of scores."""

    def __init__(self, scale: float = 1.0) -> None:
        self.scale = scale

    def probability(self, f: Floats) -> Floats:
        """1 / (1 + e^-f), in place of one temporary."""
        p = np.negative(f)
        with np.errstate(over="ignore"):
            np.exp(p, out=p)
        p += 1.0
        return np.reciprocal(p, out=p)

    def curvature(self, p: Floats) -> Floats:
        """p (1 - p)."""
        return p - p * p

    def curvature_slope(self, p: Floats) -> Floats:
        """1 - 2p."""
        return 1.0 - 2.0 * p

    def moved(self, p: Floats, change: Floats) -> Floats:
        """p (1 - p) · change."""
        return (p - p * p) * change


class Softmax:
    """Log loss of K classes with K columns of scores; the Hessian is the diagonal one that libraries use."""

    def __init__(self, scale: float = 1.0) -> None:
        self.scale = scale

    def probability(self, f: Floats) -> Floats:
        """e^f_c / Σ_j e^f_j."""
        p = np.exp(f - f.max(axis=0, keepdims=True))
        p /= p.sum(axis=0, keepdims=True)
        return np.asarray(p)

    def curvature(self, p: Floats) -> Floats:
        """p (1 - p)."""
        return p - p * p

    def curvature_slope(self, p: Floats) -> Floats:
        """1 - 2p."""
        return 1.0 - 2.0 * p

    def moved(self, p: Floats, change: Floats) -> Floats:
        """p_c (change_c - Σ_j p_j change_j)."""
        return np.asarray(p * (change - (p * change).sum(axis=0, keepdims=True)))


class Mean:
    """Leaf values are weighted means of the labels: single trees and forests."""

    scale = 1.0

    def probability(self, f: Floats) -> Floats:
        """0: the labels are averaged as they are."""
        return np.zeros_like(f)

    def curvature(self, p: Floats) -> Floats:
        """1: every row counts by its weight."""
        return np.ones_like(p)

    def curvature_slope(self, p: Floats) -> Floats:
        """0."""
        return np.zeros_like(p)

    def moved(self, p: Floats, change: Floats) -> Floats:
        """0: no tree sees another."""
        return np.zeros_like(p)
