"""``psi compare``: two runs side by side."""

from __future__ import annotations

from pathlib import Path

import click

from psidebug.cli.options import command, run_argument
from psidebug.cli.output import Output


@command(example="psi compare psi-run psi-run")
@run_argument
@click.argument("other", type=click.Path(file_okay=False, path_type=Path))
@click.option("--top", type=click.IntRange(min=1), help="Suspects to compare. [default: as many as are corrected]")
def compare(output: Output, *, run: Path, other: Path, top: int | None) -> None:
    """Say how two runs differ.

    In their inputs, verdicts, effects, settings and first suspects.
    """
    from dataclasses import asdict

    from psidebug.cli.tables import one_line
    from psidebug.store import compare as compared
    from psidebug.store import load_run

    found = compared(load_run(run), load_run(other), top=top)
    if output.as_json:
        output.result({**asdict(found), "same_inputs": found.same_inputs})
        return
    for line in str(found).splitlines():
        output.console.print(one_line(line), markup=False)
    for name, (first, second) in found.settings.items():
        output.console.print(f"{name}: {one_line(first)} | {one_line(second)}", markup=False)
