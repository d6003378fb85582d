"""Candidates, their order, and the stated rule by which one is chosen."""

from __future__ import annotations

import itertools
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

import psidebug
from psidebug.diagnosis.repair import (
    LEAST_Z,
    LEAST_Z_OF_ROWS,
    Correction,
    best_of,
    enough_evidence,
    propose,
    relabelled,
    told,
)
from psidebug.diagnosis.verification import Judge
from psidebug.evidence.hypotheses import Hypothesis
from psidebug.findings import ErrorRate, Verification
from psidebug.slices.conditions import Condition
from psidebug.slices.slices import Slice
from psidebug.task.task import Task
from tests.conftest import Planted

NOBODY: npt.NDArray[np.intp] = np.empty(0, dtype=np.intp)


def correction(gain: float, error: float, z: float | None = None) -> Correction:
    rate = ErrorRate(1, 10)
    effect = Verification(1, rate, rate, None, None, 0, 0, gain, error)
    slice_ = None if z is None else Slice((Condition("c", "=", (1,)),), 0, NOBODY, z)
    return Correction(f"{gain} ± {error}", NOBODY, effect, slice_)


def test_nothing_tried_nothing_chosen() -> None:
    assert best_of([]) is None


def test_a_gain_that_chance_would_give_is_not_chosen() -> None:
    assert best_of([correction(2.4, 1.0, z=3.0)]) is None
    assert best_of([correction(-1.0, 0.1, z=3.0)]) is None
    assert best_of([correction(2.6, 1.0, z=3.0)]) is not None


def test_a_list_of_rows_has_to_stand_out_further_than_a_slice() -> None:
    assert best_of([correction(4.9, 1.0)]) is None
    assert best_of([correction(5.1, 1.0)]) is not None
    slice_ = correction(3.0, 1.0, z=2.0)
    assert best_of([correction(9.0, 3.0), slice_]) is slice_, "a larger gain that proves nothing is no hindrance"


def test_the_largest_gain_is_chosen() -> None:
    first, second = correction(9.0, 1.0), correction(8.5, 1.0)
    assert best_of([first, second]) is first
    assert best_of([second, first]) is first


def test_a_slice_within_one_standard_error_is_the_simpler_explanation() -> None:
    rows, slice_ = correction(9.0, 1.0), correction(8.1, 1.0, z=4.0)
    assert best_of([rows, slice_]) is slice_
    assert best_of([rows, correction(7.9, 1.0, z=4.0)]) is rows


def test_of_several_slices_the_one_that_gains_most_is_chosen() -> None:
    most, less = correction(9.0, 1.0, z=3.0), correction(8.5, 1.0, z=6.0)
    assert best_of([less, most]) is most
    assert best_of([correction(9.2, 1.0), less, most]) is most


CORRECTIONS = st.lists(
    st.builds(
        correction,
        st.floats(-5, 20),
        st.floats(0.1, 5),
        st.one_of(st.none(), st.floats(0.1, 10)),
    ),
    max_size=6,
)


@settings(derandomize=True, max_examples=300, deadline=None)
@given(CORRECTIONS)
def test_the_rule_as_it_is_stated(tried: list[Correction]) -> None:
    chosen = best_of(tried)
    proven = [
        each
        for each in tried
        if each.verified.gain > (LEAST_Z if each.slice else LEAST_Z_OF_ROWS) * each.verified.gain_error
    ]
    if not proven:
        assert chosen is None
        return
    assert chosen in proven
    top = max(proven, key=lambda each: each.verified.gain).verified
    near = [each for each in proven if each.slice and each.verified.gain >= top.gain - top.gain_error]
    if not near:
        assert chosen.verified.gain == top.gain
    else:
        assert chosen.slice is not None
        assert chosen.verified.gain == max(each.verified.gain for each in near)


def test_the_diagnosis_applies_the_rule_to_what_was_tried(planted: Planted) -> None:
    found = psidebug.debug(LogisticRegression(), planted.X_train, planted.y_train, planted.X_test, planted.y_test)
    surplus = [each.hypothesis.evidence - each.hypothesis.charge for each in found.tried if each.hypothesis]
    assert len(surplus) == len(found.tried) > 1
    assert surplus == sorted(surplus, reverse=True)
    best = best_of(found.tried)
    assert best is not None
    assert found.correction is not None
    assert found.correction.verified is best.verified
    assert found.correction is not None
    changed = found.repaired_labels != planted.y_train
    assert changed.sum() == found.corrected == found.correction.verified.corrected
    np.testing.assert_array_equal(
        found.task.encoding.decode(found.correction.codes)[changed], found.repaired_labels[changed]
    )


def task_of(planted: Planted, model: Any = None) -> Task:
    return Task.of(model or LogisticRegression(), planted.X_train, planted.y_train, planted.X_test, planted.y_test)


def suspect(task: Task, members: npt.NDArray[np.intp]) -> Slice:
    return Slice((Condition("c", "=", (1,)),), int(task.train.codes[members[0]]), members, 3.0)


def test_a_slice_is_relabelled_by_a_model_that_never_saw_it(planted: Planted) -> None:
    task = task_of(planted)
    members = np.flatnonzero(planted.wrong)
    codes = relabelled(task, suspect(task, members), Judge(task))
    rest = ~planted.wrong
    alone = LogisticRegression().fit(planted.X_train[rest], planted.y_train[rest])
    np.testing.assert_array_equal(task.encoding.decode(codes[members]), alone.predict(planted.X_train[members]))
    np.testing.assert_array_equal(codes[rest], task.train.codes[rest])
    assert np.any(codes != task.train.codes)


def test_a_slice_that_is_a_whole_class_is_left_alone(planted: Planted) -> None:
    task = task_of(planted)
    judge = Judge(task)
    codes = relabelled(task, suspect(task, np.flatnonzero(task.train.codes == 0)), judge)
    np.testing.assert_array_equal(codes, task.train.codes)
    assert judge.fits == 0


class Choosy(LogisticRegression):  # type: ignore[misc]
    """A learner that cannot be trained with fewer than ten rows of a class, as cross-validated ones cannot."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Choosy:
        if np.unique(y, return_counts=True)[1].min() < 10:
            raise ValueError("the least populated class has too few members")
        super().fit(X, y, sample_weight)
        return self


@pytest.mark.parametrize("model", [LogisticRegression(), Choosy()])
def test_labels_that_cannot_be_trained_on_are_no_correction(planted: Planted, model: Any) -> None:
    """Moving all suspects would leave one class only: the others are still tried."""
    good = np.flatnonzero(planted.y_train == "good")[:12]
    keep = np.concatenate([good, np.flatnonzero(planted.y_train == "bad")])
    task = Task.of(model, planted.X_train[keep], planted.y_train[keep], planted.X_test, planted.y_test)
    estimates: Any = SimpleNamespace(proposed=np.zeros_like(task.train.codes))
    ticks: list[tuple[str, int, int]] = []
    tried = propose(task, estimates, np.arange(len(keep)), [], Judge(task), lambda *told: ticks.append(told))
    assert 0 < len(tried) < len(ticks)
    assert ticks[-1][1] == ticks[-1][2] == len(ticks)
    assert all(len(set(each.codes.tolist())) == 2 for each in tried)


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


# ── explanations ────────────────────────────────────────────────────────────────────────────────────────────────────


def explained(evidence: float, charge: float, gain: float, error: float = 1.0) -> Correction:
    nothing: Any = None
    cause = Hypothesis((), nothing, NOBODY, (), np.empty((0, 2)), evidence, charge)
    return replace(correction(gain, error), hypothesis=cause)


def test_an_explanation_needs_evidence_and_a_gain() -> None:
    assert best_of([explained(10.0, 12.0, gain=50.0)]) is None, "not likely"
    assert best_of([explained(50.0, 12.0, gain=1.9)]) is None, "retraining does not agree"
    assert best_of([explained(50.0, 12.0, gain=-3.0)]) is None
    assert best_of([explained(50.0, 12.0, gain=2.1)]) is not None


def test_of_explanations_the_one_with_the_most_evidence_is_chosen_whatever_the_order() -> None:
    most, gains, costly = (
        explained(50.0, 12.0, gain=2.5), explained(45.0, 12.0, gain=20.0), explained(60.0, 40.0, gain=30.0)
    )  # fmt: skip
    unproved = explained(90.0, 12.0, gain=0.5)
    for tried in itertools.permutations([most, gains, costly, unproved]):
        assert best_of(tried) is most


def test_a_test_set_that_can_calibrate_a_labeller(planted: Planted) -> None:
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


def test_an_explanation_in_words(planted: Planted) -> None:
    task = task_of(planted)
    unheard: Any = None
    first = Slice((Condition("c", "=", (1,)),), 0, np.arange(0, 5), 3.0)
    second = Slice((Condition("d", ">", (2,)), Condition("e", "missing")), 1, np.arange(5, 10), 3.0)
    third = Slice((Condition("f", "=", ("x",)),), 0, np.arange(10, 15), 3.0)
    rates = np.array([[0.97, 0.03], [0.4, 0.6]])
    truth = np.repeat([1, 0, 0], 5)
    """Wrong are the labels of the first slice and of the second, those of the third are right."""

    def words(*slices: Slice, rates: Any = rates) -> str:
        return told(task, Hypothesis(slices, unheard, NOBODY, (rates,), np.eye(2)[truth], 0.0, 0.0))

    assert task.encoding.classes[0] == "bad"
    assert words(first) == "rows with c = 1, labelled 'bad', were mislabelled"
    assert words(first, second) == (
        "rows with c = 1, labelled 'bad', were mislabelled and rows with d > 2 and e is missing, labelled 'good', were "
        "mislabelled"
    )
    assert words() == "labels are wrong here and there, most often 'good' recorded as 'bad' (40% of them)"
    assert words(rates=np.array([[0.9, 0.1], [0.1, 0.9]])) == "labels are wrong here and there, 10% of them"
    assert words(first, third) == "rows with c = 1, labelled 'bad', were mislabelled, but not those with f = x"
    assert words(third).startswith("labels are wrong here and there")
    assert words(third).endswith(", but not those with f = x")
