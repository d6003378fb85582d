"""Names of classes that differ in blanks, capitals or form only are one class."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from psidebug.causes import spelling
from psidebug.changes import Relabel
from psidebug.task.data import Data
from tests.causes.rows import SEEDS, WRONG_LABELS, learner, parcels


@pytest.mark.parametrize("spelled", ["late ", " late", "Late", "LATE"])
def test_another_spelling_is_found_and_the_change_gives_the_clean_labels_back(spelled: str) -> None:
    clean = parcels(0)
    rows = (clean.y_train == "late") & (np.random.default_rng(0).random(len(clean.y_train)) < 0.3)
    planted = clean.with_labels("training", np.where(rows, spelled, clean.y_train.astype(object)))
    data = planted.data
    (found,) = spelling.claims(data)
    assert repr(spelled) in found.said
    assert found.rows is not None
    np.testing.assert_array_equal(found.rows, np.flatnonzero(rows))
    (change,) = found.changes
    assert isinstance(change, Relabel)
    assert data.encoding.decode(change.applied(data).train.codes).tolist() == clean.y_train.tolist()


def test_the_spelling_of_the_test_set_is_kept_even_if_it_is_rare_in_training() -> None:
    clean = parcels(0)
    planted = clean.with_labels("training", np.where(clean.y_train == "late", "Late", clean.y_train))
    few = planted.y_train.copy()
    few[np.flatnonzero(clean.y_train == "late")[:3]] = "late"
    data = planted.with_labels("training", few).data
    (found,) = spelling.claims(data)
    assert data.encoding.decode(found.changes[0].applied(data).train.codes).tolist() == clean.y_train.tolist()


@pytest.mark.parametrize("plant", [None, *WRONG_LABELS.values()])
def test_clean_and_wrong_labels_are_spelled_in_one_way(plant: Any) -> None:
    for seed in SEEDS:
        rows = parcels(seed) if plant is None else plant(parcels(seed))
        assert spelling.claims(rows.data) == []


@pytest.mark.parametrize("classes", [["a", "A"], [1, 2], [True, False], ["late", "later"], ["1", "-1"]])
def test_classes_that_are_different_stay_so(classes: list[Any]) -> None:
    rows = parcels(0)
    labels = [[classes[int(each == "late")] for each in part] for part in (rows.y_train, rows.y_test)]
    assert spelling.claims(Data.of(learner(), rows.X_train, labels[0], rows.X_test, labels[1])) == []
