"""How many labels to correct: the rule on tables made by hand, and rows that choose are not rows that report."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from sklearn.linear_model import LogisticRegression

import psidebug
from psidebug.changes import Relabel
from psidebug.diagnosis.curve import curve_of, fewest
from psidebug.diagnosis.proof import Prover
from psidebug.errors import LearnerFailed
from psidebug.findings.effects import ErrorRate, Verification
from psidebug.findings.findings import Curve
from psidebug.task.task import Task
from psidebug.training.trainer import Trainer
from tests.conftest import Planted

Mask = npt.NDArray[np.bool_]


def table(*rows: str) -> Mask:
    """One text per point, x where a test row is wrong."""
    return np.array([[letter == "x" for letter in row] for row in rows])


# ── the rule ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_within_one_standard_error_the_fewest_corrections() -> None:
    """9 errors against 5, all of these among them: 4 ± √4 is more than one standard error, 1 ± √1 is not."""
    wrong = table("xxxxxxxxx.", "xxxxxx....", "xxxxx.....")
    assert fewest(wrong) == 1


def test_a_clear_minimum_is_chosen() -> None:
    assert fewest(table("xxxxxxxx..", "xxxxxx....", "..........")) == 2


def test_a_flat_curve_corrects_nothing() -> None:
    assert fewest(table("xx......", "xx......", "xx......")) == 0


def test_the_errors_are_paired() -> None:
    """Two errors more on other rows, 5 against 3, are 2 ± √8; on the same rows they are 2 ± √2."""
    assert fewest(table("xxxxx...", ".....xxx")) == 0
    assert fewest(table("xxxxx...", "xxx.....")) == 1


def test_a_minimum_before_the_end_is_not_passed() -> None:
    assert fewest(table("xxxxxx", "......", "xxxxxx")) == 1


@pytest.mark.parametrize("seed", range(20))
def test_the_rule_as_it_is_stated(seed: int) -> None:
    rng = np.random.default_rng(seed)
    wrong = rng.random((5, 30)) < rng.uniform(0.05, 0.5, size=(5, 1))
    best = min(range(5), key=lambda point: int(wrong[point].sum()))
    near = []
    for point in range(5):
        here = sum(a and not b for a, b in zip(wrong[point], wrong[best], strict=True))
        there = sum(b and not a for a, b in zip(wrong[point], wrong[best], strict=True))
        if here - there <= (here + there) ** 0.5:
            near.append(point)
    assert fewest(wrong) == min(near)


# ── the curve ───────────────────────────────────────────────────────────────────────────────────────────────────────


class Scripted:
    """A prover who says which test rows are wrong after so many corrections."""

    def __init__(self, task: Task, wrong: dict[int, Mask]) -> None:
        self.task, self._wrong, self.trainer = task, wrong, Trainer(task)
        self.asked: list[npt.NDArray[np.intp]] = []

    def verify(self, change: Relabel) -> Verification:
        self.asked.append(change.labels(self.task.data))
        count = change.count(self.task.data)
        if count not in self._wrong:
            raise LearnerFailed("no")
        wrong = self._wrong[count]
        rate = ErrorRate(int(wrong.sum()), len(wrong))
        return Verification(count, rate, rate, None, None, 0, 0, 0.0, 1.0, wrong_after=wrong)


@pytest.fixture(scope="module")
def task(planted: Planted) -> Task:
    return Task.of(LogisticRegression(), planted.X_train, planted.y_train, planted.X_test, planted.y_test, seed=3)


def curve(task: Task, prover: Any, *, suggested: int, suspects: int = 100) -> Curve:
    order = np.random.default_rng(0).permutation(120)[:suspects]
    ps, p_wrong = np.linspace(0.9, 0.1, 120), np.linspace(0.8, 0.2, 120)
    return curve_of(prover, order, 1 - task.train.codes, ps, p_wrong, suggested=suggested, tick=lambda *told: None)


def test_points_are_the_first_suspects_corrected_and_carry_the_last_ones_ps(task: Task) -> None:
    wrong = np.zeros(80, dtype=bool)
    prover = Scripted(task, dict.fromkeys(range(60), wrong))
    found = curve(task, prover, suggested=20)
    assert [point.corrected for point in found.points] == [0, 5, 10, 15, 20, 30]
    order = np.random.default_rng(0).permutation(120)
    for point, codes in zip(found.points[1:], prover.asked[1:], strict=True):
        assert set(np.flatnonzero(codes != task.train.codes)) == set(order[: point.corrected])
        last = order[point.corrected - 1]
        assert point.ps == np.linspace(0.9, 0.1, 120)[last]
        assert point.p_wrong == np.linspace(0.8, 0.2, 120)[last]
    assert found.wrong.shape == (6, 80)


def test_the_first_point_is_the_model_as_it_is(task: Task) -> None:
    found = curve(task, Prover(task), suggested=4)
    before = task.predicted != task.test.codes
    assert found.points[0].corrected == 0
    np.testing.assert_array_equal(found.wrong[0], before)
    assert found.points[0].verified.test_after.wrong == before.sum()
    assert found.points[0].verified.gain == 0.0


def test_where_nothing_is_suggested_shares_of_the_rows_are_tried(task: Task) -> None:
    prover = Scripted(task, {count: np.zeros(80, dtype=bool) for count in range(60)})
    points = curve(task, prover, suggested=0).points
    assert [each.corrected for each in points] == [0, 2, 3, 5, 6, 9], "around 5% of 120"


@pytest.mark.parametrize("suggested", [20, 4, 0])
def test_the_point_that_is_marked_is_the_correction_whatever_the_errors_say(task: Task, suggested: int) -> None:
    """Fewest errors are elsewhere: without any correction, or with half as many again."""
    for best in (0, 6, 30):
        wrong = {count: np.full(80, count != best) for count in range(60)}
        found = curve(task, Scripted(task, wrong), suggested=suggested)
        assert found.points[found.chosen].corrected == suggested


def test_no_more_than_the_suspects_are_corrected_and_what_cannot_be_trained_is_left_out(task: Task) -> None:
    prover = Scripted(task, {count: np.zeros(80, dtype=bool) for count in (0, 5, 20)})
    found = curve(task, prover, suggested=20, suspects=20)
    assert [each.corrected for each in found.points] == [0, 5, 20]
    alone = curve(task, prover, suggested=20, suspects=0)
    assert [each.corrected for each in alone.points] == [0]
    assert (alone.minimum, alone.chosen, alone.reported) == (0, 0, 0.0)


def test_the_half_that_chooses_is_not_the_half_that_reports(task: Task) -> None:
    """Each half is right only where the other one has chosen: chosen and reported on all rows, half would be wrong."""
    halves = np.random.default_rng(task.seed).permutation(80) % 2 == 0
    assert halves.sum() == 40
    found = curve(task, Scripted(task, {0: halves, 5: ~halves}), suggested=20)
    assert found.wrong.mean(axis=1).tolist() == [0.5, 0.5]
    assert found.reported == 1.0


def test_what_is_reported_is_not_flattered_by_the_choice(task: Task) -> None:
    """Errors by the toss of a coin: the best of six points has fewer, but what is reported is a half, ± 4 × 0.012."""
    best, reported = [], []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        prover = Scripted(task, {count: rng.random(80) < 0.5 for count in range(60)})
        found = curve(task, prover, suggested=20)
        best.append(found.wrong[found.minimum].mean())
        reported.append(found.reported)
    assert np.mean(best) < 0.45
    assert np.mean(reported) == pytest.approx(0.5, abs=0.05)


def test_of_one_test_row_nothing_is_chosen(planted: Planted) -> None:
    one = Task.of(
        LogisticRegression(), planted.X_train, planted.y_train, planted.X_test[:1], planted.y_test[:1], seed=3
    )
    wrong, right = np.ones(1, dtype=bool), np.zeros(1, dtype=bool)
    found = curve(one, Scripted(one, {0: wrong, 5: right, 20: right}), suggested=20)
    assert found.reported == 1.0


def test_the_diagnosis_carries_the_curve_of_its_own_suspects(planted: Planted) -> None:
    found = psidebug.debug(
        LogisticRegression(), planted.X_train, planted.y_train, planted.X_test, planted.y_test, check_fidelity=False
    )
    assert found.curve is not None
    assert found.corrected in [point.corrected for point in found.curve.points]
    errors = found.curve.wrong.sum(axis=1)
    assert errors[found.curve.minimum] == errors.min() < errors[0]
    assert found.curve.points[found.curve.chosen].corrected == found.corrected > 0
    assert 0.0 <= found.curve.reported < errors[0] / 80
