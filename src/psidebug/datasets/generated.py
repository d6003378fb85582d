"""Generated data: the paper's ``2gauss`` and ``concentric``, and logistic data in twenty dimensions.

The paper says that both of its sets come from spherical Gaussians, and gives their clean validation errors. These tell
the geometry: 0.01 = Φ(-2.33) is half the distance of two means; 0.47 for a line and 0.09 for trees are two rings,
blurred by a spherical Gaussian, with centres a little apart. (One Gaussian inside another would do as well for trees,
but then 200 random flips place the line anywhere, and its error is 0.32 to 0.66.)
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from psidebug.datasets.benchmark import Benchmark, Design, Sizes
from psidebug.datasets.noise import Labels, Noise
from psidebug.datasets.sources import Source

HALF_DISTANCE = 2.33
RADII = np.array([1.0, 2.0])
BLUR = 0.34
"""Standard deviation around the rings."""
APART = 0.23
"""Distance of the rings' centres."""
GENERATED = Source(home="generated", licence="MIT, as Psi")

TWO_GAUSSIANS = Design("two_gaussians", Sizes(1000, 1000, 5000), 2, ("left", "right"), GENERATED)
CONCENTRIC = Design("concentric", Sizes(2000, 2000, 5000), 2, ("inner", "outer"), GENERATED)
LINEAR = Design("linear", Sizes(1400, 600, 5000), 20, ("below", "above"), GENERATED)


def two_gaussians(seed: int, *, test: int = TWO_GAUSSIANS.sizes.test, noise: Noise = "random") -> Benchmark:
    """The paper's 2gauss: two unit Gaussians in the plane, means 4.66 apart; no classifier errs less than 0.01."""
    rng = np.random.default_rng(seed)
    labels = _alternating(TWO_GAUSSIANS.sizes.total)
    side = (2 * labels - 1) * HALF_DISTANCE / np.sqrt(2)
    X = rng.normal(size=(len(labels), 2)) + side[:, None]
    return TWO_GAUSSIANS.benchmark(X.__getitem__, labels, test=test, noise=noise, rng=rng)


def concentric(seed: int, *, test: int = CONCENTRIC.sizes.test, noise: Noise = "random") -> Benchmark:
    """The paper's concentric: two blurred rings in the plane, radii 1 and 2."""
    rng = np.random.default_rng(seed)
    labels = _alternating(CONCENTRIC.sizes.total)
    angle = rng.uniform(0.0, 2 * np.pi, len(labels))
    X = RADII[labels][:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    X += BLUR * rng.normal(size=X.shape)
    X[:, 0] += APART * labels
    return CONCENTRIC.benchmark(X.__getitem__, labels, test=test, noise=noise, rng=rng)


def linear(seed: int, *, test: int = LINEAR.sizes.test, noise: Noise = "random") -> Benchmark:
    """Logistic data: x ~ N(0, I) in 20 dimensions, w ~ N(0, I), P(Y = 1 | x) = 1 / (1 + exp(-w·x))."""
    return _logistic(LINEAR, seed, test=test, noise=noise)


def many_rows(rows: int, seed: int = 0, *, test: int = 100, noise: Noise = "random") -> Benchmark:
    """The same with so many training rows, for measuring speed."""
    design = replace(LINEAR, name=f"linear_{rows}", sizes=Sizes(train=rows, test=test, validation=1000))
    return _logistic(design, seed, test=test, noise=noise)


def _logistic(design: Design, seed: int, *, test: int, noise: Noise) -> Benchmark:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(design.sizes.total, 20))
    probability = 1.0 / (1.0 + np.exp(-X @ rng.normal(size=20)))
    labels = (rng.random(len(X)) < probability).astype(np.intp)
    return design.benchmark(X.__getitem__, labels, test=test, noise=noise, rng=rng)


def _alternating(rows: int) -> Labels:
    """As many of both classes in every part: the difference in numbers moves a line that has little else to go by."""
    return np.arange(rows) % 2
