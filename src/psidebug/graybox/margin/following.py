"""Hinges, followed: what each single label does to the scores, every row going on to its corner and off it as it must.

With the corner of the hinge rounded over 1 ± h (:mod:`losses`) the best fit answers to a force ρ on row i by

    z(ρ) = z + ∫ R(·, i) dρ,

and R is constant until the first row m reaches an end of its corner. There the row's curvature w = ±C/2h comes in or
goes out, R ← R - w R(·, m) R(m, ·) / (1 + w R(m, m)), and the path goes on. It ends where ρ is the force that the new
label has at the row's own score. Nothing is held: one path is the fit that retraining would make, but for the corner.

All of it costs a sweep over all rows for each of some ten ends that a path meets, and (N, N) numbers. So it is done for
``MOST_WORK`` at most; the linear form (:mod:`box`) is for more.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
from scipy.optimize import brentq

from psidebug.errors import NoBestFit
from psidebug.graybox.margin.losses import Hinge, Loss
from psidebug.graybox.margin.response import eliminated
from psidebug.graybox.protocol import Floats

CORNER = 0.05
"""h. A narrower one follows single labels better (0.02), a wider one groups of them (0.1); chosen on seeds 0 to 3."""
MOST_WORK = 1e7
"""Paths times rows of both sets."""
MOST_STEPS, MOST_ENDS = 100, 1_000
SETTLED, UNSETTLED = 1e-9, 1e-6
FIRST_CORNER, NARROWER = 1.6, 2.0
BEFORE, ON, AFTER, NO_PART = -1, 0, 1, 2


@dataclass(frozen=True, eq=False)
class Kernels:
    """k(x, x') among training rows (N, N) and between test and training rows (points, N)."""

    among: Floats
    between: Floats
    free: bool
    """Whether there is an intercept without a penalty."""


class Followed:
    """One two-class problem at its best fit: sides τ (N,), weights C (N,); 0 for rows that have no part in it."""

    def __init__(self, kernels: Kernels, sides: Floats, weights: Floats, corner: float = CORNER) -> None:
        self._corner, self._sides, self._weights = corner, sides, weights
        self._z = best_fit(kernels, sides, weights, corner)
        margins = sides * self._z
        self._places = np.where(margins < 1.0 - corner, BEFORE, np.where(margins < 1.0 + corner, ON, AFTER))
        self._places[weights == 0] = NO_PART
        self._forces = -weights * sides * Hinge(corner).slope(margins)
        self._stiff = weights / (2.0 * corner)
        self._answers = _answers(kernels, np.where(self._places == ON, self._stiff, 0.0))

    def moved(self, row: int, side: float, weight: float) -> Floats:
        """Changes of the scores of the test points if this row has another side and weight."""
        rows, h = len(self._z), self._corner
        changes: list[tuple[Floats, float]] = []

        def answer(to: int) -> Floats:
            column = self._answers[:, to].copy()
            for other, share in changes:
                column -= other * (share * other[to])
            return column

        def stiffened(column: Floats, by: float, at: int) -> None:
            changes.append((column, by / (1.0 + by * column[at])))

        places, margins = self._places.copy(), self._sides * self._z
        if places[row] == ON:
            stiffened(answer(row), -self._stiff[row], row)
        places[row] = NO_PART
        now, stiff, force = float(self._z[row]), weight / (2.0 * h), float(self._forces[row])
        wanted = -weight * side * float(Hinge(h).slope(np.array(side * now)))
        towards, moved, way = np.sign(wanted - force), np.zeros(len(self._answers)), answer(row)
        for _ in range(MOST_ENDS if towards else 0):
            speed = towards * self._sides * way[:rows]
            ends = np.where((places == AFTER) | ((places == ON) & (speed > 0)), 1.0 + h, 1.0 - h)
            meets = ((places == ON) & (speed != 0)) | ((places == BEFORE) & (speed > 0))
            meets |= (places == AFTER) & (speed < 0)
            far = np.full(rows, np.inf)
            far[meets] = np.maximum((ends[meets] - margins[meets]) / speed[meets], 0.0)
            end = int(far.argmin())
            own = max(float(way[row]), 0.0)  # where the force is that of the new label at the row's own score
            met = force + (side * stiff * (1.0 + h - side * now) - force) / (1.0 + stiff * own)
            left = towards * (side * np.clip(side * met, 0.0, weight) - force)
            step = towards * min(far[end], left)
            moved += step * way
            if left <= far[end]:
                break
            margins += self._sides * (step * way[:rows])
            now, force = now + step * own, force + step
            entering = places[end] != ON
            margins[end] = ends[end]
            places[end] = ON if entering else (AFTER if speed[end] > 0 else BEFORE)
            column = answer(end)
            stiffened(column, self._stiff[end] if entering else -self._stiff[end], end)
            way = way - column * (changes[-1][1] * way[end])
        return moved[rows:]


def best_fit(kernels: Kernels, sides: Floats, weights: Floats, corner: float) -> Floats:
    """Scores z = K β + b at the least of ½ βᵀKβ + Σ C φ(τz), by Newton's steps under ever narrower corners.

    Rows before their corner have the force β = Cτ, those after it none. On it β = Cτ (1 + h - τz) / 2h, so that
    (K_SS + 2h/C) β_S + b = τ(1 + h) - K_SR β_R; and 1ᵀβ = 0 if the intercept is free.
    """
    part = np.flatnonzero(weights > 0)
    tau, most, among = sides[part], weights[part], kernels.among[np.ix_(part, part)]
    beta, intercept, z = np.zeros(len(part)), 0.0, np.zeros(len(part))
    widths = [corner]
    while widths[-1] < FIRST_CORNER:
        widths.append(widths[-1] * NARROWER)
    for h in reversed(widths):
        loss = Hinge(h)
        for _ in range(MOST_STEPS):
            wanted = -most * tau * loss.slope(tau * z)
            on, level = loss.curvature(tau * z) > 0, 0.0
            if on.any():
                wanted[on] = 0.0
                stiff = among[np.ix_(on, on)] + np.diag(2.0 * h / most[on])
                asked = tau[on] * (1.0 + h) - among[on] @ wanted
                wanted[on], level = _held(stiff, asked, -wanted.sum() if kernels.free else None)
            elif kernels.free:
                raise NoBestFit("no row is near the margin, so nothing says how the model answers to labels.")
            step = wanted - beta
            answered = among @ step
            change = answered + (level - intercept)
            if np.abs(change).max(initial=0.0) < SETTLED:
                break

            if not (length := _length(beta, step, answered, z, change, most * tau, tau, loss)):
                break
            beta, intercept, z = beta + length * step, intercept + length * (level - intercept), z + length * change
    if np.abs(beta + most * tau * loss.slope(tau * z)).max(initial=0.0) > UNSETTLED * most.max(initial=0.0):
        raise NoBestFit("no fit of these labels was found: the kernel is not one of a distance.")
    return np.asarray(kernels.among[:, part] @ beta + intercept)


def _length(
    beta: Floats, step: Floats, answered: Floats, z: Floats, change: Floats, pull: Floats, tau: Floats, loss: Loss
) -> float:
    """How far to go along a step: to the least of a convex function, at most all the way; 0 if it leads up at once."""

    def uphill(t: float) -> float:
        return float((beta + t * step) @ answered + (pull * loss.slope(tau * (z + t * change))) @ change)

    if uphill(1.0) <= 0.0:
        return 1.0
    return float(brentq(uphill, 0.0, 1.0)) if uphill(0.0) < 0.0 else 0.0


def _held(stiff: Floats, asked: Floats, total: float | None) -> tuple[Floats, float]:
    """β and b with stiff β + b = asked and 1ᵀβ = total; b = 0 where no total is."""
    factor = scipy.linalg.cho_factor(stiff, lower=True)
    beta = scipy.linalg.cho_solve(factor, asked)
    if total is None:
        return beta, 0.0
    one = scipy.linalg.cho_solve(factor, np.ones(len(asked)))
    level = (float(beta.sum()) - total) / float(one.sum())
    return beta - level * one, level


def _answers(kernels: Kernels, curvature: Floats) -> Floats:
    """R between the rows of both sets, those of training first, and the training rows: (N + points, N)."""
    watched = np.vstack([kernels.among, kernels.between])
    rows, points, b, b_points = eliminated(kernels.among, watched, curvature, free=kernels.free)
    return np.asarray(watched - points.T @ rows + np.outer(b_points, b))
