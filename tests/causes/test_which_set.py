"""Which set has the wrong labels: the mirrored contest, and the third party."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import psidebug
from psidebug.evidence.compete import compete
from psidebug.evidence.contest import Contest
from psidebug.evidence.hypotheses import Hypothesis
from psidebug.evidence.predictors import Predictors
from psidebug.evidence.which_set import mirrored, noise_in_test_labels, training_labels_rather
from psidebug.task.task import Task
from psidebug.threads import one_blas_thread
from psidebug.training.trainer import Trainer
from tests.causes.rows import Rows, at_random, in_test_slice, in_training_slice, learner, parcels


def task_of(rows: Rows) -> Task:
    return Task.of(learner(), *rows.parts, seed=0)


def contest_of(task: Task) -> Contest:
    return Contest.of(task, Predictors.of(task, Trainer(task)))


def best(task: Task) -> Hypothesis:
    with one_blas_thread():  # as in a diagnosis
        return compete(contest_of(task), None, lambda stage, done, total: None)[0]


def test_the_mirror_trains_on_test_rows_and_twice_is_the_same() -> None:
    task = task_of(parcels(0))
    mirror = mirrored(task)
    again = mirrored(mirror)
    for one, other in ((mirror.train, task.test), (mirror.test, task.train), (again.train, task.train)):
        assert one.features is other.features
        np.testing.assert_array_equal(one.codes, other.codes)


def test_the_mirror_leaves_the_task_and_what_is_known_of_training_rows() -> None:
    rows = parcels(0)
    weights = np.random.default_rng(0).random(len(rows.y_train)) + 0.5
    task = Task.of(learner(), *rows.parts, known=[0, 1], seed=0)
    task = replace(task, data=replace(task.data, sample_weight=weights))
    mirror = mirrored(task)
    assert (mirror.data.sample_weight, mirror.data.known) == (None, None)
    assert len(mirror.data.rows) == len(rows.y_test)
    assert task.data.known is not None


@pytest.mark.parametrize(("plant", "noisy"), [(None, False), (at_random("test"), True), (at_random("training"), False)])
def test_noise_of_test_labels_is_seen_where_there_is_some(plant: Any, noisy: bool) -> None:
    for seed in (0, 1):
        rows = parcels(seed) if plant is None else plant(parcels(seed))
        task = task_of(rows)
        nats = noise_in_test_labels(contest_of(task).predictions, task.train.codes, task.test.codes)
        assert (nats > 0) == noisy, seed


@pytest.mark.parametrize(("plant", "training"), [(in_training_slice, True), (in_test_slice, False)])
def test_a_third_party_tells_which_labels_of_a_slice_are_wrong(plant: Any, training: bool) -> None:
    task = task_of(plant(parcels(0)))
    of_train, of_test = best(task), best(mirrored(task))
    assert of_train.likely
    assert of_test.likely, "each accuses the other"
    rather = training_labels_rather(Predictors.of(task, Trainer(task)), of_train, of_test)
    assert (rather > 0) == training


def test_training_errors_that_only_a_slice_of_test_errors_explains_are_not_believed() -> None:
    """Test rows of one kind are all of the rare class; the contest about training labels accuses other slices."""
    rng = np.random.default_rng(0)
    hidden, kind = rng.normal(size=(1_600, 2)), rng.integers(0, 5, 1_600)
    X = np.column_stack([hidden @ rng.normal(size=(2, 5)) + rng.normal(size=(1_600, 5)), np.eye(5)[kind]])
    score = 1.1 * hidden[:, 0] - 0.8 * hidden[:, 1] + np.array([0.6, 0.0, -0.5, 0.3, -0.6])[kind] - 2.3
    y = (rng.random(1_600) < 1 / (1 + np.exp(-score))).astype(int)
    marked = np.where(kind[1_100:] == 4, 1, y[1_100:])
    found = psidebug.debug(LogisticRegression(), X[:1_100], y[:1_100], X[1_100:], marked, check_fidelity=False, rng=0)
    assert found.cause == "test_labels"
    np.testing.assert_array_equal(np.asarray(found.repaired_labels), y[:1_100])


def test_a_third_party_turns_with_the_sets() -> None:
    """What speaks for errors in training speaks against them in the mirror, by as much."""
    task = task_of(in_training_slice(parcels(0)))
    of_train, predictors = best(task), Predictors.of(task, Trainer(task))
    assert of_train.slices, "the case that this test is about"
    one, other = (
        training_labels_rather(each, of_train, of_train)
        for each in (predictors, predictors.of_mirrored(mirrored(task)))
    )
    assert one > 1
    assert other == pytest.approx(-one, rel=0.1)


@pytest.mark.parametrize("side", ["training", "test"])
def test_many_training_rows_do_not_outvote_the_slice_that_both_accuse(side: str) -> None:
    """P is calibrated on few test labels, or on many training labels: that says nothing about which set is wrong."""
    rng, n, tests = np.random.default_rng(1000), 9_900, 600
    X = pd.DataFrame(rng.normal(size=(n + tests, 4)), columns=["x0", "x1", "x2", "x3"])
    score = 1.6 * X["x0"] - 1.2 * X["x1"]
    for name in ("k0", "k1"):
        kind = rng.choice(20, n + tests, p=rng.dirichlet(np.full(20, 3.0)))
        score += rng.normal(size=20)[kind]
        X[name] = np.array([f"v{each}" for each in kind], dtype=object)
    score += 0.2 * rng.logistic(size=n + tests)
    y = (score > np.median(score)).astype(int)
    for name in ("k0", "k1"):
        X.loc[rng.random(n + tests) < 0.03, name] = np.nan
    own = (np.arange(n + tests) < n) == (side == "training")
    given = np.where((X["k0"] == X["k0"].value_counts().index[0]) & own, 0, y)
    encoder = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["k0", "k1"]), remainder=StandardScaler(), sparse_threshold=0
    )
    model = make_pipeline(encoder, LogisticRegression())
    found = psidebug.debug(model, X[:n], given[:n], X[n:], given[n:], check_fidelity=False, rng=0)
    assert found.cause == f"{side}_labels"


def test_validation_rows_decide_where_there_are_some() -> None:
    """The same two sets: with rows as in training, the test labels are wrong, and with rows as in the test set not."""
    clean, apart = parcels(0), parcels(5)
    rows = in_training_slice(clean)
    marked = in_test_slice(apart)
    found = {
        name: psidebug.debug(
            learner(), *rows.parts, X_validation=apart.X_test, y_validation=labels, check_fidelity=False, rng=0
        )
        for name, labels in (("as in the test set", apart.y_test), ("as in training", marked.y_test))
    }
    told = {name: each.cause for name, each in found.items()}
    assert told == {"as in the test set": "training_labels", "as in training": "test_labels"}
    assert "The validation rows speak against the test labels" in found["as in training"].verdict
