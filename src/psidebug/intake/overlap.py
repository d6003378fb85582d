"""Test rows that are training rows: a test set that was learned by heart cannot say which labels are wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from psidebug.intake.types import is_number

MOST = 0.5
"""Of the test rows; more than this share among the training rows is told."""


def shared_rows(train: Any, test: Any) -> str | None:
    """A sentence if most test rows have the very features of a training row, and more than chance explains; else None.

    Chance is what the training rows say: where few values are possible, most of them have a twin among themselves.
    """
    keys = _keys(train, test)
    learned, tested = keys[: train.num_rows], keys[train.num_rows :]
    shared = int(np.isin(tested, learned).sum())
    _, place, times = np.unique(learned, return_inverse=True, return_counts=True)
    twins = float((times[place] > 1).mean())
    if shared <= MOST * len(tested) or shared <= 2 * twins * len(tested):
        return None
    return (
        f"{shared:,} of {len(tested):,} test rows are training rows too: a model is right about rows that it has "
        f"learned, wrong labels included. Test on rows that were kept apart"
    )


def _keys(train: Any, test: Any) -> npt.NDArray[np.uint64]:
    """A number for each row of both tables, the same for the same values: codes of each column, mixed."""
    keys = np.zeros(train.num_rows + test.num_rows, dtype=np.uint64)
    for name in train.column_names:
        columns = [train[name], test[name]]
        if columns[0].type != columns[1].type:  # numbers of two kinds, or dates and moments
            kind = pa.float64() if is_number(columns[0].type) else pa.timestamp("us")
            columns = [each.cast(kind, safe=False) for each in columns]
        both = pa.chunked_array([chunk for each in columns for chunk in each.chunks])
        codes = both.combine_chunks().dictionary_encode("encode").indices.to_numpy(zero_copy_only=False)
        keys = (keys ^ codes.astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        keys ^= keys >> np.uint64(29)
    return keys
