"""Generated data: the paper's ``2gauss`` and ``concentric``, and logistic data in twenty dimensions.

The paper says that both of its sets come from spherical Gaussians, and gives their clean validation errors. These tell
the geometry: 0.01 = Φ(-2.33) is half the distance of two means; 0.47 for a line and 0.09 for trees are two rings,
blurred by a spherical Gaussian, with centres a little apart. (One Gaussian inside another would do as well for trees,
but then 200 random flips place the line anywhere, and its error is 0.32 to 0.66.)
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from psidebug.datasets.benchmark import Design, Sizes
from psidebug.datasets.noise import Labels
from psidebug.datasets.sources import Source
from psidebug.task.tables import Table

HALF_DISTANCE = 2.33
RADII = np.array([1.0, 2.0])
BLUR = 0.34
"""Standard deviation around the rings."""
APART = 0.23
"""Distance of the rings' centres."""
GENERATED = Source(home="generated", licence="MIT, as Psi")


def _two_gaussians(rng: np.random.Generator, count: int) -> tuple[Callable[[slice], Table], Labels]:
    labels = _alternating(count)
    side = (2 * labels - 1) * HALF_DISTANCE / np.sqrt(2)
    X = rng.normal(size=(count, 2)) + side[:, None]
    return X.__getitem__, labels


def _rings(rng: np.random.Generator, count: int) -> tuple[Callable[[slice], Table], Labels]:
    labels = _alternating(count)
    angle = rng.uniform(0.0, 2 * np.pi, count)
    X = RADII[labels][:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    X += BLUR * rng.normal(size=X.shape)
    X[:, 0] += APART * labels
    return X.__getitem__, labels


def _logistic(rng: np.random.Generator, count: int) -> tuple[Callable[[slice], Table], Labels]:
    X = rng.normal(size=(count, 20))
    probability = 1.0 / (1.0 + np.exp(-X @ rng.normal(size=20)))
    return X.__getitem__, (rng.random(count) < probability).astype(np.intp)


def _alternating(rows: int) -> Labels:
    """As many of both classes in every part: the difference in numbers moves a line that has little else to go by."""
    return np.arange(rows) % 2


two_gaussians = Design("two_gaussians", Sizes(1000, 1000, 5000), 2, ("left", "right"), GENERATED, _two_gaussians)
"""The paper's 2gauss: two unit Gaussians in the plane, means 4.66 apart; no classifier errs less than 0.01."""
concentric = Design("concentric", Sizes(2000, 2000, 5000), 2, ("inner", "outer"), GENERATED, _rings)
"""The paper's concentric: two blurred rings in the plane, radii 1 and 2."""
linear = Design("linear", Sizes(1400, 600, 5000), 20, ("below", "above"), GENERATED, _logistic)
"""Logistic data: x ~ N(0, I) in 20 dimensions, w ~ N(0, I), P(Y = 1 | x) = 1 / (1 + exp(-w·x))."""
