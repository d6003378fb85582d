"""Alice's story: five cars labelled as animals, a test car taken for an animal, and no single label to blame."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import lightgbm
import numpy as np
import numpy.typing as npt
import pytest
import xgboost
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

import psidebug
from psidebug.graybox.retrain import Retrain
from psidebug.graybox.trees.refit import LeafRefit

ANIMAL, CAR = 0, 1  # XGBoost takes no names
MISLABELLED = set(range(80, 85))

LEARNERS: dict[str, Any] = {
    "logistic": LogisticRegression(),
    "boosting": GradientBoostingClassifier(n_estimators=30, max_depth=2, random_state=0),
    "histogram": HistGradientBoostingClassifier(max_iter=30, max_depth=2, min_samples_leaf=3, early_stopping=False),
    "lightgbm": lightgbm.LGBMClassifier(n_estimators=30, max_depth=2, min_child_samples=3, verbose=-1, n_jobs=1),
    "xgboost": xgboost.XGBClassifier(n_estimators=30, max_depth=2, learning_rate=0.1, n_jobs=1),
}


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """Small models gain nothing from more threads, and wait for each other on a busy machine."""
    with threadpool_limits(limits=1):
        yield


def pictures() -> tuple[npt.NDArray[Any], ...]:
    """40 animals, 40 cars, and five cars of another make, all five labelled as animals; one such car in the test."""
    rng = np.random.default_rng(0)
    animals, cars = rng.normal(0.0, 0.6, size=(40, 2)), rng.normal(4.0, 0.6, size=(40, 2))
    others = 4.0 + rng.normal(0.0, 0.05, size=(5, 2))
    X_train = np.column_stack([np.vstack([animals, cars, others]), np.repeat([0.0, 3.0], [80, 5])])
    X_test = np.array([[4.0, 4.0, 3.0], [0.1, 0.0, 0.0], [4.0, 4.1, 0.0]])
    return X_train, np.repeat([ANIMAL, CAR, ANIMAL], [40, 40, 5]), X_test, np.array([CAR, ANIMAL, CAR])


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
