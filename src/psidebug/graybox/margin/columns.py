"""Several classes by two-class problems: which label is on which side of each, and scores of classes from theirs.

Problem p has side τ_pk = ±1 for class k, or 0 if rows of class k have no part in it, and weighs them by ω_pk. There is
one problem for two classes; one for each class against the rest; or one for each pair.

Pairs are decided by votes, as the library has it: f_k = votes_k + c_k / (3 (|c_k| + 1)), with c_k = Σ_p τ_pk z_p the
confidence. A vote is a step; its slope is taken as that of a step spread over z = ±1, where the margin is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from psidebug.graybox.protocol import Floats


@dataclass(frozen=True, eq=False)
class Columns:
    """τ and ω, shape (P, K)."""

    sides: Floats
    weights: Floats

    @classmethod
    def against_rest(cls, kappa: Floats, *, positives_only: bool) -> Columns:
        """Class p against the rest, or the second of two; of several classes the weight may be the positives' alone."""
        classes = len(kappa)
        if classes == 2:
            return cls(np.array([[-1.0, 1.0]]), kappa[None])
        weights = np.where(np.eye(classes) > 0, kappa, 1.0) if positives_only else np.tile(kappa, (classes, 1))
        return cls(2.0 * np.eye(classes) - 1.0, weights)

    @classmethod
    def of_pairs(cls, kappa: Floats) -> Columns:
        """Each class against each later one."""
        classes = len(kappa)
        if classes == 2:
            return cls.against_rest(kappa, positives_only=False)
        first, second = np.triu_indices(classes, 1)
        return cls(np.eye(classes)[first] - np.eye(classes)[second], np.tile(kappa, (len(first), 1)))

    @property
    def count(self) -> int:
        """P."""
        return len(self.sides)

    def slopes(self, z: Floats) -> Floats:
        """∂f_k/∂z_p of points with these problems' scores z (points, P), shape (points, P, K)."""
        problems, classes = self.sides.shape
        if problems == 1:
            return np.broadcast_to(np.array([[0.0, 1.0]]), (len(z), 1, 2))
        if problems == classes and (self.sides != 0).all():
            return np.broadcast_to(np.eye(classes), (len(z), classes, classes))
        confidence = z @ self.sides
        near = (np.abs(z) < 1.0) / 2.0
        return np.asarray(self.sides * (1.0 / (3.0 * (np.abs(confidence) + 1.0) ** 2)[:, None, :] + near[:, :, None]))
