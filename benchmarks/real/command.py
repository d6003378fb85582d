"""``psi bench real``: measure, then make the page and its picture.

>>> bench_real(quick=True)  # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks import RESULTS as FOLDER
from benchmarks.real.harness import forget, run_real
from benchmarks.real.tasks import SEEDS, TASKS
from psidebug.errors import UnknownOption

RESULTS = FOLDER / "real.csv"
PLANTED = FOLDER / "peers.csv"
"""What the picture shows beside real errors."""
REPORTED = tuple(name for name, kind in TASKS.items() if not kind.extra)
QUICK = ("labelme_majority", "youtube_majority")


def bench_real(
    *,
    quick: bool = False,
    out: Path = RESULTS,
    page: Path | None = None,
    tasks: Sequence[str] = (),
    seeds: Sequence[int] = SEEDS,
    again: Sequence[str] = (),
    tell: Callable[[str], None] = print,
) -> Path:
    """Measure Psi and its rivals on real errors and return the file of results.

    Parameters
    ----------
    quick
        One seed of two tasks, in half a minute.
    out
        The file of results; lines that are there already are not measured again.
    page
        The page to write (Markdown) from all results, with its picture ``images/real.svg`` beside it.
    tasks
        Only these, by name; "extra" stands for all that were made for development. What is reported when left out.
    again
        Methods whose lines are dropped and measured anew, for instance after a change of Psi.
    """
    chosen = chosen_tasks(tasks or (QUICK if quick else REPORTED))
    forget(out, again)
    run_real(chosen, seeds[:1] if quick else seeds, out, tell=tell)
    if page is not None:
        write_page(out, page)
    return out


def chosen_tasks(names: Sequence[str]) -> list[str]:
    """Names of tasks, "extra" replaced by all of these."""
    extra = [name for name, kind in TASKS.items() if kind.extra]
    found = [each for name in names for each in (extra if name == "extra" else [name])]
    for name in found:
        if name not in TASKS:
            raise UnknownOption(f"{name!r} is none of the tasks: extra, {', '.join(TASKS)}.")
    return list(dict.fromkeys(found))


def write_page(out: Path, page: Path) -> None:
    """Make a page and its picture from a file of results."""
    from benchmarks.real.picture import picture
    from benchmarks.real.table import page_of

    (page.parent / "images").mkdir(parents=True, exist_ok=True)
    page.write_text(page_of(out), encoding="utf-8")
    (page.parent / "images" / "real.svg").write_text(picture(out, PLANTED), encoding="utf-8")
