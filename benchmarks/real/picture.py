"""``docs/images/real.svg``: how well wrong labels are found, planted ones and real ones, and what the repair wins back.

The form is that of the picture of the peers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers.results import Results as Planted
from benchmarks.real.results import Results
from benchmarks.real.roster import CALIBRATED, CONFIDENT, JUDGE, PSI
from benchmarks.real.tasks import MAIN

SHOWN = {
    PSI: "Psi",
    CALIBRATED: None,
    JUDGE: "judge of the test set",
    CONFIDENT: "cleanlab",
    "training loss": "training loss",
}
"""Methods, and what each is called among the peers; the calibrated labeller was not measured there."""
LEFT, TOP, ROW, PANEL, GAP = 170, 136, 34, 170, 66
Values = Mapping[str, Sequence[float]]


def picture(out: Path, planted: Path) -> str:
    """The picture as SVG text; ``planted`` is the file of results of the peers."""
    import jinja2

    results = Results.of(out)
    tasks = results.tasks(MAIN)
    panels = (
        ("Planted errors", "at random, one side, a slice", _planted(planted)),
        ("Real errors", f"{len(tasks)} tasks, people and rules", _by_method(results.means("ap"), tasks)),
        ("Won back", "of the accuracy lost, real errors", _by_method(results.won_back(), tasks)),
    )
    y = {name: TOP + ROW * place for place, name in enumerate(SHOWN)}
    bottom = TOP + ROW * len(SHOWN) - ROW // 2
    template = jinja2.Template(resources.files("benchmarks.peers").joinpath("picture.svg").read_text("utf-8"))
    text: str = template.render(
        title="Errors that were planted, and errors that nobody planted",
        subtitle="Left and middle: average precision. Dot: mean over the tasks; bar: from the worst to the best, cut "
        "at 0 and 1.",
        width=LEFT + len(panels) * (PANEL + GAP),
        height=bottom + 40,
        left=LEFT,
        top=TOP,
        bottom=bottom,
        panel_width=PANEL,
        rows=[{"name": name, "y": place, "psi": name == PSI} for name, place in y.items()],
        panels=[_panel(*each, LEFT + place * (PANEL + GAP), y) for place, each in enumerate(panels)],
    )
    return text


def _planted(path: Path) -> Values:
    """Average precision of logistic regression with all test points, by data set and kind of error."""
    some = Planted.of(path).where(test="all", wrong_test="0", learner="logistic")
    means = some.means("ap", ("method", "noise", "data"))
    return {
        name: values
        for name, peer in SHOWN.items()
        if (values := [value for (method, *_), value in means.items() if method == peer])
    }


def _by_method(means: Mapping[tuple[str, str], float], tasks: Sequence[str]) -> Values:
    return {
        name: values for name in SHOWN if (values := [means[task, name] for task in tasks if (task, name) in means])
    }


def _panel(title: str, note: str, found: Values, x: int, y: Mapping[str, int]) -> dict[str, Any]:
    dots = []
    for name, place in y.items():
        if name in found:
            three = (min(found[name]), float(np.mean(found[name])), max(found[name]))
            low, middle, high = (round(x + PANEL * min(1.0, max(0.0, value)), 1) for value in three)
            dots.append(
                {"psi": name == PSI, "x": middle, "low": low, "high": high, "y": place, "text": f"{three[1]:.2f}"}
            )
    ticks = [{"x": x + PANEL * value, "text": f"{value:g}"} for value in (0.0, 0.5, 1.0)]
    return {"x": x, "title": title, "note": note, "dots": dots, "ticks": ticks}
