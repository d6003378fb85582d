"""Data to debug, each with known label errors: the demo's digits, the paper's four benchmarks, and four more.

Every benchmark is made from a seed: ``income(0)``, ``income(0, test=100, noise="one_sided")``. ``BENCHMARKS`` has
them by name, ``DESIGNS`` says what each is made of, and ``psi datasets`` lists it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from psidebug.datasets.benchmark import Benchmark, Learner
from psidebug.datasets.generated import concentric, linear, two_gaussians
from psidebug.datasets.noise import Noise, Planted
from psidebug.datasets.real import breast_cancer, income, odd_even, sentiment, ten_digits

DESIGNS = (sentiment, income, two_gaussians, concentric, linear, breast_cancer, ten_digits, odd_even)
BENCHMARKS: Mapping[str, Callable[..., Benchmark]] = {design.name: design for design in DESIGNS}

__all__ = [
    "BENCHMARKS",
    "DESIGNS",
    "Benchmark",
    "Learner",
    "Noise",
    "Planted",
    "breast_cancer",
    "concentric",
    "income",
    "linear",
    "odd_even",
    "sentiment",
    "ten_digits",
    "two_gaussians",
]
