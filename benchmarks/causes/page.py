"""``docs/causes.md`` from the files of results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from benchmarks.causes import words
from benchmarks.causes.harness import ALL, COMPARED, LEARNERS
from benchmarks.causes.more import MORE, PAIRS
from benchmarks.causes.plants import PLANTS, Plant
from benchmarks.causes.raha_page import wrong_cells
from benchmarks.causes.results import MUCH, Raised, Run, Runs, failures_of, raised_by
from benchmarks.causes.rivals import RIVALS
from benchmarks.causes.words import table

PSI = "Psi"


def page_of(out: Path, rivals: Path, raha: Path, raha_rivals: Path) -> str:
    """The whole page, in Markdown."""
    every = Runs.of(out)
    runs = every.fresh
    parts = [words.ABOUT, table(["cause", "what it means", "how it is recognised", "what to do"], _guide())]
    parts += [words.MEASURED, runs.extent]
    parts += ["## Is the right cause named first?", _first(runs, PLANTS)]
    parts += [words.MORE, _first(runs, MORE), words.PAIRS, _pairs(runs)]
    parts += wrong_cells(raha, raha_rivals)
    parts += [words.HARM, _harm(runs)]
    parts += ["## Test labels", _tests(runs), "## Time", _time(runs)]
    parts += [words.TOOLS, *_tools(every, rivals), _mapping(), *_absent(rivals)]
    parts += ["## Every miss", _misses(runs)]
    return "\n".join(part.rstrip() + "\n" for part in parts if part)


def _guide() -> list[list[str]]:
    return [[f"`{name}`", *said] for name, *said in words.CAUSES]


def about(plant: Plant) -> str:
    """The first line of its docstring."""
    return (plant.__doc__ or "").splitlines()[0]


def _first(runs: Runs, plants: Mapping[str, Plant]) -> str:
    rows = []
    for name, plant in plants.items():
        own, kept = runs.where(plant=name, validation="0"), runs.where(plant=name, validation="1")
        if own.runs:
            rows.append(
                [
                    name,
                    about(plant),
                    f"`{own.runs[0]['expected']}`",
                    *(own.where(learner=kind).count(_right) for kind in LEARNERS),
                    own.count(lambda each: each.first and not each.right),
                    own.count(lambda each: each.all_named),
                    f"{np.mean([each.others for each in own.runs]):.1f}",
                    *([kept.count(_right)] if plants is PLANTS else []),
                ]
            )
    all_ = runs.of_plants(plants)
    by_kind = [f"**{all_.where(validation='0', learner=kind).count(_right)}**" for kind in LEARNERS]
    ends = [f"**{all_.where(validation='1').count(_right)}**"] if plants is PLANTS else []
    rows.append(["**all**", "", "", *by_kind, "", "", "", *ends])
    head = ["plant", "what", "cause", *(f"{kind}: first" for kind in LEARNERS), "right cause, wrong column"]
    head += ["named at all", "other causes", *(["with validation rows: first"] if plants is PLANTS else [])]
    return (
        "*First*: the cause with most evidence is the one that was planted, with the right column. *Other causes*: "
        "named beside it, in the mean.\n\n" + table(head, rows)
    )


def _right(run: Run) -> bool:
    return run.right


def _pairs(runs: Runs) -> str:
    rows = [[name.replace("+", " + "), *_of_two(own)] for name in PAIRS if (own := runs.where(plant=name)).runs]
    rows.append(["**all**", *_of_two(runs.of_plants(PAIRS))])
    return table(["planted", "first", "both", "a third one is named"], rows)


def _of_two(runs: Runs) -> list[str]:
    return [runs.count(_right), runs.count(lambda each: each.all_named), runs.count(lambda each: each.others > 0)]


def _harm(runs: Runs) -> str:
    """By plant, with validation rows and without."""
    of_labels, others = runs.some(lambda each: each.of_labels), runs.some(lambda each: not each.of_labels)
    harmed = {each["plant"] for each in others.runs if int(each["changed"]) > 0}
    rows = [[name, *_harmed(others.where(plant=name))] for name in ALL if name in harmed]
    rows.append(["**all, also those not shown**", *_harmed(others)])
    changed = of_labels.some(lambda each: int(each["changed"]) > 0)
    worse = [f"- {each}: {_error(each)}" for each in runs.runs if each.worse]
    return "\n\n".join(
        [
            table(["plant", "runs with changed labels", "largest", f"above {MUCH:.0%}", "worse"], rows),
            f"Where training labels are a cause, {changed.count(lambda each: each.worse)} runs with changed labels got "
            "worse beyond chance.",
            *(["All runs that got worse beyond chance:", "\n".join(worse)] if worse else []),
        ]
    )


def _harmed(runs: Runs) -> list[str]:
    return [
        runs.count(lambda each: int(each["changed"]) > 0),
        f"{max(each.harm for each in runs.runs):.1%}",
        runs.count(lambda each: each.harm > MUCH),
        runs.count(lambda each: each.worse),
    ]


def _error(run: Run) -> str:
    return (
        f"error {float(run['error_before']):.3f} to {float(run['error_after']):.3f}, {run['changed_right']} right "
        f"labels and {run['changed_wrong']} wrong ones of {run['wrong']} changed"
    )


def _tests(runs: Runs) -> str:
    wrong = runs.some(lambda each: int(each["wrong_tests"]) > 0)
    rows = []
    for name in dict.fromkeys(each["plant"] for each in wrong.runs):
        f1 = wrong.where(plant=name).numbers("f1_tests")
        rows.append([name, f"{np.mean(f1):.2f}", f"{min(f1):.2f}", f"{len(f1)}"])
    right = runs.some(lambda each: not int(each["wrong_tests"]))
    most = max(right.runs, key=lambda each: int(each["accused_tests"]))
    accused = right.count(lambda each: int(each["accused_tests"]) > 0)
    return (
        "F1 of the test labels with `p_wrong` above ½.\n\n"
        + table(["plant", "mean F1", "smallest F1", "runs"], rows)
        + f"\n\nWhere no test label is wrong, {accused} runs accuse some; at most {most['accused_tests']} ({most})."
    )


def _time(runs: Runs) -> str:
    some = runs.some(lambda each: bool(each["fits_labels"]))
    if not some.runs:
        return "Not measured yet."
    parts = {(name, kind): some.where(plant=name, learner=kind) for name in COMPARED for kind in LEARNERS}
    rows = [[*names, *_costs(of)] for names, of in parts.items() if of.runs]
    rows.append(["**all**", "", *_costs(some)])
    head = [
        "plant",
        "learner",
        "seconds, all causes",
        "labels only",
        "ratio",
        "fits, all causes",
        "labels only",
        "more",
    ]
    return "Means of one call, in seconds of one core and fits of the learner.\n\n" + table(head, rows)


def _costs(runs: Runs) -> list[str]:
    seconds, alone = np.mean(runs.numbers("seconds")), np.mean(runs.numbers("seconds_labels"))
    fits, fewer = np.mean(runs.numbers("fits")), np.mean(runs.numbers("fits_labels"))
    return [
        f"{seconds:.1f}",
        f"{alone:.1f}",
        f"{seconds / alone:.1f}",
        f"{fits:.0f}",
        f"{fewer:.0f}",
        f"{fits - fewer:.0f}",
    ]


# ── other tools ──


def _tools(runs: Runs, rivals: Path) -> list[str]:
    by_tool = {f"{each.name} {found[0].line['version']}": found for each in RIVALS
               if (found := raised_by(each.name, rivals))}  # fmt: skip
    if not by_tool:
        return ["Not measured yet."]
    own = runs.of_plants(PLANTS).where(seed="0", learner="logistic", validation="0")
    rows = [
        _summary(PSI, own),
        *([*_summary_of_tool(name, found), _beside(own, found)] for name, found in by_tool.items()),
    ]
    head = [
        "tool",
        "names it",
        "tells it apart",
        "others",
        "nothing planted: right",
        "seconds",
        "Psi on the same tasks",
    ]
    by_plant = []
    for plant in PLANTS:
        cells = [own.where(plant=plant).count(lambda each: each.mentioned)]
        for found in by_tool.values():
            of = [each for each in found if each.line["plant"] == plant]
            cells.append(f"{sum(each.named for each in of)} / {sum(each.told_apart for each in of)} of {len(of)}")
        by_plant.append([plant, *cells])
    told = "By plant: names it / tells it apart.\n\n" + table(["plant", PSI, *by_tool], by_plant)
    return [table(head, rows), told]


def _summary(name: str, runs: Runs) -> list[str]:
    planted, clean = runs.some(lambda each: each["expected"] != "none"), runs.where(expected="none")
    named = planted.count(lambda each: each.mentioned)
    others = np.mean([each.others for each in planted.runs])
    return [name, named, named, f"{others:.1f}", clean.count(_right), f"{np.mean(runs.numbers('seconds')):.1f}", ""]


def _beside(runs: Runs, found: Sequence[Raised]) -> str:
    """How often Psi names what was planted, of the tasks that a tool was measured on."""
    tasks = {(each.line["plant"], each.line["table"]) for each in found if each.line["expected"] != "none"}
    return runs.some(lambda each: (each["plant"], each["table"]) in tasks).count(lambda each: each.mentioned)


def _summary_of_tool(name: str, found: Sequence[Raised]) -> list[str]:
    planted = [each for each in found if each.line["expected"] != "none"]
    clean = [each for each in found if each.line["expected"] == "none"]
    return [
        name,
        f"{sum(each.named for each in planted)} of {len(planted)}",
        f"{sum(each.told_apart for each in planted)} of {len(planted)}",
        f"{np.mean([each.others for each in planted]):.1f}",
        f"{sum(each.named for each in clean)} of {len(clean)}",
        f"{np.mean([float(each.line['seconds']) for each in found]):.1f}",
    ]


def _mapping() -> str:
    rows = [
        [rival.name, issue, ", ".join(f"`{each}`" for each in causes)]
        for rival in RIVALS
        for issue, causes in rival.causes.items()
    ]
    return "Which issue stands for which cause:\n\n" + table(["tool", "issue", "causes"], rows)


def _absent(rivals: Path) -> list[str]:
    told = []
    for rival in RIVALS:
        failed = failures_of(rival.name, rivals)
        for reason in dict.fromkeys(line["reason"] for line in failed):
            where = [f"{line['plant']} in {line['table']}" for line in failed if line["reason"] == reason]
            told.append(f"- {rival.name}, {len(where)} runs ({where[0]} the first): {reason}")
    return ["Not measured:\n\n" + "\n".join(told)] if told else []


def _misses(runs: Runs) -> str:
    """Runs that do not name the planted cause first, or not both of two."""
    found = [
        f"- {each}: planted {_planted(each)}; named {each['all']}"
        for each in runs.runs
        if not (each.all_named and each.right if each["plant"] in PAIRS else each.right)
    ]
    found += [f"- {each['plant']}, {each['table']}, seed {each['seed']}, {each['learner']}: {each['reason']}"
              for each in runs.failed if each["reason"].startswith("failed")]  # fmt: skip
    skipped = sum(each["reason"].startswith("skipped") for each in runs.failed)
    more = f"\n\n{skipped} runs could not be planted, as tables without categories." if skipped else ""
    return (
        "Each name has its column, its evidence in nats, and a star if it is proved.\n\n" + "\n".join(found) + more
        if found
        else "There is none." + more
    )


def _planted(run: Run) -> str:
    return " and ".join(f"{cause}:{column}" if column else cause for cause, column in run.expected)
