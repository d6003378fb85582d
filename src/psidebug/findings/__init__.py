"""What was found: frozen, plain values, the same from a diagnosis just made and from a saved run."""

from __future__ import annotations

from psidebug.checks import Check
from psidebug.findings.annotators import AnnotatorFindings
from psidebug.findings.effects import Controls, ErrorRate, PairedErrors, Verification
from psidebug.findings.findings import (
    Causes,
    Curve,
    Findings,
    FoundExplanation,
    FoundSlice,
    LabelFindings,
    Origin,
    Point,
    Predictions,
    Round,
    VerifiedCorrection,
)

__all__ = [
    "AnnotatorFindings",
    "Causes",
    "Check",
    "Controls",
    "Curve",
    "ErrorRate",
    "Findings",
    "FoundExplanation",
    "FoundSlice",
    "LabelFindings",
    "Origin",
    "PairedErrors",
    "Point",
    "Predictions",
    "Round",
    "Verification",
    "VerifiedCorrection",
]
