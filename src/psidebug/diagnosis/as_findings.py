"""From what was computed to what is told: suspects, slices and explanations as values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np

import psidebug
from psidebug import policy
from psidebug.causes import shares
from psidebug.changes import Relabel
from psidebug.diagnosis import explanation
from psidebug.diagnosis.extent import Extent, extent_of
from psidebug.diagnosis.proof import Prover
from psidebug.diagnosis.repair import Correction, best_of, told
from psidebug.errors import LearnerFailed
from psidebug.evidence.hypotheses import Hypothesis
from psidebug.findings.about_tests import error_by_suspects
from psidebug.findings.effects import Verification
from psidebug.findings.findings import (
    FoundCause,
    FoundExplanation,
    FoundSlice,
    LabelFindings,
    Predictions,
    Rows,
    SuspectTests,
)
from psidebug.findings.origin import Origin
from psidebug.inference.estimates import Estimates
from psidebug.margins import predicted_by
from psidebug.store.fingerprint import Fingerprint, versions
from psidebug.task.data import Data
from psidebug.task.labels import Codes, quoted
from psidebug.task.task import Task


def origin_of(task: Task, seed: str) -> Origin:
    """What a diagnosis of this task, made now, is made from; ``seed`` is what to give again to repeat it."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return Origin(psidebug.__version__, seed, versions(), Fingerprint(task), now, came_fitted=task.fitted_by_user)


def label_findings(
    task: Task, estimates: Estimates | None, hypotheses: Sequence[Hypothesis], repaired: Codes
) -> LabelFindings:
    """What is known of each training label, by the explanation with the most evidence, else by P(Y_i ≠ y_i | ¬φ)."""
    given, nothing = task.train.codes, np.full(len(task.train), np.nan)
    likeliest, confidence = given, np.ones(len(given))  # if nothing says otherwise
    if hypotheses and hypotheses[0].likely:
        likeliest, confidence = hypotheses[0].posterior.argmax(axis=1), hypotheses[0].posterior.max(axis=1)
    if hypotheses:
        p_wrong, others = hypotheses[0].p_wrong(given), hypotheses[0].posterior.copy()
        others[np.arange(len(others)), given] = -1.0
        proposed = np.asarray(others.argmax(axis=1))
    else:
        p_wrong = np.zeros(len(given)) if estimates is None else estimates.p_wrong
        proposed = given if estimates is None else estimates.proposed
    return LabelFindings(
        rows=task.rows,
        given=given,
        proposed=proposed,
        repaired=repaired,
        ps=nothing if estimates is None else estimates.ps,
        ps_low=nothing if estimates is None else estimates.low,
        ps_high=nothing if estimates is None else estimates.high,
        p_wrong=p_wrong,
        likeliest=likeliest,
        confidence=confidence,
        order=_suspects(task, estimates, hypotheses, p_wrong),
    )


def facts_of(task: Task) -> Codes | None:
    """Labels (N,) that are facts, -1 elsewhere; None if none is."""
    return None if task.data.known is None else np.where(task.data.known, task.train.codes, -1)


def posterior_of(task: Task, hypotheses: Sequence[Hypothesis]) -> explanation.Floats:
    """W (N, K) by the best explanation; every label is right if that says no more than chance."""
    if hypotheses and hypotheses[0].likely:
        return hypotheses[0].posterior
    return np.eye(task.encoding.size)[task.train.codes]


def _suspects(
    task: Task, estimates: Estimates | None, hypotheses: Sequence[Hypothesis], p_wrong: explanation.Floats
) -> Rows:
    """Positions of the suspects, first those most likely wrong.

    They are the causes, and the labels that may well be wrong. Among equally likely ones the more sufficient cause is
    first. Without evidence the order is by PS; for bugs that were picked out by PS × p_wrong, since a wrong label need
    not concern them: labels that do not are suspects only if they are more likely wrong than right.
    """
    if estimates is None:
        return np.empty(0, dtype=np.intp)
    if not hypotheses:
        return explanation.ranked(estimates)
    picked = len(task.bugs) < int((task.predicted != task.test.codes).sum())
    causes = (estimates.high > 0) & (p_wrong > 0)
    least = policy.NEGLIGIBLE if hypotheses[0].likely and not picked else 0.5
    suspects = np.flatnonzero(causes | (p_wrong > least))
    first = estimates.ps * p_wrong if picked else p_wrong
    return np.asarray(suspects[np.lexsort((suspects, -estimates.ps[suspects], -first[suspects]))])


def predictions_of(task: Task, effect: Verification | None) -> Predictions:
    """What the model says about the test rows, before and after the correction."""
    after = None if effect is None else predicted_by(effect.margins, task.test.codes)
    return Predictions(task.test.codes, task.predicted, after, task.bugs)


def suspect_tests(task: Task, of_test: Hypothesis | None) -> SuspectTests | None:
    """Test rows whose label is probably wrong, likeliest first; None unless test labels are a cause.

    As many as make the list best: the expected F1 of the first k is 2 Σ_{j≤k} p_j / (k + Σ_j p_j).
    """
    if of_test is None or len(of_test.posterior) != len(task.test):
        return None
    given = task.test.codes
    p_wrong = of_test.p_wrong(given)
    others = of_test.posterior.copy()
    others[np.arange(len(given)), given] = -1.0
    rows = np.lexsort((np.arange(len(given)), -p_wrong))
    expected = np.cumsum(p_wrong[rows]) / (np.arange(1, len(rows) + 1) + p_wrong.sum())
    rows = rows[: int(expected.argmax()) + 1]
    inside = {each.condition: np.isin(rows, each.members) for each in of_test.accused}
    said = predicted_names(task)
    why = tuple(
        "; ".join([name for name, own in inside.items() if own[at]] or [f"the model says {said[row]}"])
        for at, row in enumerate(rows.tolist())
    )
    return SuspectTests(rows, others.argmax(axis=1)[rows], p_wrong[rows], why)


def with_error_told(causes: Iterable[FoundCause], task: Task, tests: SuspectTests | None) -> list[FoundCause]:
    """The same, and the advice on wrong test labels says what the model's error is with and without them."""
    if tests is None:
        return list(causes)
    error = error_by_suspects(task.predicted, task.test.codes, tests.rows, tests.proposed)
    return [replace(each, advice=f"{each.advice} {error}") if each.cause == "test_labels" else each for each in causes]


def not_repaired(causes: Iterable[FoundCause], data: Data, repaired: Codes) -> list[FoundCause]:
    """Those that proved corrections leave: other shares of the classes are none if the wrong labels made them."""
    return [each for each in causes if each.cause != "class_shares" or shares.left_by(data, repaired)]


def predicted_names(task: Task) -> list[str]:
    """What the model says of each test row, as text."""
    return [quoted(task.encoding.classes[code]) for code in task.predicted.tolist()]


def best_of_each_slice(task: Task, tried: Sequence[Correction]) -> list[tuple[Extent, Correction]]:
    """Every slice that was tried, label by label, with the best correction that it is in."""
    best: dict[tuple[str, int], tuple[Extent, Correction]] = {}
    for each in tried:  # the best explanation or gain first
        for one in each.hypothesis.accused:
            for part in extent_of(one, each.hypothesis, task.train.codes).of_each_part():
                best.setdefault((part.parts[0].condition, part.parts[0].given), (part, each))
    return list(best.values())


def found_slices(
    prover: Prover, tried: Sequence[Correction], sufficient: Callable[[list[Rows]], Sequence[float]], *, retrain: bool
) -> tuple[FoundSlice, ...]:
    """What the suspects have in common, that of the best explanation first; ``sufficient`` says PS of groups of rows.

    Where an explanation accuses several slices, what each of them does alone takes a fit: only if ``retrain``.
    """
    found, best = best_of_each_slice(prover.task, tried), best_of(tried)
    groups = sufficient([part.rows for part, _ in found]) if found else []
    return tuple(
        _found_slice(prover, part, of, sufficient=ps, proved=of is best, retrain=retrain)
        for (part, of), ps in zip(found, groups, strict=True)
    )


def _found_slice(
    prover: Prover, part: Extent, of: Correction, *, sufficient: float, proved: bool, retrain: bool
) -> FoundSlice:
    """A slice with its PS as a group, its extent, and the verified effect of correcting it."""
    one, own, effect = part.parts[0], of.change, None
    if len(of.hypothesis.accused) < 2:
        effect = of.verified
    else:
        inside = np.isin(of.change.rows, part.rows)
        own = Relabel(of.change.rows[inside], of.change.codes[inside])
        effect = _verified(prover, own, otherwise=of.verified) if retrain else None
    return FoundSlice(
        conditions=one.conditions,
        given=int(one.given),
        rows=len(one.members),
        suspects=part.corrected_share,
        ps=sufficient,
        z=float(one.z),
        p_value=one.p_value,
        corrected=part.corrected,
        gain=float("nan") if effect is None else effect.gain,
        test_error=float("nan") if effect is None else effect.test_after.rate,
        proved=proved,
        accused=of.hypothesis.likely,
        elsewhere=own.count(prover.task.data) - part.corrected,
        said=part.told(prover.task.encoding),
    )


def _verified(prover: Prover, change: Relabel, *, otherwise: Verification) -> Verification:
    """What a part of a correction does; what the whole of it does, where the learner cannot be trained on the part."""
    try:
        return prover.verify(change)
    except LearnerFailed:
        return otherwise


def found_explanations(
    task: Task, hypotheses: Sequence[Hypothesis], tried: Sequence[Correction]
) -> tuple[FoundExplanation, ...]:
    """Every explanation that competed, and what retraining said of it, if that was tried."""
    effects = {id(each.hypothesis): each for each in tried}
    found, nothing = [], float("nan")
    for each in hypotheses:
        one = effects.get(id(each))
        found.append(
            FoundExplanation(
                explanation=told(task, each),
                evidence=float(each.evidence),
                charge=float(each.charge),
                corrected=int((each.corrected(task.train.codes) != task.train.codes).sum()),
                gain=nothing if one is None else one.verified.gain,
                gain_error=nothing if one is None else one.verified.gain_error,
                proved=one is not None and one.proved,
            )
        )
    return tuple(found)
