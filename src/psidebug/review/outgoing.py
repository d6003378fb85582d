"""What can be taken away from a review: the corrected data set, the log of verdicts, tasks for Label Studio."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

from psidebug.exports import label_studio_config, label_studio_tasks
from psidebug.review.corrected import corrected, own_kind, remark_on
from psidebug.review.desk import Desk
from psidebug.review.exchange import log_lines

Parts = Iterable[str | bytes]


@dataclass(frozen=True)
class Export:
    """A file to take away."""

    what: str
    type: str
    write: Callable[[Desk], Parts]
    corrected: str | None = None
    """Of the corrected data set: the kind of its file."""


@dataclass(frozen=True)
class Offer:
    """An export as it is offered to a person."""

    name: str
    what: str
    remark: str | None = None
    """How it differs from what he may expect."""


def _corrected(kind: str, desk: Desk) -> Parts:
    return [corrected(desk.run, desk.store.current(), kind)]


def _log(desk: Desk) -> Parts:
    return log_lines(desk.store.log(), desk.findings)


def _tasks(desk: Desk) -> Parts:
    ranked = desk.queue.ranked
    return [json.dumps(label_studio_tasks(ranked.findings, ranked.data, origin=desk.findings.origin), indent=1)]


def _config(desk: Desk) -> Parts:
    return [label_studio_config(desk.findings, desk.run.data)]


def _data(kind: str, name: str, type_: str) -> Export:
    return Export(f"The corrected data set, as {name}", type_, partial(_corrected, kind), kind)


EXPORTS: dict[str, Export] = {
    "corrected.csv": _data("csv", "CSV", "text/csv"),
    "corrected.jsonl": _data("jsonl", "JSON lines", "application/x-ndjson"),
    "corrected.parquet": _data("parquet", "Parquet", "application/octet-stream"),
    "corrected.arrow": _data("arrow", "Arrow", "application/octet-stream"),
    "verdicts.jsonl": Export("The log of verdicts, as JSON lines", "application/x-ndjson", _log),
    "label-studio.json": Export("Tasks for Label Studio", "application/json", _tasks),
    "label-studio.xml": Export("The labelling configuration for them", "application/xml", _config),
}
"""Files by their names."""
USUAL = ("csv", "parquet")
"""Kinds of the corrected data set that are offered whatever the training file is; any other only if the file is so."""


def offers(desk: Desk) -> list[Offer]:
    """What a person is offered; the corrected data set in the form of his own file first."""
    own = own_kind(desk.run)
    found = [
        Offer(name, each.what, None if each.corrected is None else remark_on(desk.run, each.corrected))
        for name, each in EXPORTS.items()
        if each.corrected in (None, own, *USUAL)
    ]
    return sorted(found, key=lambda each: own is None or EXPORTS[each.name].corrected != own)
