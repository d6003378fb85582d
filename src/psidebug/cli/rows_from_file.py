"""Rows that a file names: a column of ids, and perhaps one of labels, in any format that Psi reads."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING, Any

from psidebug.cli.corrections import proposed
from psidebug.errors import UnknownRow

if TYPE_CHECKING:
    from psidebug.store import Run


def in_file(run: Run, path: Path) -> dict[int, Any]:
    """The rows that a file names, with the labels that it gives them, else the proposed ones: position → label."""
    ids = {str(row): place for place, row in enumerate(run.findings.labels.rows.tolist())}
    classes = {str(each): each for each in run.findings.encoding.classes}
    found: dict[int, Any] = {}
    for row, label in _pairs(run, path, ids):
        if row not in ids:
            raise UnknownRow(
                f"{path} names {row!r}, which is not the id of a training row (ids are {', '.join(list(ids)[:3])}, …). "
                f"{_what_to_give(run)}."
            )
        if label and label not in classes:
            raise UnknownRow(
                f"{path} gives {row!r} the label {label!r}, which is none of {', '.join(map(str, list(classes)[:6]))}."
            )
        found |= {ids[row]: classes[label]} if label else proposed(run, [ids[row]])
    if not found:
        raise UnknownRow(f"{path} names no rows. {_what_to_give(run)}.")
    given = run.findings.encoding.decode(run.findings.labels.given).tolist()
    if all(given[place] == label for place, label in found.items()):
        raise UnknownRow(f"{path} changes no label, so there is nothing to correct.")
    return found


def _pairs(run: Run, path: Path, ids: dict[str, int]) -> list[tuple[str, str]]:
    """Ids with labels, or with nothing, as texts."""
    from psidebug.file_kinds import kind_of_content, unpacked
    from psidebug.intake import read_table

    try:
        content = unpacked(path.read_bytes())
    except OSError as error:
        raise UnknownRow(f"{path} cannot be read: {error.strerror or error}. {_what_to_give(run)}.") from None
    if kind_of_content(content) == "csv":
        return _of_text(run, path, content, ids)
    table = read_table(path)
    lines = [["" if value is None else str(value) for value in line.values()] for line in table.to_pylist()]
    return _chosen(run, path, table.column_names, lines)


def _of_text(run: Run, path: Path, content: bytes, ids: dict[str, int]) -> list[tuple[str, str]]:
    """Lines of text, with a header or without; without one they are id, or id and label."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UnknownRow(f"{path} is not UTF-8. {_what_to_give(run)}.") from None
    lines = [line for line in text.splitlines() if line.strip()]
    delimiter = next((each for each in "\t;," if lines and each in lines[0]), ",")
    cells = [[cell.strip() for cell in line] for line in csv.reader(lines, delimiter=delimiter)]
    if not cells:
        return []
    head = cells[0]
    if head[0] not in ids and _is_header(run, head):
        return _chosen(run, path, head, cells[1:])
    if len(head) > 2:
        raise UnknownRow(f"{path} has {len(head)} columns but no header. {_what_to_give(run)}.")
    return [(line[0], line[1] if len(line) > 1 else "") for line in cells]


def _is_header(run: Run, line: list[str]) -> bool:
    """Whether a line names columns: one of them by a known name, or the only one by a word where ids are numbers."""
    numbers = all(isinstance(row, int) for row in run.findings.labels.rows.tolist())
    known = not set(line).isdisjoint(_names(run, "id"))
    return known or (len(line) == 1 and numbers and not line[0].lstrip("-").isdigit())


def _chosen(run: Run, path: Path, names: list[str], lines: list[list[str]]) -> list[tuple[str, str]]:
    """The column of ids, which is the only one or known by its name, and that of labels."""
    row, label = (
        next((names.index(each) for each in _names(run, role) if each in names), None) for role in ("id", "label")
    )
    if row is None and len(names) > 1:
        raise UnknownRow(f"{path} has no id column; its columns are {', '.join(names[:8])}. {_what_to_give(run)}.")
    return [(line[row or 0], line[label] if label is not None and label < len(line) else "") for line in lines]


def _names(run: Run, role: str) -> list[str]:
    """What the column of ids, or of labels, may be called: first as in the training file."""
    names = (run.findings.origin.source.get(role), "row" if role == "id" else role, role)
    return list(dict.fromkeys(each for each in names if each))


def _what_to_give(run: Run) -> str:
    return f"Give one id per line, or id,label; or a table with a column {' or '.join(map(repr, _names(run, 'id')))}"
