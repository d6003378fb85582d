"""The suspects as tasks for Label Studio, with what Psi proposes as predictions."""

from __future__ import annotations

import hashlib
import json
from typing import Any
from xml.sax.saxutils import quoteattr

import numpy as np
import pyarrow as pa

from psidebug.exports.columns import own_columns, taken
from psidebug.exports.written import plain
from psidebug.findings import Findings, Origin
from psidebug.report.pictures import picture_of_array, spread_of
from psidebug.task.data import Data

MODEL = "psi"
"""What Label Studio calls the origin of the predictions."""


def label_studio_tasks(
    findings: Findings, data: Data, *, top: int | None = None, origin: Origin | None = None
) -> list[dict[str, Any]]:
    """One task for each suspect, best first: its data, and the proposed label with p_wrong as its score.

    ``origin`` is that of the run that the verdicts are for, where this is a new diagnosis after it with other labels.
    """
    home = training_set(findings.origin if origin is None else origin)
    labels, (shown, column) = findings.labels, _shown(findings, data)
    order = labels.order[:top]
    own, pictures = taken(own_columns(data), order), _pictures(findings, data, order)
    lines = pa.table(own).to_pylist() if own else [{} for _ in order]
    proposed, given = (findings.encoding.decode(codes[order]).tolist() for codes in (labels.proposed, labels.given))
    tasks = []
    for place, (position, line) in enumerate(zip(order, lines, strict=True)):
        told: dict[str, Any] = {"row": plain(labels.rows[position]), "given": str(given[place]), "run": home}
        if pictures is not None:
            told["image"] = pictures[place]
        elif column:
            told[shown] = plain(line.pop(column))
        if column or pictures is None:
            told["table"] = {name: _cell(value) for name, value in line.items() if name != column}
        score = round(float(labels.p_wrong[position]), 6)
        answer = {"from_name": "label", "to_name": shown, "type": "choices"}
        result = [answer | {"value": {"choices": [str(proposed[place])]}}]
        tasks.append({"data": told, "predictions": [{"model_version": MODEL, "score": score, "result": result}]})
    return tasks


def training_set(origin: Origin) -> str:
    """A short digest of the training rows, their given labels and ids: what verdicts are about."""
    said = json.dumps([origin.fingerprint.get(name) for name in ("train", "rows")])
    return hashlib.sha256(said.encode()).hexdigest()[:16]


def label_studio_config(findings: Findings, data: Data) -> str:
    """The labelling configuration that these tasks are for."""
    shown, column = _shown(findings, data)
    tag = {"image": "Image", "text": "Text", "table": "Table"}[shown]
    choices = "\n".join(f"    <Choice value={quoteattr(str(each))}/>" for each in findings.encoding.classes)
    others = '  <Table name="columns" value="$table"/>\n' if column and set(own_columns(data)) - {column} else ""
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
    """Rows that are pictures themselves, or have arrays in a column, as data addresses; None if there are none such."""
    images = findings.display.images
    if images is None:
        return None
    if isinstance(images, str):
        arrays = taken(own_columns(data), order)[images].to_pylist()
        if any(isinstance(each, str) for each in arrays):
            return None
        spread = spread_of(arrays)
        return [None if each is None else picture_of_array(each, spread=spread) for each in arrays]
    matrix = np.column_stack([each.to_numpy(zero_copy_only=False) for each in taken(own_columns(data), order).values()])
    spread = spread_of([matrix])
    return [picture_of_array(each, shape=images, spread=spread) for each in matrix]


def _cell(value: Any) -> Any:
    """A value of a table as Label Studio shows it: text or number."""
    made = plain(value)
    return made if made is None or isinstance(made, str | int | float) else str(made)
