"""A diagnosis as what goes into its files: one record for ``run.json``, and the tables."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

import psidebug
from psidebug.diagnosis.diagnosis import Diagnosis
from psidebug.diagnosis.explanation import ranked
from psidebug.diagnosis.frames import best_of_each_slice
from psidebug.errors import InferenceError
from psidebug.graybox.protocol import LinearGrayBox
from psidebug.labels import Codes, listed
from psidebug.runs.format import SCHEMA, frame_record, library_of, record_of
from psidebug.runs.stored import stored, stored_series
from psidebug.runs.values import Json, as_json, column, table_of
from psidebug.sufficiency import sufficiency
from psidebug.symptoms import misclassified

BUGS_EXPLAINED, CAUSES_KEPT = 50, 20
"""Causes are kept of so many bugs, those that are most confidently wrong, and of each the first so many."""

Tables = dict[str, Any]


def contents(diagnosis: Diagnosis, fingerprint: Mapping[str, str]) -> tuple[Json, Tables]:
    """What a run directory holds: ``run.json`` without the names of the files, and the tables by name."""
    task = diagnosis.task
    tables: Tables = {"labels": _labels(diagnosis), "predictions": _predictions(diagnosis)}
    forms: dict[str, Json] = {"metadata": None}
    for name, features in (("train", task.train.features), ("test", task.test.features), ("metadata", task.metadata)):
        if features is not None:
            tables[name], forms[name] = stored(features)
    with threadpool_limits(limits=1, user_api="blas"):  # the same answer whatever the number of threads
        explained, tables["causes"] = _causes(diagnosis)
    repaired = diagnosis.repaired_labels
    if nw.dependencies.is_into_series(repaired):
        tables["repaired"], forms["labels"] = stored_series(repaired)
    else:
        forms["labels"] = {"kind": "numpy", "dtype": repaired.dtype.str, "shape": list(repaired.shape)}
    record = {
        "schema": SCHEMA,
        "psidebug": psidebug.__version__,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": {"python": platform.python_version()}
        | {name: version(name) for name in ("numpy", "scipy", "scikit-learn", "pyarrow")},
        "fingerprint": dict(fingerprint),
        "seed": task.seed,
        "frames": library_of(diagnosis.suspects),
        "task": {
            "classes": list(map(as_json, task.encoding.classes)),
            "rows": len(task.train),
            "test_rows": len(task.test),
            "validation_rows": None if task.validation is None else len(task.validation),
            "forms": forms,
        },
        **_answer(diagnosis),
        "explained": explained,
    }
    return record, tables


def _answer(diagnosis: Diagnosis) -> dict[str, Json]:
    task, best, curve, controls = diagnosis.task, diagnosis.correction, diagnosis.curve, diagnosis.controls
    return {
        "settings": dict(diagnosis.settings),
        "notes": list(diagnosis.notes),
        "verdict": diagnosis.verdict,
        "explanations": frame_record(diagnosis.explanations),
        "slices": frame_record(diagnosis.slices),
        "conditions": [
            record_of(one) | {"given": as_json(task.encoding.classes[one.given])}
            for one, _ in best_of_each_slice(diagnosis.tried)
        ],
        "curve": None if curve is None else record_of(curve) | {"frame": frame_record(diagnosis.threshold_curve)},
        "correction": None if best is None else {"explanation": best.explanation, "verified": record_of(best.verified)},
        "controls": None
        if controls is None
        else {"at_random": record_of(controls.at_random), "highest_loss": record_of(controls.highest_loss)},
        "fidelity": None
        if diagnosis.fidelity is None
        else record_of(diagnosis.fidelity) | {"text": str(diagnosis.fidelity)},
        "rounds": [
            {
                "verdict": each.verdict,
                "corrected": each.corrected,
                "verified": None if each.correction is None else record_of(each.correction.verified),
            }
            for each in diagnosis.later
        ],
    }


def _labels(diagnosis: Diagnosis) -> Any:
    """One line for each training row, in their order; ``rank`` is the place among the suspects, from 0."""
    task, estimates = diagnosis.task, diagnosis.estimates
    unknown = np.full(len(task.train), np.nan)
    ps, low, high = (unknown,) * 3 if estimates is None else (estimates.ps, estimates.low, estimates.high)
    rank: list[int | None] = [None] * len(task.train)
    for place, position in enumerate(diagnosis.order.tolist()):
        rank[position] = place
    columns = {
        "row": task.rows.tolist(),
        "given": task.encoding.decode(task.train.codes).tolist(),
        "repaired": listed(diagnosis.repaired_labels, name="repaired_labels"),
        "proposed": task.encoding.decode(diagnosis.proposed).tolist(),
        "ps": ps.tolist(),
        "ps_low": low.tolist(),
        "ps_high": high.tolist(),
        "p_wrong": diagnosis.p_wrong.tolist(),
        "rank": rank,
    }
    if task.sample_weight is not None:
        columns["weight"] = task.sample_weight.tolist()
    return table_of([column(name, values) for name, values in columns.items()])


def _predictions(diagnosis: Diagnosis) -> Any:
    """One line for each test row: label, prediction, whether it is a bug, and which retrained models get it wrong."""
    task, best, controls = diagnosis.task, diagnosis.correction, diagnosis.controls
    bug = np.zeros(len(task.test), dtype=bool)
    bug[task.bugs] = True
    after: list[Any] = [None] * len(task.test)
    wrong = {}
    if best is not None:
        after = task.encoding.decode(_predicted(best.verified.margins, task.test.codes)).tolist()
        wrong["correction"] = best.verified.wrong_after
    if controls is not None:
        effects = (("at_random", controls.at_random), ("highest_loss", controls.highest_loss))
        wrong |= {name: effect.wrong_after for name, effect in effects if effect is not None}
    for place, rows in enumerate(() if diagnosis.curve is None else diagnosis.curve.wrong):
        wrong[f"curve{place}"] = rows
    columns = {
        "label": task.encoding.decode(task.test.codes).tolist(),
        "predicted": task.encoding.decode(task.predicted).tolist(),
        "bug": bug.tolist(),
        "after": after,
        **{f"wrong_{name}": rows.tolist() for name, rows in wrong.items()},
    }
    return table_of([column(name, values) for name, values in columns.items()])


def _predicted(margins: npt.NDArray[np.float64], codes: Codes) -> Codes:
    """The classes that a model of these margins gives: the rival that is ahead, if one is."""
    rival = margins.argmin(axis=1)
    return np.where(margins.min(axis=1) < 0, rival + (rival >= codes), codes)


def _causes(diagnosis: Diagnosis) -> tuple[list[int], Any]:
    """Which bugs are explained, and a line for each cause of each.

    PS is by the closed form, of the margin against the class that the bug is mistaken for: of a gray box that is not
    linear it would take thousands of fits, and none is explained.
    """
    task, box = diagnosis.task, diagnosis.graybox
    explained: list[int] = []
    names = ("test_row", "position", "row", "proposed", "ps", "ps_low", "ps_high")
    lines: list[tuple[Any, ...]] = []
    if isinstance(box, LinearGrayBox):
        ahead = task.margins(task.learner, task.test)[task.bugs].min(axis=1)
        for bug in task.bugs[np.argsort(ahead, kind="stable")][:BUGS_EXPLAINED].tolist():
            try:
                answer = sufficiency(box, diagnosis.prior, misclassified(bug), engine="closed_form")
            except InferenceError:  # no world of the prior is free of this bug: its causes are not known
                continue
            explained.append(bug)
            rows = ranked(answer, diagnosis.p_wrong if diagnosis.hypotheses else None)[:CAUSES_KEPT]
            proposed = task.encoding.decode(answer.proposed[rows]).tolist()
            numbers = (each[rows].tolist() for each in (answer.ps, answer.low, answer.high))
            ids = task.rows[rows].tolist()
            lines += zip([bug] * len(rows), rows.tolist(), ids, proposed, *numbers, strict=True)
    parts = list(zip(*lines, strict=True)) if lines else [()] * len(names)
    return explained, table_of([column(name, values) for name, values in zip(names, parts, strict=True)])
