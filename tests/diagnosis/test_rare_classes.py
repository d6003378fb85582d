"""Where half of the labels of a rare class may be missed and nothing shows, a note says how many rows it takes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import xlogy
from sklearn.dummy import DummyClassifier

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
