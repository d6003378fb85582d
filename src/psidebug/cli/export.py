"""``psi export``: the suspects for other tools."""

from __future__ import annotations

from pathlib import Path

import click

from psidebug.cli.options import command, file_option, run_argument
from psidebug.cli.output import Output

FORMATS = ("label-studio", "csv", "jsonl", "parquet", "cleanlab")


@command(example="psi export psi-run --format label-studio -o tasks.json")
@run_argument
@click.option("--format", "kind", type=click.Choice(FORMATS), required=True, help="For what.")
@click.option("--top", type=click.IntRange(min=1), help="The first N suspects only; not with cleanlab.")
@file_option("-o", "--output", "target", required=True, help="The file to write; - is stdout.")
def export(output: Output, *, run: Path, kind: str, top: int | None, target: Path) -> None:
    """Write the suspects for a labelling tool or a notebook.

    label-studio: tasks with the proposed labels as predictions, and beside them, as NAME.xml, the labelling
    configuration. csv, jsonl, parquet: the suspects with their columns. cleanlab: every training row, with the
    columns of cleanlab's get_label_issues.
    """
    from psidebug.cli.written import send, wrote
    from psidebug.exports import (
        cleanlab_frame,
        kind_of,
        label_studio_config,
        label_studio_tasks,
        suspects_table,
        write_json,
    )
    from psidebug.files import check_place, write_whole
    from psidebug.store import load_run

    piped = str(target) == "-"
    if not piped:
        check_place(target)
    if kind == "cleanlab":
        if top is not None:
            raise click.UsageError("cleanlab's table has every training row: leave --top out.")
        if not piped:
            kind_of(target)
        send(output, cleanlab_frame(load_run(run).findings), target)
    elif kind == "label-studio":
        found = load_run(run)
        tasks = label_studio_tasks(found.findings, found.data, top=top)
        if piped:
            output.result(tasks)
            return
        write_json(tasks, target)
        write_whole(target.with_suffix(".xml"), label_studio_config(found.findings, found.data), through_links=False)
        wrote(output, target, len(tasks), configuration=str(target.with_suffix(".xml")))
    else:
        found = load_run(run)
        send(output, suspects_table(found.findings, found.data, top=top), target, kind)
