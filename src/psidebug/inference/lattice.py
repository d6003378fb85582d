"""Whether effects are whole multiples of one step (votes, counts), where sums can tie."""

from __future__ import annotations

import numpy as np

from psidebug.priors import Floats

COARSEST = 1e-4
"""A step finer than this share of the largest effect is no lattice, but numbers."""


def lattice_step(effects: Floats) -> float | None:
    """The largest δ of which every effect is a whole multiple, or None.

    Euclid's algorithm on floating-point numbers, with a tolerance of 1e-9 of the largest effect.
    """
    sizes = np.abs(effects[effects != 0])
    if len(sizes) == 0:
        return None
    largest = float(sizes.max())
    step = largest
    for size in sizes[:64].tolist():
        step = _common_divisor(step, size, 1e-9 * largest)
        if step < COARSEST * largest:
            return None
    for size in np.unique(sizes).tolist() if not _multiples(sizes, step) else ():
        step = _common_divisor(step, size, 1e-9 * largest)
        if step < COARSEST * largest:
            return None
    return step if _multiples(sizes, step) else None


def _multiples(sizes: Floats, step: float) -> bool:
    ratio = sizes / step
    return bool(np.all(np.abs(ratio - np.round(ratio)) < 1e-6))


def _common_divisor(a: float, b: float, tolerance: float) -> float:
    while b > tolerance:
        a, b = b, abs(a - b * round(a / b))
    return a
