"""``docs/speed.md`` from the file of results."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.peers.table import table
from benchmarks.speed import words
from benchmarks.speed.cases import SIZES, Case
from benchmarks.speed.goals import case_words, goals
from benchmarks.speed.methods import EFFORTS, FIT, FOLDS, LEARNER_WORDS, psi_name
from benchmarks.speed.results import Results

WAITED = 1.5
"""Time on the wall by processor time from which it is told that other work ran beside the measurements."""


def page_of(out: Path, *, picture: bool = True) -> str:
    """The whole page, in Markdown."""
    results = Results.of(out)
    parts = [words.ABOUT, words.PICTURE if picture else "", words.GOALS, _goals(results), words.GROWTH]
    parts += [_growth(results, learner) for learner in LEARNER_WORDS]
    parts += [words.CASES, *(_case(results, case) for case in results.cases)]
    parts += [words.REASONS, _reasons(results), words.METHOD, _busy(results), _made_with(results)]
    return "\n".join(part.rstrip() + "\n" for part in parts if part)


def _goals(results: Results) -> str:
    rows = [
        [goal.what, goal.where, f"{goal.most:g}", _number(goal.measured), goal.words, goal.note]
        for goal in goals(results)
    ]
    return table(["goal", "where", "at most", "measured", "", "note"], rows, numbers=False)


def _growth(results: Results, learner: str) -> str:
    usual = {case.rows: case for case in results.cases if case.usual and case.learner == learner}
    sizes = [rows for rows in SIZES if rows in usual]
    rows = [
        [name, *(_number(results.value(usual[size], name)) for size in sizes), _number(results.growth(learner, name))]
        for name in results.methods
        if any(results.value(usual[size], name) for size in sizes)
    ]
    title = f"**{LEARNER_WORDS[learner].capitalize()}**\n\n"
    return title + table(["method", *(f"{size:,} rows" for size in sizes), "growth"], rows)


def _case(results: Results, case: Case) -> str:
    head = ["method", "processor s", "s", "÷ one fit", "÷ five folds", "rows per s", "memory", "÷ data", "fits"]
    rows = []
    for name in results.methods:
        if results.value(case, name) is not None:
            rate = results.rows_per_second(case, name)
            values = [
                *(_number(results.value(case, name, measure)) for measure in ("processor_seconds", "seconds")),
                *(_number(results.ratio(case, name, other)) for other in (FIT, FOLDS)),
                "–" if rate is None else f"{rate:,.0f}",
                _number(results.value(case, name, "memory_mb")),
                _number(results.memory_ratio(case, name)),
                _whole(results.value(case, name, "fits")),
            ]
            rows.append([name, *values])
    sizes = {results.value(case, name, "data_mb") for name in results.methods} - {None}
    data = f", data of {_number(max(filter(None, sizes)))} MB" if sizes else ""
    return f"**{case_words(case).capitalize()}{data}** (`{case.name}`)\n\n" + table(head, rows)


def _reasons(results: Results) -> str:
    found: dict[tuple[str, str], list[str]] = {}
    for (case, method), line in results.lines.items():
        if line["reason"]:
            found.setdefault((method, line["reason"]), []).append(case_words(case))
    lines = [f"- {method}: {reason} ({_places(cases)})." for (method, reason), cases in found.items()]
    return "\n".join(lines) or "Everything was measured."


def _places(cases: Sequence[str]) -> str:
    return "; ".join(cases) if len(cases) <= 3 else f"{len(cases)} cases"


def _busy(results: Results) -> str:
    """How much other work the machine did, by the time on the wall; empty for a quiet one."""
    told = (
        [results.value(case, method, measure) for measure in ("seconds", "processor_seconds")]
        for case, method in results.lines
        if method in map(psi_name, EFFORTS)
    )
    shares = [wall / spent for wall, spent in told if wall and spent]
    waited = float(np.median(shares)) if shares else 1.0
    if waited < WAITED:
        return ""
    return (
        f"- **The machine was busy**: half of Psi's measurements took {waited:.1f} times their processor time\n"
        "  or more on the wall. Other work lengthens processor time, too: that of single long measurements\n"
        "  more than that of short ones, of which the fastest counts.\n"
    )


def _made_with(results: Results) -> str:
    """Days, commits and versions of all lines that were measured."""
    told = _commits(results)
    for name in ("date", "version", "python", "numpy", "scipy", "sklearn", "lightgbm", "package"):
        values = sorted(
            {str(line[name]) for line in results.lines.values() if line[name] and line["processor_seconds"]}
        )
        if values:
            told.append(f"{name} {', '.join(values)}" if name != "package" else f"rivals {', '.join(values)}")
    return f"Measured with: {'; '.join(told)}." if told else ""


def _commits(results: Results) -> list[str]:
    """The commits of the lines, and which methods were measured with each, if there are several."""
    by: dict[str, list[str]] = {}
    for (_, method), line in results.lines.items():
        if line["commit"] and line["processor_seconds"] and method not in by.setdefault(str(line["commit"]), []):
            by[str(line["commit"])].append(method)
    if len(by) < 2:
        return [f"commit {each}" for each in by]
    return [f"commit {each} ({'; '.join(methods)})" for each, methods in by.items()]


def _number(value: float | None) -> str:
    """Three digits, no exponent."""
    if value is None:
        return "–"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _whole(value: float | None) -> str:
    return "–" if value is None else f"{value:.0f}"
