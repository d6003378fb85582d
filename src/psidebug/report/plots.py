"""The plots as Vega-Lite specifications: plain data, in the page's own colours.

Names of fields are ours; the user's own words are only ever values.
"""

from __future__ import annotations

from typing import Any

from psidebug.report.look import ACCENT, CONFIG, INK, LINE, OTHER, SOFT
from psidebug.report.plain import Plain
from psidebug.report.summary import Summary

LABELS = {
    "given labels": "labels as given",
    "corrected": "labels corrected",
    "random": "as many at random",
    "highest loss": "as many of highest loss",
}
"""What each line of the first plot is called."""


def plots_of(summary: Summary) -> dict[str, Plain]:
    """Every plot that there are figures for, by the name of its place in the page."""
    made = {
        "errors": _errors(summary) if summary.errors else None,
        "curve": _curve(summary.curve) if summary.curve and len(summary.curve["points"]) > 1 else None,
        "distribution": _distribution(summary.distribution) if summary.distribution else None,
        "confusion": _confusion(summary.confusion) if len(summary.confusion["cells"]) > 0 else None,
    }
    return {name: {**spec, "config": CONFIG} for name, spec in made.items() if spec is not None}


def _errors(summary: Summary) -> Plain:
    """Error rates with their intervals, one line for each model, test and validation side by side in colour."""
    values = [{**each, "labels": LABELS[each["labels"]]} for each in summary.errors]
    sets = list(dict.fromkeys(each["set"] for each in values))
    y: Plain = {
        "field": "labels",
        "type": "nominal",
        "sort": list(LABELS.values()),
        "title": None,
        "axis": {"labelColor": INK, "labelLimit": 170, "ticks": False, "domain": False},
    }
    colour = {"field": "set", "type": "nominal", "scale": {"domain": sets, "range": [ACCENT, OTHER][: len(sets)]}}
    shape = {"field": "set", "type": "nominal", "scale": {"domain": sets, "range": ["circle", "diamond"][: len(sets)]}}
    shift = {"field": "set", "type": "nominal", "sort": sets}
    x: Plain = {"type": "quantitative", "axis": {"format": ".0%", "tickCount": 6}, "scale": {"zero": True}}
    return {
        "description": "Error rates with 95% intervals; the same figures are in the table below.",
        "data": {"values": values},
        "width": "container",
        "height": 40 * len(values) // len(sets) + 10,
        "encoding": {"y": y, "yOffset": shift, "color": colour},
        "layer": [
            {
                "mark": {"type": "rule", "strokeWidth": 2, "opacity": 0.55},
                "encoding": {
                    "x": {**x, "field": "low", "title": "error rate, with 95% interval"},
                    "x2": {"field": "high"},
                },
            },
            {
                "mark": {"type": "point", "filled": True, "size": 90, "opacity": 1},
                "encoding": {"x": {**x, "field": "error"}, "shape": shape},
            },
        ],
    }


def _curve(curve: Plain) -> Plain:
    """Error against number of corrections on the left axis, PS of the last corrected label on the right one."""
    points = curve["points"]
    sets = ["test", "validation"] if "validation" in points[0] else ["test"]
    values = [
        {"corrected": p["corrected"], "set": of, "error": p[of], "low": p[f"{of}_low"], "high": p[f"{of}_high"]}
        for p in points
        for of in sets
    ]
    names = [f"{of} error" for of in sets]
    values = [{**each, "set": f"{each['set']} error"} for each in values]
    ps = [{"corrected": p["corrected"], "set": "PS", "ps": p["ps"]} for p in points if p["ps"] is not None]
    domain, colours = [*names, "PS"], [*([ACCENT, OTHER][: len(sets)]), SOFT]
    colour: Plain = {"field": "set", "type": "nominal", "scale": {"domain": domain, "range": colours}}
    colour |= {"legend": {"offset": 24, "symbolType": "stroke", "symbolSize": 400, "symbolStrokeWidth": 2}}
    dash = {"field": "set", "type": "nominal", "scale": {"domain": domain, "range": [*([[1, 0]] * len(sets)), [3, 3]]}}
    x: Plain = {"field": "corrected", "type": "quantitative", "title": "suspects corrected"}
    x |= {"axis": {"tickMinStep": 1, "grid": False, "tickCount": 8}}
    error: Plain = {"field": "error", "type": "quantitative", "title": "error", "axis": {"format": ".0%"}}
    tau = "" if curve["tau"] is None else f", τ = {curve['tau']:.2g}"
    chosen = [{"corrected": curve["corrected"], "tau": f"{curve['corrected']:,} corrected{tau}"}]
    return {
        "description": "Error against number of corrected suspects, with PS; the same figures are in the table below.",
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
                "encoding": {
                    "x": x,
                    "color": colour,
                    "strokeDash": dash,
                    "y": {
                        "field": "ps",
                        "type": "quantitative",
                        "title": "PS of the last one corrected",
                        "scale": {"domainMin": 0},
                        "axis": {"grid": False, "format": ".2~r", "orient": "right"},
                    },
                },
            },
            {
                "data": {"values": chosen},
                "encoding": {"x": x},
                "layer": [
                    {"mark": {"type": "rule", "strokeDash": [2, 2]}},
                    {"mark": _beside_the_rule(curve), "encoding": {"text": {"field": "tau"}, "y": {"value": -4}}},
                ],
            },
        ],
    }


def _beside_the_rule(curve: Plain) -> Plain:
    """The text goes where there is room for it."""
    right = curve["corrected"] > 0.5 * curve["points"][-1]["corrected"]
    return {"type": "text", "align": "right" if right else "left", "baseline": "bottom"}


def _distribution(bins: list[Plain]) -> Plain:
    """All labels behind those corrected, on a scale where a handful can be seen beside thousands."""
    names = ["all labels", "labels corrected"]
    values = [
        {"low": each["low"], "high": each["high"], "rows": each[field], "kind": name, "zero": 0}
        for field, name in zip(("rows", "corrected"), names, strict=True)
        for each in bins
        if each[field]
    ]
    most = max(each["rows"] for each in bins)
    ticks = [0, *(10**power for power in range(len(str(most)) + 1) if 10**power <= most)]
    y: Plain = {"type": "quantitative", "scale": {"type": "symlog", "constant": 1}}
    return {
        "description": "How many training labels have which PS; the same figures are in the table below.",
        "data": {"values": values},
        "width": "container",
        "height": 200,
        "mark": {"type": "rect"},
        "encoding": {
            "x": {
                "field": "low",
                "type": "quantitative",
                "title": "PS, probability of sufficiency",
                "axis": {"grid": False},
            },
            "x2": {"field": "high"},
            "y": {**y, "field": "zero", "title": "training labels", "axis": {"values": ticks}},
            "y2": {"field": "rows"},
            "color": {"field": "kind", "type": "nominal", "scale": {"domain": names, "range": [LINE, ACCENT]}},
        },
    }


def _confusion(confusion: Plain) -> Plain:
    """Squares, the darker the more rows; what is right is gray and what is wrong is in colour."""
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
    names = dict(enumerate(classes))
    axis: dict[str, Any] = {"ticks": False, "domain": False, "grid": False, "labelLimit": 90}
    # Classes are known by number, so that two of the same text stay two; the texts are looked up in the array. Of many
    # classes there is no room for names: they are in the order of the classes, and in the table.
    axis |= {"labelExpr": "names[datum.value]"} if few else {"labels": False}
    side = {"type": "ordinal", "scale": {"domain": list(names)}}
    square: Plain = {
        "width": side_length,
        "height": side_length,
        "layer": [
            {
                "mark": {"type": "rect", "cornerRadius": 2 if few else 0},
                "encoding": {
                    "color": {
                        "field": "wrong",
                        "type": "nominal",
                        "legend": None,
                        "scale": {"domain": [False, True], "range": [SOFT, ACCENT]},
                    },
                    "opacity": {
                        "field": "rows",
                        "type": "quantitative",
                        "legend": None,
                        "scale": {"type": "sqrt", "range": [0.1 if few else 0.5, 0.5 if few else 1.0]},
                    },
                },
            },
            *([{"mark": {"type": "text"}, "encoding": {"text": {"field": "rows"}}}] if len(classes) <= 6 else []),
        ],
        "encoding": {
            "x": {
                **side,
                "field": "predicted",
                "title": f"predicted{of_many}",
                "axis": {**axis, "labelAngle": angle},
            },
            "y": {**side, "field": "label", "title": f"label{of_many}", "axis": axis},
        },
    }
    return {
        "description": "Test rows by label and prediction; the most frequent confusions are in the table below.",
        "data": {"values": values},
        "params": [{"name": "names", "value": classes}],
        "facet": {"field": "when", "type": "nominal", "sort": moments},
        "columns": 2,
        "spacing": 24,
        "spec": square,
    }
