"""A change in time is proposed if labels differ from those of other times, not if predictors are wrong at all times."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyClassifier

from psidebug.evidence.held_out import Floats, Mask
from psidebug.evidence.proposals import proposed
from psidebug.slices.binned import Binned
from psidebug.slices.conditions import Slice
from psidebug.task.task import Task

COUNT = 3000
RNG = np.random.default_rng(0)
X = pd.DataFrame({"city": RNG.choice(["Bonn", "Lima", "Oslo"], COUNT)})
DATES = pd.DataFrame({"date": pd.Timestamp("2024-01-01") + pd.to_timedelta(RNG.integers(0, 366, COUNT), unit="D")})
LIMA: Mask = np.asarray(X["city"] == "Lima")
AUTUMN: Mask = np.asarray(DATES["date"].dt.month.between(9, 11))
P: Floats = np.full(COUNT, 0.3)
LABELS = (RNG.random(COUNT) < P).astype(int)


def dated(inside: Mask) -> list[Slice]:
    """What is proposed with a date, where these labels are all 1."""
    labels = np.where(inside, 1, LABELS)
    task = Task.of(DummyClassifier(), X, labels, X[:600], LABELS[:600], metadata=DATES, rows=[f"r{i}" for i in X.index])
    found = proposed(task, Binned.of(task), np.zeros(COUNT), np.log(np.column_stack([1.0 - P, P])), None)
    return [each for each in found if "date" in each.columns]


def test_labels_of_one_city_that_changed_for_a_season_are_proposed() -> None:
    found = [each.condition for each in dated(LIMA & AUTUMN) if len(each.conditions) == 2]
    assert found[0] == "date between 2024-09 and 2024-11 and city = Lima"


@pytest.mark.parametrize("inside", [LIMA, np.zeros(COUNT, dtype=bool)], ids=["wrong at all times", "right"])
def test_where_predictors_are_wrong_at_all_times_or_never_nothing_has_changed(inside: Mask) -> None:
    assert dated(inside) == []
