"""Where half of the labels of a rare class may be missed and nothing shows, a note says how many rows it takes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import xlogy
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression

import psidebug
from psidebug.diagnosis.rare_classes import needed_test_rows, notes_on_rare_classes
from psidebug.task.task import Task


class Judged:
    """In place of a hypothesis."""

    def __init__(self, *, likely: bool) -> None:
        self.likely = likely


def task_with(rare: int, *, test: int = 600) -> Task:
    """So many test rows are of the class 1, and a learner that never says it."""
    labels = np.zeros(test, dtype=int)
    labels[:rare] = 1
    train = np.tile(labels, 3)
    return Task.of(DummyClassifier(strategy="most_frequent"), np.zeros((3 * test, 1)), train, labels[:, None], labels)


def notes(task: Task, *, likely: bool = False) -> tuple[str, ...]:
    hypotheses: Any = [Judged(likely=likely)]
    return notes_on_rare_classes(task, hypotheses)


@pytest.mark.parametrize(("train", "test"), [(3000, 1000), (1200, 1200), (40_000, 500)])
def test_so_many_rows_gain_by_their_share_what_a_rate_is_charged(train: int, test: int) -> None:
    """By the likelihood ratio of two Poisson counts with rates of their own, or with one."""

    def gained(m: float) -> float:
        n = 0.5 * m * train / test
        return float(xlogy(n, n / train) + xlogy(m, m / test) - xlogy(n + m, (n + m) / (train + test)))

    charge = 0.5 * np.log(train) + np.log(4)
    needed = needed_test_rows(train, test, 2)
    assert gained(needed) >= charge > gained(needed - 1)


def test_a_rare_class_that_the_model_does_not_recognise_is_told() -> None:
    (note,) = notes(task_with(20))
    assert "the class 1, 20, and most of them are misclassified" in note
    assert note.endswith(f"it takes about {needed_test_rows(1800, 600, 2)}")


def test_it_is_not_told_where_rows_are_enough_or_labels_are_likely_wrong_or_nothing_was_weighed() -> None:
    assert notes(task_with(needed_test_rows(1800, 600, 2))) == ()
    assert notes(task_with(20), likely=True) == ()
    assert notes_on_rare_classes(task_with(20), ()) == ()


def test_it_is_not_told_of_a_class_that_the_model_recognises() -> None:
    task = task_with(20)
    object.__setattr__(task, "predicted", task.test.codes)
    assert notes(task) == ()


def test_labels_are_not_acquitted_where_that_note_is_told() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 3))
    y = (X[:, 0] + 1.2 * rng.normal(size=2000) > 3.6).astype(int)
    found = psidebug.debug(LogisticRegression(), X[:1400], y[:1400], X[1400:], y[1400:], check_fidelity=False, rng=0)
    assert any("nothing would show" in note for note in found.notes)
    assert found.corrected == 0
    assert "not to blame" not in found.verdict


def test_labels_that_are_very_likely_wrong_are_named_though_nothing_is_proved() -> None:
    """A quarter of the labels is wrong, and the classes overlap so much that no correction shows on the test rows."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(2600, 4))
    y = (rng.random(2600) < 1 / (1 + np.exp(2.3 - X[:, 0] + 0.7 * X[:, 1]))).astype(int)
    given = np.where(rng.random(2000) < 0.25, 1 - y[:2000], y[:2000])
    found = psidebug.debug(LogisticRegression(), X[:2000], given, X[2000:], y[2000:], check_fidelity=False, rng=0)
    assert found.cause == "training_labels"
    if found.corrected == 0:
        assert not found.causes.iloc[0]["proved"]
        assert "no label is changed" in found.verdict
        assert "not to blame" not in found.verdict
