"""Small random tasks, linear in the labels, for comparing engines with enumeration."""

from __future__ import annotations

import numpy as np

from psidebug.errors import PsiError
from psidebug.inference.linear import LinearSymptom
from psidebug.inference.linear_learner import LinearLearner
from psidebug.priors import noise


def random_linear_symptom(rng: np.random.Generator, *, kind: str, most_labels: int, classes: int = 2) -> LinearSymptom:
    """A linear symptom with lattice (ties), real or heavy-tailed effects of both signs and rates of 1e-6 to 0.4."""
    while True:
        size = int(rng.integers(3, most_labels + 1))
        given = rng.integers(0, classes, size)
        match kind:
            case "lattice":
                effects = rng.integers(-4, 8, (size, classes)).astype(np.float64)
            case "real":
                effects = rng.normal(size=(size, classes))
            case _:
                effects = rng.standard_t(1.5, size=(size, classes))
        effects[np.arange(size), given] = 0.0
        rates = 10 ** rng.uniform(-6, np.log10(0.4), size=size if rng.random() < 0.5 else 1)
        most = np.maximum(effects, 0.0).max(axis=1).sum()
        threshold = most * 10 ** rng.uniform(-4, 0)
        if kind == "lattice":
            threshold = float(max(1, round(threshold)))
        try:
            return LinearSymptom(noise(given, classes, np.broadcast_to(rates, size)), effects, threshold)
        except PsiError:
            continue


def random_learner(rng: np.random.Generator, *, labels: int, points: int, classes: int) -> LinearLearner:
    """A linear learner whose first points are misclassified and whose last are right."""
    given = rng.integers(0, classes, labels)
    coefficients = 0.8 * rng.normal(size=(classes, points, classes - 1, labels))
    coefficients[given, :, :, np.arange(labels)] = 0.0
    actual = 0.4 * np.abs(rng.normal(size=(points, classes - 1)))
    actual[: points // 2 + 1] *= -1.0
    return LinearLearner(given, actual, coefficients)
