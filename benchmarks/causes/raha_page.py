"""The section "Wrong cells in real tables" of ``docs/causes.md``, from its files of results."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np

from benchmarks.causes import words
from benchmarks.causes.raha import IN_TEST, IN_TRAINING, NOTHING, TABLES
from benchmarks.causes.results import MUCH, Run, Runs, raised_by
from benchmarks.causes.words import table

QUIET = ("none", "cannot_say")
DIRTY = {IN_TRAINING: "training", IN_TEST: "test"}
"""Which set is dirty, by task."""


def wrong_cells(out: Path, rivals: Path) -> list[str]:
    """Paragraphs and tables; none of runs that are not there."""
    runs = Runs.of(out)
    if not runs.runs:
        return [words.WRONG_CELLS, "Not measured yet."]
    return [words.WRONG_CELLS, runs.extent, _what(runs), _found(runs), _sums(runs), _alarms(runs), *_tool(runs, rivals)]


def wrong_columns(run: Run) -> dict[str, float]:
    """Columns with wrong cells, and their share of the rows."""
    parts = [each.rsplit(" ", 1) for each in run["wrong_columns"].split("; ") if each]
    return {name: float(share) for name, share in parts}


def named_columns(run: Run, *, checks: bool) -> set[str]:
    """Columns with wrong cells that a cause names, or also a check before the diagnosis."""
    named = {column for _, column in run.named}
    if checks:
        named |= {each.rpartition(":")[2] for each in run["checks"].split("; ")}
    return named & set(wrong_columns(run))


def alarms(run: Run) -> list[str]:
    """Causes that name no column with wrong cells."""
    return [cause for cause, column in run.named if cause not in QUIET and column not in wrong_columns(run)]


def _what(runs: Runs) -> str:
    rows = []
    for name, kind in TABLES.items():
        of = runs.where(table=name)
        if dirty := [each for each in of.runs if each["wrong_columns"]]:
            share = {column: np.mean([wrong_columns(each).get(column, 0.0) for each in dirty]) for column in
                     dict.fromkeys(column for each in dirty for column in wrong_columns(each))}  # fmt: skip
            told = ", ".join(f"{column} {value:.0%}" for column, value in share.items())
            rows.append([name, f"{dirty[0]['rows']} / {dirty[0]['tests']}", kind.predicted, told, kind.wrong])
    return table(["table", "rows / test rows", "what is predicted", "wrong cells", "what is wrong with them"], rows)


def _found(runs: Runs) -> str:
    rows = []
    for name in TABLES:
        clean = runs.where(table=name, plant=NOTHING)
        for task, where in DIRTY.items():
            if (of := runs.where(table=name, plant=task)).runs:
                rows.append([name, where, *_errors(clean, of), _firsts(of), *_named(of), *_harm(of)])
        if clean.runs:
            rows.append([name, "–", *_errors(clean, clean), _firsts(clean), "", "", *_harm(clean)])
    head = ["table", "dirty", "error if clean", "error", "named first, in runs", "wrong column named", "or in a check"]
    return table([*head, "other causes", "right labels changed, at most"], rows)


def _errors(clean: Runs, of: Runs) -> list[str]:
    return [f"{np.mean(each.numbers('error')):.3f}" if each.runs else "–" for each in (clean, of)]


def _firsts(of: Runs) -> str:
    count = Counter(":".join(filter(None, each.named[0])) for each in of.runs)
    return ", ".join(f"`{name}` {number}" for name, number in count.most_common())


def _named(of: Runs) -> list[str]:
    return [of.count(_by_a_cause), of.count(lambda each: bool(named_columns(each, checks=True)))]


def _by_a_cause(run: Run) -> bool:
    return bool(named_columns(run, checks=False))


def _harm(of: Runs) -> list[str]:
    return [f"{np.mean([len(alarms(each)) for each in of.runs]):.1f}", f"{max(each.harm for each in of.runs):.1%}"]


def _sums(runs: Runs) -> str:
    dirty, clean = runs.some(lambda each: each["plant"] != NOTHING), runs.where(plant=NOTHING)
    return (
        f"A wrong column is named by a cause in {dirty.count(_by_a_cause)} "
        f"dirty tasks, and it is the first one in {dirty.count(_first_is_wrong)}. Something else is named in "
        f"{dirty.count(lambda each: bool(alarms(each)))}. With nothing wrong, "
        f"{clean.count(lambda each: not alarms(each))} runs name nothing. Right labels are changed in "
        f"{runs.count(lambda each: each.harm > 0)} runs, more than {MUCH:.0%} of them in "
        f"{runs.count(lambda each: each.harm > MUCH)}; {runs.count(lambda each: each.worse)} got worse beyond chance."
    )


def _first_is_wrong(run: Run) -> bool:
    return run.named[0][1] in wrong_columns(run)


def _alarms(runs: Runs) -> str:
    """What else was named, counted, with the labels that were changed for it."""
    told = []
    for name in TABLES:
        for task in (*DIRTY, NOTHING):
            of = runs.where(table=name, plant=task)
            count = Counter(f"`{cause}` with {each['learner']}" for each in of.runs for cause in alarms(each))
            if count:
                said = ", ".join(f"{cause} in {number}" for cause, number in count.items())
                told.append(f"- {name}, {task}: {said} of {len(of)} runs")
    told += [f"- {each['table']}, {each['plant']}, seed {each['seed']}, {each['learner']}: {each['reason']}"
             for each in runs.failed]  # fmt: skip
    return "Causes that name no wrong column:\n\n" + "\n".join(told) if told else ""


def _tool(runs: Runs, rivals: Path) -> list[str]:
    """Datalab names sets and issues, no columns; Psi beside it on the same tasks."""
    if not (found := raised_by("Datalab", rivals)):
        return []
    dirty = [each for each in found if each.line["plant"] != NOTHING]
    clean = [each for each in found if each.line["plant"] == NOTHING]
    own = runs.where(learner="logistic").some(lambda each: each["plant"] != NOTHING)
    return [
        f"Datalab {found[0].line['version']} raises outliers or missing values, in whichever set, in "
        f"{sum(each.named for each in dirty)} of {len(dirty)} dirty tasks of the logistic learner, and in "
        f"{sum(each.told_apart for each in dirty)} one of these that it does not raise if both sets are clean, beside "
        f"{np.mean([each.others for each in dirty]):.1f} other issues in the mean. It names no column. With nothing "
        f"wrong it raises nothing in {sum(each.named for each in clean)} of {len(clean)}. Psi names a wrong column in "
        f"{own.count(_by_a_cause)}, beside "
        f"{np.mean([len(alarms(each)) for each in own.runs]):.1f} other causes."
    ]
