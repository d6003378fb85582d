"""Files to take away from a review: the corrected data set, the log of verdicts, tasks for Label Studio."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from psidebug.exports.corrected import NAMES, Decision, corrected_file, source_file
from psidebug.exports.of_tests import corrected_test_file, label_studio_tasks_of_tests
from psidebug.exports.suspects import label_studio_config, label_studio_tasks
from psidebug.findings.about_tests import about_tests
from psidebug.findings.findings import Findings
from psidebug.review.exchange import log_lines
from psidebug.review.verdicts import DECIDED, Verdict

if TYPE_CHECKING:  # the web server is not needed to apply verdicts
    from psidebug.review.desk import Desk

Parts = Iterable[str | bytes]


def decisions(findings: Findings, standing: Mapping[int, Verdict]) -> dict[int, Decision]:
    """The verdicts that hold, by position; an undecided row keeps its given label."""
    given = findings.encoding.decode(findings.labels.given).tolist()
    return {
        place: Decision(each.label if each.action in DECIDED else given[place], each.action, each.reviewer, each.time)
        for place, each in standing.items()
    }


@dataclass(frozen=True)
class Export:
    """A file to take away."""

    what: str
    type: str
    write: Callable[[Desk], Parts]
    kind: str | None = None
    """File format of a corrected data set; None for other exports."""
    tests: bool = False
    """Whether it is about test labels: offered only where there are some to look at."""


def _corrected(kind: str, desk: Desk) -> Parts:
    """The same bytes that ``psi apply --reviewed --trace`` writes."""
    found = decisions(desk.findings, desk.store.current())
    return [corrected_file(desk.findings, desk.run.data, found, kind, trace=True)[0]]


def _corrected_tests(kind: str, desk: Desk) -> Parts:
    """The same bytes that ``psi apply --tests --reviewed --trace`` writes."""
    found = decisions(about_tests(desk.findings), desk.store.current("test"))
    return [corrected_test_file(desk.findings, desk.run.data, found, kind, trace=True)[0]]


def _tasks_of_tests(desk: Desk) -> Parts:
    ranked = desk.queue.ranked
    return [json.dumps(label_studio_tasks_of_tests(ranked.findings, ranked.data, home=desk.findings), indent=1)]


def _tasks(desk: Desk) -> Parts:
    ranked = desk.queue.ranked
    return [json.dumps(label_studio_tasks(ranked.findings, ranked.data, origin=desk.findings.origin), indent=1)]


TYPES = {"csv": "text/csv", "jsonl": "application/x-ndjson"}
EXPORTS: dict[str, Export] = (
    {
        f"corrected.{kind}": Export(
            f"Corrected training data, {name}",
            TYPES.get(kind, "application/octet-stream"),
            partial(_corrected, kind),
            kind,
        )
        for kind, name in NAMES.items()
    }
    | {
        f"corrected-tests.{kind}": Export(
            f"Corrected test data, {name}",
            TYPES.get(kind, "application/octet-stream"),
            partial(_corrected_tests, kind),
            kind,
            tests=True,
        )
        for kind, name in NAMES.items()
    }
    | {
        "verdicts.jsonl": Export(
            "Log of verdicts, JSON lines", TYPES["jsonl"], lambda desk: log_lines(desk.store.log(), desk.findings)
        ),
        "label-studio.json": Export("Tasks for Label Studio", "application/json", _tasks),
        "label-studio-tests.json": Export(
            "Tasks for Label Studio about test labels", "application/json", _tasks_of_tests, tests=True
        ),
        "label-studio.xml": Export(
            "Labelling configuration for these tasks",
            "application/xml",
            lambda desk: [label_studio_config(desk.findings, desk.run.data)],
        ),
    }
)
"""By file name."""
USUAL = ("csv", "parquet")
"""Formats that are always offered; others only if the training file has them."""


def offers(desk: Desk) -> list[dict[str, str | None]]:
    """The exports to offer; the corrected data set in the format of the training file first.

    A ``remark`` says why more than labels may differ from the training file.
    """
    own = next((kind for kind in NAMES if source_file(desk.findings, kind)[0] is not None), None)
    with desk.lock:
        has_tests = desk.has_tests
    found = []
    for name, each in sorted(EXPORTS.items(), key=lambda one: own is None or one[1].kind != own):
        if each.kind in (None, own, *USUAL) and (has_tests or not each.tests):
            write = corrected_test_file if each.tests else corrected_file
            remark = None if each.kind is None else write(desk.findings, desk.run.data, {}, each.kind)[1]
            found.append({"name": name, "what": each.what, "remark": remark})
    return found
