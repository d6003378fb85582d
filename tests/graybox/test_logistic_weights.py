"""Sample weights: at the door, in every fit, and in the gray box."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.linear_model import SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import psidebug
from psidebug.errors import InputError, InvalidWeights, ShapeMismatch
from psidebug.graybox.logistic import FORMS, LogisticBox
from psidebug.graybox.retrain import Retrain
from psidebug.training.trainer import Trainer
from tests.graybox.logistic_tasks import Data, census_like, precise, text_like


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("class_weight", [None, {0: 2.0}])
def test_a_weight_of_two_is_the_row_twice(classes: int, form: str, class_weight: Any) -> None:
    data = census_like(classes=classes)
    weights = np.ones(300)
    weights[:10] = 2.0
    doubled = Data(
        np.concatenate([data.X_train, data.X_train[:10]]),
        np.concatenate([data.y_train, data.y_train[:10]]),
        data.X_test,
        data.y_test,
    )
    model = precise(class_weight=class_weight)
    pull = np.random.default_rng(0).normal(size=(60, classes - 1))
    weighted = LogisticBox(data.task(model, sample_weight=weights), form=form).effects(pull)
    twice = LogisticBox(doubled.task(model), form=form).effects(pull)
    np.testing.assert_allclose(weighted[10:], twice[10:300], rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(weighted[:10], twice[:10] + twice[300:], rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("form", FORMS)
def test_a_weight_of_zero_is_the_row_left_out(form: str) -> None:
    data = census_like()
    weights = np.ones(300)
    weights[:10] = 0.0
    pull = np.random.default_rng(0).normal(size=(60, 1))
    less = Data(data.X_train[10:], data.y_train[10:], data.X_test, data.y_test)
    weighted = LogisticBox(data.task(precise(), sample_weight=weights), form=form).effects(pull)
    assert (weighted[:10] == 0).all()
    np.testing.assert_allclose(
        weighted[10:], LogisticBox(less.task(precise()), form=form).effects(pull), rtol=1e-5, atol=1e-7
    )


def test_sparse_text_is_weighted_as_dense_text_is() -> None:
    data = text_like()
    weights = np.random.default_rng(0).uniform(0.1, 3.0, size=120)
    dense = Data(data.X_train.toarray(), data.y_train, data.X_test.toarray(), data.y_test)
    assert sp.issparse(data.X_train)
    expected = LogisticBox(dense.task(precise(solver="lbfgs"), sample_weight=weights)).effects(np.ones((40, 1)))
    found = LogisticBox(data.task(precise(solver="lbfgs"), sample_weight=weights)).effects(np.ones((40, 1)))
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize(
    "model",
    [
        precise(),
        make_pipeline(StandardScaler(), precise()),
        make_pipeline(StandardScaler(), make_pipeline(StandardScaler(), precise())),
        SGDClassifier(loss="log_loss", random_state=0),
        GaussianNB(),
    ],
)
def test_every_fit_gets_the_weights(model: Any) -> None:
    data = census_like()
    weights = np.where(data.y_train == 0, 5.0, 1.0)
    plain, task = data.task(model), data.task(model, sample_weight=weights)
    given = Retrain(task).margins(task.train.codes[None])[0]
    np.testing.assert_allclose(given, task.margins(task.learner, task.test), rtol=1e-9, atol=1e-9)
    assert np.abs(given - Retrain(plain).margins(task.train.codes[None])[0]).max() > 0.1


def test_a_refit_on_some_rows_gets_their_weights() -> None:
    data = census_like()
    weights = np.random.default_rng(0).uniform(0.1, 3.0, size=300)
    task = data.task(precise(), sample_weight=weights)
    rows = np.arange(50, 300)
    expected = precise().fit(data.X_train[50:], data.y_train[50:], sample_weight=weights[50:])
    np.testing.assert_allclose(Trainer(task).refit(task.train.codes, rows).coef_, expected.coef_, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("kind", [list, tuple, np.float32, pd.Series, lambda w: np.asarray(w)[:, None]])
def test_weights_of_every_kind_are_taken(kind: Any) -> None:
    task = census_like().task(precise(), sample_weight=kind([2.0] * 300))
    assert task.data.sample_weight is not None
    np.testing.assert_array_equal(task.data.sample_weight, np.full(300, 2.0))


@pytest.mark.parametrize(
    ("weights", "error", "message"),
    [
        (np.ones(299), ShapeMismatch, "299.*300 rows"),
        (1.0, ShapeMismatch, "one weight per training row"),
        (np.ones((300, 2)), ShapeMismatch, "300, 2"),
        (np.append(np.ones(299), np.nan), InvalidWeights, "row 299 is nan"),
        (np.append(np.ones(299), np.inf), InvalidWeights, "row 299 is inf"),
        (np.concatenate([[-1.0, -2.0], np.ones(298)]), InvalidWeights, "row 0 is -1 and 1 more"),
        (np.zeros(300), InvalidWeights, "every sample_weight is 0"),
        (["heavy"] * 300, InvalidWeights, "one number per training row"),
    ],
)
def test_wrong_weights_are_refused_at_the_door(weights: Any, error: type[InputError], message: str) -> None:
    data = census_like()
    with pytest.raises(error, match=message):
        data.task(precise(), sample_weight=weights)


@pytest.mark.parametrize("model", [KNeighborsClassifier(), make_pipeline(StandardScaler(), KNeighborsClassifier())])
def test_a_learner_that_takes_no_weights_is_named(model: Any) -> None:
    with pytest.raises(InvalidWeights, match="KNeighborsClassifier"):
        census_like().task(model, sample_weight=np.ones(300))


def test_debug_takes_weights() -> None:
    data = census_like()
    with pytest.raises(ShapeMismatch, match="sample_weight"):
        psidebug.debug(precise(), data.X_train, data.y_train, data.X_test, data.y_test, sample_weight=np.ones(3))
