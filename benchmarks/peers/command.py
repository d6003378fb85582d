"""``psi bench peers``: prepare the environment, measure in it, make the table and the picture.

>>> bench_peers(quick=True)  # doctest: +SKIP
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from benchmarks import RESULTS as FOLDER
from benchmarks.peers import environment, grid
from benchmarks.peers.grid import Cell
from psidebug.errors import PsiError

RESULTS = FOLDER / "peers.csv"
QUICK_LIMIT = 5.0
"""Seconds that a method may be expected to take on one cell of a quick run."""


def bench_peers(
    *,
    quick: bool = False,
    out: Path = RESULTS,
    page: Path | None = None,
    install: bool = True,
    data: Sequence[str] = (),
    seeds: Sequence[int] = (),
    tests: Sequence[str] = (),
    again: Sequence[str] = (),
    speed: bool = False,
    place: Path | None = None,
    tell: Callable[[str], None] = print,
) -> Path:
    """Measure Psi beside its peers and return the file of results.

    Parameters
    ----------
    quick
        One seed and small data, in a few minutes.
    out
        The file of results; lines that are there already are not measured again.
    page
        The page to write (Markdown) from all results, with its picture ``images/peers.svg`` beside it; none if left
        out.
    install
        Whether the peers' environment may be made or completed; without it, peers that are not there are absent.
    data, seeds, tests
        Only these data sets, seeds, numbers of test points ("all" or a number); all when left out.
    again
        Methods whose lines are dropped from ``out`` and measured anew, for instance after a change of Psi.
    speed
        Measure rows per second too, into a file beside ``out``.
    place
        The folder of the peers' environment; in the user's cache when left out.
    """
    _cells(quick, data, seeds, tests)
    place = environment.home() if place is None else place
    python = environment.prepare(place, install=install, tell=tell) or Path(sys.executable)
    common = ["--out", str(out), "--place", str(place)]
    chosen = ["--quick"] if quick else []
    for name, values in (("--data", data), ("--seeds", seeds), ("--tests", tests), ("--again", again)):
        chosen += [name, *map(str, values)] if values else []
    for arguments in (common + chosen, *([[*common, "--speed"]] if speed else [])):
        _run(python, arguments, out)
    if page is not None:
        write_page(out, page, absences=environment.absences(place))
    return out


def _run(python: Path, arguments: Sequence[str], out: Path) -> None:
    command = [str(python), "-W", "ignore", "-m", "benchmarks.peers", *arguments]
    done = subprocess.run(command, env=environment.variables(), check=False)
    if done.returncode != 0:
        raise PsiError(f"the measurements stopped early (exit code {done.returncode}); what was measured is in {out}.")


def write_page(out: Path, page: Path, *, absences: Mapping[str, str] | None = None) -> None:
    """Make a page and its picture from a file of results."""
    from benchmarks.peers.picture import picture
    from benchmarks.peers.table import page_of

    (page.parent / "images").mkdir(parents=True, exist_ok=True)
    page.write_text(page_of(out, speed_of(out), absences or {}), encoding="utf-8")
    (page.parent / "images" / "peers.svg").write_text(picture(out), encoding="utf-8")


def speed_of(out: Path) -> Path:
    """The file of speeds beside a file of results."""
    return out.with_name(f"{out.stem}_speed.csv")


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, in whatever environment this runs in."""
    from benchmarks.peers.harness import LIMIT, forget, run_peers
    from benchmarks.peers.speed import run_speed

    parser = argparse.ArgumentParser(prog="benchmarks.peers", description=__doc__)
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--place", type=Path, default=None)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--speed", action="store_true", help="rows per second, and nothing else")
    parser.add_argument("--data", nargs="*", default=())
    parser.add_argument("--seeds", nargs="*", type=int, default=())
    parser.add_argument("--tests", nargs="*", default=())
    parser.add_argument("--again", nargs="*", default=())
    asked = parser.parse_args(arguments)
    absences = environment.absences(asked.place or environment.home())
    if asked.speed:
        run_speed(speed_of(asked.out), absences=absences, tell=_say)
        return
    cells = _cells(asked.quick, asked.data, asked.seeds, asked.tests)
    forget(asked.out, asked.again)
    run_peers(cells, asked.out, absences=absences, limit=QUICK_LIMIT if asked.quick else LIMIT, tell=_say)


def _cells(quick: bool, data: Sequence[str], seeds: Sequence[int], tests: Sequence[str]) -> list[Cell]:
    """What was asked for; a wrong name is an error before anything is installed."""
    if quick:
        return grid.quick_cells(data or grid.QUICK)
    return grid.cells(data or grid.DATA, tests=tests or grid.TESTS, seeds=seeds or grid.SEEDS)


def _say(line: str) -> None:
    print(line, flush=True)
