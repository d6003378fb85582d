"""The corrected data set by verdicts: the training file with labels replaced, and a trace of who decided when."""

from __future__ import annotations

from collections.abc import Mapping

from psidebug.exports import SUFFIXES, Decision, corrected_file
from psidebug.exports.original import training_file
from psidebug.review.verdicts import DECIDED, Verdict
from psidebug.store import Run


def decisions(run: Run, standing: Mapping[int, Verdict]) -> dict[int, Decision]:
    """The verdicts that hold, by position; a row without an answer keeps the label that it came with."""
    given = run.findings.encoding.decode(run.findings.labels.given).tolist()
    return {
        place: Decision(each.label if each.action in DECIDED else given[place], each.action, each.reviewer, each.time)
        for place, each in standing.items()
    }


def corrected(run: Run, standing: Mapping[int, Verdict], kind: str) -> bytes:
    """The data set as a file of this kind, as ``psi apply --reviewed --trace`` writes it."""
    return corrected_file(run.findings, run.data, decisions(run, standing), kind, trace=True)[0]


def remark_on(run: Run, kind: str) -> str | None:
    """What a person should know before he takes a file of this kind: that more than labels may differ, and why."""
    return corrected_file(run.findings, run.data, {}, kind)[1]


def own_kind(run: Run) -> str | None:
    """The kind of the training file, where it is still as the run saw it: only labels differ in a file of this kind."""
    return next(
        (kind for kind in dict.fromkeys(SUFFIXES.values()) if training_file(run.findings, kind)[0] is not None), None
    )
