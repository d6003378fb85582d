"""``psi bench``: the paper's evaluation repeated, the peers on the same rows, and how long it takes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from psidebug.cli.guarded import PlaceToWrite
from psidebug.cli.options import command

if TYPE_CHECKING:
    from psidebug.cli.output import Output


@command(example="psi bench speed --quick")
@click.argument("what", type=click.Choice(["paper", "peers", "speed"]))
@click.option("--quick", is_flag=True, help="One seed and small data: minutes instead of hours.")
@click.option("--seeds", type=click.IntRange(1, 100), default=5, show_default=True, help="How many, from 0.")
@click.option(
    "--data", metavar="NAME", multiple=True, help="Only this data set ('psi datasets' lists them); repeatable."
)
@click.option(
    "-o",
    "--out",
    cls=PlaceToWrite,
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("psi-bench"),
    show_default=True,
    help="Folder for the measured lines (CSV) and the page. What is there already is not measured again.",
)
@click.option(
    "--page",
    cls=PlaceToWrite,
    type=click.Path(dir_okay=False, path_type=Path),
    help="Where to write the page instead (Markdown).",
)
@click.option("--install/--no-install", default=True, help="peers: set up their own environment in the user's cache.")
def bench(
    output: Output,
    *,
    what: str,
    quick: bool,
    seeds: int,
    data: tuple[str, ...],
    out: Path,
    page: Path | None,
    install: bool,
) -> None:
    """Measure Psi on data with known label errors.

    "paper" repeats the evaluation of the paper with its numbers beside ours; "peers" puts Psi beside other tools, on
    the same rows in the same run; "speed" compares a diagnosis with one fit. Real data are downloaded, or read from
    the folder that PSI_DATA names.

    The benchmarks come with a clone of the repository, not with the installed package: there, run
    pip install -e ".[bench]" first.
    """
    _check(data)
    chosen = range(1 if quick else seeds)
    match what:
        case "paper":
            small = ("two_gaussians", "concentric") if quick and not data else data
            written = page or out / "paper.md"
            drawn = _benchmarks("paper").reproduce(out, page_path=written, seeds=chosen, data=small, say=output.remark)
            if not drawn:
                output.remark(
                    "The figures were not drawn: they need sentiment, income and matplotlib (psidebug[bench])."
                )
        case "peers":
            written = _peers(output, quick=quick, seeds=chosen, data=data, out=out, page=page, install=install)
        case _:
            _speed(output, quick=quick)
            return
    if output.as_json:
        output.result({"page": str(written), "lines": str(out)})
    else:
        output.console.print(written.read_text(encoding="utf-8"), markup=False, soft_wrap=True)
        output.remark(f"This page is {written}; the measured lines are in {out}.")


def _check(data: tuple[str, ...]) -> None:
    from psidebug.datasets import BENCHMARKS
    from psidebug.errors import UnknownOption

    for name in data:
        if name not in BENCHMARKS:
            raise UnknownOption(f"--data {name!r} is not one of {', '.join(BENCHMARKS)}.")


def _benchmarks(name: str) -> Any:
    """A module of ``benchmarks`` in the checkout that this very Psi runs from: what is measured is that code."""
    import sys
    from importlib import import_module

    import psidebug
    from psidebug.errors import PsiError

    checkout = Path(psidebug.__file__).resolve().parents[2]
    if not (checkout / "benchmarks" / "__init__.py").is_file():
        raise PsiError(
            "the benchmarks are not part of the installed package: clone the repository of Psi, "
            "run pip install -e '.[bench]' in it, and psi bench will find them."
        )
    sys.path.insert(0, str(checkout))
    return import_module(f"benchmarks.{name}")


def _peers(
    output: Output, *, quick: bool, seeds: range, data: tuple[str, ...], out: Path, page: Path | None, install: bool
) -> Path:
    command = _benchmarks("peers.command")
    out.mkdir(parents=True, exist_ok=True)
    written = page or out / "peers.md"
    command.bench_peers(
        quick=quick,
        out=out / "peers.csv",
        page=written,
        install=install,
        data=data,
        seeds=list(seeds),
        speed=not quick,
        tell=output.remark,
    )
    return written


def _speed(output: Output, *, quick: bool) -> None:
    import dataclasses

    found = []
    for timing in _benchmarks("speed.diagnosis").timings(quick=quick):
        found.append(dataclasses.asdict(timing))
        if not output.as_json:
            output.console.print(
                f"{timing.learner:9} {timing.rows:7,} rows: one fit {timing.fit_seconds:.2f} s, with its profile "
                f"{timing.profile_in_fits:.1f} fits, the diagnosis {timing.debug_in_fits:.0f} fits "
                f"({timing.fits} of them real), {timing.rows_per_second:,.0f} rows per second"
            )
    if output.as_json:
        output.result(found)
