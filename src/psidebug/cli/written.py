"""Where a table goes: a file, or stdout for the next program."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from psidebug.cli.output import Output


def send(output: Output, table: Any, target: Path | None, kind: str | None = None) -> None:
    """Write a table to a file, by the kind or else by its name; to stdout if that is ``-`` or nothing."""
    from psidebug.exports import encoded, write_table
    from psidebug.files import check_place, write_whole

    if target is None or str(target) == "-":
        if output.as_json:
            raise click.UsageError(
                "--json says what was written, and stdout has the table: give -o FILE, or no --json."
            )
        content = encoded(table, _kind(kind) or "csv")
        if kind == "parquet" and sys.stdout.isatty():
            raise click.UsageError("Parquet is nothing to look at: give -o FILE, or send it to another program.")
        click.echo(content if kind == "parquet" else content.decode("utf-8"), nl=False)
        return
    if kind is None:
        write_table(table, target)
    else:
        check_place(target)
        _check_name(target, kind)
        write_whole(target, encoded(table, _kind(kind) or "csv"))
    wrote(output, target, table.num_rows)


def wrote(output: Output, target: Path, rows: int, **more: Any) -> None:
    """Say what was written."""
    from psidebug.cli.tables import counted

    if output.as_json:
        output.result({"written": str(target), "rows": rows, **more})
    else:
        output.remark(f"wrote {counted(rows, 'row')} to {target}")


def _check_name(target: Path, kind: str) -> None:
    """Refuse a name that says another format than the one asked for; a name that says none may hold any."""
    from psidebug.errors import OutputError
    from psidebug.exports import kind_of

    try:
        says, packed = kind_of(target)
    except OutputError:
        return
    if packed or says != _kind(kind):
        raise click.UsageError(
            f"the name {target.name} says {says}{', packed' if packed else ''}, and --format {kind}: leave --format "
            f"out, or give the file another name."
        )


def _kind(name: str | None) -> str | None:
    return "jsonl" if name == "json" else name
