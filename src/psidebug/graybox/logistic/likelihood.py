"""The two likelihoods: a softmax over K classes, and separate sigmoids (one for two classes, K for one-against-rest).

Row i has scores z_ia for the free classes a = 1 … F and label y. Its loss has the gradient

    ∂ℓ_i/∂z_ia = ω_a(y) (p_ia - τ_a(y)),    τ_a(y) = [y = a],

with the class weight ω_a(y): κ_y, except one-against-rest, where only the positives are weighted (κ_a if y = a, else
1). Two classes have one free class, the second, and θ_0 = 0. Both likelihoods offer the same methods:

    probabilities   p_ia (n, F)
    losses          weighted loss of each row (n,)
    curved          ∂²ℓ/∂z∂z · scores for scores (n, …, F), without the weights ω
    forces          Σ_a pull_ia ω_a(k) (τ_a(k) - p_ia) for every class k (n, K): a label's pull against the gradient
    surprise        2 (1 - p_i(y_i)), the paper's weight of a label's flip (n, F) or (n, 1)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from scipy.special import expit, log_softmax, softmax

from psidebug.graybox.protocol import Floats
from psidebug.task.labels import Codes


@dataclass(frozen=True, eq=False)
class _OfClasses:
    classes: int
    class_weight: Floats
    coupled: ClassVar[bool]

    @property
    def free(self) -> int:
        """F: K, or 1 for the one sigmoid of two classes."""
        return self.classes if self.coupled or self.classes > 2 else 1

    def targets(self, labels: Codes) -> Floats:
        """τ_a(y_i) (n, F): one-hot labels, of two classes [y = 1]."""
        return np.eye(self.classes)[:, self.classes - self.free :][labels]

    def weights(self, labels: Codes) -> Floats:
        """ω_a(y_i) = κ_y for all classes, (n, 1)."""
        return self.class_weight[labels][:, None]

    def curvature(self, probabilities: Floats) -> Floats:
        """∂²ℓ/∂z_a² = p (1 - p), (n, F), without the weights ω."""
        return np.asarray(probabilities * (1.0 - probabilities))


class Multinomial(_OfClasses):
    """p_ik = exp z_ik / Σ_l exp z_il: K ≥ 3 free classes with one Hessian."""

    coupled = True

    def probabilities(self, scores: Floats) -> Floats:
        """Softmax over the classes."""
        return np.asarray(softmax(scores, axis=1))

    def losses(self, scores: Floats, labels: Codes) -> Floats:
        """-κ_y log p_i(y)."""
        chosen = log_softmax(scores, axis=1)[np.arange(len(labels)), labels]
        return np.asarray(-self.class_weight[labels] * chosen)

    def curved(self, probabilities: Floats, scores: Floats) -> Floats:
        """(diag p - p pᵀ) z."""
        p = probabilities.reshape(len(probabilities), *[1] * (scores.ndim - 2), self.classes)
        return np.asarray(p * (scores - (p * scores).sum(axis=-1, keepdims=True)))

    def forces(self, probabilities: Floats, pull: Floats) -> Floats:
        """κ_k (pull_ik - Σ_a p_ia pull_ia)."""
        return np.asarray(self.class_weight * (pull - (probabilities * pull).sum(axis=1, keepdims=True)))

    def surprise(self, probabilities: Floats, labels: Codes) -> Floats:
        """2 (1 - p_i(y_i))."""
        return 2.0 * (1.0 - probabilities[np.arange(len(labels)), labels][:, None])


class Separate(_OfClasses):
    """p_ia = h(z_ia), each free class on its own: two classes, or K classes one against the rest."""

    coupled = False

    def probabilities(self, scores: Floats) -> Floats:
        """The sigmoid h of each score."""
        return np.asarray(expit(scores))

    def losses(self, scores: Floats, labels: Codes) -> Floats:
        """Σ_a ω_a(y) (log(1 + exp z_ia) - τ_a(y) z_ia)."""
        losses = np.logaddexp(0.0, scores) - self.targets(labels) * scores
        return np.asarray((self.weights(labels) * losses).sum(axis=1))

    def weights(self, labels: Codes) -> Floats:
        """κ_y for two classes; against the rest only the positives of a class carry its weight."""
        if self.free == 1:
            return self.class_weight[labels][:, None]
        return np.asarray(np.where(self.targets(labels) > 0, self.class_weight, 1.0))

    def opposite_weights(self, labels: Codes) -> Floats:
        """The weight that each sigmoid gives to a label on its other side."""
        if self.free == 1:
            return self.class_weight[1 - labels][:, None]
        return np.asarray(np.where(self.targets(labels) > 0, 1.0, self.class_weight))

    def curved(self, probabilities: Floats, scores: Floats) -> Floats:
        """p (1 - p) z."""
        v = probabilities * (1.0 - probabilities)
        return np.asarray(v.reshape(len(v), *[1] * (scores.ndim - 2), self.free) * scores)

    def forces(self, probabilities: Floats, pull: Floats) -> Floats:
        """Two classes: -κ_0 p pull and κ_1 (1-p) pull. Against the rest: class k's own sigmoid, minus all others."""
        p, kappa = probabilities, self.class_weight
        if self.free == 1:
            return np.column_stack([-kappa[0] * p * pull, kappa[1] * (1.0 - p) * pull])
        return np.asarray(pull * (p + kappa * (1.0 - p)) - (p * pull).sum(axis=1, keepdims=True))

    def surprise(self, probabilities: Floats, labels: Codes) -> Floats:
        """2 |p_ia - τ_a(y_i)|, each sigmoid's own."""
        return 2.0 * np.abs(probabilities - self.targets(labels))


class Curved(Protocol):
    """What the Hessian asks of a likelihood."""

    @property
    def free(self) -> int:
        """F."""

    @property
    def coupled(self) -> bool:
        """Whether classes share one Hessian."""

    def curved(self, probabilities: Floats, scores: Floats) -> Floats:
        """∂²ℓ/∂z∂z · scores."""

    def curvature(self, probabilities: Floats) -> Floats:
        """∂²ℓ/∂z_a² (n, F)."""


Likelihood = Multinomial | Separate
