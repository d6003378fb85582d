"""The suspects for other tools: as tables, and as tasks for Label Studio with the proposed labels as predictions."""

from __future__ import annotations

import hashlib
import json
from typing import Any
from xml.sax.saxutils import quoteattr

import numpy as np
import pyarrow as pa

from psidebug.exports.columns import array_of_values, free_name, labels_of, own_columns, taken
from psidebug.exports.table_files import plain
from psidebug.findings.findings import Findings
from psidebug.findings.origin import Origin
from psidebug.report.pictures import picture_of_array, spread_of
from psidebug.report.rows import matrix_of
from psidebug.task.data import Data
from psidebug.task.tables import take

NUMBERS = ("ps", "ps_low", "ps_high", "p_wrong")


def suspects_table(findings: Findings, data: Data | None = None, *, top: int | None = None) -> Any:
    """The first suspects, best first: row, given, proposed, ps, ps_low, ps_high, p_wrong.

    With the rows, the user's own columns follow; one that has a name of these gets the prefix ``psi_``.
    """
    labels = findings.labels
    order = labels.order[:top]
    table = {
        "row": array_of_values(labels.rows[order].tolist()),
        "given": labels_of(findings, labels.given[order]),
        "proposed": labels_of(findings, labels.proposed[order]),
        **{name: pa.array(getattr(labels, name)[order], from_pandas=True) for name in NUMBERS},
    }
    for name, values in taken({} if data is None else own_columns(findings, data), order).items():
        table[free_name(name, table)] = values
    return pa.table(table)


def cleanlab_frame(findings: Findings) -> Any:
    """Every training row in order, with the columns of cleanlab's ``get_label_issues``, after its id ``row``.

    ``is_label_issue`` where the label is more likely wrong than right, ``label_quality`` = 1 - p_wrong,
    ``given_label``, and ``predicted_label``, the likeliest one. Quality is null where p_wrong is not known.
    """
    labels = findings.labels
    issue = labels.p_wrong > 0.5
    return pa.table(
        {
            "row": array_of_values(labels.rows.tolist()),
            "is_label_issue": pa.array(issue),
            "label_quality": pa.array(1.0 - labels.p_wrong, from_pandas=True),
            "given_label": labels_of(findings, labels.given),
            "predicted_label": labels_of(findings, np.where(issue, labels.proposed, labels.given)),
        }
    )


def label_studio_tasks(
    findings: Findings, data: Data, *, top: int | None = None, origin: Origin | None = None
) -> list[dict[str, Any]]:
    """One task for each suspect, best first: its data, and the proposed label with p_wrong as its score.

    ``origin`` is that of the run that the verdicts are for, if this is a later diagnosis with other labels.
    """
    home = training_set(findings.origin if origin is None else origin)
    labels, (shown, column) = findings.labels, _shown(findings, data)
    order = labels.order[:top]
    own, pictures = taken(own_columns(findings, data), order), _pictures(findings, data, order)
    lines = pa.table(own).to_pylist() if own else [{} for _ in order]
    proposed, given = (findings.encoding.decode(codes[order]).tolist() for codes in (labels.proposed, labels.given))
    tasks = []
    for place, (position, line) in enumerate(zip(order, lines, strict=True)):
        told: dict[str, Any] = {"row": plain(labels.rows[position]), "given": str(given[place]), "run": home}
        if pictures is not None:
            told["image"] = pictures[place] or ""  # a row without one: null would be refused, with all other tasks
        elif column:
            value = plain(line.pop(column))
            told[shown] = "" if value is None else value
        if column or pictures is None:
            told["table"] = {name: _cell(value) for name, value in line.items() if name != column}
        score = round(float(labels.p_wrong[position]), 6)
        answer = {"from_name": "label", "to_name": shown, "type": "choices"}
        result = [answer | {"value": {"choices": [str(proposed[place])]}}]
        tasks.append({"data": told, "predictions": [{"model_version": "psi", "score": score, "result": result}]})
    return tasks


def training_set(origin: Origin) -> str:
    """A short digest of the training rows, their given labels and ids, to which verdicts belong.

    Of findings about test labels (:func:`psidebug.findings.about_tests.about_tests`) it is that of the test rows.
    """
    said = json.dumps([origin.fingerprint.get(name) for name in ("train", "rows")])
    return hashlib.sha256(said.encode()).hexdigest()[:16]


def label_studio_config(findings: Findings, data: Data) -> str:
    """The labelling configuration that these tasks are for."""
    shown, column = _shown(findings, data)
    tag = {"image": "Image", "text": "Text", "table": "Table"}[shown]
    choices = "\n".join(f"    <Choice value={quoteattr(str(each))}/>" for each in findings.encoding.classes)
    others = (
        '  <Table name="columns" value="$table"/>\n' if column and set(own_columns(findings, data)) - {column} else ""
    )
    return (
        f'<View>\n  <{tag} name="{shown}" value="${shown}"/>\n{others}  <Header value="Given: $given"/>\n'
        f'  <Choices name="label" toName="{shown}" choice="single" showInline="true">\n{choices}\n'
        f"  </Choices>\n</View>\n"
    )


def _shown(findings: Findings, data: Data) -> tuple[str, str]:
    """What a person looks at (image, text, table), and the column of it."""
    display = findings.display
    if isinstance(display.images, str):
        return "image", display.images
    if display.images is not None:
        return "image", ""
    if display.text is not None:
        return "text", display.text
    return ("text", "text") if len(data.train.features.shape) == 1 else ("table", "")


def _pictures(findings: Findings, data: Data, order: Any) -> list[str | None] | None:
    """Rows that are pictures, or have arrays in a column, as data URLs; None if there are none."""
    images = findings.display.images
    if images is None:
        return None
    if isinstance(images, str):
        arrays = taken(own_columns(findings, data), order)[images].to_pylist()
        if any(isinstance(each, str) for each in arrays):
            return None
        spread = spread_of(arrays)
        return [None if each is None else picture_of_array(each, spread=spread) for each in arrays]
    pixels = matrix_of(take(data.train.features, order))  # metadata are no pixels
    spread = spread_of([pixels])
    return [picture_of_array(each, shape=images, spread=spread) for each in pixels]


def _cell(value: Any) -> Any:
    """A value of a table as Label Studio shows it: text or number."""
    made = plain(value)
    return made if made is None or isinstance(made, str | int | float) else str(made)
