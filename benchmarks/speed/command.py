"""``psi bench speed``: measure, then make the page and its picture.

>>> bench_speed(quick=True)  # doctest: +SKIP
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks import RESULTS as FOLDER
from benchmarks.peers import environment
from benchmarks.speed.cases import cases
from benchmarks.speed.methods import METHODS
from benchmarks.speed.run import LIMIT, forget, run_speed
from psidebug.errors import UnknownOption

RESULTS = FOLDER / "speed.csv"
QUICK_LIMIT = 60.0
"""Seconds that one process of a quick run may take."""


def bench_speed(
    *,
    quick: bool = False,
    out: Path = RESULTS,
    page: Path | None = None,
    only: Sequence[str] = (),
    again: Sequence[str] = (),
    install: bool = True,
    limit: float | None = None,
    place: Path | None = None,
    tell: Callable[[str], None] = print,
) -> Path:
    """Time Psi beside one fit, five folds and its rivals, and return the file of results.

    Parameters
    ----------
    quick
        The smallest size, in two minutes.
    out
        The file of results; lines that are there already are not measured again.
    page
        The page to write (Markdown) from all results, with its picture ``images/speed.svg`` beside it.
    only
        Names of cases, with ``*`` for any part: ``logistic-10000-20-2`` is learner, rows, columns and classes.
    again
        Methods whose lines of these cases are dropped and measured anew; "Psi" is all its efforts.
    install
        Whether the rivals' environments may be made or completed; without it, rivals that are not there are absent.
    limit
        Seconds that one process may take.
    place
        The folder of the rivals' environment; in the user's cache when left out.
    """
    chosen = cases(quick=quick, patterns=only)
    known = {name for method in METHODS for name in (method.name, method.name.split(",")[0])}
    for name in again:
        if name not in known:
            raise UnknownOption(f"{name!r} is none of the methods: {', '.join(method.name for method in METHODS)}.")
    modules = sorted({method.peer.package for method in METHODS if method.peer and method.peer.package})
    pythons, absences = environment.interpreters(modules, place or environment.home(), install=install, tell=tell)
    forget(out, again, chosen)
    limit = limit or (QUICK_LIMIT if quick else LIMIT)
    run_speed(chosen, out, pythons=pythons, absences=absences, limit=limit, tell=tell)
    if page is not None:
        write_page(out, page)
    return out


def write_page(out: Path, page: Path) -> None:
    """Make a page and, where matplotlib is there, its picture from a file of results."""
    from benchmarks.speed.page import page_of
    from benchmarks.speed.picture import draw
    from benchmarks.speed.results import Results

    drawn = importlib.util.find_spec("matplotlib") is not None
    page.parent.mkdir(parents=True, exist_ok=True)
    if drawn:
        draw(Results.of(out), page.parent / "images" / "speed.svg")
    page.write_text(page_of(out, picture=drawn), encoding="utf-8")
