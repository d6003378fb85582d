"""The suspects as tasks for Label Studio, with what Psi proposes as predictions."""

from __future__ import annotations

from typing import Any
from xml.sax.saxutils import quoteattr

import numpy as np
import pyarrow as pa

from psidebug.exports.columns import own_columns, taken
from psidebug.exports.origin import training_set
from psidebug.exports.written import plain
from psidebug.report.pictures import picture_of_array, spread_of
from psidebug.store import Run

MODEL = "psi"
"""What Label Studio calls the origin of the predictions."""


def label_studio_tasks(run: Run, *, top: int | None = None, origin: Run | None = None) -> list[dict[str, Any]]:
    """One task for each suspect, best first: its data, and the proposed label with p_wrong as its score.

    ``origin`` is the run that the verdicts are for, where this one is a new diagnosis after it with other labels.
    """
    home = training_set(run if origin is None else origin)
    order, labels, (shown, column) = run.order[:top], run.files.labels, _shown(run)
    own, pictures = taken(own_columns(run), order), _pictures(run, order)
    lines = pa.table(own).to_pylist() if own else [{} for _ in order]
    proposed = run.encoding.decode(run.files.codes(labels, "proposed")[order]).tolist()
    given = run.encoding.decode(run.given[order]).tolist()
    tasks = []
    for place, (position, line) in enumerate(zip(order, lines, strict=True)):
        data: dict[str, Any] = {"row": plain(run.rows[position]), "given": str(given[place]), "run": home}
        if pictures is not None:
            data["image"] = pictures[place]
        elif column:
            data[shown] = plain(line.pop(column))
        if column or pictures is None:
            data["table"] = {name: _cell(value) for name, value in line.items() if name != column}
        score = round(float(labels["p_wrong"][int(position)].as_py()), 6)
        answer = {"from_name": "label", "to_name": shown, "type": "choices"}
        result = [answer | {"value": {"choices": [str(proposed[place])]}}]
        tasks.append({"data": data, "predictions": [{"model_version": MODEL, "score": score, "result": result}]})
    return tasks


def label_studio_config(run: Run) -> str:
    """The labelling configuration that these tasks are for."""
    shown, column = _shown(run)
    tag = {"image": "Image", "text": "Text", "table": "Table"}[shown]
    choices = "\n".join(f"    <Choice value={quoteattr(str(each))}/>" for each in run.encoding.classes)
    others = '  <Table name="columns" value="$table"/>\n' if column and set(own_columns(run)) - {column} else ""
    return (
        f'<View>\n  <{tag} name="{shown}" value="${shown}"/>\n{others}  <Header value="Given: $given"/>\n'
        f'  <Choices name="label" toName="{shown}" choice="single" showInline="true">\n{choices}\n'
        f"  </Choices>\n</View>\n"
    )


def _shown(run: Run) -> tuple[str, str]:
    """What a person looks at (image, text, table), and the column of it."""
    display = run.display
    if isinstance(display.images, str):
        return "image", display.images
    if display.images is not None:
        return "image", ""
    if display.text is not None:
        return "text", display.text
    return ("text", "text") if run.files.form("train")["kind"] == "text" else ("table", "")


def _pictures(run: Run, order: Any) -> list[str | None] | None:
    """Rows that are pictures themselves, or have arrays in a column, as data addresses; None if there are none such."""
    images = run.display.images
    if images is None:
        return None
    if isinstance(images, str):
        arrays = taken(own_columns(run), order)[images].to_pylist()
        if any(isinstance(each, str) for each in arrays):
            return None
        return [None if each is None else picture_of_array(each, spread=spread_of(arrays)) for each in arrays]
    matrix = np.column_stack([each.to_numpy(zero_copy_only=False) for each in taken(own_columns(run), order).values()])
    return [picture_of_array(each, shape=images, spread=spread_of([matrix])) for each in matrix]


def _cell(value: Any) -> Any:
    """A value of a table as Label Studio shows it: text or number."""
    made = plain(value)
    return made if made is None or isinstance(made, str | int | float) else str(made)
