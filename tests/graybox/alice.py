"""Alice's pictures: five cars labelled as animals, and a test car taken for an animal."""

from __future__ import annotations

from typing import Any

import lightgbm
import numpy as np
import numpy.typing as npt
import xgboost
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

ANIMAL, CAR = 0, 1  # XGBoost takes no names
MISLABELLED = set(range(80, 85))

LEARNERS: dict[str, Any] = {
    "logistic": LogisticRegression(),
    "boosting": GradientBoostingClassifier(n_estimators=30, max_depth=2, random_state=0),
    "histogram": HistGradientBoostingClassifier(max_iter=30, max_depth=2, min_samples_leaf=3, early_stopping=False),
    "lightgbm": lightgbm.LGBMClassifier(n_estimators=30, max_depth=2, min_child_samples=3, verbose=-1, n_jobs=1),
    "xgboost": xgboost.XGBClassifier(n_estimators=30, max_depth=2, learning_rate=0.1, n_jobs=1),
}


def pictures() -> tuple[npt.NDArray[Any], ...]:
    """40 animals, 40 cars, and five cars of another make, all five labelled as animals; one such car in the test."""
    rng = np.random.default_rng(0)
    animals, cars = rng.normal(0.0, 0.6, size=(40, 2)), rng.normal(4.0, 0.6, size=(40, 2))
    others = 4.0 + rng.normal(0.0, 0.05, size=(5, 2))
    X_train = np.column_stack([np.vstack([animals, cars, others]), np.repeat([0.0, 3.0], [80, 5])])
    X_test = np.array([[4.0, 4.0, 3.0], [0.1, 0.0, 0.0], [4.0, 4.1, 0.0]])
    return X_train, np.repeat([ANIMAL, CAR, ANIMAL], [40, 40, 5]), X_test, np.array([CAR, ANIMAL, CAR])
