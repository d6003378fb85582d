"""``missing_code``: a value that stands for "not known", such as -999, is frequent in one set and not in the other."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
from scipy.stats import fisher_exact

from psidebug import policy
from psidebug.causes.claim import SIDES, Claim, Side, side_name
from psidebug.causes.columns import MISSING, TwoSets
from psidebug.changes import Mask

WORDS = frozenset(
    [
        "", "?", "-", "--", ".", "na", "n/a", "#n/a", "nan", "nil", "none", "null", "unk", "unknown", "undefined",
        "missing", "not available", "-1", "-9", "-99", "-999", "-9999", "999", "9999", "99999",
    ]
)  # fmt: skip


def claims(column: TwoSets) -> list[Claim]:
    """Codes of this column in either set, and cells that are missing in one of them only."""
    found = []
    for side in SIDES:
        code = _number(column, side) if column.numeric else _word(column, side)
        if code is not None:
            found.append(_coded(column, side, code))
        elif (empty := _empty(column, side)) is not None:
            found.append(empty)
    return found


def _number(column: TwoSets, side: Side) -> float | None:
    """A value that is frequent here and rare there, and beyond all others, or not among numbers without steps."""
    own, other = column.present(side), column.present("test" if side == "training" else "training")
    if len(own) < policy.LEAST_TEST_ROWS or len(other) < policy.LEAST_TEST_ROWS:
        return None
    values, counts = np.unique(own, return_counts=True)
    for code in (values[np.argmax(counts)], values[0], values[-1]):
        here, there = (int(np.count_nonzero(each == code)) for each in (own, other))
        if not _frequent(here, len(own), there, len(other)):
            continue
        absent = there == 0 and len(np.unique(other)) > len(other) / 2
        both = np.concatenate([own, other])
        if absent or (here + there < len(both) and _beyond(code, np.unique(both[both != code]))):
            return float(code)
    return None


def _beyond(code: float, rest: npt.NDArray[np.float64]) -> bool:
    """Whether it lies apart from the other values, and not one step after the last of them."""
    if rest[0] <= code <= rest[-1]:
        return False
    with np.errstate(over="ignore"):  # of numbers near the largest there are
        gap, steps = max(rest[0] - code, code - rest[-1]), np.diff(rest)
    return code < 0 <= rest[0] or (len(steps) > 0 and gap > 3.0 * float(np.median(steps)))


def _word(column: TwoSets, side: Side) -> int | None:
    assert column.values is not None
    own, other = column.of(side), column.other(side)
    for code, value in enumerate(column.values):
        if str(value).strip().casefold() in WORDS and _frequent(
            int((own == code).sum()), len(own), int((other == code).sum()), len(other)
        ):
            return code
    return None


def _empty(column: TwoSets, side: Side) -> Claim | None:
    gone = [~np.isfinite(each) if column.numeric else each == MISSING for each in (column.of(side), column.other(side))]
    here, there = int(gone[0].sum()), int(gone[1].sum())
    if not _frequent(here, len(gone[0]), there, len(gone[1])):
        return None
    set_ = side_name(side)
    return Claim(
        "missing_code",
        f"column {column.name}, {set_}",
        f"{here / len(gone[0]):.0%} of {column.name} is missing in {set_}, {there / len(gone[1]):.0%} in the other set",
        f"Find out why {column.name} is missing in {set_}; train on rows that lack it as often as new ones will.",
        column=column.name,
        strength=here / len(gone[0]),
    )


def _frequent(here: int, of: int, there: int, of_other: int) -> bool:
    """Whether a value has 1% of the rows here, a third of that at most there, and that is no chance."""
    if here < policy.LEAST_SHARE_OF_A_CODE * of or there * of * 3 > here * of_other:
        return False
    return float(fisher_exact([[here, of - here], [there, of_other - there]])[1]) < policy.CLEARLY_DIFFERENT


def _coded(column: TwoSets, side: Side, code: float) -> Claim:
    own, set_ = column.of(side), side_name(side)
    rows = np.flatnonzero(own == code)
    value = float(code) if column.values is None else str(column.values[int(code)])
    shown = repr(value) if isinstance(value, str) else f"{value:g}"
    gone = Mask(column.name, test=side == "test", code=value)
    changes = [gone]
    if column.values is None:
        rest = np.concatenate([column.present(each) for each in SIDES])
        changes.append(replace(gone, fill=float(np.median(rest[rest != code]))))
    return Claim(
        "missing_code",
        f"column {column.name}, {set_}",
        f"{len(rows)} values of {column.name} in {set_} are {shown}, which stands for no value",
        f"Make {shown} a missing value in {column.name}.",
        tuple(changes),
        column=column.name,
        side=side,
        strength=len(rows) / len(own),
        rows=rows,
    )
