"""Calibration and noise rates together: against another optimiser, on labels of known rates, and on clean ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pytest
from scipy.optimize import minimize
from scipy.special import expit, log_softmax

from psidebug.evidence import held_out
from psidebug.evidence.held_out import LabelPredictions
from psidebug.evidence.joint_fit import GivenLabels, fit_by_class, fit_none_wrong, sampled
from psidebug.evidence.noise_rates import even_rates
from psidebug.policy import BIAS_PRIOR, RIGHT_PSEUDO_COUNT, WEIGHT_PRIOR, WRONG_PSEUDO_COUNT
from tests.chance import allowed

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.intp]


@dataclass(eq=False)
class Drawn:
    """Labels from log P(k | x); one predictor is that, too sure of itself, another sees it through noise."""

    seed: int
    train: int = 600
    test: int = 60
    size: int = 2

    def __post_init__(self) -> None:
        rng = np.random.default_rng(self.seed)
        logs = log_softmax(3.0 * rng.normal(size=(self.train + self.test, self.size)), axis=1)
        y = (rng.random((len(logs), 1)) > np.exp(logs).cumsum(axis=1)).sum(axis=1)
        noisy = log_softmax(logs + 2.0 * rng.normal(size=logs.shape), axis=1)
        self.predictions = [
            LabelPredictions(name, each[: self.train], each[self.train :])
            for name, each in (("sure", log_softmax(2.0 * logs, axis=1)), ("noisy", noisy))
        ]
        self.truth, self.y_test = (np.minimum(part, self.size - 1) for part in (y[: self.train], y[self.train :]))
        self.rng = rng

    def given(self, rates: Floats) -> Codes:
        drawn = (self.rng.random((self.train, 1)) > rates[self.truth].cumsum(axis=1)).sum(axis=1)
        return np.asarray(np.minimum(drawn, self.size - 1))


def labels(codes: Codes, *, known: Codes | None = None, possible: npt.NDArray[np.bool_] | None = None) -> GivenLabels:
    return GivenLabels(codes, np.arange(len(codes)), known, possible)


ONE_SIDED = np.array([[1.0, 0.0], [0.3, 0.7]])


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", ["even", "one-sided"])
def test_no_other_calibration_and_rates_are_likelier(seed: int, kind: str) -> None:
    """The objective written anew, row by row, and a general optimiser from three starts: less than 0.1 nats better."""
    drawn = Drawn(seed, train=200, test=40)
    given = drawn.given(even_rates(2, 0.15) if kind == "even" else ONE_SIDED)
    found = fit_by_class(drawn.predictions, drawn.y_test, labels(given))
    assert found.noise.even == (kind == "even")

    def objective(weights: Floats, bias: float, rates: Floats) -> float:
        total = -0.5 * WEIGHT_PRIOR * sum((weights - 0.5) ** 2) - 0.5 * BIAS_PRIOR * bias**2
        for said, codes, noise in (("test", drawn.y_test, np.eye(2)), ("train", given, rates)):
            raw = sum(w * getattr(each, said) for w, each in zip(weights, drawn.predictions, strict=True))
            chance = expit(raw[:, 1] - raw[:, 0] + bias)
            total += np.log((1 - chance) * noise[0, codes] + chance * noise[1, codes]).sum()
        pseudo_counts = np.where(np.eye(2) == 1, RIGHT_PSEUDO_COUNT, WRONG_PSEUDO_COUNT)
        return float(total + (pseudo_counts * np.log(np.maximum(rates, 1e-300))).sum())

    def loss(values: Floats) -> float:
        wrong = (values[3], values[3] if kind == "even" else values[4])
        return -objective(values[:2], values[2], np.array([[1 - wrong[0], wrong[0]], [wrong[1], 1 - wrong[1]]]))

    bounds = [(0.0, None), (0.0, None), (None, None), (1e-6, 0.5), (1e-6, 0.5)]
    starts = [[0.5, 0.5, 0.0, 0.1, 0.1], [0.9, 0.1, 0.5, 0.01, 0.3], [0.2, 0.8, -0.5, 0.3, 0.01]]
    best = min(minimize(loss, start, bounds=bounds, method="L-BFGS-B").fun for start in starts)
    assert -objective(found.calibrated.weights, found.calibrated.bias[1], found.noise.rates) < best + 0.1


@pytest.mark.chance(1e-3)
def test_rates_are_learned_with_sixty_test_points(budget: float) -> None:
    """The rate that is found is 0.145 ± 0.022, over 80 draws; the mean of 8 within 0.04 of 0.15: four standard errors.

    Of the 80 draws one gained less than it cost.
    """
    wrong, dear = [], 0
    for seed in range(8):
        drawn = Drawn(seed)
        given = drawn.given(even_rates(2, 0.15))
        found = fit_by_class(drawn.predictions, drawn.y_test, labels(given))
        assert found.noise.even
        wrong.append(1.0 - found.noise.rates[0, 0])
        right = fit_none_wrong(drawn.predictions, drawn.y_test, labels(given))
        dear += found.log_likelihood - right.log_likelihood <= found.noise.charge
    assert np.mean(wrong) == pytest.approx(0.15, abs=0.04)
    assert dear <= allowed(8, 1 / 80, budget / 2)


@pytest.mark.chance(1e-3)
@pytest.mark.parametrize("size", [2, 4])
def test_errors_of_one_class_alone_are_told_from_even_ones(size: int, budget: float) -> None:
    """In 80 draws always. The rate that is found is 0.345 ± 0.033: 0.08 is five standard errors of the mean of 5."""
    rates_found, taken_for_even = [], 0
    for seed in range(5):
        drawn = Drawn(seed, train=1000, size=size)
        rates = np.eye(size)
        rates[1, :2] = 0.35, 0.65
        found = fit_by_class(drawn.predictions, drawn.y_test, labels(drawn.given(rates)))
        taken_for_even += found.noise.even
        rates_found.append(found.noise.rates[1, 0])
    assert taken_for_even <= allowed(5, 0.01, budget)
    assert np.mean(rates_found) == pytest.approx(0.35, abs=0.08)


@pytest.mark.chance(2e-4)
def test_clean_labels_gain_less_than_errors_cost(budget: float) -> None:
    """The charge is 3.9 nats, twice that is the 99.5% point of χ² with one degree of freedom.

    Half of the draws gain nothing, so one in 400 gains more.
    """
    dear = 0
    for seed in range(40):
        drawn = Drawn(seed)
        given = labels(drawn.truth)
        right, wrong = (fit(drawn.predictions, drawn.y_test, given) for fit in (fit_none_wrong, fit_by_class))
        dear += wrong.log_likelihood - right.log_likelihood >= wrong.noise.charge
    assert dear <= allowed(40, 1 / 400, budget)


def test_all_labels_calibrate_better_than_sixty() -> None:
    """The surer predictor is the truth itself at twice its log odds: the best weights are ½ and 0."""
    far = []
    for seed in range(6):
        drawn = Drawn(seed, train=2000)
        found = fit_by_class(drawn.predictions, drawn.y_test, labels(drawn.given(even_rates(2, 0.1))))
        far.append(np.abs(found.calibrated.weights - [0.5, 0.0]).max())
    assert max(far) < 0.15


def test_what_is_known_and_what_is_possible_is_kept() -> None:
    drawn = Drawn(0, size=3)
    given = drawn.given(even_rates(3, 0.2))
    known = np.where(np.arange(600) < 50, drawn.truth, -1)
    possible = np.ones((600, 3), dtype=bool)
    possible[given != 2, 2] = False
    found = fit_by_class(drawn.predictions, drawn.y_test, labels(given, known=known, possible=possible))
    np.testing.assert_array_equal(found.noise.posterior[:50].argmax(axis=1), drawn.truth[:50])
    np.testing.assert_allclose(found.noise.posterior[:50].max(axis=1), 1.0)
    unknown = np.arange(600) >= 50
    assert found.noise.posterior[unknown & (given != 2), 2].max() < 1e-200


def test_of_very_many_rows_some_teach_and_all_get_a_posterior(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = Drawn(1, train=2000)
    given = labels(drawn.given(even_rates(2, 0.15)))
    whole = fit_by_class(drawn.predictions, drawn.y_test, given)
    monkeypatch.setattr(held_out, "MOST_ROWS", 500)
    some, of_these = sampled(given, drawn.predictions)
    assert len(some.rows) == 500
    assert len(of_these[0].train) == 500
    found = fit_by_class(drawn.predictions, drawn.y_test, given)
    assert found.noise.posterior.shape == (2000, 2)
    assert 0 < np.abs(found.calibrated.weights - whole.calibrated.weights).max() < 0.3
    np.testing.assert_allclose(found.noise.rates, whole.noise.rates, atol=0.03)
