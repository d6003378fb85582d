"""What retraining found, as plain data: errors before and after, the controls, the curve, confusion, PS."""

from __future__ import annotations

import math
from typing import Any

import narwhals as nw
import numpy as np

from psidebug.findings.effects import ErrorRate, Verification
from psidebug.findings.findings import Findings, LabelFindings, Predictions
from psidebug.task.labels import Encoding
from psidebug.task.tables import plain_text

Plain = dict[str, Any]
"""Only what JSON can hold."""

LONGEST_LABEL = 80
"""Characters of a label or an id."""
BINS = 20
"""Of the distribution of PS."""
MOST_CLASSES, MOST_PAIRS = 100, 30
"""The whole confusion matrix is shown up to so many classes; the table shows so many of the most frequent pairs."""


def plain(value: Any) -> Any:
    """Numbers and booleans as they are, NaN and infinity as None, all else as text."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, bool | int | float) or value is None:
        return value
    text = plain_text(str(value))
    return text if len(text) <= LONGEST_LABEL else f"{text[:LONGEST_LABEL]}…"


def records(frame: Any) -> list[Plain]:
    """The rows of a data frame of any library."""
    rows = nw.from_native(frame, eager_only=True).rows(named=True)
    return [{key: plain(value) for key, value in row.items()} for row in rows]


def errors_of(findings: Findings) -> list[Plain]:
    """Error on each set of the models trained on given labels, on corrected ones, and of the two controls.

    On the test set that of the corrected labels is cross-fitted; where that was not done, it is not told, since the
    test rows have chosen them.
    """
    if findings.correction is None:
        return []
    effect, controls = findings.correction.verified, findings.controls
    apart = next((each.error for each in findings.repairs if each.repair == "relabelled"), None)
    rates: list[tuple[str, ErrorRate | None, ErrorRate | None, float | None]] = [
        ("given labels", effect.test_before, effect.validation_before, None),
        ("corrected", apart, effect.validation_after, None),
    ]
    for name, attribute in (("random", "at_random"), ("highest loss", "highest_loss")):
        control: Verification | None = getattr(controls, attribute, None)
        if controls is not None and control is not None:
            rates.append((name, control.test_after, control.validation_after, controls.against(control).p_value))
    test = [_rate("test", name, on_test, p_value) for name, on_test, _, p_value in rates if on_test is not None]
    return test + [_rate("validation", name, on, None) for name, _, on, _ in rates if on is not None]


def _rate(of: str, labels: str, rate: ErrorRate, p_value: float | None) -> Plain:
    low, high = rate.interval
    return {
        "set": of,
        "labels": labels,
        "error": rate.rate,
        "low": low,
        "high": high,
        "wrong": rate.wrong,
        "of": rate.of,
        "p_value": p_value,
    }


def effect_of(findings: Findings) -> Plain | None:
    """The correction in figures; None if there is none."""
    if findings.correction is None:
        return None
    effect, change = findings.correction.verified, findings.correction.verified.test_change
    return {
        "explanation": findings.correction.explanation,
        "corrected": effect.corrected,
        "bugs_fixed": effect.bugs_fixed,
        "points_broken": effect.points_broken,
        "gain": effect.gain,
        "gain_error": plain(effect.gain_error),
        "difference": change.difference,
        "difference_low": change.interval[0],
        "difference_high": change.interval[1],
        "p_value": change.p_value,
    }


def curve_of(findings: Findings) -> Plain | None:
    """Error against number of corrected suspects; None if there was nothing to debug."""
    curve = findings.curve
    if curve is None:
        return None
    points = []
    for place, point in enumerate(curve.points):
        effect = point.verified
        line = {
            "corrected": point.corrected,
            "ps": None if point.corrected == 0 else plain(point.ps),
            "p_wrong": None if point.corrected == 0 else plain(point.p_wrong),
            **_with_interval("test", effect.test_after),
            "chosen": place == curve.chosen,
        }
        if effect.validation_after is not None:
            line |= _with_interval("validation", effect.validation_after)
        points.append(line)
    chosen = curve.points[curve.chosen]
    return {
        "points": points,
        "corrected": chosen.corrected,
        "tau": None if chosen.corrected == 0 else plain(chosen.ps),
        "reported": plain(curve.reported),
    }


def _with_interval(name: str, rate: ErrorRate) -> Plain:
    low, high = rate.interval
    return {name: rate.rate, f"{name}_low": low, f"{name}_high": high}


def distribution_of(labels: LabelFindings) -> list[Plain]:
    """A histogram of PS over the training labels, and over the corrected ones."""
    known = np.isfinite(labels.ps)
    highest = float(labels.ps[known].max()) if known.any() else 0.0
    if highest <= 0.0:
        return []
    edges = np.linspace(0.0, highest, BINS + 1)
    changed = labels.repaired != labels.given
    every, corrected = (np.histogram(labels.ps[known & rows], edges)[0] for rows in (known, changed))
    return [
        {"low": float(low), "high": float(high), "rows": int(rows), "corrected": int(moved)}
        for low, high, rows, moved in zip(edges[:-1], edges[1:], every, corrected, strict=True)
    ]


def confusion_of(predictions: Predictions, encoding: Encoding) -> Plain:
    """The test rows by label and prediction, before and after the correction."""
    size = encoding.size
    names = [plain(str(each)) for each in encoding.classes]
    tables = {"before": predictions.before} | ({} if predictions.after is None else {"after": predictions.after})
    pairs: dict[tuple[int, int], dict[str, int]] = {}
    for name, predicted in tables.items():
        both, counts = np.unique(predictions.labels * size + predicted, return_counts=True)
        for pair, count in zip(both.tolist(), counts.tolist(), strict=True):
            pairs.setdefault(divmod(pair, size), dict.fromkeys(tables, 0))[name] = count
    mistaken = [(pair, counts) for pair, counts in pairs.items() if pair[0] != pair[1]]
    mistaken.sort(key=lambda each: (-each[1]["before"], -each[1].get("after", 0), each[0]))
    told = [{"label": names[a], "predicted": names[b], **counts} for (a, b), counts in mistaken[:MOST_PAIRS]]
    cells = [[a, b, counts["before"], counts.get("after")] for (a, b), counts in sorted(pairs.items())]
    return {
        "classes": names[:MOST_CLASSES],
        "classes_in_all": size,
        "cells": cells if size <= MOST_CLASSES else [],
        "pairs": told,
        "pairs_in_all": len(mistaken),
        "after": predictions.after is not None,
    }


def fidelity_of(findings: Findings) -> Plain | None:
    """How well the gray box agrees with retraining; None if that was not measured."""
    found = findings.fidelity
    if found is None:
        return None
    return {
        "text": str(found),
        "trustworthy": found.trustworthy,
        "gains": plain(found.gains),
        "margins": plain(found.groups.rank_correlation),
        "singles": plain(found.singles.rank_correlation),
        "slope": plain(found.groups.slope),
        "side": plain(found.groups.sign_agreement),
        "fits": found.fits,
    }
