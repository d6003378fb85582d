"""Other class shares in the two sets: the rows go with the labels; where labels are wrong they do not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.model_selection import cross_val_predict

from psidebug.causes import shares
from psidebug.causes.claim import Claim
from psidebug.changes import Weigh
from psidebug.diagnosis.as_findings import not_repaired
from psidebug.evidence.held_out import LabelPredictions
from psidebug.evidence.predictors import OWN
from psidebug.findings.findings import FoundCause
from psidebug.task.data import Data
from tests.causes.rows import SEEDS, Rows, at_random, in_test_slice, in_training_slice, late_is_rare, learner, parcels


def said_by_the_learner(rows: Rows) -> LabelPredictions:
    """Of rows that it was not trained on."""
    X_train, y_train, X_test, _ = rows.parts
    own = cross_val_predict(learner(), X_train, y_train, cv=3, method="predict_log_proba")
    return LabelPredictions(OWN, own, learner().fit(X_train, y_train).predict_log_proba(X_test))


def claims(rows: Rows, data: Data | None = None) -> list[Claim]:
    return shares.claims(data or rows.data, [said_by_the_learner(rows)])


def rare_in_the_test_set(rows: Rows) -> Rows:
    kept = (rows.y_test != "late") | (np.arange(len(rows.y_test)) % 6 == 0)
    return rows.taken("test", np.flatnonzero(kept))


@pytest.mark.parametrize("plant", [late_is_rare, rare_in_the_test_set])
def test_a_class_with_another_share_is_found_and_weighed(plant: Any) -> None:
    for seed in SEEDS:
        rows = plant(parcels(seed))
        data = rows.data
        (found,) = claims(rows)
        assert "late" in found.where
        (change,) = found.changes
        assert isinstance(change, Weigh)
        weighed = np.bincount(data.train.codes, weights=change.weights) / change.weights.sum()
        np.testing.assert_allclose(weighed, np.bincount(data.test.codes) / len(data.test))


def test_weights_that_were_given_are_kept_among_the_rows_of_a_class() -> None:
    rows = late_is_rare(parcels(0))
    own = np.random.default_rng(0).random(len(rows.y_train)) + 0.5
    ((plain,), (weighed,)) = (each.changes for data in (rows.data, replace(rows.data, sample_weight=own))
                              for each in claims(rows, data))  # fmt: skip
    assert isinstance(plain, Weigh)
    assert isinstance(weighed, Weigh)
    np.testing.assert_allclose(weighed.weights, own * plain.weights)


def one_sided(rows: Rows) -> Rows:
    """Half of the late rows are called punctual in training, here and there."""
    wrong = (rows.y_train == "late") & (np.random.default_rng(1).random(len(rows.y_train)) < 0.5)
    return rows.with_labels("training", np.where(wrong, "punctual", rows.y_train))


@pytest.mark.parametrize("plant", [None, in_training_slice, in_test_slice, one_sided, at_random("training")])
def test_wrong_labels_and_clean_rows_are_no_other_shares(plant: Any) -> None:
    for seed in SEEDS:
        rows = parcels(seed) if plant is None else plant(parcels(seed))
        assert claims(rows) == [], seed


def test_one_sided_errors_do_change_the_shares_of_the_labels() -> None:
    """So that the test above is about something."""
    rows = one_sided(parcels(0))
    assert (rows.y_train == "late").mean() < 0.7 * (rows.y_test == "late").mean()


def test_a_class_that_one_set_lacks_is_no_reason_to_fail() -> None:
    rows = parcels(0)
    some = rows.with_labels("training", np.where(rows.X_train["kind"] == "roll", "lost", rows.y_train))
    found = claims(some)
    assert all(np.isfinite(each.changes[0].weights).all() for each in found)  # type: ignore[attr-defined]


def test_shares_that_the_corrected_labels_have_are_told_no_more() -> None:
    rows = one_sided(parcels(0))
    data, clean = rows.data, parcels(0).data.train.codes
    shares_, labels = (FoundCause(name, "", "", "", 1.0, 0.1, True) for name in ("class_shares", "training_labels"))
    assert not_repaired([shares_, labels], data, clean) == [labels]
    assert not_repaired([shares_, labels], data, data.train.codes) == [shares_, labels]
