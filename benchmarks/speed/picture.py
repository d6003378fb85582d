"""``docs/images/speed.svg``: time against rows, both on logarithmic scales, one line per method."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.paper.plots import ACCENT, INK, QUIET, WARM, panels, save_svg
from benchmarks.speed.goals import DECIDE, RANK
from benchmarks.speed.methods import FIT, FOLDS, LEARNER_WORDS, psi_name
from benchmarks.speed.results import Results

STYLES: dict[str, dict[str, Any]] = {
    FIT: {"color": INK, "ls": ":", "lw": 1.5},
    FOLDS: {"color": INK, "ls": "--", "lw": 1.5},
    RANK: {"color": "#64b5f6", "marker": "v", "lw": 2.5},
    DECIDE: {"color": ACCENT, "marker": "o", "lw": 2.5},
    psi_name("prove"): {"color": "#0d2f66", "marker": "^", "lw": 2.5},
    "cleanlab": {"color": WARM, "marker": "s"},
    "KNN-Shapley": {"color": "#ef6c00", "marker": "D"},
    "DataScope": {"color": "#8e24aa", "marker": "P"},
    "CatBoost object importance": {"color": "#b8860b", "marker": "X"},
    "BoostIn, all test points": {"color": "#2e7d32", "marker": "<"},
    "influence, all test points": {"color": "#2e7d32", "marker": ">"},
}


def figure_of(results: Results) -> Any:
    """The figure: one panel per learner, 20 columns and two classes."""
    figure, axes = panels(len(LEARNER_WORDS))
    figure.set_size_inches(12.6, 4.6)
    shown: dict[str, Any] = {}
    for axis, (learner, words) in zip(axes, LEARNER_WORDS.items(), strict=True):
        usual = [case for case in results.cases if case.usual and case.learner == learner]
        for name, style in STYLES.items():
            points = sorted((case.rows, spent) for case in usual if (spent := results.value(case, name)))
            if points:
                (line,) = axis.plot(*zip(*points, strict=True), **({"lw": 1.2, "ms": 5} | style), label=name)
                shown.setdefault(name, line)
        axis.set(xscale="log", yscale="log", title=words.capitalize(), xlabel="training rows")
        axis.set_ylabel("processor seconds, one thread")
        axis.grid(visible=True, color=QUIET, alpha=0.25, lw=0.6)
    names = [name for name in STYLES if name in shown]
    figure.legend([shown[name] for name in names], names, loc="outside right center", frameon=False)
    return figure


def draw(results: Results, path: Path) -> None:
    """Write the picture."""
    save_svg(figure_of(results), path)
