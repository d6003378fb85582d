"""Results as tables: on a terminal readable at 80 columns, whole when piped, and in files."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from psidebug.cli.output import Output

CAUSE_NAMES = ("row", "given", "proposed", "p_wrong", "ps")


def show_table(output: Output, rows: Iterable[Sequence[str]], names: Sequence[str], *, wide: Sequence[str]) -> None:
    """Print rows of text under their names; columns named in ``wide`` are texts that may be folded, others numbers."""
    from rich.table import Table
    from rich.text import Text

    lines = [tuple(row) for row in rows]
    if not sys.stdout.isatty():  # nothing is folded or cut for another program
        widths = [max([len(name), *(len(line[place]) for line in lines)]) for place, name in enumerate(names)]
        for line in [tuple(names), *lines]:
            cells = (
                cell.ljust(width) if name in wide else cell.rjust(width)
                for cell, width, name in zip(line, widths, names, strict=True)
            )
            output.console.out("  ".join(cells).rstrip(), highlight=False)
        return
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for name in names:
        folded = name in wide
        table.add_column(Text(name), justify="left" if folded else "right", overflow="fold", no_wrap=not folded)
    for line in lines:
        table.add_row(*(Text(cell) for cell in line))
    output.console.print(table)


def show_causes(output: Output, causes: Iterable[Mapping[str, Any]]) -> None:
    """Print suspects or causes: row, given, proposed, p_wrong, ps."""
    rows = [
        (*(one_line(each[name]) for name in CAUSE_NAMES[:3]), *(number(each[name]) for name in CAUSE_NAMES[3:]))
        for each in causes
    ]
    show_table(output, rows, CAUSE_NAMES, wide=CAUSE_NAMES[:3])


def show_tests(output: Output, suspects: Iterable[Mapping[str, Any]]) -> None:
    """Print test labels that are probably wrong: row, given, proposed, p_wrong, why."""
    names = (*CAUSE_NAMES[:4], "why")
    rows = [[number(each[name]) if name == "p_wrong" else one_line(each[name]) for name in names] for each in suspects]
    show_table(output, rows, names, wide=[name for name in names if name != "p_wrong"])


def one_line(value: Any) -> str:
    """A value of the user as text without line breaks or control characters."""
    text = " ".join(str(value).split())
    return "".join(each if each.isprintable() else "�" for each in text)


def counted(number: int, name: str) -> str:
    """A number with what it counts, in the singular or the plural."""
    return f"{number:,} {name}" if number == 1 else f"{number:,} {name}s"


def number(value: float | None, digits: int = 2) -> str:
    """A number, or a dash where there is none."""
    return "–" if value is None or value != value else f"{value:.{digits}f}"


def records(frame: Any) -> list[dict[str, Any]]:
    """The rows of a data frame of any library."""
    import narwhals as nw

    return [dict(row) for row in nw.from_native(frame, eager_only=True).iter_rows(named=True)]


def send(output: Output, table: Any, target: Path | None, kind: str | None = None) -> None:
    """Write a table to a file, in the format of ``kind`` or of its name; to stdout if that is ``-`` or nothing."""
    from psidebug.exports.table_files import encoded, write_table
    from psidebug.files import check_place, write_whole

    if target is not None and str(target) != "-":
        if kind is None:
            write_table(table, target)
        else:
            check_place(target)
            _check_name(target, kind)
            write_whole(target, encoded(table, "jsonl" if kind == "json" else kind))
        wrote(output, target, f"wrote {counted(table.num_rows, 'row')} to {target}", rows=table.num_rows)
    elif output.as_json:
        raise click.UsageError("--json and the table cannot both go to stdout: give -o FILE, or no --json.")
    elif kind == "parquet" and sys.stdout.isatty():
        raise click.UsageError("Parquet cannot be shown in a terminal: give -o FILE, or pipe it to another program.")
    else:
        content = encoded(table, "jsonl" if kind == "json" else kind or "csv")
        click.echo(content if kind == "parquet" else content.decode("utf-8"), nl=False)


def wrote(output: Output, target: Path, said: str, **about: Any) -> None:
    """Say what was written: a sentence, or facts with ``--json``."""
    if output.as_json:
        output.result({"written": str(target), **about})
    else:
        output.remark(said)


def _check_name(target: Path, kind: str) -> None:
    """Refuse a name that says another format than the one asked for; a name that says none may hold any."""
    from psidebug.errors import OutputError
    from psidebug.exports.table_files import kind_of

    try:
        says, packed = kind_of(target)
    except OutputError:
        return
    if packed or says != ("jsonl" if kind == "json" else kind):
        raise click.UsageError(
            f"the name {target.name} says {says}{', packed' if packed else ''}, but --format says {kind}: leave "
            f"--format out, or choose another name."
        )
