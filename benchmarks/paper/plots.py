"""The paper's two figures as pictures, from the measured points alone. Needs matplotlib (``psidebug[bench]``)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

Points = Sequence[dict[str, Any]]

INK, QUIET, ACCENT, WARM = "#1f2933", "#7b8794", "#1565c0", "#c62828"


def draw_corrected(points: Points, lines: Points, path: Path) -> None:
    """Validation error, and PS threshold τ in red, against the number of labels corrected; one panel per data set."""
    figure, axes = panels(len(data := list(dict.fromkeys(point["data"] for point in points))))
    for axis, name in zip(axes, data, strict=True):
        mine = [point for point in points if point["data"] == name]
        seed = mine[0]["seed"]
        for order, colour, label in (("ps", QUIET, "in the order of PS alone"), ("psi", ACCENT, "in Psi's order")):
            chosen = [point for point in mine if point["order"] == order and point["seed"] == seed]
            axis.plot([p["corrected"] for p in chosen], [p["error"] for p in chosen], color=colour, label=label, lw=2)
        threshold = axis.twinx()
        by_ps = [point for point in mine if point["order"] == "ps" and point["corrected"] and point["seed"] == seed]
        threshold.plot([p["corrected"] for p in by_ps], [p["tau"] for p in by_ps], color=WARM, lw=1, ls="--")
        threshold.set_ylabel("PS threshold τ (dashed)", color=WARM)
        threshold.set_ylim(0, 1)
        threshold.spines["top"].set_visible(False)
        here = {"data": name, "learner": "logistic", "seed": seed, "step": "psi", "bugs": "all"}
        for line in lines:
            if here.items() <= line.items():
                axis.plot([line["returned"]], [line["error_repaired"]], "o", color=ACCENT, ms=8)
                axis.axhline(line["error_clean"], color=INK, lw=0.8, ls=":")
                axis.axvline(line["n"], color=INK, lw=0.8, ls=":")
                axis.annotate("clean labels", (0, line["error_clean"]), va="bottom", color=INK, fontsize=8)
        axis.set(title=name, xlabel="labels corrected (dotted: as many as are wrong)", ylabel="validation error")
        axis.set_ylim(bottom=0)
    axes[0].legend(frameon=False, loc="lower right")
    save_svg(figure, path)


def draw_combined(points: Points, path: Path) -> None:
    """Precision among the first n suspects against the number of bugs combined."""
    figure, (axis,) = panels(1)
    colours = {
        "conjunction": (QUIET, "all are misclassified (the paper's method)"),
        "log loss": (INK, "their log loss"),
    }
    for question, (colour, label) in {**colours, "psi": (ACCENT, "Psi")}.items():
        groups: dict[int, list[float]] = {}
        seeds = sorted({point["seed"] for point in points})
        for seed in seeds:
            chosen = [p for p in points if p["question"] == question and p["seed"] == seed]
            last = max(p["bugs"] for p in chosen)
            for point in chosen:
                count = 10**6 if point["bugs"] == last else point["bugs"]
                if point["precision"] is not None:
                    groups.setdefault(count, []).append(point["precision"])
        asked = [{p["bugs"] for p in points if p["seed"] == seed} - {10**6} for seed in seeds]
        counts = sorted(count for count in groups if count == 10**6 or all(count in each for each in asked))
        axis.plot(range(len(counts)), [fmean(groups[count]) for count in counts], "o-", color=colour, label=label, lw=2)
        axis.set_xticks(range(len(counts)), ["all" if count == 10**6 else str(count) for count in counts])
    axis.set(xlabel="bugs combined", ylabel="wrong labels among the first n", ylim=(0, 1))
    axis.legend(frameon=False, loc="center right")
    save_svg(figure, path)


def panels(count: int) -> tuple[Any, list[Any]]:
    """A figure with so many panels side by side."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.4 * count, 3.4), layout="constrained")
    axes = [figure.add_subplot(1, count, place + 1) for place in range(count)]
    for axis in axes:
        axis.spines[["top", "right"]].set_visible(False)
    return figure, axes


def save_svg(figure: Any, path: Path) -> None:
    """Write a figure; the same points give the same file."""
    from matplotlib import rc_context

    path.parent.mkdir(parents=True, exist_ok=True)
    with rc_context({"svg.hashsalt": "psidebug", "svg.fonttype": "none"}):
        figure.savefig(path, format="svg", metadata={"Date": None})
