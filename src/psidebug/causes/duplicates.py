"""``duplicates``: some training rows are there many times, more often than chance makes equal rows."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import numpy.typing as npt
from scipy.stats import poisson

from psidebug import policy
from psidebug.causes.claim import Claim
from psidebug.changes import Change, Drop, Weigh
from psidebug.checks.pairs import pairs_of
from psidebug.checks.rows import Keys, different, equal_rows, rows_of
from psidebug.task.data import Data


def claims(data: Data, without: Collection[str] = ()) -> list[Claim]:
    """Rows with equal features, if pairs of them are more frequent within training than between the sets.

    Whether they are is asked ``without`` some columns, in which something else is wrong.
    """
    whole, test = row_keys(data)
    copies = len(whole) - different(whole)
    if copies < policy.LEAST_SHARE_OF_A_CODE * len(whole):
        return []
    _, group, sizes = np.unique(whole, return_inverse=True, return_counts=True)
    keys, test = row_keys(data, without) if without else (whole, test)
    of_kind = np.unique(keys, return_counts=True)[1]
    values, tested = np.unique(test, return_counts=True)
    place = np.searchsorted(values, keys)
    place = np.clip(place, 0, len(values) - 1)
    between = float(tested[place][values[place] == keys].sum()) / len(keys)
    within = float((of_kind * (of_kind - 1) // 2).sum())
    inside_test = float((tested * (tested - 1) // 2).sum()) * 2 / max(len(test) - 1, 1)
    # Test rows that are equal to a row, in the mean: what chance makes equal is as frequent in either set.
    expected = (max(between, inside_test) * len(keys) + 1.0) * (len(keys) - 1) / 2 / len(test)
    if within < 3.0 * expected or poisson.sf(within, expected) > policy.CLEARLY_DIFFERENT:
        return []
    return [_claim(data, group, sizes, copies)]


def _claim(data: Data, group: npt.NDArray[np.intp], sizes: npt.NDArray[np.intp], copies: int) -> Claim:
    codes, size = data.train.codes, data.encoding.size
    counts = np.zeros((len(sizes), size), dtype=np.intp)
    np.add.at(counts, (group, codes), 1)
    contradicting = int(((counts > 0).sum(axis=1) > 1).sum())
    first = np.unique(group, return_index=True)[1]
    rows = np.setdiff1d(np.arange(len(group)), first)
    own = np.ones(len(group)) if data.sample_weight is None else data.sample_weight
    changes: tuple[Change, ...] = (Weigh(own / sizes[group]), Drop(rows))
    labels = f", {contradicting} of them with different labels" if contradicting else ""
    repeated = int((sizes > 1).sum())
    return Claim(
        "duplicates",
        f"{copies} training rows",
        f"{repeated} training rows are there more than once, {copies} copies in all{labels}",
        "Keep one of each." if not contradicting else "Keep one of each, with the label that is right.",
        changes,
        strength=copies / len(group),
        rows=rows,
    )


def row_keys(data: Data, without: Collection[str] = ()) -> tuple[Keys, Keys]:
    """A number for each row of both sets; rows that are equal, but for some columns, have equal ones."""
    train, test = data.train.features, data.test.features
    if not without:
        found = rows_of(data)
    else:
        found = equal_rows(train, test, (each for each in pairs_of(train, test) if each.name not in without))
    return found.train, found.test
