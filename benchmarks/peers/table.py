"""``docs/peers.md`` from the files of results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from benchmarks.peers.grid import DATA, NOISES, TESTS
from benchmarks.peers.harness import FOUND
from benchmarks.peers.results import BEHIND, PSI, Results
from benchmarks.peers.roster import PEERS
from benchmarks.peers.words import ABOUT, METHOD, SHORT

NOISE_NAMES = {
    "random": "Wrong at random: 10% of the labels moved to another class",
    "one_sided": "One-sided: 30% of class 1 marked as class 0",
    "systematic": "A slice: all rows of a condition marked with one class, about 10% of the labels wrong",
    "none": "No label is wrong",
}
WORSE = 5e-4
"""A model is worse if its validation error is higher by more than this."""
LEARNER_NAMES = {"logistic": "Logistic regression", "boosting": "Boosted trees (LightGBM)"}


def page_of(out: Path, speed: Path, absences: Mapping[str, str]) -> str:
    """The whole page, in Markdown."""
    everything = Results.of(out)
    main = everything.where(test="all", wrong_test="0")
    parts = [ABOUT, _standing(everything)]
    for learner, title in LEARNER_NAMES.items():
        parts += [f"## {title}", *(_precision(main.where(learner=learner, noise=noise), noise) for noise in NOISES[:3])]
    parts += ["## Found after looking at some of the rows", *_found(main)]
    parts += ["## Fewer test points, and wrong test labels", _by_points(everything)]
    parts += ["## Validation error after the automatic choice", _automatic(everything, main)]
    parts += ["## Validation error after correcting the first n", _top_n(main)]
    parts += ["## Cost", _cost(main), _speed(speed)]
    parts += [
        SHORT,
        "## Methods",
        _methods(),
        "## Absent, or not run everywhere",
        _reasons(everything, absences),
        METHOD,
    ]
    return "\n".join(part.rstrip() + "\n" for part in parts if part)


def table(head: Sequence[str], rows: Sequence[Sequence[str]], *, numbers: bool = True) -> str:
    """A table in Markdown."""
    if not rows:
        return "Not measured yet."
    lines = [head, ["---"] + ["---:" if numbers else "---"] * (len(head) - 1), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _precision(some: Results, noise: str) -> str:
    """One table: methods × data."""
    means = some.means("ap", ("method", "data"))
    columns = [name for name in DATA if (PSI, name) in means]
    rows = []
    for method in some.methods:
        cells = [_cell(means, method, name) for name in columns]
        whole = [means[method, name] for name in columns if (method, name) in means]
        rows.append([method, *cells, f"{np.mean(whole):.2f}" if len(whole) == len(columns) and whole else "–"])
    return f"**{NOISE_NAMES[noise]}**\n\n" + table(["method", *columns, "mean"], rows if columns else [])


def _found(main: Results) -> list[str]:
    """P@n and detection curves, means over the data sets, of the methods that ran on all of them."""
    parts = [
        "P@n is the share of wrong labels among the first n rows, where n is the number of wrong labels. The other "
        "columns are the share of all wrong labels that is found in the first 1%, 5%, 10% and 20% of the rows. Numbers "
        "are means over the data sets. Only methods that ran on all of them are listed."
    ]
    for learner in LEARNER_NAMES:
        for noise in NOISES[:3]:
            some = main.where(learner=learner, noise=noise)
            means = {measure: some.means(measure, ("method", "data")) for measure in ("p_at_n", *FOUND)}
            data = [name for name in DATA if (PSI, name) in means["p_at_n"]]
            rows = [
                [method, *(f"{np.mean([of[method, name] for name in data]):.2f}" for of in means.values())]
                for method in some.methods
                if data and all((method, name) in of for of in means.values() for name in data)
            ]
            shares = [f"first {name.removeprefix('found_')}" for name in FOUND]
            parts.append(f"**{learner}, {noise}**\n\n" + table(["method", "P@n", *shares], rows))
    return parts


def _cell(means: Mapping[tuple[str, ...], float], method: str, name: str) -> str:
    if (method, name) not in means:
        return "–"
    value, first = means[method, name], max(v for (_, data), v in means.items() if data == name)
    text = f"{value:.3f}"
    if method == PSI and value < first - BEHIND:
        return f"**{text}**"
    return f"*{text}*" if value == first else text


def _standing(everything: Results) -> str:
    """In how many columns Psi is first or near it, and where it is not."""
    means = everything.means("ap", ("method", "data", "learner", "noise", "test", "wrong_test"))
    columns = [place[1:] for place in means if place[0] == PSI]
    if not columns:
        return ""
    behind = {place: _first(means, place)[1] - means[(PSI, *place)] for place in columns}
    near = sum(gap <= BEHIND for gap in behind.values())
    worst = max(behind, key=behind.__getitem__)
    text = (
        f"Psi is first, or within {BEHIND} of the first, in {near} of the {len(columns)} columns measured so far. A "
        "column is one data set, one learner, one kind of error and one choice of test points."
    )
    if behind[worst] > BEHIND:
        text += " The columns in which Psi is behind are listed below."
    text += f" What was measured:\n\n{_seeds(everything)}"
    rows = []
    for method in everything.methods:
        shared = [place for place in columns if (method, *place) in means]
        gaps = [_first(means, place)[1] - means[(method, *place)] for place in shared]
        within = sum(gap <= BEHIND for gap in gaps)
        rows.append([method, f"{within} of {len(gaps)}", f"{np.mean(gaps):.3f}", f"{max(gaps):.3f}"] if gaps else [])
    head = ["method", f"columns within {BEHIND} of the first", "mean distance", "largest distance"]
    return f"{text}\n\n" + table(head, [row for row in rows if row]) + "\n\n" + _behind(means, behind)


def _seeds(everything: Results) -> str:
    """Which seeds of which data sets were measured, by test points."""
    told: dict[str, list[str]] = {}
    for wrong in everything.values("wrong_test"):
        for test in everything.where(wrong_test=wrong).values("test"):
            some = everything.where(test=test, wrong_test=wrong)
            seeds: dict[str, list[str]] = {}
            for data in some.values("data"):
                found = sorted(some.where(data=data).values("seed"), key=int)
                seeds.setdefault(f"seed{'s' * (len(found) > 1)} {', '.join(found)}", []).append(data)
            measured = " and ".join(
                f"{each} of {', '.join(names) if len(names) < 4 else f'{len(names)} data sets'}"
                for each, names in seeds.items()
            )
            points = f"{test} test points" + (" with 5% of their labels wrong" if wrong == "1" else "")
            told.setdefault(measured, []).append(points)
    return "\n".join(f"- {'; '.join(points)}: {measured}" for measured, points in told.items())


def _behind(means: Mapping[tuple[str, ...], float], behind: Mapping[tuple[str, ...], float]) -> str:
    """Every column in which Psi is behind, the worst first."""
    rows = []
    for place in sorted((place for place, gap in behind.items() if gap > BEHIND), key=lambda place: -behind[place]):
        name, value = _first(means, place)
        rows.append([_place(place), f"**{means[(PSI, *place)]:.3f}**", f"{value:.3f}", name])
    return table([f"more than {BEHIND} behind", "Psi", "the first", "which is"], rows) if rows else ""


def _place(place: tuple[str, ...]) -> str:
    data, learner, noise, test, wrong = place
    return f"{data}, {learner}, {noise}, {test} test points" + (", 5% of their labels wrong" if wrong == "1" else "")


def _first(means: Mapping[tuple[str, ...], float], place: tuple[str, ...]) -> tuple[str, float]:
    rivals = {names[0]: value for names, value in means.items() if names[1:] == place}
    best = max(rivals, key=rivals.__getitem__)
    return best, rivals[best]


def _by_points(everything: Results) -> str:
    """Psi beside the best other method, by mean over the data sets that both were measured on."""
    rows = []
    for learner in LEARNER_NAMES:
        for noise in NOISES[:3]:
            for wrong in ("0", "1"):
                some = everything.where(learner=learner, noise=noise, wrong_test=wrong)
                cells = [_beside(some.where(test=test)) for test in TESTS]
                if any(cell != "–" for cell in cells):
                    rows.append([f"{learner}, {noise}" + (", 5% wrong" if wrong == "1" else ""), *cells])
    return (
        "Mean average precision over the data sets: Psi / the best other method that ran on all of them. **Bold**: "
        f"more than {BEHIND} behind.\n\n" + table(["task", *(f"{test} points" for test in TESTS)], rows)
    )


def _beside(some: Results) -> str:
    means = some.means("ap", ("method", "data"))
    columns = [data for method, data in means if method == PSI]
    if not columns:
        return "–"
    whole = {
        method: float(np.mean([means[method, data] for data in columns]))
        for method in some.methods
        if all((method, data) in means for data in columns)
    }
    ours = whole.pop(PSI)
    if not whole:
        return f"{ours:.3f}"
    best = max(whole, key=whole.__getitem__)
    text = f"{ours:.3f}" if ours >= whole[best] - BEHIND else f"**{ours:.3f}**"
    return f"{text} / {whole[best]:.3f} ({best})"


def _automatic(everything: Results, main: Results) -> str:
    """Errors clean and noisy, and after each tool's own choice; bold where it is worse than before."""
    choosing = [peer.name for peer in PEERS if peer.chooses]
    by = ("data", "learner", "noise", "test", "wrong_test")
    told = []
    for method in choosing:
        some = everything.where(method=method)
        before, after = (some.means(measure, by) for measure in ("noisy", "auto"))
        worse = [place for place in after if after[place] > before[place] + WORSE]
        if after:
            told.append(f"{method} {len(worse)} of {len(after)}")
        if method == PSI and worse:
            told[-1] += (
                " (" + "; ".join(f"{_place(each)}: {before[each]:.3f} → {after[each]:.3f}" for each in worse) + ")"
            )
    return (
        f"The automatic choice made the model worse in so many of the columns measured: {', '.join(told)}. "
        "The table is for all test points. **Bold**: worse than before.\n\n" + _errors(main, "auto", choosing, NOISES)
    )


def _top_n(main: Results) -> str:
    return _errors(
        main, "top_n", [PSI, "cleanlab", "KNN-Shapley", "judge of the test set", "training loss"], NOISES[:3]
    )


def _errors(main: Results, measure: str, methods: Sequence[str], noises: Sequence[str]) -> str:
    by = ("learner", "noise", "data")
    clean, noisy = (main.where(method=PSI).means(name, by) for name in ("clean", "noisy"))
    after = {method: main.where(method=method).means(measure, by) for method in methods}
    rows = []
    for learner in LEARNER_NAMES:
        for noise in noises:
            for data in (data for data in DATA if (learner, noise, data) in noisy):
                place = (learner, noise, data)
                cells = [_error(after[method].get(place), noisy[place]) for method in methods]
                rows.append([", ".join(place), f"{clean[place]:.3f}", f"{noisy[place]:.3f}", *cells])
    return table(["task", "clean", "before", *methods], rows)


def _error(value: float | None, before: float) -> str:
    if value is None:
        return "–"
    return f"**{value:.3f}**" if value > before + WORSE else f"{value:.3f}"


def _cost(main: Results) -> str:
    """The median over tasks of the time in fits."""
    rows = []
    for method in main.methods:
        cells = [method]
        for learner in LEARNER_NAMES:
            fits = [float(x["fits"]) for x in main.where(method=method, learner=learner).lines if x["fits"]]
            cells.append(f"{np.median(fits):,.0f}" if fits else "–")
        rows.append(cells)
    return "Time as a multiple of one fit of the learner: the median over the tasks with all test points.\n\n" + table(
        ["method", *LEARNER_NAMES.values()], rows
    )


def _speed(speed: Path) -> str:
    some = Results.of_speed(speed)
    if not some.lines:
        return ""
    sizes = some.values("rows")
    columns = [(learner, rows) for learner in LEARNER_NAMES for rows in sizes]
    means = some.means("rows_per_second", ("method", "learner", "rows"))
    rows = [
        [method, *(f"{means[method, *c]:,.0f}" if (method, *c) in means else "–" for c in columns)]
        for method in some.methods
    ]
    return "Rows per second with 100 test points and 20 columns.\n\n" + table(
        ["method", *(f"{learner}, {int(rows):,} rows" for learner, rows in columns)], rows
    )


def _methods() -> str:
    lines = []
    for peer in PEERS:
        points = "uses test points" if peer.uses_test else "uses no test points"
        lines.append([peer.name, peer.about, points, " and ".join(peer.learners)])
    return table(["method", "what it does", "test points", "learners"], lines, numbers=False)


def _reasons(everything: Results, absences: Mapping[str, str]) -> str:
    """Every reason with the methods and data it concerns."""
    found: dict[tuple[str, str], set[str]] = {}
    for line in everything.lines:
        if line["reason"]:
            reason = line["reason"].split(": about")[0]
            found.setdefault((line["method"], reason), set()).add(f"{line['data']} ({line['learner']})")
    measured = set(everything.methods)
    lines = []
    for (method, reason), places in sorted(found.items()):
        where = "everywhere" if method not in measured else ", ".join(sorted(places))
        lines.append(f"- {method}: {reason}; {where}.")
    named = {peer.package: peer.name for peer in PEERS if peer.package}
    seen = {method for method, _ in found} | measured
    lines += [f"- {named[module]}: {why}." for module, why in absences.items() if named.get(module, PSI) not in seen]
    return "\n".join(lines) or "Nothing."
