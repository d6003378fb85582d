"""What the pages say about test labels: the error of the model by them, and why one of them is suspected."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from psidebug.findings.about_tests import error_without_suspects
from psidebug.findings.findings import Findings
from psidebug.review.verdicts import DECIDED, Verdict


def error_of_tests(findings: Findings, standing: Mapping[int, Verdict]) -> dict[str, Any]:
    """The error of the model on the test set: as given, with the labels that people decided, and as proposed."""
    tests, encoding = findings.predictions, findings.encoding
    decided = {place: each.label for place, each in standing.items() if each.action in DECIDED}
    labels, proposed = tests.labels.copy(), error_without_suspects(findings)
    if decided:
        labels[list(decided)] = encoding.encode(list(decided.values()), where="verdicts")
    return {
        "as_given": float(tests.wrong.mean()),
        "decided": float((tests.before != labels).mean()),
        "as_proposed": None if proposed is None else proposed.as_proposed.rate,
    }


def about_test(findings: Findings, at: int) -> dict[str, Any]:
    """What the model says of a test row, and why its label is suspected."""
    tests, found = findings.predictions, findings.suspect_tests
    places = [] if found is None else np.flatnonzero(found.rows == at).tolist()
    classes = findings.encoding.classes
    return {
        "predicted": str(classes[tests.before[at]]),
        "right": bool(tests.before[at] == tests.labels[at]),
        "why": found.why[places[0]] if found is not None and places else None,
    }
