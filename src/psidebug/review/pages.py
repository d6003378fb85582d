"""What the pages show, as plain data for the templates."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from string import digits
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader

from psidebug.findings.findings import Findings
from psidebug.report.page import environment_of
from psidebug.report.rows import Part, views
from psidebug.review.agreement import agreements
from psidebug.review.agreement import reviewers as people
from psidebug.review.desk import Desk
from psidebug.review.filters import SHOWN, SORTS, Filter
from psidebug.review.queue import LIKELY, SETTLED, Queue
from psidebug.review.security import Visitor
from psidebug.review.tested import about_test, error_of_tests
from psidebug.review.verdicts import PARTS, Verdict

LISTED, SIMILAR, BUGS, CARDS = 14, 6, 6, 48
"""Rows of the queue, similar rows, bugs of one row, and rows of a grid that the page shows."""
CELLS, LETTERS = 60, 20_000
"""Cells and characters of the row in focus; ``BESIDE`` and ``ON_CARD`` have those of other rows."""
BESIDE, ON_CARD = {"cells": 4, "letters": 130}, {"cells": 3, "letters": 220}
STATE_NAMES = {
    "open": "to decide",
    "correct": "corrected",
    "keep": "kept",
    "skip": "skipped",
    "second_opinion": "second opinion",
    "all": "all",
    "disputed": "reviewers disagree",
}
TOLD = {
    "correct": "corrected to {}",
    "keep": "kept as {}",
    "skip": "skipped",
    "second_opinion": "second opinion wanted",
}
SET_NAMES: dict[Part, str] = {"train": "Training labels", "test": "Test labels"}
SORT_NAMES = {
    "rank": "most likely wrong first",
    "doubt": "most in doubt first",
    "ps": "PS",
    "p_wrong": "probably wrong",
    "row": "as given",
}


def render(template: str, **data: Any) -> str:
    """A page, or a part of one."""
    return _environment().get_template(template).render(**data)


def page(desk: Desk, wanted: Filter, at: int | None, visitor: Visitor) -> dict[str, Any]:
    """The whole page."""
    with desk.lock:
        at = desk.first(wanted, visitor) if at is None else at
        return {**queue(desk, wanted, at, visitor), **item(desk, wanted, at, visitor), **filters(desk, wanted)}


def filters(desk: Desk, wanted: Filter) -> dict[str, Any]:
    """The choices of the filter."""
    ranked, every, origin = desk.queues[wanted.part].last, desk.findings.encoding.classes, desk.findings.origin
    return {
        "run": origin.fingerprint["train"],
        "tests": origin.fingerprint["test"],
        "verdict_of_run": ranked.verdict,
        "sets": [(part, SET_NAMES[part], desk.queues[part].total()) for part in PARTS] if desk.has_tests else [],
        "filter": wanted,
        "classes": (classes := list(map(str, every))),
        "keys": class_keys(classes),
        "slices": [f"{each.condition}, labelled {every[each.given]}" for each in ranked.slices],
        "bugs": [(each.test_row, _test_name(desk, each.test_row)) for each in ranked.bug_causes],
        "bugs_in_all": len(ranked.predictions.bugs),
        "states": [(each, STATE_NAMES[each]) for each in SHOWN],
        "sorts": [(each, SORT_NAMES[each]) for each in SORTS if wanted.part == "train" or each != "ps"],
    }


def queue(desk: Desk, wanted: Filter, at: int | None, visitor: Visitor) -> dict[str, Any]:
    """The list of rows, and the progress."""
    with desk.lock:
        ledger, rows = desk.ledger(), desk.queues[wanted.part]
        chosen = rows.select(wanted, visitor.browser)
        begin, listed = chosen.around(at, LISTED)
        counts, total, left = rows.counts(), rows.total(), rows.left()
        decided = int(np.isin(rows.states[chosen.rows], SETTLED).sum())
        wrong, stale = len(rows.probably_wrong(chosen.rows)), desk.is_model_stale()
        lines = [_line(rows, place, ledger.at(place, wanted.part)) for place in listed.tolist()]
        error = error_of_tests(desk.findings, ledger.current("test")) if wanted.part == "test" else None
    return {
        "filter": wanted,
        "at": at,
        "lines": lines,
        "begin": begin,
        "matching": len(chosen.rows),
        "decided": decided,
        "wrong": wrong,
        "model_stale": stale,
        "counts": {name: count for name, count in counts.items() if name != "open"},
        "total": total,
        "left": left,
        "done": total - left,
        "suspects": rows.suspects(),
        "state_names": STATE_NAMES,
        "seen": ledger.seen,
        "can_undo": ledger.next_to("undo", visitor.browser) is not None,
        "can_redo": ledger.next_to("redo", visitor.browser) is not None,
        "reviewer": visitor.name,
        "error": error,
    }


def item(desk: Desk, wanted: Filter, at: int | None, visitor: Visitor) -> dict[str, Any]:
    """The row in focus, or the grid of rows that it is in."""
    if at is None:
        return _nothing_left(desk, wanted)
    if wanted.view == "grid":
        return grid(desk, wanted, at, visitor)
    with desk.lock:
        rows, verdict = desk.queues[wanted.part], desk.ledger().at(at, wanted.part)
        chosen = rows.select(wanted, visitor.browser)
        following, previous = chosen.next(at), chosen.previous(at)
        classes = list(map(str, desk.findings.encoding.classes))
        caused = rows.bugs_of(at)
        numbers = {name: _finite(getattr(rows, name)[at]) for name in ("ps", "low", "high", "p_wrong")}
        given, proposed = int(rows.given[at]), int(rows.proposed[at])
        ranked = rows.ranked
    (view,) = views(ranked.findings, ranked.data, wanted.part, [at], cells=CELLS, letters=LETTERS)
    return {
        "at": at,
        "filter": wanted,
        "next": following,
        "previous": previous,
        "view": view,
        "given": given,
        "proposed": proposed,
        "classes": classes,
        "keys": class_keys(classes),
        **numbers,
        "likely": numbers["p_wrong"] is not None and numbers["p_wrong"] >= LIKELY,
        "verdict": verdict,
        "verdict_told": told(verdict),
        "answers": _answers(rows.last, at),
        "caused": len(caused),
        "explained": _bugs(desk, caused[:BUGS]),
        "test": about_test(ranked.findings, at) if wanted.part == "test" else None,
    }


def _nothing_left(desk: Desk, wanted: Filter) -> dict[str, Any]:
    """What to say when no row is to be shown."""
    with desk.lock:
        rows = desk.queues[wanted.part]
        found = {"total": rows.total(), "left": rows.left(), "suspects": rows.suspects()}
        waiting = rows.counts()["second_opinion"]
    return {"at": None, "filter": wanted, "next": None, "previous": None, "waiting": waiting, **found}


def grid(desk: Desk, wanted: Filter, at: int, visitor: Visitor) -> dict[str, Any]:
    """Many rows at a glance, among them one; next and previous are the first rows of other pages."""
    with desk.lock:
        ledger, rows = desk.ledger(), desk.queues[wanted.part]
        chosen = rows.select(wanted, visitor.browser)
        begin, shown = chosen.page(at, CARDS)
        if not len(shown):
            return _nothing_left(desk, wanted)
        lines = [_line(rows, place, ledger.at(place, wanted.part)) for place in shown.tolist()]
        ranked, every = rows.ranked, chosen.rows
    seen = views(ranked.findings, ranked.data, wanted.part, shown, **ON_CARD)
    classes = list(map(str, desk.findings.encoding.classes))
    later, earlier = begin + len(shown), max(begin - CARDS, 0)
    return {
        "at": int(shown[0]),
        "filter": wanted,
        "next": int(every[later]) if later < len(every) else None,
        "previous": int(every[earlier]) if begin else None,
        "cards": [line | {"view": view} for line, view in zip(lines, seen, strict=True)],
        "before": begin,
        "matching": len(every),
        "classes": classes,
        "keys": class_keys(classes),
    }


def reviewers(desk: Desk, wanted: Filter) -> dict[str, Any]:
    """Who has judged how many rows of a set, and how far they agree about rows that both have judged."""
    with desk.lock:
        judged = desk.ledger().judged(wanted.part)
    return {"filter": wanted, "people": people(judged), "agreements": agreements(judged)}


def _answers(findings: Findings, at: int) -> list[dict[str, Any]]:
    """What each annotator said about the row, and how likely that is wrong; nothing where no answers are known."""
    if findings.annotators is None:
        return []
    classes = findings.encoding.classes
    return [
        {"annotator": str(name), "label": str(classes[code]), "p_wrong": _finite(p_wrong)}
        for name, code, p_wrong in findings.annotators.of_row(at)
    ]


def similar(desk: Desk, at: int, part: Part) -> dict[str, Any]:
    """Training rows similar to the one in focus, with their labels."""
    found = desk.similar(at, SIMILAR, part)
    shown = views(desk.findings, desk.run.data, "train", found, **BESIDE)
    classes, given = desk.findings.encoding.classes, desk.findings.labels.given
    with desk.lock:
        ledger = desk.ledger()
        rows = [
            {"position": each, "label": str(classes[given[each]]), "verdict": told(ledger.at(each)), "view": view}
            for each, view in zip(found, shown, strict=True)
        ]
    return {"similar": rows, "given_label": str(classes[desk.queues[part].given[at]]), "part": part}


def _bugs(desk: Desk, caused: list[tuple[int, float]]) -> list[dict[str, Any]]:
    """The misclassified test rows that the row in focus explains."""
    tests, classes, ranked = desk.findings.predictions, desk.findings.encoding.classes, desk.queue.ranked
    shown = views(ranked.findings, ranked.data, "test", [number for number, _ in caused], **BESIDE)
    return [
        {
            "number": number,
            "name": _test_name(desk, number),
            "label": str(classes[tests.labels[number]]),
            "predicted": str(classes[tests.before[number]]),
            "ps": ps,
            "view": view,
        }
        for (number, ps), view in zip(caused, shown, strict=True)
    ]


def _test_name(desk: Desk, number: int) -> str:
    return f"test row {desk.findings.predictions.rows[number]}"


def class_keys(classes: Sequence[str]) -> dict[str, int]:
    """Key → code of its class.

    Classes named by digits have their own digit as key, and then no other class has a key: 4 never means class 3.
    """
    named = {name: code for code, name in reversed(list(enumerate(classes))) if name in tuple(digits)}
    return dict(sorted(named.items())) or {str(code + 1): code for code in range(min(len(classes), 9))}


def _line(rows: Queue, place: int, verdict: Verdict | None) -> dict[str, Any]:
    classes = rows.findings.encoding.classes
    return {
        "position": place,
        "row": str(rows.findings.labels.rows[place]),
        "given": str(classes[rows.given[place]]),
        "proposed": str(classes[rows.proposed[place]]),
        "p_wrong": _finite(rows.p_wrong[place]),
        "likely": bool(rows.p_wrong[place] >= LIKELY),
        "verdict": None if verdict is None else verdict.action,
        "told": told(verdict),
    }


def told(verdict: Verdict | None) -> str | None:
    """A verdict in a few words."""
    return None if verdict is None else TOLD[verdict.action].format(verdict.label)


def _finite(value: Any) -> float | None:
    return float(value) if np.isfinite(value) else None


@cache
def _environment() -> Environment:
    return environment_of(PackageLoader("psidebug.review"), PackageLoader("psidebug.report"))
