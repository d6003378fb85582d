"""The error of the model after each retraining of a review, as a plot."""

from __future__ import annotations

from typing import Any

from psidebug.report.plots import CONFIG, nominal, quantitative


def history_plot(history: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The error after each retraining as a Vega-Lite specification; None before the first."""
    if not history:
        return None
    lines = []
    for rows in ("validation", "test"):
        if history[0][f"{rows}_before"] is None:
            continue
        lines.append({"step": 0, "error": history[0][f"{rows}_before"], "rows": rows, "corrected": 0})
        for step, each in enumerate(history, start=1):
            lines.append({"step": step, "error": each[f"{rows}_after"], "rows": rows, "corrected": each["corrected"]})
    colours = {"range": ["var(--soft)", "var(--accent)"]}
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "description": "Error of the model after each retraining",
        "width": "container",
        "height": 100,
        "data": {"values": lines},
        "mark": {"type": "line", "point": {"filled": True, "size": 45}, "clip": False},
        "encoding": {
            "x": quantitative("step", title="retraining", axis={"tickMinStep": 1, "format": "d"}),
            "y": quantitative("error", title="error", scale={"zero": True}),
            "color": nominal("rows", title=None, scale=colours, legend={"orient": "top"}),
            "tooltip": [
                nominal("rows"),
                quantitative("error", format=".3f"),
                quantitative("corrected", title="labels corrected"),
            ],
        },
        "config": CONFIG,
    }
