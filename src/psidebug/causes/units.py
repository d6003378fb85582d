"""``unit``: a column has another scale in one of the sets, or in some rows of it.

Rows of one set are a mixture: with probability 1 - w they are distributed as in the other set, p(x), and with
probability w as p(x / f) / f, f one of the factors between units in use. w is the likeliest one. The claim is made
where the sets clearly differ as they are, and hardly any more with these rows in the other's unit.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
import numpy.typing as npt

from psidebug import policy
from psidebug.causes.claim import SIDES, Claim, Side, side_name
from psidebug.causes.columns import Floats, TwoSets, distance, unlike
from psidebug.changes import Rescale

UNITS = (
    10.0, 100.0, 1000.0, 1e4, 1e5, 1e6, 12.0, 60.0, 3600.0, 24.0, 7.0, 30.0, 365.0, 52.0, 2.54, 25.4, 30.48, 3.28084,
    0.45359, 1.60934, 3.6, 28.3495, 4.184, 1.8,
)  # fmt: skip
"""Powers of ten, time, lengths, weights, speeds, energy."""
WHOLE = 0.97
"""Mixtures with a larger w are the whole column."""
CELLS, FLOOR = 400, 1e-3
LEAST_VALUES = 20
"""Of fewer different values some are ten times others anyway: rows in another unit must have values of their own."""


@dataclass(frozen=True, eq=False)
class _Scaled:
    """Rows of a column that are ``factor`` times too large."""

    side: Side
    factor: float
    share: float
    inside: npt.NDArray[np.bool_]
    fit: float
    """Mean log likelihood of the values."""
    left: float
    """How far apart the sets still are after it."""
    alike: bool
    """Whether that may well be chance."""


def claims(column: TwoSets, validation: Floats | None = None) -> list[Claim]:
    """The one factor that brings the sets together, if there is one.

    Where either set may be the one to change, it is that which is unlike the ``validation`` rows, or the test set.
    """
    if not column.numeric or column.differ > policy.CLEARLY_DIFFERENT:
        return []
    before = distance(column.present("training"), column.present("test"))
    side: Side = "test"
    if validation is not None and distance(validation, column.present("test")) < distance(
        validation, column.present("training")
    ):
        side = "training"
    found = [
        each
        for set_, factor in product(SIDES, (*UNITS, *(1.0 / each for each in UNITS)))
        if (each := _scaled(column, set_, factor)) is not None
    ]
    found = [each for each in found if each.left < policy.LEFT_AFTER_REPAIR * before or each.alike]
    if not found:
        return []
    best = max(found, key=lambda each: (each.side == side, each.fit))
    if best.share > WHOLE:  # of near factors, such as 52 and 60, that which leaves least is the right one more often
        whole = (each for each in found if each.side == best.side and each.share > WHOLE)
        best = min(whole, key=lambda each: each.left)
    return [_claim(column, best, before)]


def _scaled(column: TwoSets, side: Side, factor: float) -> _Scaled | None:
    own, other = column.of(side), column.present("training" if side == "test" else "test")
    there = np.isfinite(own) & (own != 0)
    nonzero = other[other != 0]
    if there.sum() < policy.LEAST_TEST_ROWS or len(nonzero) < policy.LEAST_TEST_ROWS:
        return None
    shift = abs(float(np.log(factor)))
    logs, reference = np.log(np.abs(own[there])), np.log(np.abs(nonzero))
    share, posterior, fit = _mixture(logs, reference, float(np.log(factor)))
    if share * there.sum() < policy.LEAST_TEST_ROWS or shift < 0.4:
        return None
    inside = np.zeros(len(own), dtype=bool)
    inside[there] = posterior > 0.5
    if share > WHOLE:
        inside[:] = True
    elif shift < np.log(9.9) or _codes(own[inside], np.unique(other)):
        return None  # rows of near units cannot be told from large ones
    with np.errstate(over="ignore"):  # of numbers near the largest there are
        repaired = np.where(inside, own / factor, own)
    repaired = repaired[np.isfinite(repaired)]
    p = unlike(repaired, other)
    apart = (
        share > WHOLE and distance(own[there], nonzero) > WHOLE
    )  # the sets hardly overlap: something else may differ
    if p < policy.STILL_DIFFERENT and not apart:
        return None
    alike = p > 1.0 - policy.CHANCE_QUANTILE
    return _Scaled(side, factor, float(inside.mean()), inside, fit, distance(repaired, other), alike)


def _codes(values: Floats, others: Floats) -> bool:
    """Whether these are some of the few values that the other set has, too."""
    return len(others) < LEAST_VALUES and bool(np.isin(values, others).sum() >= policy.MAJORITY * len(values))


def _mixture(logs: Floats, reference: Floats, shift: float) -> tuple[float, Floats, float]:
    """w, how likely each value is one of the scaled ones, and the mean log likelihood."""
    low, high = float(reference.min()), float(reference.max())
    width = max((high - low) / CELLS, 1e-3)
    spread = max(2, int(0.06 / width))
    edges = low - 10 * width + width * np.arange(CELLS + 21)
    counts = np.histogram(reference, edges)[0].astype(float)
    smooth = np.convolve(counts, np.hanning(2 * spread + 1), mode="same")
    density = smooth / max(smooth.sum(), 1e-12) / width

    def at(values: Floats) -> Floats:
        place = np.clip(((values - edges[0]) / width).astype(np.intp), -1, len(density))
        outside = (place < 0) | (place >= len(density))
        beyond = np.maximum(np.maximum(edges[0] - values, values - edges[-1]), 0.0)  # less and less likely
        inside = np.where(outside, 0.0, density[np.clip(place, 0, len(density) - 1)])
        return np.asarray(inside + FLOOR * np.exp(-beyond))

    as_is, scaled = at(logs), at(logs - shift)
    share = 0.5
    for _ in range(50):
        posterior = share * scaled / (share * scaled + (1.0 - share) * as_is)
        share = float(np.clip(posterior.mean(), 1e-6, 1.0 - 1e-6))
    return share, posterior, float(np.log(share * scaled + (1.0 - share) * as_is).mean())


def _claim(column: TwoSets, found: _Scaled, before: float) -> Claim:
    factor, name = found.factor, column.name
    larger, times = ("larger", factor) if factor > 1 else ("smaller", 1.0 / factor)
    told = f"{times:.4g} times {larger}"
    part = found.share < WHOLE
    set_, other = side_name(found.side), side_name("test" if found.side == "training" else "training")
    rows = np.flatnonzero(found.inside) if part else None
    who = f"{found.share:.0%} of the values of {name} in {set_} are" if part else f"{name} in {set_} is"
    change = Rescale(name, test=found.side == "test", factor=1.0 / factor, rows=rows)
    return Claim(
        "unit",
        f"column {name}, {set_}" + (f", {len(found.inside[found.inside])} rows" if part else ""),
        f"{who} {told} than in {other}",
        f"Bring {name} to one unit: multiply {'these values' if part else f'{name} in {set_}'} by {1.0 / factor:.4g}.",
        (change,),
        column=name,
        side=found.side,
        strength=before - found.left,
        rows=rows,
    )
