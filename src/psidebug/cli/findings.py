"""A diagnosis in the terminal: the verdict, what the suspects have in common, the first of them, what to do next."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from shlex import quote
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from psidebug.changes import Blank
from psidebug.cli.tables import counted, number, records
from psidebug.findings.about_tests import error_without_suspects
from psidebug.findings.answers import Answers
from psidebug.findings.frames import curve_frame, repairs_frame
from psidebug.report.effects import errors_of
from psidebug.store.manifest import ALL_LABELS

SUSPECTS_SHOWN, SLICES_SHOWN, ANNOTATORS_SHOWN = 8, 5, 5
INDENT = 2
NUMBERS = (
    *("wrong", "PS", "right", "rows", "test error", "log loss", "validation error", "of the log loss"),
    *("corrected", "p", "seconds", "processor", "fits", "peak MB"),
)
"""Names of columns that are aligned to the right."""
LABELS = {
    "given labels": "as given",
    "corrected": "corrected, by rows that had no say in it",
    "random": "as many at random",
    "highest loss": "as many of highest loss",
}
"""What each model of the proof was trained on."""


def show(console: Console, found: Answers, *, built: Sequence[str]) -> None:
    """Everything but where it is and what to do next."""
    if built:
        heading(console, f"Learner: {built[0]}")
        for line in built[1:]:
            say(console, line)
    if found.found.checks:
        heading(console, "Before the diagnosis")
        for check in found.found.checks:
            say(console, check.sentence)
    heading(console, "Verdict")
    say(console, found.verdict)
    for note in found.notes:
        say(console, f"Note: {note}.")
    if (fits := found.settings.get("fits")) is not None:
        say(console, f"Fits of the learner for the decision: {fits}.")
    _show_causes(console, found)
    explanations = found.found.explanations
    blamed = not explanations or any(each.evidence > each.charge for each in explanations)
    if blamed:
        _show_slices(console, found)
    shown = records(found.suspects)[:SUSPECTS_SHOWN] if blamed else []
    if shown:
        heading(console, f"Top suspects of {len(found.order):,}")
        rows = [
            (*(str(each[name]) for name in ("row", "given", "proposed")), f"{each['p_wrong']:.2f}", f"{each['ps']:.2f}")
            for each in shown
        ]
        console.print(table_of(rows, ("row", "given", "proposed", "wrong", "PS")))
    _show_annotators(console, found)
    _show_repairs(console, found)
    _show_proof(console, found)


def show_first_suspects(console: Console, suspects: Any) -> None:
    """The first labels by PS alone, while they are weighed."""
    heading(console, "First suspects by PS, not yet weighed")
    rows = [(*(str(each[name]) for name in ("row", "given", "proposed")), f"{each['ps']:.2f}") for each in
            records(suspects)]  # fmt: skip
    console.print(table_of(rows, ("row", "given", "proposed", "PS")))


def show_timings(console: Console, timings: Any) -> None:
    """What every stage took."""
    heading(console, "What it took")
    rows = [
        (
            each["stage"],
            *(f"{each[name]:.2f}" for name in ("seconds", "processor_seconds")),
            f"{each['fits']:,}",
            number(each["peak_memory_mb"], 0),
        )
        for each in records(timings)
    ]
    console.print(table_of(rows, ("stage", "seconds", "processor", "fits", "peak MB")))
    say(console, "Peak MB: the most memory of the whole process by the end of the stage.")


def show_next(console: Console, found: Answers, *, run: Path, report: Path | None, fixed: str, fixed_test: str) -> None:
    """Where the run is, and the commands that go on from it."""
    place = quote(str(run))
    heading(console, f"The run is in {run}." if report is None else f"The run is in {run}, the page is {report}.")
    of_tests = found.cause == "test_labels"
    looked_at = "test labels" if of_tests else "suspects"
    steps = [] if found.nothing_to_debug else [(f"psi review {place}", f"look at the {looked_at} in a browser")]
    if of_tests:
        steps.append((f"psi apply {place} --tests --reviewed -o {fixed_test}", "then write the test data, as decided"))
    if report is None:
        proves = found.correction is not None and not found.found.repairs
        shown = "the whole proof, as a page" if proves else "show it to others"
        steps.insert(0, (f"psi report {place} -o report.html", shown))
    changes = [(each.cause, each.change) for each in found.found.causes if not isinstance(each.change, Blank)]
    large = (run / ALL_LABELS).exists()  # its training rows are in files
    for cause, test in dict.fromkeys((cause, each.of_test) for cause, each in changes if each is not None):
        if large and not test:
            continue
        rows, flag, file = ("test", " --tests", fixed_test) if test else ("training", "", fixed)
        steps.append(
            (f"psi apply {place} --cause {cause}{flag} -o {file}", f"write the {rows} data with that repaired")
        )
    if large:
        console.print(
            f"  The label of every row, given and repaired, is in {quote(str(run / ALL_LABELS))}.", markup=False
        )
        if found.corrected and found.found.origin.source.get("files"):
            steps.append((f"psi apply {place} -o fixed", "write the files with the corrected labels, in a new folder"))
    elif found.corrected:
        steps.append((f"psi apply {place} -o {fixed}", "write the training data with the corrected labels"))
    console.print(table_of([(Text(command, style="bold"), what) for command, what in steps]))


def as_data(found: Answers) -> dict[str, Any]:
    """The same as plain data, for ``--json``."""
    return {
        "verdict": found.verdict,
        "notes": list(found.notes),
        "checks": records(found.checks),
        "cause": found.cause,
        "causes": records(found.causes),
        "suspect_tests": records(found.suspect_tests)[:100],
        "suspect_tests_in_all": len(found.suspect_tests),
        "suspect_tests_error": _error_without_suspects(found),
        "test_rows": len(found.found.predictions.labels),
        "bugs": len(found.found.predictions.bugs),
        "corrected": found.corrected,
        "error": {name: dict(zip(("before", "after"), pair, strict=True)) for name, pair in _errors(found)},
        "repairs": records(repairs_frame(found.found)),
        "proof": _proof_as_data(found),
        "slices": records(found.slices)[:100],
        "suspects": records(found.suspects)[:100],
        "suspects_in_all": len(found.order),
        "settings": dict(found.settings),
        **_annotators_as_data(found),
    }


def heading(console: Console, text: str) -> None:
    """A line that begins a part."""
    console.print(f"\n[bold]{escape(text)}[/]")


def say(console: Console, text: str, *, indent: int = INDENT) -> None:
    """A sentence, indented and wrapped."""
    for line in Text(text).wrap(console, console.width - indent):
        console.print(" " * indent + line.plain.rstrip(), markup=False, soft_wrap=True)


def table_of(rows: Iterable[Sequence[str | Text]], names: Sequence[str] = (), *, indent: int = INDENT) -> Padding:
    """Rows under their names, indented."""
    table = Table(box=None, padding=(0, 3, 0, 0), pad_edge=False, show_header=bool(names), header_style="dim")
    for name in names:
        table.add_column(name, overflow="fold", justify="right" if name in NUMBERS else "left")
    for row in rows:
        table.add_row(*(Text(each) if isinstance(each, str) else each for each in row))
    return Padding(table, (0, 0, 0, indent), expand=False)


def _show_causes(console: Console, found: Answers) -> None:
    """What is wrong with the task, if it is more than the verdict can say, and the first test labels to look at."""
    causes = found.found.causes
    if len(causes) > 1 or found.cause not in ("training_labels", "none", "cannot_say"):
        heading(console, "What is wrong")
        rows = [
            (each.cause, each.where, f"{each.share:.0%}" if each.share >= 0.005 else "", each.proof) for each in causes
        ]
        console.print(table_of(rows, ("cause", "where", "of the log loss", "proved")))
    tests = records(found.suspect_tests)
    if tests:
        heading(console, f"Test labels to look at, {len(tests):,}")
        lines = [
            (*(str(each[name]) for name in ("row", "given", "proposed")), f"{each['p_wrong']:.2f}", each["why"])
            for each in tests[:SUSPECTS_SHOWN]
        ]
        console.print(table_of(lines, ("row", "given", "proposed", "wrong", "why")))
        if found.cause != "test_labels":  # else the verdict has said it
            say(console, str(error_without_suspects(found.found)))


def _show_slices(console: Console, found: Answers) -> None:
    slices = records(found.slices)[:SLICES_SHOWN]
    if not slices:
        return
    heading(console, "What the suspects have in common")
    for each, one in zip(slices, found.found.slices, strict=False):
        elsewhere = f", {each['elsewhere']:,} elsewhere" if each["elsewhere"] else ""
        done = f"{each['corrected']:,} corrected{elsewhere}" if one.proved else "not proved by retraining"
        say(console, f"{one.said or one.condition}: {done}")


def _show_repairs(console: Console, found: Answers) -> None:
    """What to train on instead; validation errors if there are any."""
    repairs = found.found.repairs
    if not repairs:
        return
    heading(console, "What to train on, and the error by rows that had no say in it")
    validated = any(each.validation is not None for each in repairs)
    names = ("", "rows", "test error", "log loss", *(("validation error",) if validated else ()), "")
    rows = [
        (
            each.repair,
            f"{each.rows:,}",
            f"{each.error.rate:.3f}",
            f"{each.log_loss:.3f}",
            *(("" if each.validation is None else f"{each.validation.rate:.3f}",) if validated else ()),
            "take this one" if each.chosen else "",
        )
        for each in repairs
    ]
    console.print(table_of(rows, names))


def _show_proof(console: Console, found: Answers) -> None:
    """What the proof adds to the decision, as far as it was made: the controls, the curve, the fidelity."""
    curve, controls, measured = (getattr(found.found, name) for name in ("curve", "controls", "fidelity"))
    if controls is not None:
        heading(console, "The correction beside as many other labels, by retraining")
        rows = [
            (
                LABELS[each["labels"]],
                f"{each['error']:.3f}",
                "" if each["p_value"] is None else f"{each['p_value']:.2g}",
            )
            for each in errors_of(found.found)
            if each["set"] == "test"
        ]
        console.print(table_of(rows, ("labels", "test error", "p")))
    if curve is not None:
        heading(console, "The first suspects corrected, by retraining")
        effects = [(each.corrected, each.verified.test_after.rate) for each in curve.points]
        rows = [
            (f"{count:,}", f"{rate:.3f}", "the correction" if place == curve.chosen and count else "")
            for place, (count, rate) in enumerate(effects)
        ]
        console.print(table_of(rows, ("corrected", "test error", "")))
    if measured is not None:
        heading(console, "How far to trust PS")
        say(console, f"{measured}.")


def _show_annotators(console: Console, found: Answers) -> None:
    """Who errs most and how, and the first rows to ask again."""
    told = found.found.annotators
    if told is None:
        return
    heading(console, f"Annotators, {len(told.names):,} with {counted(len(told.answers), 'answer')}")
    for annotator in told.most_wrong_first[:ANNOTATORS_SHOWN].tolist():
        say(console, told.told(annotator, found.found.encoding))
    asked = records(found.ask_again)[:ANNOTATORS_SHOWN]
    if asked:
        heading(console, f"Ask again, {counted(len(told.ask_rows), 'row')}")
        rows = [(str(each["row"]), str(each["annotator"]), f"{each['right']:.2f}") for each in asked]
        console.print(table_of(rows, ("row", "whom", "right")))


def _annotators_as_data(found: Answers) -> dict[str, Any]:
    """Nothing without answers of annotators."""
    if found.found.annotators is None:
        return {}
    return {name: records(getattr(found, name))[:100] for name in ("annotators", "answers", "ask_again")}


def _proof_as_data(found: Answers) -> dict[str, Any]:
    """The controls, the curve and the fidelity; None where they were not asked for."""
    made = found.found
    return {
        "controls": None if made.controls is None else [each for each in errors_of(made) if each["set"] == "test"],
        "curve": None if made.curve is None else records(curve_frame(made)),
        "fidelity": None if made.fidelity is None else str(made.fidelity),
    }


def _error_without_suspects(found: Answers) -> dict[str, Any] | None:
    """The error of the model with and without the test labels that are probably wrong; None if there are none."""
    error = error_without_suspects(found.found)
    return None if error is None else error.as_data()


def _errors(found: Answers) -> list[tuple[str, tuple[float, float]]]:
    """Error rates before and after relabelling: on test rows that had no say in it, and on the validation set."""
    rates = {each.repair: each for each in found.found.repairs}
    if found.correction is None or "relabelled" not in rates:
        return []
    before, after = rates["as given"], rates["relabelled"]
    errors = [("test", (before.error.rate, after.error.rate))]
    if before.validation is not None and after.validation is not None:
        errors.append(("validation", (before.validation.rate, after.validation.rate)))
    return errors
