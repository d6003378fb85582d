"""``psi datasets``: the data with known label errors that Psi is measured on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from psidebug.cli.options import command
from psidebug.cli.output import Output

if TYPE_CHECKING:
    from psidebug.datasets.benchmark import Design


@command(example="psi datasets")
def datasets(output: Output) -> None:
    """List the data with known label errors.

    Their sizes, what is planted in them, and where they come from. Nothing is downloaded. PSI_DATA may name a folder
    that has the files of the real ones.
    """
    from rich.table import Table

    from psidebug.datasets import DESIGNS

    if output.as_json:
        output.result([_as_data(design) for design in DESIGNS])
        return
    console = output.console
    table = Table.grid(padding=(0, 3, 0, 0))
    table.add_column(no_wrap=True, style="bold")
    for design in DESIGNS:
        sizes, source = design.sizes, design.source
        columns = design.columns if isinstance(design.columns, str) else f"{design.columns} columns"
        table.add_row(
            design.name,
            f"{sizes.train:,} + {sizes.test:,} + {sizes.validation:,} rows, {columns}\n"
            f"planted: {design.summary}\n"
            f"source: {source.home}; {source.licence}; {source.whereabouts()}",
        )
    console.print(table)
    console.print("Rows are to train on + to test + to validate. Only training labels are wrong.")


def _as_data(design: Design) -> dict[str, Any]:
    sizes, source = design.sizes, design.source
    return {
        "name": design.name,
        "rows": {"train": sizes.train, "test": sizes.test, "validation": sizes.validation},
        "columns": design.columns,
        "planted": design.summary,
        "home": source.home,
        "licence": source.licence,
        "file": source.whereabouts(),
    }
