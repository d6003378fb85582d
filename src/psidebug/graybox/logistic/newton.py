"""The Newton step: Δθ = H⁻¹ (force of the moved labels), by whichever solver is cheapest for what is asked.

One right-hand side (the log loss of the whole test set) costs a few dozen conjugate gradient iterations, each as much
as one iteration of the fit; a factorisation of H costs more once and next to nothing after. The choice is the cheaper
of the two by the estimates below, in seconds on an ordinary core: they need only be right about orders of magnitude.
Work done by conjugate gradients is counted, so a caller that keeps asking gets the factorisation in the end.
"""

from __future__ import annotations

import numpy as np

from psidebug.graybox.logistic.objective import Quadratic
from psidebug.graybox.logistic.solvers import Dual, Primal, conjugate_gradients
from psidebug.graybox.protocol import Floats

EXPECTED_ITERATIONS = 25
FEW_ITERATIONS, MANY_ITERATIONS = 60, 1000
DENSE, SPARSE, MEMORY = 1e-10, 2e-9, 8e-10  # seconds per multiplication in a dense or sparse product, per number read
LARGEST = 6000  # rows and columns of the largest matrix to factorise: 288 MB


class NewtonStep:
    """H⁻¹ of a quadratic, applied to right-hand sides (m, F, D)."""

    def __init__(self, quadratic: Quadratic) -> None:
        self._quadratic = quadratic
        self.factor: Primal | Dual | None = None
        """In use once it is worth its price; conjugate gradients before."""
        self._spent = 0.0
        self._notes: dict[str, None] = {}
        self._kind, self._price = self._cheapest_factor()

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the answers should know."""
        return tuple(self._notes)

    def __call__(self, rhs: Floats) -> Floats:
        """H⁻¹ rhs."""
        if self.factor is None:
            price = EXPECTED_ITERATIONS * self._iteration_price(len(rhs))
            if self._kind is None or self._spent + price < self._price:
                self._spent += price
                solution = self._iterated(rhs)
                if solution is not None:
                    return solution
        return self._factorised().solve(rhs)

    def _iterated(self, rhs: Floats) -> Floats | None:
        """The conjugate gradients' answer; None if it is not good enough and a factorisation can do better."""
        most = FEW_ITERATIONS
        if self._kind is None or self._price > FEW_ITERATIONS * self._iteration_price(len(rhs)):
            most = MANY_ITERATIONS
        solution, good = conjugate_gradients(self._quadratic, rhs, most=most)
        if not good.all():
            if self._kind is not None:
                return None
            self._notes[
                "the Hessian is so nearly singular that the step is approximate; regularise more (smaller C)"
            ] = None
        return solution

    def _factorised(self) -> Primal | Dual:
        if self.factor is None:
            self.factor = Dual(self._quadratic) if self._kind is Dual else Primal(self._quadratic)
            if self.factor.singular:
                self._notes[
                    "the Hessian is singular (a constant or repeated feature without regularisation): directions in "
                    "which the fit is not determined are left alone"
                ] = None
        return self.factor

    def _cheapest_factor(self) -> tuple[type[Primal] | type[Dual] | None, float]:
        design, likelihood = self._quadratic.design, self._quadratic.likelihood
        rate = SPARSE if design.sparse else DENSE
        prices: dict[type[Primal] | type[Dual], float] = {}
        largest = int(self._quadratic.active.sum() if likelihood.coupled else self._quadratic.active.sum(axis=1).max())
        if largest <= LARGEST and design.width * (likelihood.free if likelihood.coupled else 1) <= 2 * LARGEST:
            pairs = likelihood.free * (likelihood.free + 1) // 2 if likelihood.coupled else likelihood.free
            factors = 1 if likelihood.coupled else likelihood.free
            prices[Primal] = pairs * design.gram_work() * rate + factors * largest**3 / 3 * DENSE
        if Dual.possible(self._quadratic) and design.rows <= LARGEST:
            prices[Dual] = likelihood.free * (design.kernel_work() * rate + design.rows**3 / 3 * DENSE)
        if not prices:
            return None, np.inf
        kind = min(prices, key=prices.__getitem__)
        return kind, prices[kind]

    def _iteration_price(self, count: int) -> float:
        """Seconds for one product with H, for this many directions."""
        design, columns = self._quadratic.design, count * self._quadratic.likelihood.free
        products = 2 * columns * design.stored * (SPARSE if design.sparse else DENSE)
        return products + 2 * design.stored * MEMORY + 20 * columns * (design.width + design.rows) * MEMORY
