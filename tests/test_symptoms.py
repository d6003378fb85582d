from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.metrics import log_loss

from psidebug.errors import InvalidSymptom
from psidebug.inference.linear_learner import MovedLabels
from psidebug.margins import log_losses
from psidebug.symptoms import (
    And,
    LogLossAbove,
    Misclassified,
    Symptom,
    at_least,
    log_loss_above_boundary,
    misclassified,
)
from tests.inference.tasks import random_learner

EVERY_KIND: list[Symptom] = [
    misclassified(1),
    misclassified(0, 2),
    at_least(2),
    at_least(1, [0, 3]),
    at_least(3, [0, 1, 2, 4]),
    LogLossAbove(0.7),
    LogLossAbove(1.2, of=(0, 1)),
    misclassified(0) & at_least(2),
    misclassified(0) | misclassified(4),
    ~at_least(2),
    (misclassified(0) & ~misclassified(4)) | LogLossAbove(2.0),
]


def margins(rivals: int, worlds: int = 200) -> np.ndarray:
    return np.random.default_rng(rivals).normal(size=(worlds, 5, rivals))


def test_counts() -> None:
    table = np.array([[[-1.0], [2.0], [-3.0]], [[1.0], [-1.0], [1.0]]])
    assert misclassified(0).holds(table).tolist() == [True, False]
    assert misclassified(0, 2).holds(table).tolist() == [True, False]
    assert at_least(1, [1, 2]).holds(table).tolist() == [True, True]
    assert at_least(2).holds(table).tolist() == [True, False]


def test_a_margin_of_zero_is_right_and_any_rival_can_win() -> None:
    assert not misclassified(0).holds(np.zeros((1, 1, 1)))[0]
    assert misclassified(0).holds(np.array([[[3.0, -0.1]]]))[0]


def test_log_loss_is_scikit_learns() -> None:
    rng = np.random.default_rng(0)
    scores, right = rng.normal(size=(50, 4)), rng.integers(0, 4, 50)
    advantage = np.array([[s[y] - s[k] for k in range(4) if k != y] for s, y in zip(scores, right, strict=True)])
    expected = log_loss(right, softmax(scores, axis=1), labels=range(4))
    assert log_losses(advantage).mean() == pytest.approx(expected)
    assert LogLossAbove(expected - 1e-9).holds(advantage[None])[0]
    assert not LogLossAbove(expected + 1e-9).holds(advantage[None])[0]


@pytest.mark.parametrize("symptom", EVERY_KIND, ids=str)
@pytest.mark.parametrize("rivals", [1, 2])
def test_severity_is_positive_exactly_where_the_symptom_holds(symptom: Symptom, rivals: int) -> None:
    table = margins(rivals)
    assert np.array_equal(symptom.severity(table) > 0, symptom.holds(table))


@pytest.mark.parametrize("symptom", EVERY_KIND, ids=str)
@pytest.mark.parametrize("rivals", [1, 2])
def test_pull_lowers_the_mean_severity(symptom: Symptom, rivals: int) -> None:
    table = margins(rivals)
    moved = table + 0.05 * symptom.pull(table)
    assert symptom.severity(moved).mean() < symptom.severity(table).mean()


@pytest.mark.parametrize("symptom", EVERY_KIND, ids=str)
@pytest.mark.parametrize("classes", [2, 3])
def test_holds_after_every_change_of_one_label(symptom: Symptom, classes: int) -> None:
    rng = np.random.default_rng(classes)
    learner = random_learner(rng, labels=7, points=5, classes=classes)
    worlds = rng.integers(0, classes, (20, 7))
    for shift in range(1, classes):
        found = symptom.holds_after(learner(worlds), MovedLabels(learner, worlds, shift))
        for i in range(7):
            changed = worlds.copy()
            changed[:, i] = (changed[:, i] + shift) % classes
            assert np.array_equal(found[:, i], symptom.holds(learner(changed)))


@pytest.mark.parametrize("symptom", EVERY_KIND, ids=str)
def test_renumbered_on_its_own_points_says_the_same(symptom: Symptom) -> None:
    table = margins(2)
    if symptom.points is None:
        assert symptom.renumbered({i: i for i in range(5)}).holds(table).tolist() == symptom.holds(table).tolist()
    else:
        points = sorted(symptom.points)
        small = symptom.renumbered({point: position for position, point in enumerate(points)})
        assert small.holds(table[:, points]).tolist() == symptom.holds(table).tolist()


def test_linearisations_are_tangents() -> None:
    actual = margins(2)[0]
    step = 1e-6 * np.random.default_rng(1).normal(size=actual.shape)
    for symptom in (LogLossAbove(0.1), LogLossAbove(0.1, of=(1, 3)), misclassified(2)):
        line = symptom.linearised(actual)
        assert line is not None
        assert line.threshold == pytest.approx(symptom.severity(actual[None])[0])
        change = symptom.severity((actual + step)[None])[0] - symptom.severity(actual[None])[0]
        assert change == pytest.approx(-(line.weights * step).sum(), rel=1e-3)
    assert misclassified(0, 1).linearised(actual) is None
    one = misclassified(2).linearised(margins(1)[0])
    assert one is not None
    assert one.exact


def test_the_default_symptom_moves_bugs_to_the_boundary() -> None:
    table = np.array([[-2.0], [-1.0], [3.0], [0.5]])
    losses = np.log1p(np.exp([2.0, 1.0, -3.0, -0.5]))
    both = log_loss_above_boundary(table, np.array([0, 1]))
    assert both.threshold == pytest.approx((2 * np.log(2) + losses[2] + losses[3]) / 4)
    assert both.of is None
    one = log_loss_above_boundary(table, np.array([1]))
    assert one.of == (1, 2, 3)
    assert one.threshold == pytest.approx((np.log(2) + losses[2] + losses[3]) / 3)


def test_impossible_symptoms_are_refused() -> None:
    with pytest.raises(InvalidSymptom, match="twice"):
        misclassified(1, 1)
    with pytest.raises(InvalidSymptom, match="never"):
        at_least(3, [0, 1])
    with pytest.raises(InvalidSymptom, match="always"):
        at_least(0)
    with pytest.raises(InvalidSymptom, match="never below"):
        LogLossAbove(-1.0)
    with pytest.raises(InvalidSymptom, match="at least one"):
        LogLossAbove(1.0, of=())
    with pytest.raises(InvalidSymptom, match="1 or more"):
        Misclassified((), 0)
    odd: list[Any] = [-1, 0.5, True, "a"]
    for point in odd:
        with pytest.raises(InvalidSymptom, match="position"):
            misclassified(point)
    with pytest.raises(InvalidSymptom, match="whole number"):
        at_least(odd[1])
    with pytest.raises(InvalidSymptom, match="twice"):
        LogLossAbove(1.0, of=(2, 2))
    with pytest.raises(InvalidSymptom, match="combine"):
        misclassified(0) & odd[1]
    with pytest.raises(InvalidSymptom, match="combine"):
        And(())
