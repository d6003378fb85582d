"""``psi explain``: the causes of one error."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from psidebug.cli.options import command, run_argument
from psidebug.cli.output import Output

if TYPE_CHECKING:
    from psidebug.store import Run


@command(example="psi explain psi-run")
@run_argument
@click.argument("test_row", required=False)
@click.option("--top", type=click.IntRange(min=1), default=10, show_default=True, help="How many causes to show.")
@click.option("--budget", type=click.IntRange(min=1), default=12, show_default=True, help="How many fits to spend.")
def explain(output: Output, *, run: Path, test_row: str | None, top: int, budget: int) -> None:
    """Show the causes of one misclassified test row.

    TEST_ROW is its id, if the test file has the column that --id named, else its position in the file, from 0; without
    it the misclassified rows are listed. The labels that cause the error, best first, and the smallest correction found
    that repairs it, proved by retraining.
    """
    from dataclasses import replace

    from psidebug.cli.chosen import misclassified_row
    from psidebug.cli.tables import CAUSE_NAMES, cause_cells, one_line, records, show_table
    from psidebug.cli.threads import few_threads
    from psidebug.diagnosis.diagnosis import Diagnosis
    from psidebug.store import load_run

    found = load_run(run)
    if test_row is None:
        _list_bugs(output, found)
        return
    position = misclassified_row(found, test_row)
    name = found.findings.predictions.rows.tolist()[position]
    with few_threads(len(found.findings.labels.given)):
        told = replace(Diagnosis.saved(found).explain(position, budget=budget), test_row=name)  # as the user knows it
    causes = records(told.causes)
    if output.as_json:
        smallest = told.smallest
        output.result(
            {
                "test_row": name,
                "position": position,
                "given": told.given,
                "predicted": told.predicted,
                "told": str(told),
                "causes": causes[:top],
                "of": len(causes),
                "smallest": None if smallest is None else smallest.rows.tolist(),
                "test_label_doubt": told.test_label_doubt,
                "fits": told.fits,
            }
        )
        return
    output.console.print(one_line(told), markup=False)
    if causes:
        output.console.print()
        show_table(output, map(cause_cells, causes[:top]), CAUSE_NAMES, wide=CAUSE_NAMES[:3])


def _list_bugs(output: Output, run: Run) -> None:
    """The misclassified test rows."""
    from psidebug.cli.tables import one_line, show_table

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
        return
    if not bugs:
        output.console.print(run.verdict, markup=False)
        return
    shown = ["test_row", *labels]
    show_table(output, [[one_line(each[name]) for name in shown] for each in bugs], shown, wide=shown[1:])
