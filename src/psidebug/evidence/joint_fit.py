"""Calibration and noise rates learned together, from test labels and training labels.

How far each predictor is believed, a and b, and at which rates R labels were recorded wrong, maximise the likelihood of
all labels at once,

    Σ_t log P(y_t | x_t; a, b) + Σ_i log Σ_k P(k | x_i; a, b) R(y_i | k).

A hundred test points alone say little about a and b, and what they say wrong looks like errors in thousands of training
labels. Together they cannot: to call labels wrong that the predictors expect, a and b would have to leave the test
labels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from psidebug.evidence.calibration import Calibrated, calibrate
from psidebug.evidence.held_out import Floats, LabelPredictions, Mask, Rows, few
from psidebug.evidence.noise_rates import (
    START,
    NoiseFit,
    even_rates,
    fit_by_em,
    log_likelihood,
    uneven_are_better,
    with_rates,
)
from psidebug.task.labels import Codes

ROUNDS, SETTLED = 40, 1e-2
"""Calibration and rates are learned in turns, until a turn gains fewer nats than this."""
ROUNDS_OF_EM = 10


@dataclass(frozen=True, eq=False)
class GivenLabels:
    """Labels of some training rows, and what is certain about the true ones."""

    codes: Codes
    """(n,) of these rows, as are the others."""
    rows: Rows
    """Their positions among all training rows."""
    known: Codes | None = None
    """True labels that a person has settled, -1 elsewhere."""
    possible: Mask | None = None
    """(n, K): which classes the true label may have; None if any."""

    def at(self, places: Rows | Mask) -> GivenLabels:
        """Those of some of these rows."""
        known = None if self.known is None else self.known[places]
        possible = None if self.possible is None else self.possible[places]
        return GivenLabels(self.codes[places], self.rows[places], known, possible)

    def probability(self, calibrated: Calibrated) -> Floats:
        """P(k | x) (n, K) of these rows where they can be k, 0 elsewhere."""
        return np.exp(calibrated.train[self.rows]) * (1.0 if self.possible is None else self.possible)

    def likelihood(self, rates: Floats) -> Floats:
        """R(y | k) (n, K): how likely each label is for each class that may be the true one."""
        likelihood = rates[:, self.codes].T.copy()
        if self.possible is not None:
            likelihood *= self.possible
        if self.known is not None:
            settled = self.known >= 0
            likelihood[settled] = np.eye(len(rates))[self.known[settled]]
        return likelihood


@dataclass(frozen=True, eq=False)
class JointFit:
    """Calibration and rates, and how likely all labels are by them."""

    calibrated: Calibrated
    noise: NoiseFit
    """Of the training labels that were given."""
    log_likelihood: float
    """Of these and of the test labels, in nats."""

    @classmethod
    def of(cls, calibrated: Calibrated, noise: NoiseFit, test_codes: Codes) -> JointFit:
        """With the likelihood of the test labels."""
        return cls(calibrated, noise, noise.log_likelihood + log_likelihood(calibrated.test, test_codes))


def fit_none_wrong(predictions: Sequence[LabelPredictions], test_codes: Codes, given: GivenLabels) -> JointFit:
    """No label is wrong: R = 1, and calibration learns from all."""
    right = np.eye(predictions[0].test.shape[1])
    some, of_these = sampled(given, predictions)
    calibrated = calibrate(of_these, test_codes, some.likelihood(right)).applied_to(predictions)
    return JointFit.of(calibrated, with_rates(calibrated.train[given.rows], given.codes, right), test_codes)


def fit_some_wrong(predictions: Sequence[LabelPredictions], test_codes: Codes, given: GivenLabels) -> JointFit:
    """Some labels are wrong, at even rates unless uneven ones say clearly more."""
    even, free = (_in_turns(predictions, test_codes, given, even=even) for even in (True, False))
    return free if uneven_are_better(even.noise, free.noise, free.log_likelihood - even.log_likelihood) else even


def sampled(given: GivenLabels, predictions: Sequence[LabelPredictions]) -> tuple[GivenLabels, list[LabelPredictions]]:
    """As many labels as calibration needs to learn from, and the predictions of these alone."""
    some = given.at(few(np.arange(len(given.rows)), 0))
    of_these = [LabelPredictions(each.name, each.train[some.rows], each.test) for each in predictions]
    return replace(some, rows=np.arange(len(some.rows))), of_these


def _in_turns(
    predictions: Sequence[LabelPredictions], test_codes: Codes, given: GivenLabels, *, even: bool
) -> JointFit:
    some, of_these = sampled(given, predictions)
    rates, before = even_rates(predictions[0].test.shape[1], START), -np.inf
    calibrated = calibrate(of_these, test_codes, some.likelihood(rates))
    for _ in range(ROUNDS):
        probability = some.probability(calibrated)
        noise = fit_by_em(probability, some.codes, some.known, even=even, start=rates, rounds=ROUNDS_OF_EM)
        now, rates = noise.log_likelihood + log_likelihood(calibrated.test, test_codes), noise.rates
        if abs(now - before) < SETTLED:
            break
        calibrated, before = calibrate(of_these, test_codes, some.likelihood(rates), calibrated), now
    calibrated = calibrated.applied_to(predictions)
    noise = fit_by_em(given.probability(calibrated), given.codes, given.known, even=even, start=rates)
    return JointFit.of(calibrated, noise, test_codes)
