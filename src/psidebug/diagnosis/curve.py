"""How many labels to correct: error against number of corrections, with PS at each point, as in the paper's figure."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import numpy.typing as npt

from psidebug import policy
from psidebug.changes import NOTHING, Relabel
from psidebug.diagnosis.proof import Prover
from psidebug.errors import LearnerFailed
from psidebug.findings.effects import Floats
from psidebug.findings.findings import Curve, Point, Rows
from psidebug.task.labels import Codes
from psidebug.timings import Tick


def curve_of(
    prover: Prover,
    order: Rows,
    proposed: Codes,
    ps: Floats,
    p_wrong: Floats,
    *,
    suggested: int,
    tick: Tick,
) -> Curve:
    """Retrain with the first suspects corrected, at several numbers of them around the suggested one."""
    task = prover.task
    steps = range(1, policy.CURVE_STEPS + 1)
    shares = [*(step / policy.CURVE_STEPS for step in steps), policy.CURVE_BEYOND]
    if suggested:
        counts = [round(share * suggested) for share in shares]
    else:
        counts = [round(share * policy.DEFAULT_RATE * len(task.train)) for share in shares]
    counts = sorted({count for count in counts if 0 < count <= len(order)})
    points = [Point(0, 1.0, 1.0, prover.verify(NOTHING))]
    place = np.full(len(task.train), len(order))
    place[order] = np.arange(len(order))
    changes = [Relabel.of(task.data, np.where(place < count, proposed, task.train.codes)) for count in counts]
    tick("threshold", 0, len(counts))
    for done, (count, change) in enumerate(zip(counts, prover.trainer.in_turn(changes), strict=True), start=1):
        tick("threshold", done, len(counts))
        last = order[count - 1]
        with suppress(LearnerFailed):
            points.append(Point(count, float(ps[last]), float(p_wrong[last]), prover.verify(change)))
    table = np.stack([point.verified.wrong_after for point in points])
    halves = np.random.default_rng(task.seed).permutation(table.shape[1]) % 2
    # Of a single row one half is empty: nothing chooses, so nothing is corrected.
    errors = [table[fewest(table[:, halves == half]), halves != half] for half in (0, 1)]
    return Curve(
        points=tuple(points),
        minimum=int(table.sum(axis=1).argmin()),
        chosen=max(place for place, point in enumerate(points) if point.corrected <= suggested),
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
