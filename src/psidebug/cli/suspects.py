"""``psi suspects``: the training labels that are probably wrong."""

from __future__ import annotations

from pathlib import Path

import click

from psidebug.cli.options import command, file_option, run_argument
from psidebug.cli.output import Output


@command(example="psi suspects psi-run --top 20")
@run_argument
@click.option("--top", type=click.IntRange(min=1), help="How many. [default: 20 as a table, else all]")
@click.option(
    "--format",
    "kind",
    type=click.Choice(["table", "csv", "json", "parquet"]),
    help="As what. [default: as the name of the file says, else table]",
)
@file_option("-o", "--output", "target", help="Write them to a file, with the columns of their rows.")
def suspects(output: Output, *, run: Path, top: int | None, kind: str | None, target: Path | None) -> None:
    """List the training labels that are probably wrong.

    The likeliest first: given and proposed label, how likely the given one is wrong, and its PS, how sufficient it is
    as a cause of the errors.
    """
    from psidebug.cli.tables import CAUSE_NAMES, cause_cells, counted, show_table
    from psidebug.cli.written import send
    from psidebug.exports import suspects_table
    from psidebug.store import load_run

    found = load_run(run)
    as_json = output.as_json or kind == "json"
    if target is not None or kind in ("csv", "parquet"):
        send(output, suspects_table(found.findings, found.data, top=top), target, kind)
        return
    table = suspects_table(found.findings, top=top if top or as_json else 20)
    lines = table.to_pylist()
    if as_json:
        output.result({"suspects": lines, "of": len(found.order)})
        return
    if not lines:
        output.console.print(found.verdict, markup=False)
        return
    show_table(output, map(cause_cells, lines), CAUSE_NAMES, wide=CAUSE_NAMES[:3])
    if len(lines) < len(found.order):
        output.remark(f"{len(lines):,} of {counted(len(found.order), 'suspect')}; --top N shows more.")
