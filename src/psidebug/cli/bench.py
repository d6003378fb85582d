"""``psi bench``: the paper's evaluation, peers, real errors, causes, speed; ``psi datasets`` lists the data."""

from __future__ import annotations

import dataclasses
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from psidebug.cli.options import command
from psidebug.cli.output import Output
from psidebug.cli.settings import PlaceToWrite
from psidebug.errors import PsiError, UnknownOption

USUAL_SEEDS = {"real": 3, "causes": 2}


@command(example="psi datasets")
def datasets(output: Output) -> None:
    """List the data sets with known label errors.

    Shows their sizes, what is planted in them, and where they come from. Nothing is downloaded. PSI_DATA may name a
    folder that has the files of the real ones.
    """
    from psidebug.datasets import DESIGNS

    if output.as_json:
        told = [
            {
                "name": design.name,
                "rows": dataclasses.asdict(design.sizes),
                "columns": design.columns,
                "planted": design.summary,
                "home": design.source.home,
                "licence": design.source.licence,
                "file": design.source.whereabouts(),
            }
            for design in DESIGNS
        ]
        output.result(told)
        return
    from rich.table import Table

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
    output.console.print(table)
    output.text("Rows are training + test + validation. Only training labels are wrong.")


@command(example="psi bench speed --quick")
@click.argument("what", type=click.Choice(["paper", "peers", "real", "causes", "speed", "nets", "scale"]))
@click.option("--quick", is_flag=True, help="One seed and small data: minutes instead of hours.")
@click.option("--seeds", type=click.IntRange(1, 100), help="How many, from 0: 5 if left out, 3 for real, 2 for causes.")
@click.option("--data", metavar="NAME", multiple=True, help="Only this data set (see 'psi datasets'); repeatable.")
@click.option(
    "--tasks",
    metavar="NAME",
    multiple=True,
    help="real: only this task, or 'extra' ones; speed: only these cases, as 'logistic-10000-*'; repeatable.",
)
@click.option("--again", metavar="METHOD", multiple=True, help="speed: measure this anew, as 'Psi'; repeatable.")
@click.option(
    "-o",
    "--out",
    cls=PlaceToWrite,
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("psi-bench"),
    show_default=True,
    help="Folder for the measurements (CSV) and the page. What is there is not measured again.",
)
@click.option(
    "--page",
    cls=PlaceToWrite,
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the page (Markdown) here instead.",
)
@click.option(
    "--install/--no-install", default=True, help="peers, speed: set up the rivals' own environment in the user's cache."
)
def bench(
    output: Output,
    *,
    what: str,
    quick: bool,
    seeds: int | None,
    data: tuple[str, ...],
    tasks: tuple[str, ...],
    again: tuple[str, ...],
    out: Path,
    page: Path | None,
    install: bool,
) -> None:
    """Measure Psi on data with known label errors.

    "paper" repeats the evaluation of the paper and shows both sets of numbers; "peers" compares Psi with other tools,
    on the same rows in the same run; "real" takes errors that nobody planted; "causes" plants units, codes, copies and
    more, and asks which it is, also of real tables with wrong cells where PSI_DATA has them (real/raha); "speed"
    compares Psi with one fit, with five folds and with other tools; "nets" retrains small neural nets, asks how well
    Psi foresees them, and who finds their wrong labels (it needs torch, and PSI_DATA for pictures); "scale" writes
    Parquet files of up to ten million rows and measures time and memory by size. Real data are
    downloaded, or read from the folder that PSI_DATA names.

    The benchmarks come with a clone of the repository, not with the installed package: there, run
    pip install -e ".[bench]" first.
    """
    from psidebug.datasets import BENCHMARKS

    for name in data:
        if name not in BENCHMARKS:
            raise UnknownOption(f"--data {name!r} is not one of {', '.join(BENCHMARKS)}.")
    chosen = range(1 if quick else seeds or USUAL_SEEDS.get(what, 5))
    written = page or out / f"{what}.md"
    if what == "paper":
        small = ("two_gaussians", "concentric") if quick and not data else data
        drawn = _benchmarks("paper").reproduce(out, page_path=written, seeds=chosen, data=small, say=output.remark)
        if not drawn:
            output.remark("The figures were not drawn: they need sentiment, income and matplotlib (psidebug[bench]).")
    elif what == "real":
        _benchmarks("real.command").bench_real(
            quick=quick, out=out / "real.csv", page=written, tasks=tasks, seeds=chosen, tell=output.remark
        )
    elif what == "speed":
        _benchmarks("speed.command").bench_speed(
            quick=quick, out=out / "speed.csv", page=written, only=tasks, again=again, install=install,
            tell=output.remark,
        )  # fmt: skip
    elif what == "scale":
        _benchmarks("scale.command").bench_scale(quick=quick, out=out / "scale.jsonl", page=written, tell=output.remark)
    elif what == "nets":
        _benchmarks("nets.command").bench_nets(
            quick=quick, out=out / "nets.csv", page=written, tasks=tasks, tell=output.remark
        )
    elif what == "causes":
        _benchmarks("causes.command").bench_causes(
            quick=quick, out=out / "causes.csv", page=written, seeds=chosen, tell=output.remark
        )
    else:
        peers = _benchmarks("peers.command")
        out.mkdir(parents=True, exist_ok=True)
        peers.bench_peers(
            quick=quick,
            out=out / "peers.csv",
            page=written,
            install=install,
            data=data,
            seeds=list(chosen),
            speed=not quick,
            tell=output.remark,
        )
    if output.as_json:
        output.result({"page": str(written), "lines": str(out)})
    else:
        output.console.print(written.read_text(encoding="utf-8"), markup=False, soft_wrap=True)
        output.remark(f"This page is {written}; the measurements are in {out}.")


def _benchmarks(name: str) -> Any:
    """A module of ``benchmarks`` in the checkout that this very Psi runs from: what is measured is that code."""
    import psidebug

    checkout = Path(psidebug.__file__).resolve().parents[2]
    if not (checkout / "benchmarks" / "__init__.py").is_file():
        raise PsiError(
            "the benchmarks are not part of the installed package: clone the repository of Psi, and run "
            "pip install -e '.[bench]' in it."
        )
    sys.path.insert(0, str(checkout))
    return import_module(f"benchmarks.{name}")
