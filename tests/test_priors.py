from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from psidebug.errors import InvalidPrior
from psidebug.priors import noise, noise_by_group

GIVEN = np.array([0, 1, 2, 0])


def test_one_rate_spreads_evenly() -> None:
    prior = noise(GIVEN, 3, 0.1)
    np.testing.assert_allclose(prior.moves.sum(axis=1), 1.0)
    np.testing.assert_allclose(prior.rates, 0.1)
    assert prior.moves[1].tolist() == pytest.approx([0.05, 0.9, 0.05])
    assert prior.alternatives.T.tolist() == [[1, 2], [0, 2], [0, 1], [1, 2]]
    np.testing.assert_allclose(prior.proposals, 0.5)


def test_rates_by_row_and_by_group() -> None:
    np.testing.assert_allclose(noise(GIVEN, 3, [0.0, 0.1, 0.2, 0.3]).rates, [0.0, 0.1, 0.2, 0.3])
    grouped = noise_by_group(GIVEN, 3, ["ann", "bob", "ann", "eve"], {"ann": 0.3, "bob": 0.0}, otherwise=0.05)
    np.testing.assert_allclose(grouped.rates, [0.3, 0.0, 0.3, 0.05])


def test_proposals_by_class_and_by_row() -> None:
    by_class = noise(GIVEN, 3, 0.1, [[5, 1, 3], [0, 7, 1], [1, 0, 0]])
    np.testing.assert_allclose(by_class.moves[0], [0.9, 0.025, 0.075])
    np.testing.assert_allclose(by_class.moves[1], [0.0, 0.9, 0.1])
    by_row = noise(GIVEN, 3, 0.1, np.tile([1.0, 1.0, 2.0], (4, 1)))
    np.testing.assert_allclose(by_row.moves[0], [0.9, 0.1 / 3, 0.2 / 3])


def test_worlds_are_counted_exactly_while_they_are_few_and_never_as_a_huge_integer() -> None:
    assert noise(GIVEN, 3, [0.1, 0.0, 0.2, 0.3]).worlds == 3**3
    assert noise(np.zeros(50, dtype=np.intp), 2, 0.1).worlds == 2**50
    assert noise(GIVEN, 3, 0.1, [[0, 1, 0], [1, 0, 1], [1, 1, 0]]).worlds == 2 * 3 * 3 * 2
    million = noise(np.zeros(1_000_000, dtype=np.intp), 2, 0.1).worlds
    assert isinstance(million, float)
    assert million == np.inf


@pytest.mark.chance(1e-5)
def test_draws_follow_the_table() -> None:
    """20,000 worlds, each frequency within 5 standard errors: false alarm below 1e-5."""
    prior = noise(GIVEN, 3, [0.0, 0.1, 0.4, 0.3], [[0, 3, 1], [1, 0, 1], [0, 1, 0]])
    worlds = prior.draw(20_000, np.random.default_rng(1))
    for k in range(3):
        p = prior.moves[:, k]
        assert np.all(np.abs((worlds == k).mean(axis=0) - p) <= 5 * np.sqrt(p * (1 - p) / 20_000))


def test_tilted_prior_reweighs_each_label() -> None:
    prior = noise(GIVEN, 3, 0.1)
    exponents = np.random.default_rng(2).normal(size=(4, 3))
    weights = prior.moves * np.exp(exponents)
    np.testing.assert_allclose(prior.tilted(exponents).moves, weights / weights.sum(axis=1, keepdims=True))


@pytest.mark.parametrize(
    "rate", [-0.1, 1.0, 1.5, float("nan"), float("inf"), "abc", 1j, [0.1, 0.2], [[0.1] * 4], [0.1, 0.1, 0.1, -1]]
)
def test_invalid_rates_are_refused(rate: Any) -> None:
    with pytest.raises(InvalidPrior, match="rate"):
        noise(GIVEN, 3, rate)


@pytest.mark.parametrize(
    "proposal", [np.ones((2, 2)), -np.ones((3, 3)), np.full((3, 3), np.nan), np.eye(3), np.ones(3), np.zeros((4, 3))]
)
def test_invalid_proposals_are_refused(proposal: np.ndarray) -> None:
    with pytest.raises(InvalidPrior, match="proposal"):
        noise(GIVEN, 3, 0.1, proposal)


@pytest.mark.parametrize("given", [[-1, 0], [0, 3], [0.0, 1.0], [[0, 1]], ["a", "b"]])
def test_invalid_codes_are_refused(given: Any) -> None:
    with pytest.raises(InvalidPrior, match="codes 0 to 2"):
        noise(np.array(given), 3, 0.1)


def test_a_rate_just_below_one_is_still_a_prior() -> None:
    assert np.all(noise(GIVEN, 3, np.nextafter(1.0, 0.0)).moves >= 0)


def test_invalid_groups_are_refused() -> None:
    with pytest.raises(InvalidPrior, match="4 rows"):
        noise_by_group(GIVEN, 3, ["ann"], {"ann": 0.1}, otherwise=0.05)
    with pytest.raises(InvalidPrior, match="'zoe'"):
        noise_by_group(GIVEN, 3, ["ann"] * 4, {"zoe": 0.1}, otherwise=0.05)
