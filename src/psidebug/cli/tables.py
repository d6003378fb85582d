"""Results as tables: aligned and readable at 80 columns on a terminal, whole when piped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from psidebug.cli.output import Output

CAUSE_NAMES = ("row", "given", "proposed", "p_wrong", "ps")


def show_table(
    output: Output, rows: Iterable[Sequence[str]], names: Sequence[str], *, wide: Sequence[str] = ()
) -> None:
    """Print rows of text under their names; columns named in ``wide`` are texts that may be folded, others numbers."""
    import sys

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


def one_line(value: Any) -> str:
    """A value of the user as text without line breaks or control characters."""
    text = " ".join(str(value).split())
    return "".join(each if each.isprintable() else "�" for each in text)


def counted(number: int, name: str) -> str:
    """A number with what it counts, in the singular or the plural."""
    return f"{number:,} {name}" if number == 1 else f"{number:,} {name}s"


def cause_cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    """A suspect or a cause as cells: row, given, proposed, p_wrong, ps."""
    texts = (one_line(row[name]) for name in CAUSE_NAMES[:3])
    return (*texts, *(number(row[name]) for name in CAUSE_NAMES[3:]))


def number(value: float | None, digits: int = 2) -> str:
    """A number, or a dash where there is none."""
    return "–" if value is None or value != value else f"{value:.{digits}f}"


def records(frame: Any) -> list[dict[str, Any]]:
    """The rows of a data frame of any library."""
    import narwhals as nw

    return [dict(row) for row in nw.from_native(frame, eager_only=True).iter_rows(named=True)]
