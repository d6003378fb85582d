"""A diagnosis as what goes into its files: one record for ``run.json``, and the tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

import psidebug
from psidebug import policy
from psidebug.diagnosis.causes import Causes
from psidebug.diagnosis.diagnosis import Diagnosis
from psidebug.diagnosis.frames import best_of_each_slice
from psidebug.errors import UnreadableModel
from psidebug.graybox.protocol import LinearGrayBox
from psidebug.margins import predicted_by
from psidebug.models import as_skops
from psidebug.store.fingerprint import versions
from psidebug.store.format import SCHEMA, frame_record, library_of, record_of
from psidebug.store.stored import stored, stored_series
from psidebug.store.values import Json, as_json, column, table_of
from psidebug.task.labels import listed
from psidebug.task.tables import Table

Tables = dict[str, Any]


def contents(
    diagnosis: Diagnosis,
    fingerprint: Mapping[str, str],
    *,
    source: Mapping[str, Any] | None = None,
    test_rows: Sequence[Any] | None = None,
    test_metadata: Table | None = None,
) -> tuple[Json, Tables]:
    """What a run directory holds: ``run.json`` without the names of the files, and the tables by name."""
    task = diagnosis.task
    tables: Tables = {"labels": _labels(diagnosis), "predictions": _predictions(diagnosis, test_rows)}
    forms: dict[str, Json] = {"metadata": None}
    parts = {"train": task.train, "test": task.test, "validation": task.validation}
    given = {name: part.features for name, part in parts.items() if part is not None}
    given |= {"metadata": task.metadata, "test_metadata": test_metadata}
    for name, features in given.items():
        if features is not None:
            tables[name], forms[name] = stored(features)
    explained = diagnosis.explained()
    tables["causes"] = _causes(diagnosis, explained)
    repaired = diagnosis.repaired_labels
    if nw.dependencies.is_into_series(repaired):
        tables["repaired"], forms["labels"] = stored_series(repaired)
    else:
        forms["labels"] = {"kind": "numpy", "dtype": repaired.dtype.str, "shape": list(repaired.shape)}
    record = {
        "schema": SCHEMA,
        "psidebug": psidebug.__version__,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": versions(),
        "fingerprint": dict(fingerprint),
        "seed": task.seed,
        "frames": library_of(diagnosis.suspects),
        "task": {
            "classes": list(map(as_json, task.encoding.classes)),
            "rows": len(task.train),
            "test_rows": len(task.test),
            "validation_rows": None if task.validation is None else len(task.validation),
            "forms": forms,
            "learned": task.encoding.learned,
            "as_codes": task.encoding.as_codes,
            "fitted_by_user": task.fitted_by_user,
        },
        "source": None if source is None else record_of(source),
        "display": record_of(diagnosis.display),
        **_answer(diagnosis),
        **_to_go_on(diagnosis, tables),
        "explained": [each.test_row for each in explained],
        "unexplained": None if explained else unexplained(diagnosis),
    }
    return record, tables


def unexplained(diagnosis: Diagnosis) -> str | None:
    """Why there are no causes of single bugs in a diagnosis that has none, as a part of a sentence."""
    box = diagnosis.graybox
    if box is None:
        return None
    if not isinstance(box, LinearGrayBox):
        return f"the gray box {box.name!r} is not linear in the labels, so that they would take thousands of fits"
    return "no change of labels that the prior thinks possible makes one of these bugs go away"


def _to_go_on(diagnosis: Diagnosis, tables: Tables) -> dict[str, Json]:
    """What a run needs to verify, explain and retrain; tables are added, and what belongs into the record returned."""
    task, beliefs = diagnosis.task, diagnosis.hypotheses
    if task.validation is not None:
        labels = task.encoding.decode(task.validation.codes).tolist()
        tables["validation_labels"] = table_of([column("label", labels)])
    tables["prior"] = _rows_of("moves", diagnosis.prior.moves)
    if beliefs:
        tables["labeller"] = _rows_of("probability", np.exp(beliefs[0].calibrated.test))
    stated = beliefs[0].stated if beliefs else not np.allclose(diagnosis.prior.rates, policy.DEFAULT_RATE)
    try:
        tables["learner"] = as_skops(task.learner)
    except UnreadableModel as error:
        return {"stated_prior": bool(stated), "no_learner": str(error)}
    return {"stated_prior": bool(stated)}


def _rows_of(name: str, matrix: Any) -> Any:
    """A matrix as a column of lists."""
    array = pa.FixedSizeListArray.from_arrays(pa.array(np.ascontiguousarray(matrix).ravel()), matrix.shape[1])
    return pa.table({name: array})


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


def _predictions(diagnosis: Diagnosis, ids: Sequence[Any] | None) -> Any:
    """One line for each test row: label, prediction, whether it is a bug, and which retrained models get it wrong.

    ``row`` is its id; there is no such column where rows have none.
    """
    task, best, controls = diagnosis.task, diagnosis.correction, diagnosis.controls
    bug = np.zeros(len(task.test), dtype=bool)
    bug[task.bugs] = True
    after: list[Any] = [None] * len(task.test)
    wrong = {}
    if best is not None:
        after = task.encoding.decode(predicted_by(best.verified.margins, task.test.codes)).tolist()
        wrong["correction"] = best.verified.wrong_after
    if controls is not None:
        effects = (("at_random", controls.at_random), ("highest_loss", controls.highest_loss))
        wrong |= {name: effect.wrong_after for name, effect in effects if effect is not None}
    for place, rows in enumerate(() if diagnosis.curve is None else diagnosis.curve.wrong):
        wrong[f"curve{place}"] = rows
    columns = {
        **({} if ids is None else {"row": list(ids)}),
        "label": task.encoding.decode(task.test.codes).tolist(),
        "predicted": task.encoding.decode(task.predicted).tolist(),
        "bug": bug.tolist(),
        "after": after,
        **{f"wrong_{name}": rows.tolist() for name, rows in wrong.items()},
    }
    return table_of([column(name, values) for name, values in columns.items()])


def _causes(diagnosis: Diagnosis, explained: Sequence[Causes]) -> Any:
    """A line for each cause of each bug that is explained."""
    task = diagnosis.task
    names = ("test_row", "position", "row", "proposed", "ps", "ps_low", "ps_high")
    lines: list[tuple[Any, ...]] = []
    for each in explained:
        rows = each.positions
        proposed = task.encoding.decode(each.proposed).tolist()
        numbers = (values.tolist() for values in (each.ps, each.low, each.high))
        ids = task.rows[rows].tolist()
        lines += zip([each.test_row] * len(rows), rows.tolist(), ids, proposed, *numbers, strict=True)
    parts = list(zip(*lines, strict=True)) if lines else [()] * len(names)
    return table_of([column(name, values) for name, values in zip(names, parts, strict=True)])
