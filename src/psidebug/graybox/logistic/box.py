"""The gray box of logistic models: test margins linear in the training labels.

At the fitted θ the gradient of L is 0. Moving label i from y to k changes it by s_i x_i ⊗ (g_i(k) - g_i(y)), where
g_ia(k) = ω_a(k)(p_ia - τ_a(k)) is the gradient of label k in the scores; without class weights that is
s_i x_i ⊗ (e_y - e_k), whatever the scores. One step answers with

    Δθ = A Σ_i ρ_i s_i x_i ⊗ (g_i(y_i) - g_i(w_i)),

and a margin m_tr = (θ_{y_t} - θ_r)·x_t moves by the same amount for every label: linear in the labels. The four forms:

    ===================  =================  =====================
    form                 A                  ρ_i
    ===================  =================  =====================
    newton               H⁻¹                1 or its own reach
    newton_residual      H⁻¹                2 (1 - p_i(y_i))
    gradient             α, profiled        1
    gradient_residual    α, profiled        2 (1 - p_i(y_i))
    ===================  =================  =====================

The reach differs from 1 where columns outnumber rows and the penalty is weak (:mod:`psidebug.graybox.logistic.reach`).
With class weights a moved label takes the weight of its new class; with "balanced" ones the sizes of both classes
change too, and with them the weights of all their rows. That is followed to first order (B_k, see
:meth:`Objective.class_shifts`).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from psidebug.errors import UnknownOption
from psidebug.graybox.logistic.design import DesignMatrix
from psidebug.graybox.logistic.fitted import notes_on_fit, notes_on_separation
from psidebug.graybox.logistic.gradient import GradientStep
from psidebug.graybox.logistic.newton import NewtonStep
from psidebug.graybox.logistic.objective import Quadratic
from psidebug.graybox.logistic.reach import own_reach
from psidebug.graybox.logistic.reading import objective_of
from psidebug.graybox.protocol import Floats, Worlds, solved_once
from psidebug.margins import by_class, margins_of
from psidebug.task import learner as learners
from psidebug.task.task import Task

FORMS = ("newton", "newton_residual", "gradient", "gradient_residual")
CHUNK_BYTES = 2**26


class LogisticBox:
    """Gray box of scikit-learn's ``LogisticRegression``, ``LogisticRegressionCV`` and ``SGDClassifier(log_loss)``.

    It sits on the final estimator of a Pipeline and sees the features that reach it.
    """

    def __init__(self, task: Task, *, form: str = "newton") -> None:
        if form not in FORMS:
            raise UnknownOption(f"form={form!r} is not one of {', '.join(FORMS)}.")
        self.name = form
        objective = objective_of(learners.final_step(task.learner), task)
        self._likelihood, self._sample_weight = objective.likelihood, objective.sample_weight
        self._balance = objective.balance
        self._given, self._right = task.train.codes, task.test.codes
        intercept = bool(learners.final_step(task.learner).fit_intercept)
        seen = task.seen
        if not seen.exact:
            objective = replace(objective, solved=replace(objective.solved, exact=False))
        self._train, self._test = (DesignMatrix(table, intercept=intercept) for table in (seen.train, seen.test))

        scores = self._train.scores(objective.theta)
        self._fit_notes = seen.notes + objective.notes + notes_on_fit(objective, self._train, scores, self._given)
        self._probabilities = self._likelihood.probabilities(scores)
        self._step: NewtonStep | GradientStep
        self._reach: Floats | None = None
        if form.startswith("newton"):
            quadratic = Quadratic.at(objective, self._train, self._probabilities, self._given)
            self._fit_notes += notes_on_separation(objective, quadratic, self._given)
            self._step = newton = NewtonStep(quadratic)
            if form == "newton":
                self._reach = own_reach(objective, quadratic, scores, self._given, newton)
        else:
            self._step = replayed = GradientStep(objective, self._train, self._given)
            self._probabilities = replayed.probabilities
        self._surprise: Floats | None = None
        if form.endswith("residual"):
            self._surprise = self._likelihood.surprise(self._probabilities, self._given)
        self._shifts = objective.class_shifts(self._train, self._probabilities, self._given)
        self.actual: Floats = task.margins(task.learner, task.test)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the answers should know: an unfinished fit, a singular Hessian."""
        return self._fit_notes + self._step.notes

    @solved_once
    def effects(self, weights: Floats) -> Floats:
        """G[i, k] - G[i, y_i], G[i, k] = ρ_i s_i x_i · Σ_a A(Σ_tr u_tr x_t ⊗ (e_{y_t} - e_r))_a (-g_ia(k))."""
        pull = self._step(self._test.gathered(self._signed(weights, self._right))[None])[0]
        return self._effects_of(pull, self._train.scores(pull))

    def coefficients(self, points: npt.NDArray[np.intp]) -> Floats:
        """c_tri(k) for these points, shape (K, points, K-1, N): many steps solved for at once."""
        free, width, classes = self._likelihood.free, self._train.width, self._likelihood.classes
        rows = self._test.take(points).combined(sp.eye_array(len(points), format="csr"))
        signs = [self._signed(np.tile(unit, (len(points), 1)), self._right[points]) for unit in np.eye(classes - 1)]
        result = np.empty((classes, len(points), classes - 1, self._train.rows))
        size = max(1, CHUNK_BYTES // (8 * free * max(width, self._train.rows)))
        for rival in range(classes - 1):
            for start in range(0, len(points), size):
                part = slice(start, start + size)
                pulls = self._step(signs[rival][part, :, None] * rows[part, None, :])
                pulled = self._train.scores(pulls.reshape(-1, width)).reshape(self._train.rows, len(pulls), free)
                for position, pull in enumerate(pulls):
                    effects = self._effects_of(pull, np.ascontiguousarray(pulled[:, position]))
                    result[:, start + position, rival] = effects.T
        return result

    def _effects_of(self, pull: Floats, pulled: Floats) -> Floats:
        """Effects (N, K) from A(…) (F, D) and its product with every row (N, F)."""
        if self._surprise is not None:
            pulled *= self._surprise
        forces = self._likelihood.forces(self._probabilities, pulled)
        forces *= self._sample_weight[:, None]
        if self._reach is not None:
            forces = (forces - forces[np.arange(len(forces)), self._given][:, None]) * self._reach
        if self._shifts is not None and self._balance is not None:
            ease = np.einsum("kaj,aj->ak", self._shifts, pull)
            share = np.ones((1, len(ease))) if self._surprise is None else self._surprise * np.ones((1, len(ease)))
            forces += self._balance[:, None] * (share @ ease)
        forces -= forces[np.arange(len(forces)), self._given][:, None]
        return forces

    def margins(self, worlds: Worlds, points: npt.NDArray[np.intp] | None = None) -> Floats:
        """m_tr + (Δθ_{y_t} - Δθ_r)·x_t in each world, solving for the worlds or for the points, whichever are fewer."""
        chosen = np.arange(len(self._right)) if points is None else np.asarray(points, dtype=np.intp)
        test, right = self._test.take(chosen), self._right[chosen]
        free, width = self._likelihood.free, self._train.width
        result = np.empty((len(worlds), len(chosen), self._likelihood.classes - 1))
        responses = None
        if len(chosen) * free < len(worlds) and len(chosen) * free**2 * width * 8 <= CHUNK_BYTES:
            responses = self._responses(test)
        size = max(1, CHUNK_BYTES // (8 * free * width))
        for start in range(0, len(worlds), size):
            forces = self._forces(np.asarray(worlds[start : start + size]))
            if responses is None:
                moved = test.scores(self._step(forces).reshape(-1, width)).reshape(len(chosen), len(forces), free)
            else:
                answers = responses @ forces.reshape(len(forces), -1).T
                moved = answers.reshape(len(chosen), free, -1).transpose(0, 2, 1)
            if free == 1:
                moved = np.concatenate([np.zeros_like(moved), moved], axis=2)
            result[start : start + size] = margins_of(moved.transpose(1, 0, 2), right)
        return result + self.actual[chosen]

    def _forces(self, worlds: Worlds) -> Floats:
        """Σ_i ρ_i s_i x_i ⊗ (g_i(y_i) - g_i(w_i)) for each world, shape (worlds, F, D)."""
        world, row = np.nonzero(worlds != self._given)
        new, old = worlds[world, row], self._given[row]
        changes = self._force(row, new) - self._force(row, old)
        if self._reach is not None:
            changes *= self._reach[row, new][:, None]
        shape = (len(worlds), self._train.rows)
        free = self._likelihood.free
        forces = np.empty((len(worlds), free, self._train.width))
        for a in range(free):
            forces[:, a] = self._train.combined(sp.csr_array((changes[:, a], (world, row)), shape=shape))
        if self._shifts is not None and self._balance is not None:
            share = np.ones((1, free)) if self._surprise is None else self._surprise[row]
            counted = self._balance[row][:, None] * np.broadcast_to(share, (len(row), free))
            grown = np.zeros((len(worlds), len(self._shifts), free))
            np.add.at(grown, (world, new), counted)
            np.subtract.at(grown, (world, old), counted)
            forces += np.einsum("wka,kaj->waj", grown, self._shifts)
        return forces

    def _force(self, rows: npt.NDArray[np.intp], labels: npt.NDArray[np.intp]) -> Floats:
        """-ρ_i s_i g_i(k) for these rows and labels, shape (n, F)."""
        errors = self._likelihood.targets(labels) - self._probabilities[rows]
        errors = errors * self._likelihood.weights(labels) * self._sample_weight[rows, None]
        return np.asarray(errors if self._surprise is None else errors * self._surprise[rows])

    def _responses(self, test: DesignMatrix) -> Floats:
        """A (x_t ⊗ e_a) for every point and free class, shape (points · F, F · D)."""
        free, width = self._likelihood.free, self._train.width
        unit = test.combined(sp.eye_array(test.rows, format="csr"))
        probes = np.zeros((test.rows, free, free, width))
        for a in range(free):
            probes[:, a, a] = unit
        return self._step(probes.reshape(-1, free, width)).reshape(test.rows * free, free * width)

    def _signed(self, weights: Floats, right: npt.NDArray[np.intp]) -> Floats:
        """Σ_r u_tr (e_{y_t} - e_r) for the free classes, shape (points, F)."""
        return by_class(weights, right)[:, self._likelihood.classes - self._likelihood.free :]
