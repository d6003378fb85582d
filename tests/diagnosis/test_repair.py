"""Candidates, their order, and the stated rule by which one is chosen."""

from __future__ import annotations

import itertools
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

import psidebug
from psidebug.changes import Relabel
from psidebug.diagnosis.proof import Prover
from psidebug.diagnosis.repair import Correction, best_of, enough_evidence, retrained
from psidebug.evidence.hypotheses import Hypothesis
from psidebug.findings.effects import ErrorRate, Verification
from psidebug.task.task import Task
from tests.conftest import Planted

NOBODY: npt.NDArray[np.intp] = np.empty(0, dtype=np.intp)


def test_nothing_tried_nothing_chosen() -> None:
    assert best_of([]) is None


def test_the_diagnosis_applies_the_rule_to_what_was_tried(planted: Planted) -> None:
    found = psidebug.debug(LogisticRegression(), planted.X_train, planted.y_train, planted.X_test, planted.y_test)
    surplus = [each.hypothesis.surplus for each in found.with_proof.tried]
    assert len(surplus) == len(found.hypotheses) > 1
    assert surplus == sorted(surplus, reverse=True)
    best = best_of(found.tried)
    assert best is not None
    assert found.correction is not None
    assert found.correction.verified is best.verified
    assert found.correction is not None
    changed = found.repaired_labels != planted.y_train
    assert changed.sum() == found.corrected == found.correction.verified.corrected
    labels = found.task.encoding.decode(found.correction.codes)
    np.testing.assert_array_equal(labels[changed], found.repaired_labels[changed])


def task_of(planted: Planted, model: Any = None) -> Task:
    return Task.of(model or LogisticRegression(), planted.X_train, planted.y_train, planted.X_test, planted.y_test)


class Choosy(LogisticRegression):  # type: ignore[misc]
    """A learner that cannot be trained with fewer than ten rows of a class, as cross-validated ones cannot."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Choosy:
        if np.unique(y, return_counts=True)[1].min() < 10:
            raise ValueError("the least populated class has too few members")
        super().fit(X, y, sample_weight)
        return self


def test_labels_that_cannot_be_trained_on_are_no_correction(planted: Planted) -> None:
    """What a hypothesis proposes would leave too few rows of a class: it is passed over, and the others are tried."""
    good = np.flatnonzero(planted.y_train == "good")[:12]
    keep = np.concatenate([good, np.flatnonzero(planted.y_train == "bad")])
    task = Task.of(Choosy(), planted.X_train[keep], planted.y_train[keep], planted.X_test, planted.y_test)
    codes = task.train.codes
    few, one = (np.where(np.isin(np.arange(len(codes)), np.flatnonzero(codes == 1)[:n]), 0, codes) for n in (5, 1))
    ticks: list[tuple[str, int, int]] = []
    proposals: Any = [SimpleNamespace(corrected=lambda given, to=to: to, accused=(), **WORDS) for to in (few, one)]
    tried = retrained(Prover(task), proposals, lambda *told: ticks.append(told))
    assert [each.change.count(task.data) for each in tried] == [1]
    assert ticks[-1][1] == ticks[-1][2] == len(ticks) == 2


def test_the_tick_counts_to_the_end(planted: Planted) -> None:
    seen: list[tuple[str, int, int]] = []
    psidebug.debug(
        LogisticRegression(), planted.X_train, planted.y_train, planted.X_test, planted.y_test,
        progress=lambda stage, done, total: seen.append((stage, done, total)),
    )  # fmt: skip
    retraining = [(done, total) for stage, done, total in seen if stage == "retraining"]
    assert [done for done, _ in retraining] == list(range(1, len(retraining) + 1))
    assert retraining[-1][0] == retraining[-1][1]
    assert [stage for stage, *_ in seen][:1] == ["checking"]


def test_what_progress_raises_stops_the_work_before_the_next_fit(planted: Planted) -> None:
    class Stopped(Exception):
        pass

    fits: list[int] = []

    def stop(stage: str, done: int, total: int) -> None:
        if stage == "fit":
            fits.append(done)
            if done == 3:
                raise Stopped

    rows = (planted.X_train, planted.y_train, planted.X_test, planted.y_test)
    with pytest.raises(Stopped):
        psidebug.debug(GaussianNB(), *rows, progress=stop)
    assert fits == [0, 1, 2, 3]


# ── explanations ────────────────────────────────────────────────────────────────────────────────────────────────────


WORDS: dict[str, Any] = {"surplus": 0.0, "excepted": (), "p_wrong": lambda given: np.zeros(len(given))}


def explained(evidence: float, charge: float, gain: float, error: float = 1.0, broken: int = 0) -> Correction:
    nothing: Any = None
    before, after = ErrorRate(20, 100), ErrorRate(20 + broken, 100)
    effect = Verification(1, before, after, None, None, 0, broken, gain, error)
    cause = Hypothesis((), nothing, NOBODY, (), np.empty((0, 2)), evidence, charge)
    return Correction("", Relabel(NOBODY, NOBODY), NOBODY, effect, cause)


def test_an_explanation_needs_evidence_and_a_gain() -> None:
    assert best_of([explained(10.0, 12.0, gain=50.0)]) is None, "not likely"
    assert best_of([explained(50.0, 12.0, gain=1.9)]) is None, "retraining does not agree"
    assert best_of([explained(50.0, 12.0, gain=-3.0)]) is None
    assert best_of([explained(50.0, 12.0, gain=2.1)]) is not None
    assert best_of([explained(50.0, 12.0, gain=2.1, broken=5)]) is None, "more points break than chance would break"


def test_of_explanations_the_one_with_the_most_evidence_is_chosen_whatever_the_order() -> None:
    most, gains, costly = (
        explained(50.0, 12.0, gain=2.5), explained(45.0, 12.0, gain=20.0), explained(60.0, 40.0, gain=30.0)
    )  # fmt: skip
    unproved = explained(90.0, 12.0, gain=0.5)
    for tried in itertools.permutations([most, gains, costly, unproved]):
        assert best_of(tried) is most


def test_a_test_set_that_can_calibrate_predictors(planted: Planted) -> None:
    def enough(rows: npt.NDArray[np.intp]) -> bool:
        task = Task.of(
            LogisticRegression(), planted.X_train, planted.y_train, planted.X_test[rows], planted.y_test[rows]
        )
        return enough_evidence(task)

    good, bad = (np.flatnonzero(planted.y_test == label) for label in ("good", "bad"))
    assert enough(np.arange(30))
    assert not enough(np.arange(29))
    assert enough(np.concatenate([good[:28], bad[:3]]))
    assert not enough(np.concatenate([good[:30], bad[:2]]))
