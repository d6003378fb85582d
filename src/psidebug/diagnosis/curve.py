"""How many labels to correct: error against number of corrections, with PS at each point, as in the paper's figure."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from psidebug import policy
from psidebug.changes import NOTHING, Relabel
from psidebug.diagnosis.proof import Prover
from psidebug.diagnosis.verification import Verification
from psidebug.errors import LearnerFailed
from psidebug.task.labels import Codes

Rows = npt.NDArray[np.intp]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Point:
    """The first ``corrected`` suspects corrected."""

    corrected: int
    ps: float
    """Of the last of them: the threshold τ that corrects just these."""
    p_wrong: float
    verified: Verification


@dataclass(frozen=True, eq=False)
class Curve:
    """Points by number of corrections, the first without any; ``wrong`` says which test rows each leaves wrong."""

    points: tuple[Point, ...]
    wrong: npt.NDArray[np.bool_]
    """(points, M)."""
    minimum: int
    """Which point has the fewest errors on the test set."""
    chosen: int
    """Which point has the fewest corrections within one standard error of that."""
    reported: float
    """Error rate of such a choice made on one half of the test set, on the other half: the test rows that choose the
    threshold are not those that report it."""


def curve_of(
    prover: Prover,
    order: Rows,
    proposed: Codes,
    ps: Floats,
    p_wrong: Floats,
    *,
    suggested: int,
    tick: Callable[[str, int, int], None],
) -> Curve:
    """Retrain with the first suspects corrected, at several numbers of them around the suggested one."""
    task = prover.task
    counts = (
        [round(share * suggested) for share in policy.CURVE_SHARES]
        if suggested
        else [round(s * len(task.train)) for s in policy.CURVE_BLIND]
    )
    counts = sorted({count for count in counts if 0 < count <= len(order)})
    before = prover.verify(NOTHING)
    points, wrong = [Point(0, 1.0, 1.0, before)], [before.wrong_after]
    for done, count in enumerate(counts, start=1):
        tick("threshold", done, len(counts))
        codes = task.train.codes.copy()
        codes[order[:count]] = proposed[order[:count]]
        last = order[count - 1]
        with suppress(LearnerFailed):
            effect = prover.verify(Relabel.of(task.data, codes))
            points.append(Point(count, float(ps[last]), float(p_wrong[last]), effect))
            wrong.append(effect.wrong_after)
    table = np.stack(wrong)
    halves = np.random.default_rng(task.seed).permutation(table.shape[1]) % 2
    # Of a single row one half is empty: nothing chooses, so nothing is corrected.
    errors = [table[fewest(table[:, halves == half]), halves != half] for half in (0, 1)]
    return Curve(
        points=tuple(points),
        wrong=table,
        minimum=int(table.sum(axis=1).argmin()),
        chosen=fewest(table),
        reported=float(np.concatenate(errors).mean()),
    )


def fewest(wrong: npt.NDArray[np.bool_]) -> int:
    """The first point whose number of errors is within one standard error of the smallest.

    Both are on the same rows: b rows are wrong only here, c only there, and b - c has the standard error √(b + c).
    """
    best = int(wrong.sum(axis=1).argmin())
    worse = (wrong & ~wrong[best]).sum(axis=1)
    better = (wrong[best] & ~wrong).sum(axis=1)
    return int(np.flatnonzero(worse - better <= np.sqrt(worse + better))[0])
