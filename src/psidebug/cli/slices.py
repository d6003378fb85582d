"""``psi slices``: what the suspects have in common."""

from __future__ import annotations

from pathlib import Path

from psidebug.cli.options import command, run_argument
from psidebug.cli.output import Output


@command(example="psi slices psi-run")
@run_argument
def slices(output: Output, *, run: Path) -> None:
    """Say what the suspects have in common.

    That of the best explanation first, numbered as 'psi verify --slice' takes it: its rows, the share of suspects among
    them, the PS of all their labels together, how many labels are corrected, and the test error after retraining.
    """
    from psidebug.cli.tables import number, one_line, records, show_table
    from psidebug.store import load_run

    found = load_run(run)
    lines = records(found.slices)
    if output.as_json:
        output.result([{"slice": place, **each} for place, each in enumerate(lines, start=1)])
        return
    if not lines:
        output.console.print("The suspects have nothing in common that explains them.")
        return
    rows = [
        (
            str(place),
            f"{one_line(each['condition'])}, labelled {one_line(each['given'])}",
            str(each["rows"]),
            f"{each['suspects']:.0%}",
            number(each["ps"]),
            str(each["corrected"]),
            number(each["test_error"], 3),
        )
        for place, each in enumerate(lines, start=1)
    ]
    show_table(output, rows, ("#", "slice", "rows", "suspects", "ps", "corrected", "test error"), wide=("slice",))
