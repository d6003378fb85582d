"""The tables of results as data frames, in the user's own library."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from psidebug.findings.findings import (
    Findings,
    FoundCause,
    FoundExplanation,
    FoundRepair,
    FoundSlice,
    LabelFindings,
    Point,
)
from psidebug.task.labels import Encoding
from psidebug.task.tables import Table, frame_like, library_of
from psidebug.timings import Timing

KINDS = {"int": np.intp, "float": np.float64, "bool": bool, "str": object}
"""Types of fields, as columns have them."""


def library_for(table: Table) -> str:
    """Name of the data-frame library that goes with a user's table: its own, or else the first that is installed."""
    return str(library_of(table).__name__)


def checks_frame(findings: Findings) -> Any:
    """What was odd about the data before the diagnosis."""
    columns = {
        "check": np.array([each.name for each in findings.checks], dtype=object),
        "sentence": np.array([each.sentence for each in findings.checks], dtype=object),
    }
    return _frame(columns, findings.frames)


def suspects_frame(findings: Findings) -> Any:
    """Every suspect, best first, with what is known of each."""
    return labels_frame(findings.labels, findings.encoding, findings.frames)


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
    return _frame(named | _columns(found, FoundSlice), findings.frames)


def explanations_frame(findings: Findings) -> Any:
    """Every explanation that competed, and what retraining said."""
    return _frame(_columns(findings.explanations, FoundExplanation), findings.frames)


def causes_frame(findings: Findings) -> Any:
    """What is wrong with the task, the most evidence first."""
    columns = _columns(findings.causes, FoundCause)
    names = ("cause", "where", "evidence", "share", "proved", "advice", "said")
    beside = [float("nan") if each.control is None else each.control for each in findings.causes]
    return _frame({name: columns[name] for name in names} | {"control": np.array(beside)}, findings.frames)


def bugs_frame(findings: Findings) -> Any:
    """The test rows that are explained, in their order."""
    tests, encoding = findings.predictions, findings.encoding
    after = tests.before if tests.after is None else tests.after
    columns = {
        "row": tests.rows[tests.bugs],
        "label": encoding.decode(tests.labels[tests.bugs]),
        "predicted": encoding.decode(tests.before[tests.bugs]),
        "after": encoding.decode(after[tests.bugs]),
    }
    return _frame(columns, findings.frames)


def suspect_tests_frame(findings: Findings) -> Any:
    """Test labels that are probably wrong; empty unless they are a cause."""
    found, tests = findings.suspect_tests, findings.predictions
    rows = np.empty(0, dtype=np.intp) if found is None else found.rows
    columns = {
        "row": tests.rows[rows],
        "given": findings.encoding.decode(tests.labels[rows]),
        "proposed": findings.encoding.decode(rows if found is None else found.proposed),
        "p_wrong": np.empty(0) if found is None else found.p_wrong,
        "why": np.array([] if found is None else found.why, dtype=object),
    }
    return _frame(columns, findings.frames)


def repairs_frame(findings: Findings) -> Any:
    """What to train on instead, and the errors that are left."""
    found = findings.repairs
    columns = _columns(found, FoundRepair)
    rates = [None if each.validation is None else each.validation.rate for each in found]
    errors = {
        "error": np.array([each.error.rate for each in found]),
        "error_low": np.array([each.error.interval[0] for each in found]),
        "error_high": np.array([each.error.interval[1] for each in found]),
        "validation_error": np.array([float("nan") if rate is None else rate for rate in rates]),
    }
    first = {name: columns.pop(name) for name in ("repair", "rows")}
    return _frame(first | errors | columns, findings.frames)


def curve_frame(findings: Findings) -> Any:
    """Error against number of corrections; ``chosen`` marks the fewest within one standard error of the best."""
    curve = findings.curve
    if curve is None:
        return None
    effects = [point.verified for point in curve.points]
    validation = [each.validation_after for each in effects]
    columns = {
        **_columns(curve.points, Point),
        "test_error": np.array([each.test_after.rate for each in effects]),
        "validation_error": np.array([float("nan") if each is None else each.rate for each in validation]),
        "chosen": np.arange(len(effects)) == curve.chosen,
    }
    return _frame(columns, findings.frames)


def timings_frame(timings: Sequence[Timing], library: str) -> Any:
    """What the work took, by stage."""
    return _frame(_columns(timings, Timing), library)


def annotators_frame(findings: Findings) -> Any:
    """Every annotator, who errs most first; None without answers of annotators."""
    found = findings.annotators
    if found is None:
        return None
    order, decode = found.most_wrong_first, findings.encoding.decode
    columns = {"annotator": found.names[order], "answers": found.counts[order]}
    columns |= {name: getattr(found, name)[order] for name in ("error_rate", "low", "high")}
    for name, codes in (("marks", found.marks[order]), ("as", found.confused_as[order])):
        columns[name] = np.array(
            [None if code < 0 else label for code, label in zip(codes, decode(codes).tolist(), strict=True)],
            dtype=object,
        )
    return _frame(columns | {"share": found.share[order]}, findings.frames)


def answers_frame(findings: Findings) -> Any:
    """Every answer, the likeliest wrong first; None without answers of annotators."""
    found = findings.annotators
    if found is None:
        return None
    answers, order = found.answers, np.argsort(-found.p_wrong, kind="stable")
    rows, decode = answers.rows[order], findings.encoding.decode
    columns = {
        "row": findings.labels.rows[rows],
        "annotator": found.names[answers.annotators[order]],
        "label": decode(answers.codes[order]),
        "p_wrong": found.p_wrong[order],
        "consensus": decode(found.consensus[rows]),
    }
    return _frame(columns, findings.frames)


def ask_again_frame(findings: Findings) -> Any:
    """Rows to ask again, those most worth it first; None without answers of annotators."""
    found = findings.annotators
    if found is None:
        return None
    columns = {
        "row": findings.labels.rows[found.ask_rows],
        "annotator": found.names[found.ask_whom],
        "right": found.ask_right,
        "gain": found.ask_gain,
    }
    return _frame(columns, findings.frames)


def _columns(values: Sequence[Any], kind: type) -> dict[str, Any]:
    """The plain fields of values of this dataclass as columns; label and marks of a slice are not among them."""
    plain = {each.name: KINDS[str(each.type)] for each in fields(kind) if str(each.type) in KINDS}
    if kind is FoundSlice:
        del plain["given"], plain["proved"], plain["accused"]
    return {name: np.array([getattr(each, name) for each in values], dtype=dtype) for name, dtype in plain.items()}


def in_library(table: Any, library: str) -> Any:
    """An Arrow table as a data frame of this library, if it is installed."""
    if importlib.util.find_spec(library) is None:
        return table
    backend: Any = library
    return nw.from_arrow(table, backend=backend).to_native()


def _frame(columns: Mapping[str, Any], library: str) -> Any:
    """In this library; in pyarrow where it is not installed."""
    if importlib.util.find_spec(library) is None:
        return frame_like(columns, pa.table({}))
    backend: Any = library
    return frame_like(columns, nw.from_dict({"row": []}, backend=backend).to_native())
