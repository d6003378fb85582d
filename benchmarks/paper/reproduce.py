"""The whole reproduction: lines as they are measured, then the figures, then the page."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.lines import append, read
from benchmarks.paper.cells import CELLS, Cell
from benchmarks.paper.evaluation import measure
from benchmarks.paper.figures import combinations, corrections
from benchmarks.paper.page import page
from psidebug.files import write_whole

FIGURE_CELLS = tuple(cell for cell in CELLS if cell.noise == "systematic" and cell.learner == "logistic")
"""Its figures are of logistic regression under systematic noise; the second of sentiment alone."""
FIGURE_SEEDS = 3

Say = Callable[[str], None]


def reproduce(out: Path, *, page_path: Path, seeds: Sequence[int], data: Sequence[str] = (), say: Say = print) -> bool:
    """Measure what is not yet in ``out``, and write the page; True if the figures could be drawn."""
    out.mkdir(parents=True, exist_ok=True)
    cells = [cell for cell in CELLS if not data or cell.data in data]
    for seed in seeds:
        for cell in cells:
            _unless_there(out / "paper.csv", cell, seed, measure, say)
        for cell in FIGURE_CELLS:
            if cell in cells and seed == seeds[0]:
                _unless_there(out / "paper-corrected.csv", cell, seed, corrections, say)
            if cell in cells and cell.data == "sentiment" and seed in seeds[:FIGURE_SEEDS]:
                _unless_there(out / "paper-combined.csv", cell, seed, combinations, say)
    lines, corrected, combined = (read(out / f"paper{each}.csv") for each in ("", "-corrected", "-combined"))
    drawn = bool(corrected and combined) and importlib.util.find_spec("matplotlib") is not None
    if drawn:
        from benchmarks.paper.plots import draw_combined, draw_corrected

        draw_corrected(corrected, lines, page_path.parent / "images" / "paper-corrected.svg")
        draw_combined(combined, page_path.parent / "images" / "paper-combined.svg")
    write_whole(page_path, page(lines, combined, pictures=drawn))
    return drawn


def _unless_there(path: Path, cell: Cell, seed: int, measured: Callable[[Cell, int], Iterable[Any]], say: Say) -> None:
    """Measure a cell and keep its lines; they are written together, so that a cell is there whole or not at all."""
    if any((line["data"], line["learner"], line["seed"]) == (cell.data, cell.learner, seed) for line in read(path)):
        return
    say(f"{path.stem}: {cell.name}, seed {seed}")
    append(path, list(measured(cell, seed)))
