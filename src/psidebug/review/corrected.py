"""Files to take away from a review: the corrected data set, the log of verdicts, tasks for Label Studio."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from psidebug.exports import SUFFIXES, Decision, corrected_file, label_studio_config, label_studio_tasks
from psidebug.exports.corrected_file import training_file
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


@dataclass(frozen=True)
class Offer:
    """An export as the page offers it."""

    name: str
    what: str
    remark: str | None = None
    """How it differs from the training file."""


def _corrected(kind: str, desk: Desk) -> Parts:
    """The same bytes that ``psi apply --reviewed --trace`` writes."""
    found = decisions(desk.run, desk.store.current())
    return [corrected_file(desk.findings, desk.run.data, found, kind, trace=True)[0]]


def _log(desk: Desk) -> Parts:
    return log_lines(desk.store.log(), desk.findings)


def _tasks(desk: Desk) -> Parts:
    ranked = desk.queue.ranked
    return [json.dumps(label_studio_tasks(ranked.findings, ranked.data, origin=desk.findings.origin), indent=1)]


def _config(desk: Desk) -> Parts:
    return [label_studio_config(desk.findings, desk.run.data)]


def _data(kind: str, name: str, type_: str) -> Export:
    return Export(f"Corrected data set, {name}", type_, partial(_corrected, kind), kind)


EXPORTS: dict[str, Export] = {
    "corrected.csv": _data("csv", "CSV", "text/csv"),
    "corrected.jsonl": _data("jsonl", "JSON lines", "application/x-ndjson"),
    "corrected.parquet": _data("parquet", "Parquet", "application/octet-stream"),
    "corrected.arrow": _data("arrow", "Arrow", "application/octet-stream"),
    "verdicts.jsonl": Export("Log of verdicts, JSON lines", "application/x-ndjson", _log),
    "label-studio.json": Export("Tasks for Label Studio", "application/json", _tasks),
    "label-studio.xml": Export("Labelling configuration for these tasks", "application/xml", _config),
}
"""By file name."""
USUAL = ("csv", "parquet")
"""Formats that are always offered; others only if the training file has them."""


def offers(desk: Desk) -> list[Offer]:
    """The exports to offer; the corrected data set in the format of the training file first."""
    formats = dict.fromkeys(SUFFIXES.values())
    own = next((kind for kind in formats if training_file(desk.findings, kind)[0] is not None), None)
    found = [
        Offer(name, each.what, None if each.kind is None else _remark(desk.run, each.kind))
        for name, each in EXPORTS.items()
        if each.kind in (None, own, *USUAL)
    ]
    return sorted(found, key=lambda each: own is None or EXPORTS[each.name].kind != own)


def _remark(run: Run, kind: str) -> str | None:
    """Why more than labels may differ in a file of this format; None if only labels do."""
    return corrected_file(run.findings, run.data, {}, kind)[1]
