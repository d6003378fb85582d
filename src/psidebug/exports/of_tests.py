"""Test labels that are probably wrong, for other tools, and the test rows with corrected labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from psidebug.exports.columns import array_of_values, free_name, labels_of, own_columns, taken
from psidebug.exports.corrected import corrected_file
from psidebug.exports.suspects import label_studio_tasks
from psidebug.findings.about_tests import about_tests, tests_as_rows
from psidebug.findings.findings import Findings
from psidebug.task.data import Data


def suspect_tests_table(findings: Findings, data: Data | None = None, *, top: int | None = None) -> Any:
    """The first of them, likeliest first: row, given, proposed, p_wrong, why; with the rows, the user's own columns."""
    labels, found = about_tests(findings).labels, findings.suspect_tests
    order = labels.order[:top]
    table = {
        "row": array_of_values(labels.rows[order].tolist()),
        "given": labels_of(findings, labels.given[order]),
        "proposed": labels_of(findings, labels.proposed[order]),
        "p_wrong": pa.array(labels.p_wrong[order]),
        "why": pa.array([] if found is None else found.why[:top], pa.string()),
    }
    for name, values in taken(
        {} if data is None else own_columns(findings, tests_as_rows(findings, data)), order
    ).items():
        table[free_name(name, table)] = values
    return pa.table(table)


def label_studio_tasks_of_tests(
    findings: Findings, data: Data, *, top: int | None = None, home: Findings | None = None
) -> list[dict[str, Any]]:
    """One task for each, marked as of the test set; ``home`` are the findings of the run that verdicts are for."""
    origin = about_tests(findings if home is None else home).origin
    tasks = label_studio_tasks(about_tests(findings), tests_as_rows(findings, data), top=top, origin=origin)
    return [task | {"data": task["data"] | {"set": "test"}} for task in tasks]


def proposed_tests(findings: Findings, top: int) -> dict[int, Any]:
    """The proposed labels of the first suspects, by position in the test set."""
    labels, classes = about_tests(findings).labels, findings.encoding.classes
    return {place: classes[labels.proposed[place]] for place in labels.order[:top].tolist()}


def corrected_test_file(
    findings: Findings, data: Data, decisions: Mapping[int, Any], kind: str, *, trace: bool = False
) -> tuple[bytes, str | None]:
    """The bytes of the test data with these labels by position, as a file of this kind; and a remark if more differs.

    As :func:`psidebug.exports.corrected.corrected_file` does with training data: if the test file is unchanged and of
    this kind, only its label cells are replaced.
    """
    found, rows = about_tests(findings), tests_as_rows(findings, data)
    content, remark = corrected_file(found, rows, decisions, kind, trace=trace)
    if remark is not None and remark.startswith("the "):  # else it begins with the name of the file
        remark = remark.replace("training file", "test file", 1).replace("training data", "test data", 1)
    return content, remark
