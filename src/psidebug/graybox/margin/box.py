"""The gray box of models that fit scores to labels by a loss of the margin: ridge, support vectors, SGD.

Row i with score z has the gradient G_k(z) = C s ω_pk τ_pk φ'(τ_pk z) in problem p if its label is k. Moving it from y
to k leaves all *other* rows with their curvature; what becomes of its own score u is one equation in one unknown,

    u = z - a (G_k(u) - G_y(z)),    a = R(i, i) / (1 - w R(i, i)),

R the response with the row's own curvature w in it. The force ρ_pk = (G_y(z) - G_k(u)) / (1 - w R(i, i)) then moves the
score of every test point by R(t, i) ρ_pk. So the answer is exact for ridge (a quadratic), for the squared hinge until
another row changes sides, and for the hinge up to its rounded corner; forces of several labels add up.

Other rows do change sides where a hinge is. Of some thousands of rows each label is therefore followed all the way
(:mod:`following`); what several labels do still adds up.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from psidebug.errors import NoBestFit
from psidebug.graybox.class_scores import OfClassScores
from psidebug.graybox.margin.following import MOST_WORK, Followed, Kernels
from psidebug.graybox.margin.reading import Machine, machine_of, side_and_weight
from psidebug.graybox.protocol import Floats, Worlds
from psidebug.task import learner as learners
from psidebug.task.labels import Codes
from psidebug.task.task import Task

HALVINGS = 50


class MarginBox(OfClassScores):
    """Gray box of ``RidgeClassifier``, ``LinearSVC``, ``SVC`` and ``SGDClassifier`` with a loss of the margin."""

    name = "margin"

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        machine = machine_of(learners.final_step(task.learner), task)
        self._slopes = machine.columns.slopes(machine.test)
        self._answers = _followed(machine, self._given) or ByForces(machine, self._given)
        self.notes = (*self.notes, *machine.notes)

    def _gains(self, pulls: Floats) -> Floats:
        """Σ_t Σ_p Σ_l v_tl ∂f_tl/∂z_tp Δz_tp of every label."""
        return self._answers.gains(np.einsum("tpk,tk->tp", self._slopes, pulls))

    def _scores(self, worlds: Worlds, points: npt.NDArray[np.intp]) -> Floats:
        """Changes of the scores."""
        return np.asarray(np.einsum("wtp,tpk->wtk", self._answers.moved(worlds, points), self._slopes[points]))


class ByForces:
    """What labels do by one force each: Δz_tp = R_p(t, i) ρ_ipk."""

    def __init__(self, machine: Machine, given: Codes) -> None:
        self._given, self._response, self._forces = given, machine.response, _forces(machine, given)

    def gains(self, pulls: Floats) -> Floats:
        """Σ_p ρ_ipk Σ_t pull_tp R_p(t, i), shape (N, K)."""
        return np.asarray(np.einsum("ipk,ip->ik", self._forces, self._response.of_rows(pulls)))

    def moved(self, worlds: Worlds, points: npt.NDArray[np.intp]) -> Floats:
        """Δz (worlds, points, P)."""
        world, row = np.nonzero(worlds != self._given)
        forces = self._forces[row, :, worlds[world, row]]
        each = [sp.csr_array((force, (world, row)), shape=worlds.shape) for force in forces.T]
        return self._response.of_points(each, points)


class ByPaths:
    """What labels do, each followed: Δz_tp (N, points) for every problem and each side, 0 for the rows on that side."""

    def __init__(self, machine: Machine, kernels: Kernels, given: Codes) -> None:
        self._given, self._sides = given, machine.columns.sides
        self._moved = list(_paths(machine, kernels, given))

    def gains(self, pulls: Floats) -> Floats:
        """Σ_tp pull_tp Δz_tp, shape (N, K)."""
        total = np.zeros((len(self._given), self._sides.shape[1]))
        for p, side, moved in self._moved:
            total[:, self._sides[p] == side] += (moved @ pulls[:, p])[:, None]
        return total

    def moved(self, worlds: Worlds, points: npt.NDArray[np.intp]) -> Floats:
        """Δz (worlds, points, P)."""
        total = np.zeros((len(worlds), len(points), len(self._sides)))
        for p, side, moved in self._moved:
            there = (worlds != self._given) & (self._sides[p][worlds] == side)
            total[:, :, p] += sp.csr_array(there, dtype=np.float64) @ moved[:, points]
        return total


def _followed(machine: Machine, given: Codes) -> ByPaths | None:
    """None for other losses, for more rows than a path each is worth, and for kernels under which there is no fit."""
    if (kernels := machine.kernels) is None:
        return None
    sides = machine.columns.sides
    paths = sum(int((own[given] != side).sum()) for own in sides for side in np.unique(own))
    if paths * (len(given) + len(machine.test)) > MOST_WORK:
        return None
    try:
        return ByPaths(machine, kernels, given)
    except (NoBestFit, np.linalg.LinAlgError):
        return None


def _paths(machine: Machine, kernels: Kernels, given: Codes) -> Iterator[tuple[int, float, Floats]]:
    """Problem, side, and Δz (N, points) if one row were on it."""
    now, weights = side_and_weight(machine.columns, machine.weights, given)
    for p, sides in enumerate(machine.columns.sides):
        fit = Followed(kernels, now[:, p], weights[:, p])
        for side in np.unique(sides):
            label = np.full(len(given), np.flatnonzero(sides == side)[0])  # all labels of a side weigh the same
            then = side_and_weight(machine.columns, machine.weights, label)[1][:, p]
            moved = np.zeros((len(given), len(machine.test)))
            for row in np.flatnonzero(now[:, p] != side).tolist():
                moved[row] = fit.moved(row, float(side), float(then[row]))
            yield p, float(side), moved


def _forces(machine: Machine, given: Codes) -> Floats:
    """ρ (N, P, K); 0 for the given label."""
    z, slope = machine.train, machine.loss.slope
    sides, scale = side_and_weight(machine.columns, machine.weights, given)
    now = scale * sides * slope(sides * z)
    own = machine.response.own()
    left = np.maximum(1.0 - scale * machine.loss.curvature(sides * z) * own, 1e-9)
    reach = own / left
    classes = machine.columns.sides.shape[1]
    forces = np.zeros((*z.shape, classes))
    for k in range(classes):
        moved = np.flatnonzero(given != k)
        side, weight = side_and_weight(machine.columns, machine.weights[moved], np.full(len(moved), k))

        def then(u: Floats, side: Floats = side, weight: Floats = weight) -> Floats:
            return np.asarray(weight * side * slope(side * u))

        near, a, before = z[moved], reach[moved], now[moved]
        far = near - a * (then(near) - before)  # G_k rises with u, so u lies between
        for _ in range(HALVINGS):
            middle = (near + far) / 2.0
            short = np.sign(z[moved] - a * (then(middle) - before) - middle) == np.sign(far - near)
            near, far = np.where(short, middle, near), np.where(short, far, middle)
        forces[moved, :, k] = (before - then((near + far) / 2.0)) / left[moved]
    return forces
