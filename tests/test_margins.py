"""Margins and what follows from them, against the definitions written out one point at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.metrics import log_loss

from psidebug.margins import (
    best_rival,
    by_class,
    is_wrong,
    largest_of_rows,
    log_losses,
    log_shares,
    loss_weights,
    margins_of,
    predicted_by,
    rival_probabilities,
    rivals_of,
    sums_of_rows,
    with_signs,
)

CLASSES = [2, 3, 5]


def drawn(classes: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scores (50, K), right classes and margins, these written out."""
    rng = np.random.default_rng(classes)
    scores, right = rng.normal(size=(50, classes)), rng.integers(0, classes, 50)
    margins = [[s[y] - s[k] for k in range(classes) if k != y] for s, y in zip(scores, right, strict=True)]
    return scores, right, np.array(margins)


def test_margins_are_advantages_over_the_rivals_in_order() -> None:
    scores = np.array([[1.0, 4.0, 2.5], [0.0, -1.0, 3.0]])
    np.testing.assert_array_equal(rivals_of(np.array([1, 0]), 3), [[0, 2], [1, 2]])
    np.testing.assert_array_equal(margins_of(scores, np.array([1, 0])), [[3.0, 1.5], [1.0, -3.0]])


@pytest.mark.parametrize("classes", CLASSES)
def test_worlds_of_scores_are_taken_at_once(classes: int) -> None:
    scores, right, margins = drawn(classes)
    many = margins_of(np.stack([scores, 2.0 * scores, -scores]), right)
    np.testing.assert_array_equal(many, np.stack([margins, 2.0 * margins, -margins]))


def test_two_classes_that_a_model_does_not_know_are_level() -> None:
    margins = margins_of(np.array([[0.0, -np.inf, -np.inf]]), np.array([1]))
    np.testing.assert_array_equal(margins, [[-np.inf, 0.0]])


@pytest.mark.parametrize("classes", CLASSES)
def test_weights_of_margins_are_weights_of_scores(classes: int) -> None:
    scores, right, margins = drawn(classes)
    weights = np.random.default_rng(9).normal(size=margins.shape)
    assert (weights * margins).sum() == pytest.approx((by_class(weights, right) * scores).sum())


@pytest.mark.parametrize("classes", CLASSES)
def test_losses_probabilities_and_predictions_are_those_of_the_scores(classes: int) -> None:
    scores, right, margins = drawn(classes)
    p = softmax(scores, axis=1)
    assert log_losses(margins).mean() == pytest.approx(log_loss(right, p, labels=range(classes)))
    rivals = rivals_of(right, classes)
    np.testing.assert_allclose(rival_probabilities(margins), np.take_along_axis(p, rivals, axis=1))
    np.testing.assert_array_equal(predicted_by(margins, right), scores.argmax(axis=1))
    np.testing.assert_array_equal(is_wrong(margins), scores.argmax(axis=1) != right)
    others = np.where(np.arange(classes) == right[:, None], -np.inf, scores)
    np.testing.assert_array_equal(best_rival(margins, right), others.argmax(axis=1))


@pytest.mark.parametrize("classes", CLASSES)
def test_the_weights_of_the_loss_are_its_slopes(classes: int) -> None:
    _, _, margins = drawn(classes)
    change = 1e-6 * np.random.default_rng(9).normal(size=margins.shape)
    fall = log_losses(margins - change).mean() - log_losses(margins + change).mean()
    assert 2.0 * (loss_weights(margins) * change).sum() == pytest.approx(fall, rel=1e-6)


def test_losses_of_extreme_margins() -> None:
    np.testing.assert_allclose(log_losses(np.array([[800.0], [-800.0], [np.inf]])), [0.0, 800.0, 0.0])
    assert log_losses(np.array([[-np.inf]]))[0] == np.inf


def test_a_tie_goes_the_way_that_the_learner_breaks_it() -> None:
    margins = np.array([[0.0, 2.0], [0.0, 2.0], [-1e-9, 3.0], [1.0, 1.0]])
    wrong = np.array([True, False, False, False])
    signed = with_signs(margins, wrong)
    np.testing.assert_array_equal(is_wrong(signed), wrong)
    np.testing.assert_allclose(signed, margins, atol=1e-8)
    assert signed[0, 0] == -np.finfo(float).tiny
    assert margins[0, 0] == 0.0, "the margins given are left alone"


def test_shares_of_votes_are_smoothed_and_keep_their_order() -> None:
    shares = np.array([[0.0, 0.25, 0.75]])
    logs = log_shares(shares)
    np.testing.assert_allclose(np.exp(logs).sum(axis=1), 1.0)
    assert np.isfinite(logs).all()
    assert logs.argsort().tolist() == shares.argsort().tolist()


@pytest.mark.parametrize("classes", [1, 2, 3, 10])
@pytest.mark.parametrize("order", ["C", "F"])
def test_sums_and_maxima_of_rows_are_those_of_numpy_to_the_last_digit(classes: int, order: Any) -> None:
    table = np.asarray(np.random.default_rng(0).normal(size=(500, classes)), order=order)
    table[3] = np.nan
    assert sums_of_rows(table).tobytes() == table.sum(axis=1).tobytes()
    assert largest_of_rows(table).tobytes() == table.max(axis=1).tobytes()
