"""The plots as Vega-Lite specifications: plain data, in the page's own colours.

Names of fields are ours; the user's own words are only ever values. Colours are CSS variables of the page, so that a
plot follows it into dark mode and onto paper.
"""

from __future__ import annotations

from typing import Any

from psidebug.report.effects import Plain
from psidebug.report.summary import Summary

INK, SOFT, LINE, ACCENT, OTHER = "var(--ink)", "var(--soft)", "var(--line)", "var(--accent)", "var(--other)"
CONFIG: Plain = {
    "background": None,
    "font": "system-ui, sans-serif",
    "view": {"stroke": None},
    "axis": {
        "labelColor": SOFT,
        "titleColor": SOFT,
        "domainColor": LINE,
        "tickColor": LINE,
        "gridColor": LINE,
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "titlePadding": 8,
    },
    "legend": {"labelColor": INK, "labelFontSize": 12, "orient": "top", "title": None, "symbolOpacity": 1},
    "header": {"labelColor": INK, "labelFontSize": 13, "labelFontWeight": 600, "title": None, "labelAnchor": "start"},
    "text": {"color": INK, "fontSize": 12},
    "rule": {"color": SOFT},
}
"""How every plot looks."""
LABELS = {
    "given labels": "given labels",
    "corrected": "corrected labels",
    "random": "as many random flips",
    "highest loss": "as many of highest loss",
}
"""Name of each line of the first plot."""


def quantitative(field: str, **more: Any) -> Plain:
    """The encoding of a number."""
    return {"field": field, "type": "quantitative", **more}


def nominal(field: str, **more: Any) -> Plain:
    """The encoding of a name."""
    return {"field": field, "type": "nominal", **more}


def plots_of(summary: Summary) -> dict[str, Plain]:
    """Every plot that has data, by its place in the page."""
    made = {
        "errors": _errors(summary) if summary.errors else None,
        "curve": _curve(summary.curve) if summary.curve and len(summary.curve["points"]) > 1 else None,
        "distribution": _distribution(summary.distribution) if summary.distribution else None,
        "confusion": _confusion(summary.confusion) if len(summary.confusion["cells"]) > 0 else None,
    }
    return {name: {**spec, "config": CONFIG} for name, spec in made.items() if spec is not None}


def _errors(summary: Summary) -> Plain:
    """Error rates with intervals, one line for each model, test and validation set side by side."""
    values = [{**each, "labels": LABELS[each["labels"]]} for each in summary.errors]
    sets = list(dict.fromkeys(each["set"] for each in values))
    axis = {"labelColor": INK, "labelLimit": 170, "ticks": False, "domain": False}
    x = {"axis": {"format": ".0%", "tickCount": 6}, "scale": {"zero": True}}
    shape = nominal("set", scale={"domain": sets, "range": ["circle", "diamond"][: len(sets)]})
    low = quantitative("low", **x, title="error rate, with 95% interval")
    return {
        "description": "Error rates with 95% intervals; the table below has the same figures.",
        "data": {"values": values},
        "width": "container",
        "height": 40 * len(values) // len(sets) + 10,
        "encoding": {
            "y": nominal("labels", sort=list(LABELS.values()), title=None, axis=axis),
            "yOffset": nominal("set", sort=sets),
            "color": nominal("set", scale={"domain": sets, "range": [ACCENT, OTHER][: len(sets)]}),
        },
        "layer": [
            {
                "mark": {"type": "rule", "strokeWidth": 2, "opacity": 0.55},
                "encoding": {"x": low, "x2": {"field": "high"}},
            },
            {
                "mark": {"type": "point", "filled": True, "size": 90, "opacity": 1},
                "encoding": {"x": quantitative("error", **x), "shape": shape},
            },
        ],
    }


def _curve(curve: Plain) -> Plain:
    """Error against number of corrections on the left axis, PS of the last corrected label on the right one."""
    points = curve["points"]
    sets = ["test", "validation"] if "validation" in points[0] else ["test"]
    values = [
        {
            "corrected": p["corrected"],
            "set": f"{of} error",
            "error": p[of],
            "low": p[f"{of}_low"],
            "high": p[f"{of}_high"],
        }
        for p in points
        for of in sets
    ]
    ps = [{"corrected": p["corrected"], "set": "PS", "ps": p["ps"]} for p in points if p["ps"] is not None]
    domain, colours = [*(f"{of} error" for of in sets), "PS"], [*([ACCENT, OTHER][: len(sets)]), SOFT]
    legend = {"offset": 24, "symbolType": "stroke", "symbolSize": 400, "symbolStrokeWidth": 2}
    colour = nominal("set", scale={"domain": domain, "range": colours}, legend=legend)
    dash = nominal("set", scale={"domain": domain, "range": [*([[1, 0]] * len(sets)), [3, 3]]})
    x = quantitative("corrected", title="suspects corrected", axis={"tickMinStep": 1, "grid": False, "tickCount": 8})
    error = quantitative("error", title="error", axis={"format": ".0%"})
    right_axis = quantitative(
        "ps",
        title="PS of the last one corrected",
        scale={"domainMin": 0},
        axis={"grid": False, "format": ".2~r", "orient": "right"},
    )
    tau = "" if curve["tau"] is None else f", τ = {curve['tau']:.2g}"
    chosen = [{"corrected": curve["corrected"], "tau": f"{curve['corrected']:,} corrected{tau}"}]
    is_right = curve["corrected"] > 0.5 * points[-1]["corrected"]  # then there is room for the text at its left
    beside = {"type": "text", "align": "right" if is_right else "left", "baseline": "bottom"}
    return {
        "description": "Error against number of corrected suspects, with PS; the table below has the same figures.",
        "width": "container",
        "height": 240,
        "resolve": {"scale": {"y": "independent"}},
        "layer": [
            {
                "data": {"values": values},
                "encoding": {"x": x, "color": colour},
                "layer": [
                    {
                        "mark": {"type": "area", "opacity": 0.12, "line": False},
                        "encoding": {"y": {**error, "field": "low", "stack": None}, "y2": {"field": "high"}},
                    },
                    {"mark": {"type": "line", "point": True}, "encoding": {"y": error, "strokeDash": dash}},
                ],
            },
            {
                "data": {"values": ps},
                "mark": {"type": "line"},
                "encoding": {"x": x, "color": colour, "strokeDash": dash, "y": right_axis},
            },
            {
                "data": {"values": chosen},
                "encoding": {"x": x},
                "layer": [
                    {"mark": {"type": "rule", "strokeDash": [2, 2]}},
                    {"mark": beside, "encoding": {"text": {"field": "tau"}, "y": {"value": -4}}},
                ],
            },
        ],
    }


def _distribution(bins: list[Plain]) -> Plain:
    """All labels behind the corrected ones, on a scale where a handful can be seen beside thousands."""
    names = ["all labels", "corrected labels"]
    values = [
        {"low": each["low"], "high": each["high"], "rows": each[field], "kind": name, "zero": 0}
        for field, name in zip(("rows", "corrected"), names, strict=True)
        for each in bins
        if each[field]
    ]
    most = max(each["rows"] for each in bins)
    ticks = [0, *(10**power for power in range(len(str(most)) + 1) if 10**power <= most)]
    scale = {"type": "symlog", "constant": 1}
    return {
        "description": "How many training labels have which PS; the table below has the same figures.",
        "data": {"values": values},
        "width": "container",
        "height": 200,
        "mark": {"type": "rect"},
        "encoding": {
            "x": quantitative("low", title="PS, probability of sufficiency", axis={"grid": False}),
            "x2": {"field": "high"},
            "y": quantitative("zero", scale=scale, title="training labels", axis={"values": ticks}),
            "y2": {"field": "rows"},
            "color": nominal("kind", scale={"domain": names, "range": [LINE, ACCENT]}),
        },
    }


def _confusion(confusion: Plain) -> Plain:
    """Squares, the darker the more rows; right predictions are gray, wrong ones in colour."""
    classes, few = confusion["classes"], len(confusion["classes"]) <= 12
    moments = ["before", "after"] if confusion["after"] else ["as trained"]
    values = [
        {"label": label, "predicted": predicted, "rows": counts[place], "when": when, "wrong": label != predicted}
        for label, predicted, *counts in confusion["cells"]
        for place, when in enumerate(moments)
        if counts[place]
    ]
    side_length = 170 if few else 300
    angle = 0 if len(classes) * max(map(len, classes)) <= 24 else -40
    of_many = "" if few else f", {len(classes)} classes in order"
    axis: dict[str, Any] = {"ticks": False, "domain": False, "grid": False, "labelLimit": 90}
    # Classes go by number, so that two with the same text stay two; the texts are looked up in the array. For the names
    # of many classes there is no room: they are in the order of the classes, and in the table.
    axis |= {"labelExpr": "names[datum.value]"} if few else {"labels": False}
    side = {"type": "ordinal", "scale": {"domain": list(range(len(classes)))}}
    shade = {"type": "sqrt", "range": [0.1 if few else 0.5, 0.5 if few else 1.0]}
    squares = {
        "mark": {"type": "rect", "cornerRadius": 2 if few else 0},
        "encoding": {
            "color": nominal("wrong", legend=None, scale={"domain": [False, True], "range": [SOFT, ACCENT]}),
            "opacity": quantitative("rows", legend=None, scale=shade),
        },
    }
    numbers = {"mark": {"type": "text"}, "encoding": {"text": {"field": "rows"}}}
    turned = {**axis, "labelAngle": angle}
    return {
        "description": "Test rows by label and prediction; the most frequent confusions are in the table below.",
        "data": {"values": values},
        "params": [{"name": "names", "value": classes}],
        "facet": nominal("when", sort=moments),
        "columns": 2,
        "spacing": 24,
        "spec": {
            "width": side_length,
            "height": side_length,
            "layer": [squares, numbers] if len(classes) <= 6 else [squares],
            "encoding": {
                "x": {**side, "field": "predicted", "title": f"predicted{of_many}", "axis": turned},
                "y": {**side, "field": "label", "title": f"label{of_many}", "axis": axis},
            },
        },
    }
