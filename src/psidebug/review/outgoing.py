"""What can be taken away from a review: the corrected data set, the log of verdicts, tasks for Label Studio."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from functools import partial

from psidebug.exports import Decision, corrected_table, encoded, label_studio_config, label_studio_tasks
from psidebug.review.desk import Desk
from psidebug.review.exchange import log_lines
from psidebug.review.verdicts import DECIDED, Verdict

Parts = Iterable[str | bytes]


def decisions(desk: Desk) -> dict[int, Decision]:
    """The verdicts that hold, by position; a row without an answer keeps the label that it came with."""

    def decided(verdict: Verdict) -> Decision:
        given = desk.run.encoding.classes[desk.run.given[verdict.position]]
        label = verdict.label if verdict.action in DECIDED else given
        return Decision(label, verdict.action, verdict.reviewer, verdict.time)

    return {position: decided(each) for position, each in desk.store.current().items()}


def _corrected(kind: str, desk: Desk) -> Parts:
    return [encoded(corrected_table(desk.run, decisions(desk), trace=True), kind)]


def _log(desk: Desk) -> Parts:
    return log_lines(desk.store.log(), desk.run)


def _tasks(desk: Desk) -> Parts:
    return [json.dumps(label_studio_tasks(desk.queue.ranked), indent=1)]


def _config(desk: Desk) -> Parts:
    return [label_studio_config(desk.run)]


EXPORTS: dict[str, tuple[str, str, Callable[[Desk], Parts]]] = {
    "corrected.csv": ("The corrected data set, as CSV", "text/csv", partial(_corrected, "csv")),
    "corrected.parquet": ("The same as Parquet", "application/octet-stream", partial(_corrected, "parquet")),
    "verdicts.jsonl": ("The log of verdicts, as JSON lines", "application/x-ndjson", _log),
    "label-studio.json": ("Tasks for Label Studio", "application/json", _tasks),
    "label-studio.xml": ("The labelling configuration for them", "application/xml", _config),
}
"""Name of the file → what it is, its type, and what writes it."""
