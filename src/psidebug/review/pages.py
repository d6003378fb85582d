"""What the pages show, as plain data for the templates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from string import digits
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader

from psidebug.findings.about_tests import error_without_suspects
from psidebug.findings.findings import Findings
from psidebug.report.page import environment_of
from psidebug.report.plots import CONFIG, nominal, quantitative
from psidebug.report.rows import Part, views
from psidebug.review.desk import Desk
from psidebug.review.queue import SETTLED, SORTS, STATES, Filter, Queue
from psidebug.review.security import Visitor
from psidebug.review.verdicts import DECIDED, PARTS, Verdict

LISTED, SIMILAR, BUGS = 14, 6, 6
"""Rows of the queue, similar rows, and bugs of one row that the page shows."""
CELLS, LETTERS = 60, 20_000
"""Cells and characters of the row in focus; ``BESIDE`` has those of other rows."""
BESIDE = {"cells": 4, "letters": 130}
STATE_NAMES = {
    "open": "to decide",
    "correct": "corrected",
    "keep": "kept",
    "skip": "skipped",
    "second_opinion": "second opinion",
    "all": "all",
}
TOLD = {
    "correct": "corrected to {}",
    "keep": "kept as {}",
    "skip": "skipped",
    "second_opinion": "second opinion wanted",
}
SET_NAMES: dict[Part, str] = {"train": "Training labels", "test": "Test labels"}
SORT_NAMES = {"rank": "best first", "ps": "PS", "p_wrong": "probably wrong", "row": "as given"}


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
        "sets": [(part, SET_NAMES[part], sum(desk.queues[part].counts().values())) for part in PARTS]
        if desk.has_tests
        else [],
        "filter": wanted,
        "classes": (classes := list(map(str, every))),
        "keys": class_keys(classes),
        "slices": [f"{each.condition}, labelled {every[each.given]}" for each in ranked.slices],
        "bugs": [(each.test_row, _test_name(desk, each.test_row)) for each in ranked.bug_causes],
        "bugs_in_all": len(ranked.predictions.bugs),
        "states": [(each, STATE_NAMES[each]) for each in STATES],
        "sorts": [(each, SORT_NAMES[each]) for each in SORTS if wanted.part == "train" or each != "ps"],
    }


def queue(desk: Desk, wanted: Filter, at: int | None, visitor: Visitor) -> dict[str, Any]:
    """The list of rows, and the progress."""
    with desk.lock:
        ledger, rows = desk.ledger(), desk.queues[wanted.part]
        chosen = rows.select(wanted, visitor.browser)
        begin, listed = chosen.around(at, LISTED)
        counts, left = rows.counts(), rows.left()
        decided = int(np.isin(rows.states[chosen.rows], SETTLED).sum())
        wrong, stale = len(rows.probably_wrong(chosen.rows)), desk.is_model_stale()
        lines = [_line(rows, place, ledger.at(place, wanted.part)) for place in listed.tolist()]
        error = _error_of_tests(desk, ledger.current("test")) if wanted.part == "test" else None
    total = sum(counts.values())
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
        "state_names": STATE_NAMES,
        "seen": ledger.seen,
        "can_undo": ledger.next_to("undo", visitor.browser) is not None,
        "can_redo": ledger.next_to("redo", visitor.browser) is not None,
        "reviewer": visitor.name,
        "error": error,
    }


def _error_of_tests(desk: Desk, standing: Mapping[int, Verdict]) -> dict[str, Any]:
    """The error of the model on the test set: as given, with the labels that people decided, and as proposed."""
    tests, encoding = desk.findings.predictions, desk.findings.encoding
    decided = {place: each.label for place, each in standing.items() if each.action in DECIDED}
    labels, proposed = tests.labels.copy(), error_without_suspects(desk.findings)
    if decided:
        labels[list(decided)] = encoding.encode(list(decided.values()), where="verdicts")
    return {
        "as_given": float(tests.wrong.mean()),
        "decided": float((tests.before != labels).mean()),
        "as_proposed": None if proposed is None else proposed.as_proposed.rate,
    }


def item(desk: Desk, wanted: Filter, at: int | None, visitor: Visitor) -> dict[str, Any]:
    """The row in focus."""
    if at is None:
        with desk.lock:
            counts = desk.queues[wanted.part].counts()
        left = {"waiting": counts["second_opinion"], "none_suspected": not sum(counts.values())}
        return {"at": None, "filter": wanted, "next": None, "previous": None, **left}
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
        "verdict": verdict,
        "verdict_told": told(verdict),
        "answers": _answers(rows.last, at),
        "caused": len(caused),
        "explained": _bugs(desk, caused[:BUGS]),
        "test": _about_test(ranked.findings, at) if wanted.part == "test" else None,
    }


def _about_test(findings: Findings, at: int) -> dict[str, Any]:
    """What the model says of a test row, and why its label is suspected."""
    tests, found = findings.predictions, findings.suspect_tests
    places = [] if found is None else np.flatnonzero(found.rows == at).tolist()
    classes = findings.encoding.classes
    return {
        "predicted": str(classes[tests.before[at]]),
        "right": bool(tests.before[at] == tests.labels[at]),
        "why": found.why[places[0]] if found is not None and places else None,
    }


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
        "verdict": None if verdict is None else verdict.action,
        "told": told(verdict),
    }


def told(verdict: Verdict | None) -> str | None:
    """A verdict in a few words."""
    return None if verdict is None else TOLD[verdict.action].format(verdict.label)


def _finite(value: Any) -> float | None:
    return float(value) if np.isfinite(value) else None


def history_plot(history: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The error after each retraining as a Vega-Lite specification; None before the first."""
    if not history:
        return None
    lines = []
    for rows in ("validation", "test"):
        if history[0][f"{rows}_before"] is None:
            continue
        lines.append({"step": 0, "error": history[0][f"{rows}_before"], "rows": rows, "corrected": 0})
        for step, each in enumerate(history, start=1):
            lines.append({"step": step, "error": each[f"{rows}_after"], "rows": rows, "corrected": each["corrected"]})
    colours = {"range": ["var(--soft)", "var(--accent)"]}
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "description": "Error of the model after each retraining",
        "width": "container",
        "height": 100,
        "data": {"values": lines},
        "mark": {"type": "line", "point": {"filled": True, "size": 45}, "clip": False},
        "encoding": {
            "x": quantitative("step", title="retraining", axis={"tickMinStep": 1, "format": "d"}),
            "y": quantitative("error", title="error", scale={"zero": True}),
            "color": nominal("rows", title=None, scale=colours, legend={"orient": "top"}),
            "tooltip": [
                nominal("rows"),
                quantitative("error", format=".3f"),
                quantitative("corrected", title="labels corrected"),
            ],
        },
        "config": CONFIG,
    }


@cache
def _environment() -> Environment:
    return environment_of(PackageLoader("psidebug.review"), PackageLoader("psidebug.report"))
