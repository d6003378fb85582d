"""H⁻¹, three ways that answer the same question: by factors of the D·F square matrix, by those of its N × N dual for
more columns than rows, and by preconditioned conjugate gradients. Which one is used is a matter of cost alone: see
:mod:`.newton`.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt
import scipy.linalg
from scipy.linalg import lapack

from psidebug.graybox.logistic.design import DesignMatrix
from psidebug.graybox.logistic.likelihood import Curved
from psidebug.graybox.logistic.objective import Quadratic
from psidebug.graybox.protocol import Floats

FLAT = 1e-11  # an eigenvalue this small beside the largest, at unit diagonal, is rounding
TOLERANCE = 1e-7  # of the preconditioned residual; effects then agree with a factorisation's to about 1e-6
HEAVY = 48


class Hessian(Protocol):
    """What a factorisation asks of H: a :class:`Quadratic`, or sums over blocks of rows."""

    @property
    def likelihood(self) -> Curved:
        """Which classes share coefficients."""

    @property
    def ridge(self) -> Floats:
        """λ (F, D)."""

    @property
    def active(self) -> npt.NDArray[np.bool_]:
        """Coefficients that may move (F, D)."""

    @property
    def shape(self) -> tuple[int, int]:
        """(F, D)."""

    def block(self, a: int, b: int) -> Floats:
        """H between the coefficients of free classes a and b, shape (D, D)."""


class Primal:
    """Cholesky factors of H on the active coefficients: one per sigmoid, one for all of a softmax.

    H is scaled to unit diagonal. Where it is singular all the same (the same column twice without a penalty), flat
    directions are left alone: the pseudo-inverse takes the place of the inverse, and ``singular`` says so.
    """

    def __init__(self, quadratic: Hessian) -> None:
        self._shape = quadratic.shape
        self.singular = False
        free, width = self._shape
        groups = [list(range(free))] if quadratic.likelihood.coupled else [[a] for a in range(free)]
        self._parts = []
        for group in groups:
            places = np.flatnonzero(quadratic.active[group].ravel()) + group[0] * width
            self._parts.append((places, self._inverse(_assembled(quadratic, group))))

    def solve(self, rhs: Floats) -> Floats:
        """H⁻¹ for each right-hand side (m, F, D)."""
        flat = rhs.reshape(len(rhs), -1)
        result = np.zeros_like(flat)
        for places, (scale, factor, spectrum) in self._parts:
            scaled = flat[:, places] * scale
            if spectrum is None:
                solved = scipy.linalg.cho_solve((factor, True), scaled.T, check_finite=False).T
            else:
                solved = ((scaled @ factor) * spectrum) @ factor.T
            result[:, places] = solved * scale
        return result.reshape(rhs.shape)

    def _inverse(self, hessian: Floats) -> tuple[Floats, Floats, Floats | None]:
        diagonal = np.diag(hessian)
        scale = np.where(diagonal > 0, 1.0 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0)), 0.0)
        unit = hessian * scale[:, None] * scale
        unit[np.diag_indices_from(unit)] = 1.0  # also where a column is 0 throughout: its scale of 0 keeps it still
        if len(unit) == 0:
            return scale, unit, None
        factor, failed = lapack.dpotrf(unit, lower=1, clean=1)
        if failed == 0 and lapack.dpocon(factor, np.abs(unit).sum(axis=0).max(), uplo="L")[0] > FLAT:
            return scale, factor, None
        self.singular = True
        spectrum, vectors = scipy.linalg.eigh(unit)
        kept = spectrum > FLAT * spectrum[-1]
        return scale, vectors, np.where(kept, 1.0 / np.where(kept, spectrum, 1.0), 0.0)


def _assembled(quadratic: Hessian, group: list[int]) -> Floats:
    """H on the active coefficients of these free classes."""
    width = quadratic.shape[1]
    active = [np.flatnonzero(quadratic.active[a]) for a in group]
    whole = np.empty((len(group), width, len(group), width))
    for a in group:
        for b in group[group.index(a) :]:
            block = quadratic.block(a, b)
            whole[a - group[0], :, b - group[0]] = block
            whole[b - group[0], :, a - group[0]] = block.T
    if quadratic.likelihood.coupled:
        # A common shift of all classes' coefficients of a column changes no probability. Where no penalty fixes it,
        # H is flat along it; right-hand sides are orthogonal to it, so any stiffness along it leaves the answer alone.
        shared = np.flatnonzero((quadratic.ridge == 0).all(axis=0) & quadratic.active.all(axis=0))
        stiffness = np.einsum("ajaj->j", whole)[shared] / len(group)
        whole[:, shared, :, shared] += stiffness[:, None, None] / len(group)
    places = np.concatenate([chosen + number * width for number, chosen in enumerate(active)])
    flat = whole.reshape(len(group) * width, len(group) * width)
    return flat if len(places) == len(flat) else flat[np.ix_(places, places)]


class Dual:
    """For sigmoids with every feature penalised: the N × N form.

    With X the features, V = diag v and Λ = diag λ, write R = V^½ X and G = R Λ⁻¹ Rᵀ. Woodbury's identity gives

        (RᵀR + Λ)⁻¹ r = Λ⁻¹ (r - Rᵀ (I + G)⁻¹ R Λ⁻¹ r),

    and the intercept, with 1ᵀV1 + λ_b on the diagonal, is eliminated by u = Λ⁻¹Rᵀ(I + G)⁻¹V^½1 and its Schur
    complement λ_b + 1ᵀV^½ (I + G)⁻¹ V^½1, which loses no digits.
    """

    def __init__(self, quadratic: Quadratic) -> None:
        self.singular = False
        self._design = quadratic.design
        self._parts = [self._part(quadratic, a) for a in range(quadratic.shape[0])]

    @staticmethod
    def possible(quadratic: Quadratic) -> bool:
        """Whether the dual exists: separate sigmoids, every active feature penalised."""
        last = quadratic.shape[1] - quadratic.design.intercept
        penalised = (quadratic.ridge > 0) | ~quadratic.active
        return not quadratic.likelihood.coupled and bool(penalised[:, :last].all())

    def solve(self, rhs: Floats) -> Floats:
        """H⁻¹ for each right-hand side (m, F, D)."""
        result = np.empty_like(rhs)
        for a in range(rhs.shape[1]):
            result[:, a] = self._solved(rhs[:, a], a)
        return result

    @property
    def leverages(self) -> Floats:
        """v_i x_iᵀ H⁻¹ x_i of every row and sigmoid, (N, F): how much of a row's curvature is its own."""
        return np.column_stack([_leverages(root, factor, schur) for _, root, factor, _, schur in self._parts])

    def _part(self, quadratic: Quadratic, a: int) -> tuple[Floats, Floats, Floats, Floats, float]:
        last = quadratic.shape[1] - quadratic.design.intercept
        ridge = quadratic.ridge[a, :last]
        inverse = np.where(quadratic.active[a, :last], 1.0 / np.where(ridge > 0, ridge, 1.0), 0.0)
        v = quadratic.curvature(a)
        root = np.sqrt(v)
        kernel = quadratic.design.kernel(inverse, v)
        kernel[np.diag_indices_from(kernel)] += 1.0
        factor = scipy.linalg.cholesky(kernel, lower=True, overwrite_a=True, check_finite=False)
        tilt, schur = np.zeros(last), np.inf
        if quadratic.design.intercept:
            eased = scipy.linalg.cho_solve((factor, True), root)
            tilt = inverse * quadratic.design.gathered((root * eased)[:, None])[0, :last]
            free = bool(quadratic.active[a, last])
            schur = quadratic.ridge[a, last] + float(root @ eased) if free else np.inf
        return inverse, root, factor, tilt, schur

    def _solved(self, rhs: Floats, a: int) -> Floats:
        inverse, root, factor, tilt, schur = self._parts[a]
        last = len(inverse)
        features = rhs[:, :last]
        scaled = features * inverse
        if self._design.intercept:
            scaled = np.column_stack([scaled, np.zeros(len(scaled))])
        lifted = self._design.scores(scaled) * root[:, None]
        eased = scipy.linalg.cho_solve((factor, True), lifted, check_finite=False) * root[:, None]
        solved = inverse * (features - self._design.gathered(eased)[:, :last])
        if not self._design.intercept:
            return np.asarray(solved)
        constant = (rhs[:, last] - features @ tilt) / schur if schur > 0 else np.zeros(len(rhs))
        return np.column_stack([solved - constant[:, None] * tilt, constant])


def _leverages(root: Floats, factor: Floats, schur: float) -> Floats:
    """1 - M_ii + (M r)_i² / (λ_b + rᵀ M r), M = (I + G)⁻¹; without an intercept its part is 0."""
    inverse_factor = scipy.linalg.solve_triangular(factor, np.eye(len(root)), lower=True, check_finite=False)
    without = 1.0 - np.square(inverse_factor).sum(axis=0)
    eased = scipy.linalg.cho_solve((factor, True), root, check_finite=False)
    return np.asarray(without + eased**2 / schur if schur > 0 else without)


class Preconditioner:
    """H's diagonal, and for the intercept and the columns with the largest diagonals the whole of each class's block.

    In text the few commonest words and the intercept are what makes H ill-conditioned: with their block solved, half of
    the iterations remain (1,200 × 13,000 with Zipf's word frequencies: 13 for 29 at C = 1, 61 for 125 at C = 100).
    """

    def __init__(self, quadratic: Quadratic) -> None:
        self.usable: npt.NDArray[np.bool_] = quadratic.active & (quadratic.diagonal > 0)
        self._inverse = np.where(self.usable, 1.0 / np.where(self.usable, quadratic.diagonal, 1.0), 0.0)
        design = quadratic.design
        features = design.width - design.intercept
        heaviest = np.sort(np.argsort(-quadratic.diagonal[:, :features].sum(axis=0), kind="stable")[:HEAVY])
        self._places = np.append(heaviest, features) if design.intercept else heaviest
        part = design.columns(heaviest)
        self._blocks = [self._block(quadratic, part, a) for a in range(quadratic.shape[0])]

    def __call__(self, residuals: Floats) -> Floats:
        """An approximate H⁻¹ for each (m, F, D), symmetric and positive definite on the usable coefficients."""
        eased = self._inverse * residuals
        for a, block in enumerate(self._blocks):
            if block is not None:
                eased[:, a, self._places] = residuals[:, a, self._places] @ block
        return np.asarray(eased)

    def _block(self, quadratic: Quadratic, part: DesignMatrix, a: int) -> Floats | None:
        usable = self.usable[a, self._places]
        block = part.gram(quadratic.curvature(a)) + np.diag(quadratic.ridge[a, self._places])
        block = np.where(np.outer(usable, usable), block, 0.0) + np.diag(np.where(usable, 0.0, 1.0))
        scale = 1.0 / np.sqrt(np.diag(block))
        try:
            inverse = scipy.linalg.inv(block * np.outer(scale, scale) + 1e-10 * np.eye(len(block)))
        except np.linalg.LinAlgError:  # then the diagonal must do
            return None
        inverse = (inverse + inverse.T) / 2 * np.outer(scale, scale)
        return np.where(np.outer(usable, usable), inverse, 0.0)


def conjugate_gradients(quadratic: Quadratic, rhs: Floats, *, most: int) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """H⁻¹ for each right-hand side by conjugate gradients all of them at once.

    Returns the solutions and, for each, whether its relative residual came below the tolerance within ``most``
    iterations. A flat direction that a right-hand side does not point along does no harm.
    """
    preconditioned = Preconditioner(quadratic)
    x = np.zeros_like(rhs)
    r = np.where(preconditioned.usable, rhs, 0.0)
    direction = preconditioned(r)
    rho = _dots(r, direction)
    target = TOLERANCE**2 * rho
    running = np.flatnonzero(rho > target)
    for _ in range(most):
        if len(running) == 0:
            break
        d = direction[running]
        curved = quadratic.times(d)
        stiffness = _dots(d, curved)
        bent = stiffness > 0  # a direction without curvature cannot be followed
        step = np.where(bent, rho[running] / np.where(bent, stiffness, 1.0), 0.0)[:, None, None]
        x[running] += step * d
        r[running] -= step * curved
        eased = preconditioned(r[running])
        new = _dots(r[running], eased)
        direction[running] = eased + (new / rho[running])[:, None, None] * d
        rho[running] = new
        running = running[bent & (new > target[running])]
    return x, rho <= target


def _dots(left: Floats, right: Floats) -> Floats:
    return np.asarray(np.einsum("maj,maj->m", left, right))
