"""The suspects as tables for other programs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from psidebug.exports.columns import array_of_values, free_name, labels_of, own_columns, taken
from psidebug.store import Run

NUMBERS = ("ps", "ps_low", "ps_high", "p_wrong")


def suspects_table(run: Run, *, top: int | None = None, columns: bool = False) -> Any:
    """The first suspects, best first: row, given, proposed, ps, ps_low, ps_high, p_wrong; then the user's own columns.

    A column of the user that has one of these names gets ``psi_`` before it.
    """
    order, labels = run.order[:top], run.files.labels
    table = {
        "row": array_of_values(run.rows[order].tolist()),
        "given": labels_of(run, run.given[order]),
        "proposed": labels_of(run, run.files.codes(labels, "proposed")[order]),
        **{name: pa.array(labels[name].to_numpy()[order], from_pandas=True) for name in NUMBERS},
    }
    for name, values in taken(own_columns(run) if columns else {}, order).items():
        table[free_name(name, table)] = values
    return pa.table(table)


def cleanlab_frame(run: Run) -> Any:
    """Every training row in order, with the columns of cleanlab's ``get_label_issues``, after its id ``row``.

    ``is_label_issue`` where the label is more likely wrong than right, ``label_quality`` = 1 - p_wrong,
    ``given_label``, and ``predicted_label``, the likeliest one.
    """
    labels = run.files.labels
    p_wrong = np.nan_to_num(labels["p_wrong"].to_numpy().astype(np.float64))
    issue = p_wrong > 0.5
    proposed = run.files.codes(labels, "proposed")
    return pa.table(
        {
            "row": array_of_values(run.rows.tolist()),
            "is_label_issue": pa.array(issue),
            "label_quality": pa.array(1.0 - p_wrong),
            "given_label": labels_of(run, run.given),
            "predicted_label": labels_of(run, np.where(issue, proposed, run.given)),
        }
    )
