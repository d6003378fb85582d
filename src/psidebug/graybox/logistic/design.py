"""The rows x_i as the final estimator sees them, with a constant 1 appended for the intercept; never copied whole.

Every product runs over blocks of rows, so float32 or integer features are widened a block at a time, and a sparse
matrix stays sparse.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from psidebug.graybox.protocol import Floats

BLOCK_BYTES = 2**20  # small enough to stay in a processor's cache while a block is used


class DesignMatrix:
    """The matrix X of N rows and D columns; the last column is the constant 1 if there is an intercept."""

    def __init__(self, features: Any, *, intercept: bool) -> None:
        matrix: Any = sp.csr_array(features) if sp.issparse(features) else _numbers(features)
        self._matrix = matrix
        self._transposed = matrix.T  # a view
        self.intercept = intercept
        self.sparse = bool(sp.issparse(self._matrix))
        self.rows = int(self._matrix.shape[0])
        self.width = int(self._matrix.shape[1]) + intercept
        self.stored = int(matrix.nnz if self.sparse else matrix.size)
        """Numbers held: what one product with a vector costs."""
        # A sparse product costs some twenty times a dense one per number: with many numbers a row, dense blocks win.
        self._crowded = self.sparse and self.stored > 0.1 * self.rows * self.width

    def gram_work(self) -> float:
        """Multiplications in Xᵀ diag(v) X."""
        if self.sparse and not self._crowded:
            return float((np.diff(self._matrix.indptr).astype(np.float64) ** 2).sum())
        return float(self.rows * self.width**2)

    def kernel_work(self) -> float:
        """Multiplications in X Xᵀ."""
        if self.sparse:
            return float((np.bincount(self._matrix.indices, minlength=1).astype(np.float64) ** 2).sum())
        return float(self.rows**2 * self.width)

    def take(self, rows: npt.NDArray[np.intp]) -> DesignMatrix:
        """Some of the rows."""
        return DesignMatrix(self._matrix[rows], intercept=self.intercept)

    def columns(self, kept: npt.NDArray[np.intp]) -> DesignMatrix:
        """Some of the feature columns, and the intercept."""
        return DesignMatrix(self._matrix[:, kept], intercept=self.intercept)

    def scores(self, directions: Floats) -> Floats:
        """X θᵀ for the rows of θ (m, D), shape (N, m)."""
        weights, constant = self._split(directions)
        if self.sparse:
            return np.asarray(self._matrix @ np.ascontiguousarray(weights.T)) + constant
        result = np.empty((self.rows, len(directions)))
        for start, block in self._blocks():
            np.matmul(block, weights.T, out=result[start : start + len(block)])
        result += constant
        return result

    def gathered(self, values: Floats) -> Floats:
        """valuesᵀ X for values (N, m), shape (m, D)."""
        if self.sparse:
            return self._joined(np.asarray(self._transposed @ values).T, values.sum(axis=0))
        result = np.zeros((values.shape[1], self._matrix.shape[1]))
        for start, block in self._blocks():
            result += values[start : start + len(block)].T @ block
        return self._joined(result, values.sum(axis=0))

    def combined(self, mixing: Any) -> Floats:
        """S X for a sparse S (m, N), as a dense matrix (m, D)."""
        mixed = mixing @ self._matrix
        return self._joined(mixed.toarray() if sp.issparse(mixed) else np.asarray(mixed), mixing @ np.ones(self.rows))

    def gram(self, weights: Floats) -> Floats:
        """Xᵀ diag(v) X for weights v ≥ 0, shape (D, D)."""
        root = np.sqrt(weights)
        if self.sparse and not self._crowded:
            scaled = self._scaled_rows(root)
            product = (scaled.T @ scaled).toarray()
        else:
            product = np.zeros((self._matrix.shape[1],) * 2)
            for start, block in self._blocks():
                scaled = block * root[start : start + len(block), None]
                product += scaled.T @ scaled
        if not self.intercept:
            return np.asarray(product)
        cross = self.gathered(weights[:, None])[0]
        return np.block([[product, cross[:-1, None]], [cross[None, :]]])

    def grams(self, weights: Callable[[slice], Floats], count: int) -> Floats:
        """Xᵀ diag(v_m) X for so many weights v, asked for in blocks (m, n) of rows; upper triangles (m, D(D+1)/2).

        All products of two columns are made once, so that it is one product of matrices for all weights.
        """
        first, second = np.triu_indices(self.width)
        size = max(1, BLOCK_BYTES // (8 * max(len(first), count)))
        sums = np.zeros((count, len(first)))
        for start in range(0, self.rows, size):
            part = slice(start, min(start + size, self.rows))
            block = np.asarray(self._matrix[part], dtype=np.float64)
            columns = np.ascontiguousarray(self._joined(block, np.ones(len(block))).T)
            sums += weights(part) @ (columns[first] * columns[second]).T
        return sums

    def squares(self, weights: Floats) -> Floats:
        """Σ_i v_im x_i∘x_i for weights v (N, m), shape (m, D): the diagonals of m Gram matrices."""
        if self.sparse:
            result = np.asarray(self._squared().T @ weights).T
        else:
            result = np.zeros((weights.shape[1], self._matrix.shape[1]))
            for start, block in self._blocks():
                result += weights[start : start + len(block)].T @ (block * block)
        return self._joined(result, weights.sum(axis=0))

    def lengths(self, scales: Floats) -> Floats:
        """Σ_j λ_mj x_ij² for scales λ (m, D), shape (N, m): squared lengths of the rows."""
        weights, constant = self._split(scales)
        if self.sparse:
            return np.asarray(self._squared() @ weights.T) + constant
        return np.concatenate([(block * block) @ weights.T for _, block in self._blocks()]) + constant

    def kernel(self, scales: Floats, weights: Floats) -> Floats:
        """diag(v)^½ X diag(scales) Xᵀ diag(v)^½ over the feature columns (not the intercept), shape (N, N)."""
        root = np.sqrt(weights)
        if self.sparse:
            scaled = self._scaled_rows(root)
            scaled.data *= np.sqrt(scales)[scaled.indices]
            return np.asarray((scaled @ scaled.T).toarray())
        # d > N here, so the scaled copy is no larger than the N × N result is wide.
        dense = np.asarray(self._matrix, dtype=np.float64) * np.sqrt(scales) * root[:, None]
        return np.asarray(dense @ dense.T)

    def _squared(self) -> Any:
        data = np.square(self._matrix.data, dtype=np.float64)
        return sp.csr_array((data, self._matrix.indices, self._matrix.indptr), self._matrix.shape)

    def _scaled_rows(self, scale: Floats) -> Any:
        matrix = self._matrix
        data = matrix.data * np.repeat(scale, np.diff(matrix.indptr))
        return sp.csr_array((data, matrix.indices, matrix.indptr), matrix.shape)

    def _blocks(self) -> Iterator[tuple[int, Floats]]:
        size = max(1, BLOCK_BYTES // (8 * max(self._matrix.shape[1], 1)))
        for start in range(0, self.rows, size):
            block = self._matrix[start : start + size]
            yield start, np.asarray(block.toarray() if self.sparse else block, dtype=np.float64)

    def _split(self, directions: Floats) -> tuple[Floats, Floats]:
        if self.intercept:
            return directions[:, :-1], directions[:, -1]
        return directions, np.zeros(len(directions))

    def _joined(self, features: Floats, constant: Floats) -> Floats:
        return np.column_stack([features, constant]) if self.intercept else np.asarray(features)


def _numbers(features: Any) -> npt.NDArray[Any]:
    """A matrix of numbers as it is; anything else (a data frame, objects) as float64."""
    matrix = np.asarray(features)
    return matrix if matrix.dtype.kind in "fiub" else matrix.astype(np.float64)
