"""The gray box of models that fit scores to labels by a loss of the margin: ridge, support vectors, SGD.

Row i with score z has the gradient G_k(z) = C s ω_pk τ_pk φ'(τ_pk z) in problem p if its label is k. Moving it from y
to k leaves all *other* rows with their curvature; what becomes of its own score u is one equation in one unknown,

    u = z - a (G_k(u) - G_y(z)),    a = R(i, i) / (1 - w R(i, i)),

R the response with the row's own curvature w in it. The force ρ_pk = (G_y(z) - G_k(u)) / (1 - w R(i, i)) then moves the
score of every test point by R(t, i) ρ_pk. So the answer is exact for ridge (a quadratic), for the squared hinge until
another row changes sides, and for the hinge up to its rounded corner; forces of several labels add up.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from psidebug.graybox.class_scores import OfClassScores
from psidebug.graybox.margin.reading import Machine, machine_of, side_and_weight
from psidebug.graybox.protocol import Floats, Worlds
from psidebug.task import learner as learners
from psidebug.task.task import Task

HALVINGS = 50


class MarginBox(OfClassScores):
    """Gray box of ``RidgeClassifier``, ``LinearSVC``, ``SVC`` and ``SGDClassifier`` with a loss of the margin."""

    name = "margin"

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        machine = machine_of(learners.final_step(task.learner), task)
        self._response = machine.response
        self._slopes = machine.columns.slopes(machine.test)
        self._forces = _forces(machine, self._given, self._classes)
        self.notes = (*self.notes, *machine.notes)

    def _gains(self, pulls: Floats) -> Floats:
        """Σ_p ρ_ipk Σ_t R_p(t, i) Σ_l v_tl ∂f_tl/∂z_tp."""
        answered = self._response.of_rows(np.einsum("tpk,tk->tp", self._slopes, pulls))
        return np.asarray(np.einsum("ipk,ip->ik", self._forces, answered))

    def _scores(self, worlds: Worlds, points: npt.NDArray[np.intp]) -> Floats:
        """Changes of the scores."""
        world, row = np.nonzero(worlds != self._given)
        forces = self._forces[row, :, worlds[world, row]]
        each = [sp.csr_array((force, (world, row)), shape=worlds.shape) for force in forces.T]
        return np.asarray(np.einsum("wtp,tpk->wtk", self._response.of_points(each, points), self._slopes[points]))


def _forces(machine: Machine, given: npt.NDArray[np.intp], classes: int) -> Floats:
    """ρ (N, P, K); 0 for the given label."""
    z, slope = machine.train, machine.loss.slope
    sides, scale = side_and_weight(machine.columns, machine.weights, given)
    now = scale * sides * slope(sides * z)
    own = machine.response.own()
    left = np.maximum(1.0 - scale * machine.loss.curvature(sides * z) * own, 1e-9)
    reach = own / left
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
