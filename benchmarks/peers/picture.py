"""``docs/images/peers.svg``: for each kind of error, the average precision of each method, Psi highlighted."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers.results import PSI, Results

SHOWN = (
    (PSI, (PSI,)),
    ("judge of the test set", ("judge of the test set",)),
    ("influence / BoostIn", ("influence, all test points", "BoostIn by gradient, all test points")),
    ("KNN-Shapley (pyDVL)", ("KNN-Shapley",)),
    ("cleanlab", ("cleanlab",)),
    ("training loss", ("training loss",)),
    ("random order", ("random",)),
)
"""Methods for both learners; influence is that of logistic regression, BoostIn that of trees."""
PANELS = {
    "random": ("Wrong at random", "10% of the labels"),
    "one_sided": ("One-sided", "30% of one class"),
    "systematic": ("A whole slice", "a script's bug, 10% of the labels"),
}
LEFT, TOP, ROW, PANEL, GAP = 190, 136, 34, 170, 66


def picture(out: Path) -> str:
    """The picture as SVG text, from the tasks with all test points on which every shown method was measured."""
    import jinja2

    main = Results.of(out).where(test="all", wrong_test="0")
    means = main.means("ap", ("method", "noise", "data", "learner"))
    found = {noise: _found(means, noise) for noise in PANELS}
    names = [name for name, _ in SHOWN if all(name in each for each in found.values())]
    names.sort(key=lambda name: -np.mean([np.mean(each[name]) for each in found.values()]))
    y = {name: TOP + ROW * place for place, name in enumerate(names)}
    bottom = TOP + ROW * len(names) - ROW // 2
    panels = [_panel(noise, LEFT + place * (PANEL + GAP), found[noise], y) for place, noise in enumerate(PANELS)]
    data = {data for noise in PANELS for _, data, _ in _common(means, noise)}
    template = jinja2.Template(resources.files(__package__).joinpath("picture.svg").read_text("utf-8"))
    subtitle = (
        f"Average precision, 1 is perfect. Dot: mean over two learners on {_data_sets(len(data))}; bar: from the worst "
        f"to the best of them."
    )
    text: str = template.render(
        title="How many of the wrong labels are found, and how early?",
        subtitle=subtitle,
        width=LEFT + 3 * (PANEL + GAP),
        height=bottom + 40,
        left=LEFT,
        top=TOP,
        bottom=bottom,
        panel_width=PANEL,
        rows=[{"name": name, "y": place, "psi": name == PSI} for name, place in y.items()],
        panels=panels,
    )
    return text


def _data_sets(count: int) -> str:
    return "one data set" if count == 1 else f"{count} data sets"


def _found(means: Mapping[tuple[str, ...], float], noise: str) -> dict[str, list[float]]:
    """Average precision of each shown method, over the tasks that all of them were measured on."""
    common = _common(means, noise)
    return {
        name: [means[place] for place in places]
        for name, members in SHOWN
        if (places := [(m, *task) for task in common for m in members if (m, *task) in means])
    }


def _common(means: Mapping[tuple[str, ...], float], noise: str) -> list[tuple[str, ...]]:
    """The tasks (noise, data, learner) on which all shown methods were measured that were measured at all."""
    tasks = [{place[1:] for place in means if place[0] in members and place[1] == noise} for _, members in SHOWN]
    return sorted(set.intersection(*filter(None, tasks))) if any(tasks) else []


def _panel(noise: str, x: int, found: Mapping[str, list[float]], y: Mapping[str, int]) -> dict[str, Any]:
    title, note = PANELS[noise]
    dots = []
    for name, place in y.items():
        values = found[name]
        low, middle, high = (x + PANEL * value for value in (min(values), float(np.mean(values)), max(values)))
        dots.append(
            {"psi": name == PSI, "x": round(middle, 1), "low": round(low, 1), "high": round(high, 1), "y": place}
            | {"text": f"{np.mean(values):.2f}"}
        )
    ticks = [{"x": x + PANEL * value, "text": f"{value:g}"} for value in (0.0, 0.5, 1.0)]
    return {"x": x, "title": title, "note": note, "dots": dots, "ticks": ticks}
