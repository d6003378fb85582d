"""The tables of a diagnosis, in the user's own data-frame library."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from psidebug.diagnosis.curve import Curve
from psidebug.diagnosis.repair import Correction, told
from psidebug.diagnosis.verification import Verification
from psidebug.evidence.hypotheses import Hypothesis
from psidebug.inference.estimates import Estimates
from psidebug.slices.slices import Slice
from psidebug.task.labels import Codes
from psidebug.task.tables import frame_like
from psidebug.task.task import Task

Floats = npt.NDArray[np.float64]
Rows = npt.NDArray[np.intp]


def suspects_frame(task: Task, estimates: Estimates | None, order: Rows, proposed: Codes, p_wrong: Floats) -> Any:
    """Training rows in this order, with what is known of each."""
    unknown = np.full(len(p_wrong), np.nan)
    ps, low, high = (unknown,) * 3 if estimates is None else (estimates.ps, estimates.low, estimates.high)
    return frame_like(
        {
            "row": task.rows[order],
            "given": task.encoding.decode(task.train.codes[order]),
            "proposed": task.encoding.decode(proposed[order]),
            "ps": ps[order],
            "ps_low": low[order],
            "ps_high": high[order],
            "p_wrong": p_wrong[order],
        },
        task.train.features,
    )


def slices_frame(
    task: Task, found: Sequence[tuple[Slice, Verification]], sufficient: Sequence[float], suspected: Rows
) -> Any:
    """Slices with the PS of each as a group, their share of suspects, and the verified effect of correcting them."""
    among = np.zeros(len(task.train), dtype=bool)
    among[suspected] = True
    return frame_like(
        {
            "condition": np.array([each.condition for each, _ in found], dtype=object),
            "given": task.encoding.decode(np.array([each.given for each, _ in found], dtype=np.intp)),
            "rows": np.array([len(each.members) for each, _ in found], dtype=np.intp),
            "suspects": np.array([among[each.members].mean() for each, _ in found]),
            "ps": np.array(sufficient, dtype=np.float64),
            "z": np.array([each.z for each, _ in found]),
            "p_value": np.array([each.p_value for each, _ in found]),
            "corrected": np.array([effect.corrected for _, effect in found], dtype=np.intp),
            "gain": np.array([effect.gain for _, effect in found]),
            "test_error": np.array([effect.test_after.rate for _, effect in found]),
        },
        task.train.features,
    )


def explanations_frame(task: Task, hypotheses: Sequence[Hypothesis], tried: Sequence[Correction]) -> Any:
    """Every explanation that competed, and what retraining said."""
    effects = {id(each.hypothesis): each for each in tried}
    rows = [(each, effects.get(id(each))) for each in hypotheses]
    nothing = float("nan")
    return frame_like(
        {
            "explanation": np.array([told(task, each) for each, _ in rows], dtype=object),
            "evidence": np.array([each.evidence for each, _ in rows]),
            "charge": np.array([each.charge for each, _ in rows]),
            "corrected": np.array([0 if one is None else one.verified.corrected for _, one in rows], dtype=np.intp),
            "gain": np.array([nothing if one is None else one.verified.gain for _, one in rows]),
            "gain_error": np.array([nothing if one is None else one.verified.gain_error for _, one in rows]),
            "proved": np.array([one is not None and one.proved for _, one in rows], dtype=bool),
        },
        task.train.features,
    )


def curve_frame(task: Task, curve: Curve) -> Any:
    """Error against number of corrections; ``chosen`` marks the fewest within one standard error of the best."""
    points = curve.points
    validation = [point.verified.validation_after for point in points]
    return frame_like(
        {
            "corrected": np.array([point.corrected for point in points], dtype=np.intp),
            "ps": np.array([point.ps for point in points]),
            "p_wrong": np.array([point.p_wrong for point in points]),
            "test_error": np.array([point.verified.test_after.rate for point in points]),
            "validation_error": np.array([float("nan") if each is None else each.rate for each in validation]),
            "chosen": np.arange(len(points)) == curve.chosen,
        },
        task.train.features,
    )


def best_of_each_slice(tried: Sequence[Correction]) -> list[tuple[Slice, Correction]]:
    """Every slice that was tried, with the best correction that it is in."""
    best: dict[tuple[str, int], tuple[Slice, Correction]] = {}
    for each in tried:  # the best explanation or gain first
        for one in each.hypothesis.accused:
            best.setdefault((one.condition, one.given), (one, each))
    return list(best.values())
