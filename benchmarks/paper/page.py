"""``docs/paper.md``: the paper's table and ours side by side, from the measured lines alone."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean, stdev
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

import psidebug
from benchmarks.paper.cells import CELLS, Cell
from benchmarks.paper.steps import STEPS

Lines = Sequence[dict[str, Any]]


def page(lines: Lines, combined: Lines = (), *, pictures: bool = True) -> str:
    """The page as Markdown; cells without lines are left out."""
    measured = [cell for cell in CELLS if _of(lines, cell)]
    ours = [line for line in lines if line["step"] == "psi" and line["bugs"] == "all"]
    repaired = [line for line in ours if line["error_repaired"] is not None]
    worse = [line for line in repaired if line["error_repaired"] > line["error_noisy"] + 1e-9]
    where = "; ".join(
        "{data} {learner}, seed {seed}: {error_noisy:.4f} → {error_repaired:.4f}".format(**line) for line in worse
    )
    environment = Environment(
        loader=PackageLoader("benchmarks.paper"),
        undefined=StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # Markdown of our own numbers
    )
    return environment.get_template("paper.md").render(
        version=psidebug.__version__,
        seeds=sorted({line["seed"] for line in lines}),
        cells=[_cell(lines, cell) for cell in measured],
        steps=[_step(lines, step.name, step.change, measured) for step in STEPS],
        total_seconds=round(sum(_mean(_of(ours, cell), "seconds") or 0.0 for cell in measured)),
        runs=len(repaired),
        worsened=len(worse),
        worsened_where=f" ({where})" if where else "",
        pictures=pictures,
        combined_seeds=len({line["seed"] for line in combined}),
    )


def _cell(lines: Lines, cell: Cell) -> dict[str, str]:
    ours = {kind: _of(lines, cell, step="psi", bugs=kind) for kind in ("new", "all")}
    reached = _mean(ours["all"], "p_at_n")
    missed = reached is not None and reached < cell.goal
    p_all = _spread(ours["all"], "p_at_n")
    errors = [_mean(ours["all"], f"error_{each}") for each in ("clean", "noisy", "repaired")]
    return {
        "name": cell.name,
        "printed": f"{cell.printed_accuracy:.2f}",
        "p_new": _spread(ours["new"], "p_at_n"),
        "p_all": f"**{p_all}**" if missed else p_all,
        "ap": _spread(ours["all"], "average_precision"),
        "goal": f"{cell.goal:.2f}",
        "precision": _short(_mean(ours["all"], "precision")),
        "recall": _short(_mean(ours["all"], "recall")),
        "printed_errors": " → ".join(f"{each:.2f}" for each in cell.printed_errors),
        "errors": " → ".join(_short(each, 3) for each in errors),
        "minutes": str(cell.printed_minutes),
        "seconds": _short(_mean(ours["all"], "seconds"), 1),
        "fits": _short(_mean(ours["all"], "fits"), 0),
    }


def _step(lines: Lines, name: str, change: str, measured: Sequence[Cell]) -> dict[str, Any]:
    pairs = []
    for cell in measured:
        both = (_mean(_of(lines, cell, step=name, bugs=kind), "p_at_n") for kind in ("new", "all"))
        pairs.append(" / ".join(_short(each) for each in both))
    mine = [line for line in lines if line["step"] == name and line["seconds"]]
    return {"name": name, "change": change, "cells": pairs, "seconds": _short(_mean(mine, "seconds"), 1)}


def _of(lines: Lines, cell: Cell, **fixed: str) -> list[dict[str, Any]]:
    wanted = {"data": cell.data, "learner": cell.learner} | fixed
    return [line for line in lines if all(line[name] == value for name, value in wanted.items())]


def _values(lines: Lines, name: str) -> list[float]:
    return [float(line[name]) for line in lines if line[name] is not None]


def _mean(lines: Lines, name: str) -> float | None:
    values = _values(lines, name)
    return fmean(values) if values else None


def _spread(lines: Lines, name: str) -> str:
    values = _values(lines, name)
    if len(values) < 2:
        return _short(_mean(lines, name))
    return f"{fmean(values):.2f} ± {stdev(values):.2f}"


def _short(value: float | None, digits: int = 2) -> str:
    return "–" if value is None else f"{value:.{digits}f}"
