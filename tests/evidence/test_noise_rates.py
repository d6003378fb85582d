"""Noise rates: EM against the maximum found otherwise, rates that are known, and Bayes' rule by hand."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from scipy.optimize import minimize

from psidebug.evidence import noise_rates as module
from psidebug.evidence.noise_rates import fit_rates, log_likelihood, with_rates
from psidebug.policy import RIGHT_PSEUDO_COUNT, WRONG_PSEUDO_COUNT
from tests.chance import allowed

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.intp]


def recorded(seed: int, rows: int, rates: Floats, *, sharpness: float = 3.0) -> tuple[Floats, Codes, Codes]:
    """log P(k | x), true labels drawn from it, and the labels that these rates make of them."""
    rng = np.random.default_rng(seed)
    scores = sharpness * rng.normal(size=(rows, len(rates)))
    logs = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
    truth = (rng.random((rows, 1)) > np.exp(logs).cumsum(axis=1)).sum(axis=1)
    given = (rng.random((rows, 1)) > rates[truth].cumsum(axis=1)).sum(axis=1)
    return logs, np.minimum(truth, len(rates) - 1), np.minimum(given, len(rates) - 1)


def objective(logs: Floats, given: Codes, rates: Floats) -> float:
    """Log likelihood of the given labels, one row at a time, and of the pseudo-counts."""
    total = sum(
        np.log(sum(np.exp(row[k]) * rates[k, y] for k in range(len(rates)))) for row, y in zip(logs, given, strict=True)
    )
    for k in range(len(rates)):
        for b in range(len(rates)):
            total += (RIGHT_PSEUDO_COUNT if k == b else WRONG_PSEUDO_COUNT) * np.log(rates[k, b])
    return float(total)


def two_by_two(first: float, second: float) -> Floats:
    return np.array([[1.0 - first, first], [second, 1.0 - second]])


@pytest.mark.parametrize(("seed", "rates"), [(0, (0.1, 0.3)), (1, (0.0, 0.2)), (2, (0.02, 0.02)), (3, (0.4, 0.0))])
def test_em_finds_the_maximum_that_another_optimiser_finds(seed: int, rates: tuple[float, float]) -> None:
    logs, _, given = recorded(seed, 300, two_by_two(*rates))
    grid = [(a, b) for a in (0.01, 0.1, 0.3, 0.5) for b in (0.01, 0.1, 0.3, 0.5)]
    start = max(grid, key=lambda pair: objective(logs, given, two_by_two(*pair)))
    best = minimize(
        lambda pair: -objective(logs, given, two_by_two(*pair)), start, bounds=[(1e-6, 0.95)] * 2, method="L-BFGS-B"
    )
    found = module.fit_by_em(np.exp(logs), given, None)
    assert objective(logs, given, found.rates) == pytest.approx(-best.fun, abs=0.01)
    np.testing.assert_allclose(found.rates, two_by_two(*best.x), atol=0.01)


@pytest.mark.parametrize("wrong", [0.0, 0.15, 0.7])
@pytest.mark.parametrize(("seed", "size"), [(0, 2), (1, 3), (2, 5)])
def test_the_even_rate_is_the_likeliest_of_its_kind(seed: int, size: int, wrong: float) -> None:
    """Against the best of 999 rates, with the pseudo-counts; a person has settled some of the labels."""

    def even(share: float) -> Floats:
        return np.where(np.eye(size) == 1.0, 1.0 - share, share / (size - 1))

    logs, truth, given = recorded(seed, 300, even(wrong))
    known = np.where(np.arange(300) < 30, truth, -1)
    sure = np.where(known[:, None] >= 0, np.where(np.eye(size)[truth] == 1.0, 0.0, -700.0), logs)
    found = module.fit_even(np.exp(logs), given, known)
    best = max((step / 1000 for step in range(1, 1000)), key=lambda share: objective(sure, given, even(share)))
    assert 1.0 - found.rates[0, 0] == pytest.approx(best, abs=0.0011)
    np.testing.assert_allclose(found.rates, even(1.0 - found.rates[0, 0]))


@pytest.mark.chance(1.1e-3)
def test_rates_are_even_unless_uneven_ones_say_clearly_more(budget: float) -> None:
    """Even errors are taken for uneven in 2 of 200 draws; one-sided errors for even never."""
    uneven = [not fit_rates(*recorded(seed, 400, two_by_two(0.1, 0.1))[::2]).even for seed in range(20)]
    assert sum(uneven) <= allowed(20, 0.01, budget)
    assert not any(fit_rates(*recorded(seed, 400, two_by_two(0.0, 0.3))[::2]).even for seed in range(5))


def test_poor_calibration_needs_clearer_proof_of_uneven_rates() -> None:
    logs, _, given = recorded(0, 400, two_by_two(0.05, 0.2))
    assert not fit_rates(logs, given).even
    assert fit_rates(logs, given, miscalibration=1.0).even


KNOWN = {
    "two classes": np.array([[0.95, 0.05], [0.3, 0.7]]),
    "one side": np.array([[1.0, 0.0], [0.2, 0.8]]),
    "three classes": np.array([[0.9, 0.1, 0.0], [0.05, 0.9, 0.05], [0.3, 0.0, 0.7]]),
}


@pytest.mark.chance(5e-4)
@pytest.mark.parametrize("rates", KNOWN.values(), ids=KNOWN)
def test_rates_that_are_known_are_recovered(rates: Floats) -> None:
    """From 8,000 rows the standard error of a rate is below √(¼ / 2,600) = 0.01; 0.04 is four of them."""
    logs, truth, given = recorded(5, 8000, rates)
    found = fit_rates(logs, given)
    np.testing.assert_allclose(found.rates, rates, atol=0.04)
    np.testing.assert_allclose(found.rates.sum(axis=1), 1.0)
    wrong = truth != given
    p_wrong = 1.0 - found.posterior[np.arange(len(given)), given]
    assert p_wrong[wrong].mean() > p_wrong[~wrong].mean() + 0.3
    assert p_wrong.sum() == pytest.approx(wrong.sum(), rel=0.15), "calibrated"


def test_the_posterior_is_bayes_rule_by_hand() -> None:
    logs = np.log([[0.8, 0.2], [0.8, 0.2], [0.5, 0.5]])
    rates = np.array([[0.9, 0.1], [0.3, 0.7]])
    found = with_rates(logs, np.array([0, 1, 0]), rates)
    by_hand = [[0.72 / 0.78, 0.06 / 0.78], [0.08 / 0.22, 0.14 / 0.22], [0.45 / 0.60, 0.15 / 0.60]]
    np.testing.assert_allclose(found.posterior, by_hand)
    assert found.log_likelihood == pytest.approx(np.log(0.78 * 0.22 * 0.60))
    assert log_likelihood(logs, np.array([0, 1, 0])) == pytest.approx(np.log(0.8 * 0.2 * 0.5))


def test_labels_that_cannot_be_wrong_are_as_likely_as_they_are() -> None:
    logs, _, given = recorded(0, 50, two_by_two(0.1, 0.1))
    assert with_rates(logs, given, np.eye(2)).log_likelihood == pytest.approx(log_likelihood(logs, given))


@pytest.mark.parametrize("seed", range(3))
def test_no_round_lowers_what_is_maximised(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    logs, _, given = recorded(seed, 200, KNOWN["three classes"])
    monkeypatch.setattr(module, "SETTLED", 0.0)
    found = [module.fit_by_em(np.exp(logs), given, None, rounds=rounds).rates for rounds in (0, 1, 2, 5, 20, 100)]
    values = [objective(logs, given, rates) for rates in found]
    assert np.all(np.diff(values) >= -1e-9)
    assert values[-1] > values[0] + 1.0


def test_what_a_person_knows_stays_known_and_teaches_the_rates() -> None:
    logs, truth, given = recorded(0, 400, two_by_two(0.1, 0.3))
    known = np.where(np.arange(400) < 100, truth, -1)
    found, alone = fit_rates(logs, given, known), fit_rates(logs, given)
    np.testing.assert_array_equal(found.posterior[:100], np.eye(2)[truth[:100]])
    assert not np.allclose(found.posterior[100:], alone.posterior[100:])
    everything = fit_rates(logs, given, truth)
    counted = np.array([[1.0, 0.01], [0.01, 1.0]])
    for k, b in zip(truth, given, strict=True):
        counted[k, b] += 1.0
    np.testing.assert_allclose(everything.rates, counted / counted.sum(axis=1, keepdims=True), atol=1e-9)
    rows = np.arange(400)
    by_hand = np.log(np.exp(logs[rows, truth]) * everything.rates[truth, given]).sum()
    assert everything.log_likelihood == pytest.approx(by_hand), "known rows count as others do"


def test_what_is_known_against_all_predictions_is_still_known() -> None:
    logs = np.log([[1.0, 1e-300], [0.5, 0.5]])
    found = fit_rates(logs, np.array([0, 1]), np.array([1, -1]))
    np.testing.assert_array_equal(found.posterior[0], [0.0, 1.0])
    assert np.isfinite(found.log_likelihood)


def test_rows_that_can_only_be_right_are_right_and_teach_nothing() -> None:
    logs, _, given = recorded(1, 300, two_by_two(0.3, 0.3))
    possible = np.ones((300, 2), dtype=bool)
    possible[:100] = np.eye(2, dtype=bool)[given[:100]]
    found, rest = fit_rates(logs, given, possible=possible), fit_rates(logs[100:], given[100:])
    np.testing.assert_array_equal(found.posterior[:100], np.eye(2)[given[:100]])
    np.testing.assert_array_equal(found.posterior[100:], rest.posterior)
    np.testing.assert_array_equal(found.rates, rest.rates)
    assert found.log_likelihood == pytest.approx(rest.log_likelihood + log_likelihood(logs[:100], given[:100]))


def test_a_class_that_is_impossible_has_no_probability() -> None:
    """What may be recorded as 0 is 1 only: the true label of no row is 2."""
    logs, _, given = recorded(2, 300, KNOWN["three classes"])
    possible = np.ones((300, 3), dtype=bool)
    possible[given == 0, 2] = False
    found = fit_rates(logs, given, possible=possible)
    np.testing.assert_array_equal(found.posterior[given == 0, 2], 0.0)
    np.testing.assert_allclose(found.posterior.sum(axis=1), 1.0)
    assert fit_rates(logs, given).posterior[given == 0, 2].max() > 0.1
