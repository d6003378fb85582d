"""``docs/real.md`` from the files of results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from benchmarks.real.harness import curve_of
from benchmarks.real.results import BEHIND, THIRD, WORSE, Results, curves
from benchmarks.real.roster import CALIBRATED, CONFIDENT, JUDGE, PSI, RIVALS
from benchmarks.real.tasks import MAIN, TASKS
from benchmarks.real.words import ABOUT, DATA, METHOD, SOURCES

Means = Mapping[tuple[str, str], float]
RARE = tuple(name for name, kind in TASKS.items() if kind.rare)
PLANTED = tuple(name for name, kind in TASKS.items() if kind.planted)
EXTRA = tuple(name for name, kind in TASKS.items() if kind.extra)


def page_of(out: Path) -> str:
    """The whole page, in Markdown."""
    results = Results.of(out)
    main, rare, planted, extra = (results.tasks(names) for names in (MAIN, RARE, PLANTED, EXTRA))
    parts = [ABOUT, _standing(results, main)]
    parts += ["## Which labels are wrong?", _precision(results, main)]
    parts += ["## How many are wrong, and how sure is it?", _stated(results, main), _reliability(out, main)]
    parts += ["## The model after the repair", _errors(results, main), _won_back(results, main)]
    parts += ["## Few wrong labels", _short(results, rare)] if rare else []
    if planted:
        parts += ["## Planted errors, by the same measures", _stated(results, planted), _reliability(out, planted)]
    parts += ["## More tasks from the same files", EXTRA_WORDS + _short(results, extra)] if extra else []
    parts += ["## Time", _seconds(results, main)]
    parts += ["## Methods", _table(["method", "what it does"], [[r.name, r.about] for r in RIVALS], numbers=False)]
    parts += _failures(results)
    head = ["data", "rows trained on, trusted, tested on", "labels", "source", "licence"]
    parts += [DATA, _table(head, SOURCES, numbers=False), METHOD]
    return "\n".join(part.rstrip() + "\n" for part in parts)


EXTRA_WORDS = "These are for development, and count in no sum above.\n\n"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], *, numbers: bool = True) -> str:
    if not rows:
        return "Not measured yet."
    lines = [head, ["---"] + ["---:" if numbers else "---"] * (len(head) - 1), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _number(means: Means, task: str, method: str, digits: int) -> str:
    return f"{means[task, method]:.{digits}f}" if (task, method) in means else "–"


# ── the goals ──


def near_first(ap: Means, task: str) -> bool:
    """Average precision within 0.02 of the first."""
    return ap[task, PSI] >= max(value for (name, _), value in ap.items() if name == task) - BEHIND


def rate_is_near(stated: float, rate: float) -> bool:
    """The stated rate is within a third of the true one."""
    return abs(stated - rate) <= THIRD * rate


def good_error(error: float, given: float, judge: float) -> bool:
    """Not above the error of the given labels, and at most 0.005 above that of the judge."""
    return error <= given and error <= judge + WORSE


def _standing(results: Results, main: Sequence[str]) -> str:
    ap, stated, rate, after, given = (results.means(name) for name in ("ap", "stated", "rate", "after", "given"))
    f1, back = results.means("f1"), results.won_back()
    rows = []
    for method in (PSI, CALIBRATED, JUDGE, CONFIDENT):
        shared = [task for task in main if (task, method) in after and (task, JUDGE) in after]
        if not shared:
            continue
        first = {task: max(value for (name, _), value in ap.items() if name == task) for task in shared}
        counts = (
            sum(ap[task, method] >= first[task] - BEHIND for task in shared),
            sum(rate_is_near(stated[task, method], rate[task, method]) for task in shared),
            sum(good_error(after[task, method], given[task, method], after[task, JUDGE]) for task in shared),
        )
        shares = [back[task, method] for task in shared if (task, method) in back]
        cells = [f"{count} of {len(shared)}" for count in counts]
        won = f"{np.mean(shares):.2f}" if shares else "–"  # where wrong labels cost nothing there is nothing to win
        rows.append([method, *cells, f"{np.mean([f1[task, method] for task in shared]):.2f}", won])
    head = ["method", f"AP within {BEHIND} of the first", "stated rate within a third", "error not behind"]
    return _seeds(results, main) + "\n\n" + _table([*head, "mean F1 at ½", "mean share won back"], rows)


def _seeds(results: Results, main: Sequence[str]) -> str:
    by_seeds: dict[str, list[str]] = {}
    for task in main:
        seeds = sorted({line["seed"] for line in results.lines if line["task"] == task}, key=int)
        by_seeds.setdefault(", ".join(seeds), []).append(task)
    told = (
        f"seed{'s' * (not seeds.isdigit())} {seeds} of {len(tasks) if len(tasks) > 1 else 'one'} "
        f"task{'s' * (len(tasks) > 1)}"
        for seeds, tasks in by_seeds.items()
    )
    return f"What was measured: {'; '.join(told) or 'nothing yet'}."


# ── the tables ──


def _precision(results: Results, main: Sequence[str]) -> str:
    ap, at_n, rate, n = (results.means(name) for name in ("ap", "p_at_n", "rate", "rows"))
    rows = []
    for task in main:
        first = max(value for (name, _), value in ap.items() if name == task)
        cells = []
        for method in results.methods:
            value, text = ap.get((task, method)), _number(ap, task, method, 3)
            if value == first:
                text = f"*{text}*"
            elif method == PSI and not near_first(ap, task):
                text = f"**{text}**"
            cells.append(text)
        rows.append(
            [TASKS[task].title, f"{n[task, PSI]:,.0f}", f"{rate[task, PSI]:.2f}", *cells, f"{at_n[task, PSI]:.2f}"]
        )
    return "Average precision. *Italic*: the first. P@n is the share of wrong labels among the first n.\n\n" + _table(
        ["task", "rows", "wrong", *results.methods, f"P@n of {PSI}"], rows
    )


def _stated(results: Results, main: Sequence[str]) -> str:
    """Rates, F1 and calibration error of the methods that say a probability."""
    rate, stated, f1, ece = (results.means(name) for name in ("rate", "stated", "f1", "ece"))
    methods = [method for method in (PSI, CALIBRATED, JUDGE) if method in results.methods]
    rows = []
    for task in main:
        cells = [TASKS[task].title, f"{rate[task, PSI]:.2f}"]
        for method in methods:
            said = _number(stated, task, method, 2)
            missed = method == PSI and not rate_is_near(stated[task, method], rate[task, method])
            cells.append(f"**{said}**" if missed else said)
        cells += [_number(f1, task, method, 2) for method in methods]
        cells += [_number(ece, task, method, 3) for method in methods]
        rows.append(cells)
    head = ["task", "wrong", *(f"{name}: {method}" for name in ("stated", "F1", "ECE") for method in methods)]
    return (
        "*Stated* is the mean of `p_wrong`; F1 is that of the rows with `p_wrong` above ½; ECE is the expected "
        "calibration error of `p_wrong` in ten bins.\n\n" + _table(head, rows)
    )


def _reliability(out: Path, main: Sequence[str]) -> str:
    found = curves(curve_of(out), main)
    methods = [method for method in (PSI, CALIBRATED) if method in found]
    rows = []
    for number in range(10):
        cells = [f"{number / 10:.1f} – {(number + 1) / 10:.1f}"]
        for method in methods:
            each = found[method].get(number)
            cells += ["–", "–", "–"] if each is None else [f"{each.rows:,}", f"{each.stated:.2f}", f"{each.wrong:.2f}"]
        rows.append(cells)
    head = ["`p_wrong`", *(f"{method}: {what}" for method in methods for what in ("rows", "stated", "wrong"))]
    return "All rows of these tasks together, by what is stated of them.\n\n" + _table(head, rows)


def _errors(results: Results, main: Sequence[str]) -> str:
    columns = {
        "clean labels": ("clean", PSI),
        "given": ("given", PSI),
        "given + trusted rows": ("given_trusted", PSI),
        "judge": ("model", JUDGE),
        "confident learning, issues left out": ("relabelled", CONFIDENT),
        "calibrated, relabelled": ("relabelled", CALIBRATED),
        "calibrated, weighted + trusted": ("trusted", CALIBRATED),
        "Psi, relabelled": ("relabelled", PSI),
        "Psi, weighted": ("weighted", PSI),
        "Psi + trusted rows": ("trusted", PSI),
        "Psi, its model": ("model", PSI),
    }
    means = {name: results.means(measure) for name, (measure, _) in columns.items()}
    shown = {name: of for name, of in columns.items() if any((task, of[1]) in means[name] for task in main)}
    changed, rows = results.means("changed"), []
    for task in main:
        cells = [TASKS[task].title]
        for name, (_, method) in shown.items():
            value, text = means[name].get((task, method)), _number(means[name], task, method, 3)
            judged = means["judge"].get((task, JUDGE), np.inf)
            good = value is None or good_error(value, means["given"][task, PSI], judged)
            cells.append(text if good or not name.startswith("Psi") else f"**{text}**")
        rows.append([*cells, f"{changed[task, PSI]:,.0f}"])
    return (
        "Error on the final test rows, which nobody has seen. **Bold**: above that of the given labels, or more than "
        f"{WORSE} above the judge's.\n\n" + _table(["task", *shown, f"labels that {PSI} corrects"], rows)
    )


def _won_back(results: Results, main: Sequence[str]) -> str:
    back = results.won_back()
    methods = [method for method in (PSI, CALIBRATED, JUDGE, CONFIDENT) if any((t, method) in back for t in main)]
    rows = [[TASKS[task].title, *(_number(back, task, method, 2) for method in methods)] for task in main]
    return (
        "Won back: (given - after) / (given - clean). 1 is as good as right labels; below 0 the repair made it worse. "
        "Where right labels gain little, as on CIFAR-10N, chance moves it much.\n\n" + _table(["task", *methods], rows)
    )


def _short(results: Results, tasks: Sequence[str]) -> str:
    """One line per task: Psi beside the calibrated labeller and the judge."""
    names = ("ap", "stated", "f1", "after", "rate", "clean", "given", "rows")
    of = {name: results.means(name) for name in names}
    methods = (PSI, CALIBRATED, JUDGE)

    def beside(name: str, task: str, digits: int) -> str:
        return " / ".join(_number(of[name], task, method, digits) for method in methods)

    rows = [
        [
            TASKS[task].title,
            f"{of['rows'][task, PSI]:,.0f}",
            f"{of['rate'][task, PSI]:.3f}",
            *(beside(name, task, digits) for name, digits in (("stated", 3), ("ap", 3), ("f1", 2))),
            f"{of['clean'][task, PSI]:.3f}",
            f"{of['given'][task, PSI]:.3f}",
            beside("after", task, 3),
        ]
        for task in tasks
    ]
    head = ["task", "rows", "wrong", "stated", "AP", "F1 at ½", "error: clean", "given", "after"]
    return f"Three numbers are those of {' / '.join(methods)}.\n\n" + _table(head, rows)


def _seconds(results: Results, main: Sequence[str]) -> str:
    seconds = results.means("seconds")
    rows = [[TASKS[task].title, *(_number(seconds, task, method, 1) for method in results.methods)] for task in main]
    return "Seconds, one thread.\n\n" + _table(["task", *results.methods], rows)


def _failures(results: Results) -> list[str]:
    found = [f"- {x['method']}, {x['task']}, seed {x['seed']}: {x['reason']}" for x in results.lines if x["reason"]]
    return ["## Not measured", "\n".join(found)] if found else []
