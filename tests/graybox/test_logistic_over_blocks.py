"""Logistic regression over blocks, against scikit-learn's; effects against the gray box in memory."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from sklearn.linear_model import LogisticRegression

from psidebug.blocks import ROWS, ArrayBlocks, Block
from psidebug.graybox.logistic import LogisticBox
from psidebug.graybox.logistic.likelihood import Likelihood, Multinomial, Separate
from psidebug.graybox.logistic.over_blocks import BlockFit, Rows, fit_over_blocks
from psidebug.margins import by_class, loss_weights
from psidebug.task.task import Task

NAMES = ["a", "b", "c", "d"]
COUNT = ROWS + 5000


def table(classes: int) -> pa.Table:
    rng = np.random.default_rng(classes)
    x = rng.normal(size=(COUNT, 4)) * [1.0, 3.0, 0.2, 1.0] + [0.0, 5.0, 0.0, 0.0]
    scores = x @ rng.normal(size=(4, classes)) + rng.gumbel(size=(COUNT, classes))
    columns = {name: x[:, place] for place, name in enumerate(NAMES)}
    return pa.table({**columns, "y": scores.argmax(axis=1), "w": rng.uniform(0.2, 3.0, COUNT)})


def read(block: Block) -> Rows:
    return Rows(block.matrix(NAMES), block.column("y"), block.column("w"))


def fitted(rows: pa.Table, classes: int, *parts: pa.Table, intercept: bool = True, workers: int = 1) -> BlockFit:
    kind = Separate if classes == 2 else Multinomial
    likelihood: Likelihood = kind(classes, np.ones(classes))
    start = np.zeros((likelihood.free, 4 + intercept))
    blocks = ArrayBlocks(*(parts or (rows,)), workers=workers)
    return fit_over_blocks(blocks, read, likelihood, start, 1 / 0.7, intercept=intercept)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("intercept", [True, False])
def test_it_is_the_fit_of_scikit_learn(classes: int, intercept: bool) -> None:
    rows = table(classes)
    whole = read(Block(0, rows))
    model = LogisticRegression(C=0.7, tol=1e-10, solver="newton-cholesky", fit_intercept=intercept)
    model.fit(whole.features, whole.codes, sample_weight=whole.weights)
    found = fitted(rows, classes, intercept=intercept).theta
    np.testing.assert_allclose(found[:, :4], model.coef_, atol=1e-6)
    if intercept:
        shift = found[:, -1] - model.intercept_  # of a softmax a common shift of all intercepts changes nothing
        np.testing.assert_allclose(shift - shift.mean() * (classes > 2), 0.0, atol=1e-6)


@pytest.mark.parametrize("classes", [2, 3])
def test_it_is_the_same_to_the_last_bit_for_any_parts_and_workers(classes: int) -> None:
    rows = table(classes)
    one = fitted(rows, classes)
    other = fitted(rows, classes, rows.slice(0, 777), rows.slice(777), workers=3)
    np.testing.assert_array_equal(one.theta, other.theta)


@pytest.mark.parametrize("classes", [2, 3])
def test_effects_are_those_of_the_gray_box(classes: int) -> None:
    rows = table(classes)
    whole = read(Block(0, rows))
    X, y, test = whole.features[:6000], whole.codes[:6000], slice(6000, 6300)
    model = LogisticRegression(C=0.7, tol=1e-10, solver="newton-cholesky")
    task = Task.of(model, X, y, whole.features[test], whole.codes[test], sample_weight=whole.weights[:6000])
    box = LogisticBox(task)
    weights = loss_weights(box.actual)
    fit = fitted(rows.slice(0, 6000), classes)
    signed = by_class(weights, task.test.codes)[:, classes - fit.likelihood.free :]
    found = fit.effects(Rows(X, y, whole.weights[:6000]), fit.pull(whole.features[test], signed))
    expected = box.effects(weights)
    np.testing.assert_allclose(found, expected, atol=1e-4 * np.abs(expected).max())
