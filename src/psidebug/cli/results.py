"""Commands that show or write what a run found: suspects, slices, explain, report, export, compare."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from psidebug.cli.options import command, file_option, run_argument, tests_option, top_option
from psidebug.cli.output import Output
from psidebug.cli.tables import counted, number, one_line, records, send, show_causes, show_table, show_tests, wrote
from psidebug.threads import few_threads

if TYPE_CHECKING:
    from psidebug.store import Run


@command(example="psi suspects psi-run --top 20")
@run_argument
@top_option("How many to show. [default: 20 as a table, else all]")
@click.option(
    "--format",
    "kind",
    type=click.Choice(["table", "csv", "json", "parquet"]),
    help="Output format. [default: that of the file name, else table]",
)
@tests_option
@file_option("-o", "--output", "target", help="Write them to a file, with the columns of their rows.")
def suspects(output: Output, *, run: Path, top: int | None, kind: str | None, tests: bool, target: Path | None) -> None:
    """List the training labels that are probably wrong.

    The most likely come first. Shows the given and the proposed label, the probability that the given one is wrong
    (p_wrong), and its probability of sufficiency as a cause of the errors (ps). With --tests: the test labels that are
    probably wrong, and why.
    """
    from psidebug.exports.of_tests import suspect_tests_table
    from psidebug.exports.suspects import suspects_table
    from psidebug.store import load_run

    found = load_run(run)
    table_of = suspect_tests_table if tests else suspects_table
    of = len(found.suspect_tests if tests else found.order)
    as_json = output.as_json or kind == "json"
    if target is not None or kind in ("csv", "parquet"):
        send(output, table_of(found.findings, found.data, top=top), target, kind)
        return
    lines = table_of(found.findings, top=top if top or as_json else 20).to_pylist()
    if as_json:
        output.result({"suspects": lines, "of": of})
    elif not lines:
        output.text(found.verdict)
    else:
        (show_tests if tests else show_causes)(output, lines)
        if len(lines) < of:
            output.remark(f"{len(lines):,} of {counted(of, 'suspect')}; --top N shows more.")


@command(example="psi slices psi-run")
@run_argument
def slices(output: Output, *, run: Path) -> None:
    """Show what the suspects have in common.

    The slice of the best explanation comes first; 'psi verify --slice' takes its number. Shows its rows, the share of
    suspects among them, the PS of all their labels together, the number of labels corrected in it and elsewhere with
    it, and the test error after retraining.
    """
    from psidebug.store import load_run

    found = load_run(run)
    lines = records(found.slices)
    if output.as_json:
        output.result([{"slice": place, **each} for place, each in enumerate(lines, start=1)])
        return
    if not lines:
        ranked = found.spec.effort == "rank"
        output.text(
            "Slices were not looked for, with --effort rank. Leave it out to have them."
            if ranked
            else "The suspects have nothing in common that explains them."
        )
        return
    rows = [
        (
            str(place),
            f"{one_line(each['condition'])}, labelled {one_line(each['given'])}",
            str(each["rows"]),
            f"{each['suspects']:.0%}",
            number(each["ps"]),
            str(each["corrected"]),
            str(each["elsewhere"]),
            number(each["test_error"], 3),
        )
        for place, each in enumerate(lines, start=1)
    ]
    names = ("#", "slice", "rows", "suspects", "ps", "corrected", "elsewhere", "test error")
    show_table(output, rows, names, wide=("slice",))


@command(example="psi explain psi-run")
@run_argument
@click.argument("test_row", required=False)
@top_option("How many causes, or misclassified rows, to show.", default=10)
@click.option("--budget", type=click.IntRange(min=1), default=12, show_default=True, help="How many fits to spend.")
def explain(output: Output, *, run: Path, test_row: str | None, top: int, budget: int) -> None:
    """Show the causes of one misclassified test row.

    TEST_ROW is its id if the test file has the --id column, else its position in the file, from 0. Without TEST_ROW,
    the misclassified rows are listed. Shows the labels that cause the error, best first, and the smallest correction
    found that repairs it, proved by retraining, beside as many random labels that are moved.
    """
    from dataclasses import asdict

    from psidebug.diagnosis.diagnosis import Diagnosis
    from psidebug.store import load_run

    found = load_run(run)
    if test_row is None:
        _list_bugs(output, found, top)
        return
    position = _misclassified_row(found, test_row)
    name = found.findings.predictions.rows.tolist()[position]
    with few_threads(len(found.findings.labels.given)):
        told = Diagnosis.saved(found).explain(name, budget=budget)
    causes = records(told.causes)
    if output.as_json:
        output.result(
            {
                "test_row": name,
                "position": position,
                "given": told.given,
                "predicted": told.predicted,
                "told": str(told),
                "causes": causes[:top],
                "of": len(causes),
                "smallest": told.smallest and told.smallest.rows.tolist(),
                "by_chance": told.smallest and told.smallest.by_chance and asdict(told.smallest.by_chance),
                "test_label_doubt": told.test_label_doubt,
                "fits": told.fits,
            }
        )
        return
    output.text(one_line(told))
    if causes:
        output.console.print()
        show_causes(output, causes[:top])


def _list_bugs(output: Output, run: Run, top: int) -> None:
    """The first misclassified test rows; in JSON all of them."""
    tests, decode = run.findings.predictions, run.findings.encoding.decode
    codes = {"label": tests.labels, "predicted": tests.before} | ({} if tests.after is None else {"after": tests.after})
    labels = {name: decode(each).tolist() for name, each in codes.items()}
    names = tests.rows.tolist()
    bugs = [
        {"test_row": names[place], "position": place, **{name: each[place] for name, each in labels.items()}}
        for place in tests.bugs.tolist()
    ]
    if output.as_json:
        output.result(bugs)
    elif not bugs:
        output.text(run.verdict)
    else:
        shown = ["test_row", *labels]
        rows = [[one_line(each[name]) for name in shown] for each in bugs[:top]]
        show_table(output, rows, shown, wide=shown[1:])
        more = f"{len(rows)} of {counted(len(bugs), 'misclassified row')}; --top N shows more. " if bugs[top:] else ""
        output.remark(f"{more}'psi explain {run.path} {rows[0][0]}' explains the first.")


def _misclassified_row(run: Run, name: str) -> int:
    """The position of a misclassified test row, by its id; by its position where test rows have no ids."""
    from psidebug.errors import NotMisclassified, UnknownRow

    tests = run.findings.predictions
    names = list(map(str, tests.rows.tolist()))
    if name not in names:
        kind, there = "id", f"ids are {_first(names, 3)}"
        if tests.ids is None:
            kind, there = "position", f"there are 0 to {len(names) - 1}"
        raise UnknownRow(
            f"{name!r} is not the {kind} of a test row ({there}). 'psi explain {run.path}' lists misclassified ones."
        )
    position = names.index(name)
    if not tests.wrong[position]:
        bugs = [names[bug] for bug in tests.bugs.tolist()]
        others = f" The misclassified ones are {_first(bugs, 6)}." if bugs else ""
        raise NotMisclassified(f"test row {name} is classified correctly: there is no error to explain.{others}")
    return position


def _first(names: list[str], most: int) -> str:
    return ", ".join(names[:most]) + (", …" if len(names) > most else "")


@command(example="psi report psi-run -o report.html")
@run_argument
@file_option("-o", "--output", "target", required=True, help="The page to write.")
def report(output: Output, *, run: Path, target: Path) -> None:
    """Write a run as one HTML page.

    It needs no network and no other file. What the run has no figures of (the controls, the curve, the fidelity) is
    measured now, if its learner was saved.
    """
    from psidebug.diagnosis.diagnosis import Diagnosis
    from psidebug.files import check_place
    from psidebug.report import write_report
    from psidebug.store import load_run

    check_place(target)
    found = load_run(run)
    with output.progress() as tick, few_threads(len(found.findings.labels.given)):
        tick("retraining", 0, 1)
        findings = Diagnosis.saved(found).with_proof.found
    write_report(findings, found.data, target)
    wrote(output, target, f"wrote {target}", bytes=target.stat().st_size)


FORMATS = ("label-studio", "csv", "jsonl", "parquet", "cleanlab")


@command(example="psi export psi-run --format label-studio -o tasks.json")
@run_argument
@click.option("--format", "kind", type=click.Choice(FORMATS), required=True, help="Target format.")
@top_option("The first N suspects only; not with cleanlab.")
@tests_option
@file_option("-o", "--output", "target", required=True, help="The file to write; - is stdout.")
def export(output: Output, *, run: Path, kind: str, top: int | None, tests: bool, target: Path) -> None:
    """Write the suspects for a labelling tool or a notebook.

    label-studio: tasks with the proposed labels as predictions, and the labelling configuration as NAME.xml in the same
    folder. csv, jsonl, parquet: the suspects with their columns. cleanlab: every training row (with --tests: every test
    row), with the columns of cleanlab's get_label_issues.
    """
    from psidebug.exports import of_tests
    from psidebug.exports import suspects as exports
    from psidebug.exports.table_files import kind_of, write_json
    from psidebug.files import check_place, write_whole
    from psidebug.findings.about_tests import about_tests
    from psidebug.store import load_run

    piped = str(target) == "-"
    if kind == "cleanlab" and top is not None:
        raise click.UsageError(f"cleanlab's table has every {'test' if tests else 'training'} row: leave --top out.")
    if not piped:
        check_place(target)
        if kind == "cleanlab":
            kind_of(target)
    found = load_run(run)
    if kind == "cleanlab":
        send(output, exports.cleanlab_frame(about_tests(found.findings) if tests else found.findings), target)
    elif kind != "label-studio":
        table_of = of_tests.suspect_tests_table if tests else exports.suspects_table
        send(output, table_of(found.findings, found.data, top=top), target, kind)
    else:
        tasks_of = of_tests.label_studio_tasks_of_tests if tests else exports.label_studio_tasks
        tasks = tasks_of(found.findings, found.data, top=top)
        if piped:
            output.result(tasks)
            return
        beside = target.with_suffix(".xml")
        write_json(tasks, target)
        write_whole(beside, exports.label_studio_config(found.findings, found.data), through_links=False)
        said = f"wrote {counted(len(tasks), 'row')} to {target}"
        wrote(output, target, said, rows=len(tasks), configuration=str(beside))


@command(example="psi compare psi-run psi-run")
@run_argument
@click.argument("other", type=click.Path(file_okay=False, path_type=Path))
@top_option("How many suspects to compare. [default: as many as are corrected]")
@file_option("--report", "page", help="Also write the comparison as one HTML page.")
def compare(output: Output, *, run: Path, other: Path, top: int | None, page: Path | None) -> None:
    """Compare two runs.

    Shows how their inputs, verdicts, effects, settings and first suspects differ. The page also lists the corrections
    that both runs have, and those of one only.
    """
    from dataclasses import asdict

    from psidebug import store
    from psidebug.files import check_place
    from psidebug.report import write_comparison

    if page is not None:
        check_place(page)
    runs = store.load_run(run), store.load_run(other)
    found = store.compare(*runs, top=top)
    if page is not None:
        write_comparison(*runs, page, top=top)
        output.remark(f"wrote {page}")
    if output.as_json:
        output.result({**asdict(found), "same_inputs": found.same_inputs})
        return
    for line in str(found).splitlines():
        output.text(one_line(line))
    for name, (first, second) in found.settings.items():
        output.text(f"{name}: {one_line(first)} | {one_line(second)}")
