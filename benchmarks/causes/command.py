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
from benchmarks.causes.raha import run_raha

RESULTS = FOLDER / "causes.csv"
RAHA = "causes_raha.csv"
MORE = ("causes_rivals.csv", RAHA, "causes_raha_rivals.csv")
"""Files beside it that the page is made from, too."""
QUICK = ("shop", "tumours")


def bench_causes(
    *,
    quick: bool = False,
    out: Path = RESULTS,
    page: Path | None = None,
    seeds: Sequence[int] = (31, 32),
    tell: Callable[[str], None] = print,
) -> Path:
    """Plant causes in tables, ask Psi which it is, and return the file of results.

    Then five splits of real tables with wrong cells, in ``causes_raha.csv`` beside it, if ``PSI_DATA`` has them.

    Parameters
    ----------
    quick
        The first seed in two tables, with logistic regression, in two minutes.
    out
        The file of results; lines that are there already are not measured again. Lines of other tools, and of wrong
        cells that are not here, are read from files beside it, or from those that come with the checkout.
    page
        The page to write (Markdown) from all results.
    """
    run(cells(tuple(PLANTS), seeds[:1], QUICK, ["logistic"]) if quick else all_cells(seeds), out, tell=tell)
    raha = out.with_name(RAHA)
    if quick:
        run_raha(raha, seeds=seeds[:1], learners=["logistic"], tell=tell)
    else:
        run_raha(raha, tell=tell)
    if page is not None:
        page.parent.mkdir(parents=True, exist_ok=True)
        files = [beside if (beside := out.with_name(name)).is_file() else FOLDER / name for name in MORE]
        page.write_text(page_of(out, *files), encoding="utf-8")
    return out
