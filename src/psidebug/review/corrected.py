"""Files to take away from a review: the corrected data set, the log of verdicts, tasks for Label Studio."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from psidebug.exports.corrected import NAMES, Decision, corrected_file, training_file
from psidebug.exports.suspects import label_studio_config, label_studio_tasks
from psidebug.review.exchange import log_lines
from psidebug.review.verdicts import DECIDED, Verdict
from psidebug.store import Run

if TYPE_CHECKING:  # the web server is not needed to apply verdicts
    from psidebug.review.desk import Desk

Parts = Iterable[str | bytes]


def decisions(run: Run, standing: Mapping[int, Verdict]) -> dict[int, Decision]:
    """The verdicts that hold, by position; an undecided row keeps its given label."""
    given = run.findings.encoding.decode(run.findings.labels.given).tolist()
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


def _corrected(kind: str, desk: Desk) -> Parts:
    """The same bytes that ``psi apply --reviewed --trace`` writes."""
    found = decisions(desk.run, desk.store.current())
    return [corrected_file(desk.findings, desk.run.data, found, kind, trace=True)[0]]


def _tasks(desk: Desk) -> Parts:
    ranked = desk.queue.ranked
    return [json.dumps(label_studio_tasks(ranked.findings, ranked.data, origin=desk.findings.origin), indent=1)]


TYPES = {"csv": "text/csv", "jsonl": "application/x-ndjson"}
EXPORTS: dict[str, Export] = {
    f"corrected.{kind}": Export(
        f"Corrected data set, {name}", TYPES.get(kind, "application/octet-stream"), partial(_corrected, kind), kind
    )
    for kind, name in NAMES.items()
} | {
    "verdicts.jsonl": Export(
        "Log of verdicts, JSON lines", TYPES["jsonl"], lambda desk: log_lines(desk.store.log(), desk.findings)
    ),
    "label-studio.json": Export("Tasks for Label Studio", "application/json", _tasks),
    "label-studio.xml": Export(
        "Labelling configuration for these tasks",
        "application/xml",
        lambda desk: [label_studio_config(desk.findings, desk.run.data)],
    ),
}
"""By file name."""
USUAL = ("csv", "parquet")
"""Formats that are always offered; others only if the training file has them."""


def offers(desk: Desk) -> list[dict[str, str | None]]:
    """The exports to offer; the corrected data set in the format of the training file first.

    A ``remark`` says why more than labels may differ from the training file.
    """
    own = next((kind for kind in NAMES if training_file(desk.findings, kind)[0] is not None), None)
    found = []
    for name, each in sorted(EXPORTS.items(), key=lambda one: own is None or one[1].kind != own):
        if each.kind in (None, own, *USUAL):
            remark = None if each.kind is None else corrected_file(desk.findings, desk.run.data, {}, each.kind)[1]
            found.append({"name": name, "what": each.what, "remark": remark})
    return found
