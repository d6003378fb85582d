"""``save_run``: findings, rows, spec and learner as the files of a run."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np

from psidebug.errors import UnreadableModel
from psidebug.findings.findings import Causes, Findings
from psidebug.models import as_skops
from psidebug.spec import Spec
from psidebug.store.manifest import EVERY_LABEL, SCHEMA
from psidebug.store.place import write_run
from psidebug.store.stored import stored, stored_series
from psidebug.store.stored_annotators import annotator_tables
from psidebug.store.stored_changes import cause_record, change_record, suspect_tests_record
from psidebug.store.stored_spec import matrix_table, prior_table, spec_record
from psidebug.store.values import Json, as_json, column, record_of, table_of
from psidebug.task.data import Data
from psidebug.task.learner import final_step
from psidebug.task.nets import Head

Tables = dict[str, Any]
WITHOUT_LEARNER = "the saved diagnosis had none."
OF_NET = "a neural net is not written to a plain file. Run debug again, with the net."


def save_run(
    path: str | PathLike[str],
    findings: Findings,
    data: Data,
    spec: Spec,
    learner: Any,
    *,
    all_labels: Path | None = None,
) -> None:
    """Write a run to the directory ``path``, completely or not at all; see :meth:`Diagnosis.save`.

    ``all_labels`` is a Parquet file on the same disk, of rows in blocks: every label.
    """
    record, tables = contents(findings, data, spec, learner)
    write_run(path, record, tables if all_labels is None else {**tables, EVERY_LABEL: all_labels})


def contents(findings: Findings, data: Data, spec: Spec, learner: Any) -> tuple[Json, Tables]:
    """``run.json`` without the names of its files, and the tables by name."""
    told, forms = record_of(findings), {}
    del told["encoding"]
    told["causes"] = [cause_record(each) for each in findings.causes]
    told["changes"] = [change_record(each) for each in findings.changes]
    told["suspect_tests"] = suspect_tests_record(findings.suspect_tests)
    tables: Tables = {
        "labels": _labels(findings, data),
        "predictions": _predictions(findings),
        "causes": _causes(findings),
        "prior": matrix_table("moves", findings.prior.moves),
        "stated_prior": prior_table(spec.prior),
        **annotator_tables(findings),
        "test_probabilities": None,
        "validation_labels": None,
    }
    if findings.test_probabilities is not None:
        tables["test_probabilities"] = matrix_table("probability", findings.test_probabilities)
    if data.validation is not None:
        labels = data.encoding.decode(data.validation.codes).tolist()
        tables["validation_labels"] = table_of([column("label", labels)])
    parts = {"train": data.train, "test": data.test, "validation": data.validation}
    given = {name: part.features for name, part in parts.items() if part is not None}
    given |= {"metadata": data.metadata, "test_metadata": data.test_metadata}
    if data.opinion is not None:
        given |= {"opinion": data.opinion.train, "test_opinion": data.opinion.test}
    for name, features in given.items():
        if features is not None:
            tables[name], forms[name] = stored(features)
    if nw.dependencies.is_into_series(data.given_labels):
        tables["given_labels"], forms["labels"] = stored_series(data.given_labels)
    elif isinstance(data.given_labels, np.ndarray) and data.given_labels.dtype.kind != "U":
        forms["labels"] = {"dtype": data.given_labels.dtype.str, "shape": list(data.given_labels.shape)}
    try:
        if isinstance(final_step(learner), Head):
            raise UnreadableModel(OF_NET)
        tables["learner"], lacking = (None, WITHOUT_LEARNER) if learner is None else (as_skops(learner), None)
    except UnreadableModel as error:
        tables["learner"], lacking = None, str(error)
    record = {
        "schema": SCHEMA,
        "psidebug": findings.origin.psidebug,
        "fingerprint": dict(findings.origin.fingerprint),
        "findings": told,
        "spec": spec_record(spec),
        "data": {
            "classes": list(map(as_json, data.encoding.classes)),
            "learned": data.encoding.learned,
            "as_codes": data.encoding.as_codes,
            "forms": forms,
        },
        "no_learner": lacking,
    }
    return record, {name: table for name, table in tables.items() if table is not None}


def _labels(findings: Findings, data: Data) -> Any:
    """One line for each training row, in their order; ``rank`` is the place among the suspects, from 0."""
    labels, decode = findings.labels, findings.encoding.decode
    rank: list[int | None] = [None] * len(labels.given)
    for place, position in enumerate(labels.order.tolist()):
        rank[position] = place
    columns = {
        "row": labels.rows.tolist(),
        "given": decode(labels.given).tolist(),
        "repaired": decode(labels.repaired).tolist(),
        "proposed": decode(labels.proposed).tolist(),
        **{name: getattr(labels, name).tolist() for name in ("ps", "ps_low", "ps_high", "p_wrong", "confidence")},
        "likeliest": decode(labels.likeliest).tolist(),
        "rank": rank,
    }
    if findings.correction is not None:
        columns["correction"] = decode(findings.correction.codes).tolist()
    if findings.annotators is not None:
        columns["consensus"] = decode(findings.annotators.consensus).tolist()
        columns["certainty"] = findings.annotators.certainty.tolist()
    if data.sample_weight is not None:
        columns["weight"] = data.sample_weight.tolist()
    if data.known is not None and data.came is not None:
        columns["known"], columns["came"] = data.known.tolist(), decode(data.came).tolist()
    return table_of([column(name, values) for name, values in columns.items()])


def _predictions(findings: Findings) -> Any:
    """One line for each test row: label, prediction, whether it is a bug, and which retrained models get it wrong.

    ``row`` is its id; there is no such column where rows have none.
    """
    said, decode = findings.predictions, findings.encoding.decode
    columns: dict[str, Any] = {} if said.ids is None else {"row": said.ids.tolist()}
    columns |= {"label": decode(said.labels).tolist(), "predicted": decode(said.before).tolist()}
    columns["bug"] = np.isin(np.arange(len(said.labels)), said.bugs).tolist()
    if said.after is not None:
        columns["after"] = decode(said.after).tolist()
    if findings.correction is not None:
        columns["wrong_correction"] = findings.correction.verified.wrong_after.tolist()
    if findings.controls is not None:
        for name in ("at_random", "highest_loss"):
            if (effect := getattr(findings.controls, name)) is not None:
                columns[f"wrong_{name}"] = effect.wrong_after.tolist()
    for place, point in enumerate(() if findings.curve is None else findings.curve.points):
        columns[f"wrong_curve{place}"] = point.verified.wrong_after.tolist()
    return table_of([column(name, values) for name, values in columns.items()])


def _causes(findings: Findings) -> Any:
    """A line for each cause of each bug that is explained."""
    names = ("test_row", "position", "row", "proposed", "ps", "ps_low", "ps_high")
    lines = [line for each in findings.bug_causes for line in _lines(findings, each)]
    parts = list(zip(*lines, strict=True)) if lines else [()] * len(names)
    return table_of([column(name, values) for name, values in zip(names, parts, strict=True)])


def _lines(findings: Findings, causes: Causes) -> Any:
    rows = causes.positions
    proposed = findings.encoding.decode(causes.proposed).tolist()
    numbers = (values.tolist() for values in (causes.ps, causes.low, causes.high))
    ids = findings.labels.rows[rows].tolist()
    return zip([causes.test_row] * len(rows), rows.tolist(), ids, proposed, *numbers, strict=True)
