"""``psi bench causes``: measure, then make the page.

>>> bench_causes(quick=True)  # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks import RESULTS as FOLDER
from benchmarks.causes.harness import all_cells, cells, run
from benchmarks.causes.page import page_of
from benchmarks.causes.plants import PLANTS

RESULTS = FOLDER / "causes.csv"
RIVALS = FOLDER / "causes_rivals.csv"
QUICK = ("shop", "tumours")


def bench_causes(
    *,
    quick: bool = False,
    out: Path = RESULTS,
    page: Path | None = None,
    seeds: Sequence[int] = (0, 1),
    tell: Callable[[str], None] = print,
) -> Path:
    """Plant causes in tables, ask Psi which it is, and return the file of results.

    Parameters
    ----------
    quick
        The first seed in two tables, with logistic regression, in two minutes.
    out
        The file of results; lines that are there already are not measured again. Lines of other tools are read from
        ``causes_rivals.csv`` beside it, or from those that come with the checkout.
    page
        The page to write (Markdown) from all results.
    """
    run(cells(tuple(PLANTS), seeds[:1], QUICK, ["logistic"]) if quick else all_cells(seeds), out, tell=tell)
    if page is not None:
        beside = out.with_name(RIVALS.name)
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(page_of(out, beside if beside.is_file() else RIVALS), encoding="utf-8")
    return out
