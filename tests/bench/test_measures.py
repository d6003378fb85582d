"""Measures of a ranking, against values worked out by hand and against scikit-learn's."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

from benchmarks.measures import average_precision, detection_curve, order_of, precision_at_n

WRONG = np.array([True, False, True, False, False])


def test_by_hand() -> None:
    order = np.array([2, 1, 0, 3, 4])  # wrong, right, wrong: precision 1 and 2/3 where they are found
    assert average_precision(order, WRONG) == pytest.approx((1 + 2 / 3) / 2)
    assert precision_at_n(order, WRONG) == 0.5
    assert detection_curve(order, WRONG, (0.2, 0.6, 1.0)) == [0.5, 1.0, 1.0]


def test_rows_that_are_left_out_are_never_found() -> None:
    assert average_precision(np.array([2]), WRONG) == 0.5
    assert detection_curve(np.array([2]), WRONG, (1.0,)) == [0.5]


def test_nothing_wrong_has_no_measure() -> None:
    order, none = np.arange(5), np.zeros(5, dtype=bool)
    assert (average_precision(order, none), precision_at_n(order, none), detection_curve(order, none)) == (None,) * 3


def test_average_precision_is_scikit_learns_where_no_scores_are_equal() -> None:
    rng = np.random.default_rng(0)
    scores, wrong = rng.random(200), rng.random(200) < 0.2
    assert average_precision(order_of(scores), wrong) == pytest.approx(average_precision_score(wrong, scores))


def test_equal_scores_keep_the_order_of_the_rows() -> None:
    np.testing.assert_array_equal(order_of(np.array([1.0, 2.0, 1.0, 2.0])), [1, 3, 0, 2])
