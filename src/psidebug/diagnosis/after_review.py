"""What a person has said about suspects teaches the rest; nothing is trained."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from psidebug.diagnosis.as_findings import label_findings
from psidebug.diagnosis.session import Session
from psidebug.diagnosis.who_errs import annotator_findings
from psidebug.errors import UnknownOption
from psidebug.findings.findings import Findings

AFTER_REVIEW = "the verdict, slices and figures are those from before the review; repaired_labels follows the review"


def after_review(
    found: Findings, session: Session, confirmed: Iterable[Any] | Mapping[Any, Any], rejected: Iterable[Any]
) -> tuple[Findings, Session]:
    """The findings, and who can find more, once these rows (ids) are known to be wrong or right."""
    task, proposed = session.task, found.labels.proposed
    known = np.full(len(task.train), -1, dtype=np.intp) if session.known is None else session.known.copy()
    right, told = task.data.positions(rejected), task.data.positions(confirmed)
    known[right] = task.train.codes[right]
    known[told] = proposed[told]
    if isinstance(confirmed, Mapping):
        known[told] = task.encoding.encode(list(confirmed.values()), where="confirmed")
    if len(np.intersect1d(told, right)):
        raise UnknownOption("a row is both confirmed and rejected: name it once.")
    unreviewed = session.unreviewed or session.hypotheses
    hypotheses = tuple(each.after_review(task.train.codes, known) for each in unreviewed)
    repaired = np.where(known >= 0, known, found.labels.repaired)
    ranked = replace(
        found,
        labels=label_findings(task, session.estimates, hypotheses, repaired),
        notes=found.notes if AFTER_REVIEW in found.notes else (*found.notes, AFTER_REVIEW),
        repairs=(),
        annotators=annotator_findings(task, hypotheses, known),
    )
    return ranked, replace(session, hypotheses=hypotheses, unreviewed=unreviewed, known=known)
