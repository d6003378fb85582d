"""Which rows of a run a command is about."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from psidebug.runs import Run


def one_of(**options: Any) -> None:
    """Refuse more than one of these options."""
    given = [f"--{name}" for name, value in options.items() if value not in (None, False)]
    if len(given) > 1:
        raise click.UsageError(f"{' and '.join(given)} do not go together: give one of them.")


def corrections(run: Run) -> dict[int, Any]:
    """The verified corrections: position → label."""
    codes = run.files.codes(run.files.labels, "repaired")
    return {place: run.encoding.classes[codes[place]] for place in (codes != run.given).nonzero()[0].tolist()}


def proposed(run: Run, positions: Any) -> dict[int, Any]:
    """The proposed labels of these rows: position → label."""
    codes = run.files.codes(run.files.labels, "proposed")
    return {int(place): run.encoding.classes[codes[place]] for place in positions}


def in_slice(run: Run, number: int) -> dict[int, Any]:
    """The proposed labels of the suspects in a slice, numbered from 1; of all its rows if none is a suspect."""
    import numpy as np

    if number > len(run.conditions):
        count = len(run.conditions)
        raise click.UsageError(f"there is no slice {number}: the run has {count}; 'psi slices {run.path}' lists them.")
    members = run.members(number - 1)
    likely = members[run.files.labels["p_wrong"].to_numpy()[members] > 0.5]
    return proposed(run, likely if len(likely) else np.intersect1d(members, run.order))


def in_file(run: Run, path: Path) -> dict[int, Any]:
    """Rows named in a file, one id a line, or id and label separated by a comma or a tab; JSON lines, too."""
    import csv
    import json

    from psidebug.errors import UnknownRow

    ids = {str(row): place for place, row in enumerate(run.rows.tolist())}
    classes = {str(each): each for each in run.encoding.classes}
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UnknownRow(
            f"{path} cannot be read as a list of rows: {error}. Give a text file, one id a line."
        ) from None
    lines = [line for line in text.splitlines() if line.strip()]
    if lines and lines[0].lstrip().startswith("{"):
        try:
            made = [json.loads(line) for line in lines]
            cells = [[str(each["row"]), *([str(each["label"])] if "label" in each else [])] for each in made]
        except (ValueError, KeyError, TypeError):
            raise UnknownRow(f'{path} is no JSON lines of the form {{"row": id, "label": label}}.') from None
    else:
        cells = list(csv.reader(lines, delimiter="\t" if lines and "\t" in lines[0] else ","))
    if cells and cells[0][0] not in ids and cells[0][0].strip().lower() in ("row", "id"):
        cells = cells[1:]
    found: dict[int, Any] = {}
    for cell in cells:
        row, label = cell[0].strip(), (cell[1].strip() if len(cell) > 1 else "")
        if row not in ids:
            raise UnknownRow(
                f"{path} names {row!r}, which is not the id of a training row (ids are {list(ids)[:3]}, …)."
            )
        if label and label not in classes:
            raise UnknownRow(f"{path} gives {row!r} the label {label!r}, which is none of {list(classes)[:6]}.")
        found |= {ids[row]: classes[label]} if label else proposed(run, [ids[row]])
    if not found:
        raise UnknownRow(f"{path} names no rows. Give one id a line, or id,label.")
    return found
