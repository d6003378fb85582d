"""Test labels that are probably wrong: in the shape of what is found about training labels, and what they cost.

Lists, files and the review treat the labels of both sets alike, so they take findings about test labels as findings,
and test rows as rows.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from psidebug.findings.effects import ErrorRate, Mask
from psidebug.findings.findings import Findings, LabelFindings
from psidebug.findings.origin import Origin
from psidebug.task.data import Data
from psidebug.task.labels import Codes

OPTIMISTIC = "the model itself had a say in which test labels are suspects"
"""Why an error without them, or with the proposed labels, is probably too low: models that are trained on the training
rows accuse the test labels, the learner among them, and what it gets wrong is accused more readily."""


@dataclass(frozen=True)
class ErrorBySuspects:
    """The error of the model on the test set, with and without the test labels that are probably wrong."""

    as_given: ErrorRate
    without: ErrorRate | None
    """Of the rows that are no suspects; None if all are."""
    as_proposed: ErrorRate
    """Of all rows, the suspects with the label that is proposed for them."""

    @property
    def on_suspects(self) -> int:
        """How many errors are on suspects."""
        return self.as_given.wrong - (0 if self.without is None else self.without.wrong)

    def as_data(self) -> dict[str, Any]:
        """The figures, for JSON and pages."""
        rates = {"as_given": self.as_given, "without": self.without, "as_proposed": self.as_proposed}
        told = {name: None if each is None else each.rate for name, each in rates.items()}
        return {"errors": self.as_given.wrong, "on_suspects": self.on_suspects, **told}

    def __str__(self) -> str:
        left = "" if self.without is None else f", {self.without.rate:.3f} without these rows"
        last = "The last is" if self.without is None else "The last two are"
        errors = "1 error" if self.as_given.wrong == 1 else f"{self.as_given.wrong} errors"
        return (
            f"Of the {errors} on the test set, {self.on_suspects} {'is' if self.on_suspects == 1 else 'are'} on these "
            f"labels: the error is {self.as_given.rate:.3f} as given{left} and {self.as_proposed.rate:.3f} with the "
            f"proposed labels. {last} optimistic, since {OPTIMISTIC}."
        )


def error_by_suspects(predicted: Codes, given: Codes, rows: Any, proposed: Codes) -> ErrorBySuspects:
    """With the suspects at these positions: |{t: ŷ_t ≠ y_t}| / M over all, over the others, and after relabelling."""
    others: Mask = np.ones(len(given), dtype=bool)
    others[rows] = False
    relabelled = given.copy()
    relabelled[rows] = proposed
    wrong = predicted != given
    return ErrorBySuspects(
        as_given=ErrorRate(int(wrong.sum()), len(given)),
        without=ErrorRate(int(wrong[others].sum()), int(others.sum())) if others.any() else None,
        as_proposed=ErrorRate(int((predicted != relabelled).sum()), len(given)),
    )


def error_without_suspects(findings: Findings) -> ErrorBySuspects | None:
    """Of the model as it came; None unless test labels are a cause."""
    tests, found = findings.predictions, findings.suspect_tests
    return None if found is None else error_by_suspects(tests.before, tests.labels, found.rows, found.proposed)


# ── in the shape of findings about training labels ──


def about_tests(findings: Findings) -> Findings:
    """The same with test labels in the place of training labels, so that no training label is in it.

    Of rows that are no suspects ``p_wrong`` is not known (NaN), and the model says what else they may be. PS, slices
    and corrections are about training labels only.
    """
    tests, found = findings.predictions, findings.suspect_tests
    proposed, p_wrong = tests.before.copy(), np.full(len(tests.labels), np.nan)
    order = np.empty(0, dtype=np.intp) if found is None else found.rows
    if found is not None:
        proposed[order], p_wrong[order] = found.proposed, found.p_wrong
    unknown = np.full(len(tests.labels), np.nan)
    labels = LabelFindings(
        rows=tests.rows,
        given=tests.labels,
        proposed=proposed,
        repaired=tests.labels,
        ps=unknown,
        ps_low=unknown,
        ps_high=unknown,
        p_wrong=p_wrong,
        likeliest=np.where(p_wrong > 0.5, proposed, tests.labels),
        confidence=np.where(p_wrong > 0.5, p_wrong, 1.0 - p_wrong),
        order=order,
    )
    return replace(
        findings,
        labels=labels,
        origin=_origin_of_tests(findings.origin, tests.rows.tolist()),
        slices=(),
        correction=None,
        bug_causes=(),
        annotators=None,
    )


def tests_as_rows(findings: Findings, data: Data) -> Data:
    """The test rows, with their ids and metadata, in the place of the training rows."""
    return replace(
        data,
        train=data.test,
        rows=findings.predictions.rows,
        given_labels=data.encoding.decode(data.test.codes),
        metadata=data.test_metadata,
        sample_weight=None,
        known=None,
        came=None,
        annotations=None,
        opinion=None,
        part_of=None,
    )


def _origin_of_tests(origin: Origin, ids: list[Any]) -> Origin:
    """The test file in the place of the training file, and the digest of its rows."""
    rows = hashlib.sha256("\n".join(map(repr, ids)).encode("utf-8", "backslashreplace")).hexdigest()
    fingerprint = {**origin.fingerprint, "train": origin.fingerprint.get("test", ""), "rows": rows}
    return replace(origin, fingerprint=fingerprint, source=_source_of_tests(origin.source))


def _source_of_tests(source: Mapping[str, Any]) -> dict[str, Any]:
    if not source:
        return {}
    columns = source.get("test_columns") or source.get("columns") or []
    own = {name: source.get(f"test_{name}") for name in ("path", "sha256")}
    row = source.get("id") if source.get("id") in columns else None
    return {**source, "train": source.get("test"), **own, "columns": columns, "id": row}
