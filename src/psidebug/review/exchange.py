"""Verdicts made elsewhere, and ours for others: JSON lines of the log, and what Label Studio exports.

Nothing is imported unless every line is good; each bad line is named with what is wrong with it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from psidebug.errors import InvalidVerdicts
from psidebug.exports import training_set
from psidebug.findings import Findings
from psidebug.review.imported import Imported, Rows
from psidebug.review.lines import Lines
from psidebug.review.studio import from_label_studio
from psidebug.review.verdicts import Event
from psidebug.store.values import as_json


def log_lines(events: Sequence[Event], findings: Findings) -> Iterator[str]:
    """Every step as JSON lines: one for each verdict, one for each undo, redo and remark."""
    home = training_set(findings.origin)
    for event in events:
        common = {"event": event.number, "kind": event.kind, "run": home}
        whose = {"browser": event.about["browser"]} if "browser" in event.about else {}
        for each in event.verdicts:
            said = {"action": each.action, "label": as_json(each.label), "comment": each.comment}
            who = {"reviewer": each.reviewer, "time": each.time, "by": event.reviewer, **whose}
            yield _line(common | {"row": as_json(each.row), "position": each.position} | said | who)
        if event.kind != "verdicts":
            about = {"target": event.target, **whose} if event.target is not None else {"about": dict(event.about)}
            yield _line(common | about | {"reviewer": event.reviewer, "time": event.time})


def read_verdicts(text: str, findings: Findings) -> Imported:
    """The verdicts of a file: our JSON lines, where an undone verdict does not count, or Label Studio's JSON."""
    if not text.strip():
        raise InvalidVerdicts("the file is empty: there is nothing to import.")
    if text.lstrip().startswith("["):
        return from_label_studio(text, Rows.of(findings), training_set(findings.origin))
    return Lines(Rows.of(findings), training_set(findings.origin)).read(text)


def _line(record: Mapping[str, Any]) -> str:
    return json.dumps(record, ensure_ascii=True) + "\n"
