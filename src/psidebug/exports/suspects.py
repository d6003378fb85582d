"""The suspects as tables for other programs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from psidebug.exports.columns import array_of_values, free_name, labels_of, own_columns, taken
from psidebug.findings import Findings
from psidebug.task.data import Data

NUMBERS = ("ps", "ps_low", "ps_high", "p_wrong")


def suspects_table(findings: Findings, data: Data | None = None, *, top: int | None = None) -> Any:
    """The first suspects, best first: row, given, proposed, ps, ps_low, ps_high, p_wrong.

    With the rows, the user's own columns follow; one that has a name of these gets ``psi_`` before it.
    """
    labels = findings.labels
    order = labels.order[:top]
    table = {
        "row": array_of_values(labels.rows[order].tolist()),
        "given": labels_of(findings, labels.given[order]),
        "proposed": labels_of(findings, labels.proposed[order]),
        **{name: pa.array(getattr(labels, name)[order], from_pandas=True) for name in NUMBERS},
    }
    for name, values in taken({} if data is None else own_columns(data), order).items():
        table[free_name(name, table)] = values
    return pa.table(table)


def cleanlab_frame(findings: Findings) -> Any:
    """Every training row in order, with the columns of cleanlab's ``get_label_issues``, after its id ``row``.

    ``is_label_issue`` where the label is more likely wrong than right, ``label_quality`` = 1 - p_wrong,
    ``given_label``, and ``predicted_label``, the likeliest one.
    """
    labels = findings.labels
    p_wrong = np.nan_to_num(labels.p_wrong)
    issue = p_wrong > 0.5
    return pa.table(
        {
            "row": array_of_values(labels.rows.tolist()),
            "is_label_issue": pa.array(issue),
            "label_quality": pa.array(1.0 - p_wrong),
            "given_label": labels_of(findings, labels.given),
            "predicted_label": labels_of(findings, np.where(issue, labels.proposed, labels.given)),
        }
    )
