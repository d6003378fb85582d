"""``psi datasets``: the data with known label errors that Psi is measured on."""

from __future__ import annotations

import click


@click.command()
def datasets() -> None:
    """List the benchmarks: their sizes, what is planted in them, and where they come from.

    Nothing is downloaded. PSI_DATA may name a folder that has the files of the real ones.

    Example: psi datasets
    """
    from rich.console import Console
    from rich.table import Table

    from psidebug.datasets import DESIGNS

    console = Console(highlight=False)
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
