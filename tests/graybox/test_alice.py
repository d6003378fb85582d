"""Alice's story: five cars labelled as animals, a test car taken for an animal, and no single label to blame."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

import psidebug
from psidebug.graybox.retrain import Retrain
from psidebug.graybox.trees.refit import LeafRefit
from tests.graybox.alice import CAR, LEARNERS, MISLABELLED, pictures


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """Small models gain nothing from more threads, and wait for each other on a busy machine."""
    with threadpool_limits(limits=1):
        yield


@pytest.mark.parametrize("symptom", ["misclassified", "log_loss"])
@pytest.mark.parametrize("model", LEARNERS.values(), ids=LEARNERS)
def test_the_five_cars_are_the_first_five_suspects(model: Any, symptom: str) -> None:
    found = psidebug.debug(model, *pictures(), symptom=symptom)
    assert found.task.bugs.tolist() == [0]
    suspects = found.suspects
    assert set(suspects["row"][:5]) == MISLABELLED
    assert (suspects["proposed"][:5] == CAR).all()
    ps = suspects["ps"].to_numpy()
    assert ps[:5].min() > 2 * ps[5:].max(initial=0.0)
    assert set(found.explain(0).causes["row"][:5]) == MISLABELLED


@pytest.mark.parametrize("model", LEARNERS.values(), ids=LEARNERS)
def test_no_single_label_is_to_blame_and_all_five_are(model: Any) -> None:
    """By retraining, which is the truth; and the leaf refit of the trees knows both."""
    task = psidebug.Task.of(model, *pictures())
    given = task.train.codes
    single, together = np.tile(given, (85, 1)), given[None].copy()
    np.fill_diagonal(single, 1 - given)
    together[0, sorted(MISLABELLED)] = CAR
    boxes: list[Any] = [Retrain(task)] if isinstance(model, LogisticRegression) else [Retrain(task), LeafRefit(task)]
    for box in boxes:
        assert box.margins(single)[:, 0].max() < 0 < box.margins(together)[0, 0, 0]
