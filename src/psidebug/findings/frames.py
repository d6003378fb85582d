"""The tables of results as data frames, in the user's own library."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from psidebug.findings.findings import Causes, Findings, LabelFindings
from psidebug.task.labels import Encoding
from psidebug.task.tables import Table, frame_like

SLICE_COLUMNS = {
    "rows": np.intp,
    "suspects": np.float64,
    "ps": np.float64,
    "z": np.float64,
    "p_value": np.float64,
    "corrected": np.intp,
    "gain": np.float64,
    "test_error": np.float64,
}
EXPLANATION_COLUMNS = {
    "explanation": object,
    "evidence": np.float64,
    "charge": np.float64,
    "corrected": np.intp,
    "gain": np.float64,
    "gain_error": np.float64,
    "proved": bool,
}


def library_for(table: Table) -> str:
    """Name of the data-frame library that goes with a user's table: its own, or else the first that is installed."""
    return str(nw.get_native_namespace(frame_like({"row": np.empty(0)}, table)).__name__)


def suspects_frame(findings: Findings) -> Any:
    """Every suspect, best first, with what is known of each."""
    return labels_frame(findings.labels, findings.encoding, findings.frames)


def causes_frame(findings: Findings, causes: Causes) -> Any:
    """The first causes of one bug: as the suspects, with the figures for this bug."""
    labels, rows = findings.labels, causes.positions
    own = replace(
        labels,
        rows=labels.rows[rows],
        given=labels.given[rows],
        proposed=causes.proposed,
        ps=causes.ps,
        ps_low=causes.low,
        ps_high=causes.high,
        p_wrong=labels.p_wrong[rows],
        order=np.arange(len(rows)),
    )
    return labels_frame(own, findings.encoding, findings.frames)


def labels_frame(labels: LabelFindings, encoding: Encoding, library: str) -> Any:
    """Training rows in the order of ``labels``: row, given, proposed, ps, ps_low, ps_high, p_wrong."""
    order = labels.order
    columns = {
        "row": labels.rows[order],
        "given": encoding.decode(labels.given[order]),
        "proposed": encoding.decode(labels.proposed[order]),
        **{name: getattr(labels, name)[order] for name in ("ps", "ps_low", "ps_high", "p_wrong")},
    }
    return _frame(columns, library)


def slices_frame(findings: Findings) -> Any:
    """What the suspects have in common."""
    found = findings.slices
    named = {
        "condition": np.array([each.condition for each in found], dtype=object),
        "given": findings.encoding.decode(np.array([each.given for each in found], dtype=np.intp)),
    }
    return _frame(named | _columns(found, SLICE_COLUMNS), findings.frames)


def explanations_frame(findings: Findings) -> Any:
    """Every explanation that competed, and what retraining said."""
    return _frame(_columns(findings.explanations, EXPLANATION_COLUMNS), findings.frames)


def curve_frame(findings: Findings) -> Any:
    """Error against number of corrections; ``chosen`` marks the fewest within one standard error of the best."""
    curve = findings.curve
    if curve is None:
        return None
    effects = [point.verified for point in curve.points]
    validation = [each.validation_after for each in effects]
    columns = {
        **_columns(curve.points, {"corrected": np.intp, "ps": np.float64, "p_wrong": np.float64}),
        "test_error": np.array([each.test_after.rate for each in effects]),
        "validation_error": np.array([float("nan") if each is None else each.rate for each in validation]),
        "chosen": np.arange(len(effects)) == curve.chosen,
    }
    return _frame(columns, findings.frames)


def _columns(values: Sequence[Any], kinds: Mapping[str, Any]) -> dict[str, Any]:
    """Attributes of values as columns of these kinds."""
    return {name: np.array([getattr(each, name) for each in values], dtype=kind) for name, kind in kinds.items()}


def _frame(columns: Mapping[str, Any], library: str) -> Any:
    """In this library; in pyarrow where it is not installed."""
    if importlib.util.find_spec(library) is None:
        return frame_like(columns, pa.table({}))
    backend: Any = library
    return frame_like(columns, nw.from_dict({"row": []}, backend=backend).to_native())
