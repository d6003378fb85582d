"""Losses by what leaves need of them: gradient, Hessian, and how both move with the scores.

With weights a_i and weighted labels W_ic (see ``weighting``) and scores f_ic, every leaf l of a tree in column c has

    G_l = Σ_{i∈l} g_ic,   g_ic = a_i p_ic - W_ic,        H_l = Σ_{i∈l} h_ic,   h_ic = κ a_i q_ic,
    value  s_l = -ρ G_l / (H_l + λ).

p = p(f) is the link, q its curvature: log loss has p = 1/(1+e^-f) or softmax and q = p(1-p); the mean (forests) has
p = 0, q = 1, so that s_l is the weighted mean of the labels. Arrays are (columns, rows, worlds).

Scores are carried from round to round as x, from which p is cheap: x = f, or x = e^-f for the sigmoid, where adding
leaf values is a product with as many exponentials as there are leaves instead of rows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt

from psidebug.graybox.protocol import Floats

Leaves = npt.NDArray[np.integer[Any]]
LARGEST_STEP = 300.0  # e^-s is neither 0 nor infinite, so that no product is 0 · ∞


class Loss(ABC):
    """The link p(f), its curvature q(p), and the Jacobian ∂p/∂f, which is symmetric in the columns; x = f."""

    coupled = False
    """Whether one Newton step is of all columns together (:class:`CoupledSoftmax`)."""

    def __init__(self, scale: float = 1.0) -> None:
        self.scale = scale
        """κ, the library's factor on the Hessian."""

    def carried(self, f: Floats) -> Floats:
        """x(f), a new array."""
        return f.copy()

    def scores(self, x: Floats) -> Floats:
        """f(x)."""
        return x

    def step(self, s: Floats) -> Floats:
        """What values s (leaves, worlds) do to x, ready for :meth:`add`."""
        return s

    def add(self, x: Floats, step: Floats, leaves: Leaves) -> None:
        """From x(f) to x(f + s) for one column (rows, worlds), in place."""
        x += np.take(step, leaves, axis=0)

    @abstractmethod
    def probability(self, x: Floats) -> Floats:
        """p of the scores that x carries."""

    def curvature(self, p: Floats) -> Floats:
        """q(p) = p (1 - p) of the log loss: the diagonal of the Hessian, which is all that libraries use of it."""
        return p - p * p

    def curvature_slope(self, p: Floats) -> Floats:
        """∂q/∂p."""
        return 1.0 - 2.0 * p

    @abstractmethod
    def moved(self, p: Floats, change: Floats) -> Floats:
        """(∂p/∂f) · change: a change of the scores to one of p, or, being symmetric, a pull on p to one on f."""


class Sigmoid(Loss):
    """Log loss of two classes with one column of scores, carried as e^-f."""

    def carried(self, f: Floats) -> Floats:
        """e^-f."""
        with np.errstate(over="ignore"):
            return np.asarray(np.exp(-f))

    def scores(self, x: Floats) -> Floats:
        """-log x."""
        with np.errstate(divide="ignore"):
            return np.asarray(-np.log(x))

    def step(self, s: Floats) -> Floats:
        """e^-s."""
        return np.asarray(np.exp(-np.clip(s, -LARGEST_STEP, LARGEST_STEP)))

    def add(self, x: Floats, step: Floats, leaves: Leaves) -> None:
        """x e^-s."""
        with np.errstate(over="ignore"):
            x *= np.take(step, leaves, axis=0)

    def probability(self, x: Floats) -> Floats:
        """1 / (1 + x)."""
        p = x + 1.0
        return np.divide(1.0, p, out=p)

    def moved(self, p: Floats, change: Floats) -> Floats:
        """p (1 - p) · change."""
        return (p - p * p) * change


class Softmax(Loss):
    """Log loss of K classes with K columns of scores."""

    def probability(self, x: Floats) -> Floats:
        """e^x_c / Σ_j e^x_j."""
        p = np.exp(x - x.max(axis=0, keepdims=True))
        p /= p.sum(axis=0, keepdims=True)
        return np.asarray(p)

    def moved(self, p: Floats, change: Floats) -> Floats:
        """p_c (change_c - Σ_j p_j change_j)."""
        return np.asarray(p * (change - (p * change).sum(axis=0, keepdims=True)))


class CoupledSoftmax(Softmax):
    """Log loss of K classes by a library whose Newton step uses the whole Hessian M(p) = diag p - p pᵀ of a row."""

    coupled = True

    def pressed(self, p: Floats, d: Floats) -> Floats:
        """M(p) d."""
        return self.moved(p, d)

    def pressed_moved(self, p: Floats, change: Floats, d: Floats) -> Floats:
        """What a change of p does to M(p) d, d held."""
        return np.asarray(change * (d - (p * d).sum(axis=0)) - p * (change * d).sum(axis=0))

    def pressed_pull(self, p: Floats, pull: Floats, d: Floats) -> Floats:
        """The transpose: a pull on M(p) d as one on p."""
        return np.asarray((d - (p * d).sum(axis=0)) * pull - d * (p * pull).sum(axis=0))


class Mean(Loss):
    """Leaf values are weighted means of the labels: single trees and forests."""

    def probability(self, x: Floats) -> Floats:
        """0: the labels are averaged as they are."""
        return np.zeros_like(x)

    def curvature(self, p: Floats) -> Floats:
        """1: every row counts by its weight."""
        return np.ones_like(p)

    def curvature_slope(self, p: Floats) -> Floats:
        """0."""
        return np.zeros_like(p)

    def moved(self, p: Floats, change: Floats) -> Floats:
        """0: no tree sees another."""
        return np.zeros_like(p)
