"""Calibration and noise rates learned together, from test labels and training labels.

How far each predictor is believed, a and b, and how labels were recorded wrong, R, maximise the likelihood of all
labels at once,

    Σ_t log P(y_t | x_t; a, b) + Σ_i log Σ_k P(k | x_i; a, b) R_i(y_i | k).

A hundred test points alone say little about a and b, and what they say wrong looks like errors in thousands of training
labels. Together they cannot: to call labels wrong that the predictors expect, a and b would have to leave the test
labels. But thousands of training labels outvote the test labels where R cannot say how they went wrong. So R has a term
for labels that follow the look of their row (decision 23).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from psidebug import policy
from psidebug.evidence.belief import Belief
from psidebug.evidence.calibration import Calibrated, Calibrator, calibrate, chance
from psidebug.evidence.held_out import Floats, LabelPredictions, Mask, Rows, few
from psidebug.evidence.noise_rates import (
    START,
    START_FOLLOWING,
    NoiseFit,
    even_rates,
    fit_by_em,
    fit_even,
    label_likelihood,
    log_likelihood,
    uneven_are_better,
    with_rates,
)
from psidebug.task.labels import Codes

ROUNDS, SETTLED = 40, 1e-2
"""Calibration and rates are learned in turns, until a turn gains fewer nats than this."""
ROUNDS_OF_EM = 10


class Look(NamedTuple):
    """What rows of this look are labelled."""

    likelihood: Floats
    """q(y_i | x_i) (n,): by predictors that never saw y_i."""
    by: Calibrated
    """q, calibrated on the given labels."""

    @property
    def charge(self) -> float:
        """Nats that q, and the share of labels that follow it, gain by chance."""
        return chance(self.by.parameters + 1)


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
    look: Look | None = None
    """None if no label may follow the look of its row."""

    def at(self, places: Rows | Mask) -> GivenLabels:
        """Those of some of these rows."""
        known = None if self.known is None else self.known[places]
        possible = None if self.possible is None else self.possible[places]
        look = None if self.look is None else self.look._replace(likelihood=self.look.likelihood[places])
        return GivenLabels(self.codes[places], self.rows[places], known, possible, look)

    def looked_at(self, predictions: Sequence[LabelPredictions]) -> GivenLabels:
        """With q by these predictions, calibrated on these labels."""
        some = few(np.arange(len(self.rows)), 0)
        own = [each.train[self.rows[some]] for each in predictions]
        of_labels = [LabelPredictions(each.name, logs, logs) for each, logs in zip(predictions, own, strict=True)]
        q = calibrate(of_labels, self.codes[some])
        q = q.applied_to(predictions)
        return replace(self, look=Look(np.exp(q.train[self.rows, self.codes]), q))

    def probability(self, calibrated: Calibrated) -> Floats:
        """P(k | x) (n, K) of these rows where they can be k, 0 elsewhere."""
        return np.exp(calibrated.train[self.rows]) * (1.0 if self.possible is None else self.possible)

    def likelihood(self, rates: Floats, follow: float | None = None) -> Floats:
        """R_i(y_i | k) (n, K): how likely each label is for each class that may be the true one."""
        look = None if self.look is None else self.look.likelihood
        likelihood = label_likelihood(rates, self.codes, follow, look).copy()
        if self.possible is not None:
            likelihood *= self.possible
        if self.known is not None:
            settled = self.known >= 0
            likelihood[settled] = np.eye(len(rates))[self.known[settled]]
        return likelihood

    def noise(
        self, calibrated: Calibrated, *, even: bool, start: NoiseFit | None = None, rounds: int | None = None
    ) -> NoiseFit:
        """The likeliest rates of one kind, uneven ones by so many ``rounds`` of EM from ``start``.

        Even ones need neither, since Newton's method finds their one maximum, and no label follows its look there.
        """
        probability, limit = self.probability(calibrated), {} if rounds is None else {"rounds": rounds}
        if even:
            return fit_even(probability, self.codes, self.known)
        look = None if self.look is None else self.look.likelihood
        return fit_by_em(probability, self.codes, self.known, look=look, start=start, **limit)


@dataclass(frozen=True, eq=False)
class JointFit:
    """Calibration and rates, and how likely all labels are by them."""

    calibrated: Calibrated
    noise: NoiseFit
    """Of the training labels that were given."""
    log_likelihood: float
    """Of these and of the test labels, in nats."""
    charge: float
    """Nats that it has to gain on "no label is wrong"."""
    beliefs: tuple[Belief, ...] = ()
    """The rules whose mean is the posterior."""

    @classmethod
    def of(cls, calibrated: Calibrated, noise: NoiseFit, test_codes: Codes, look: Look | None = None) -> JointFit:
        """With the likelihood of the test labels."""
        charge = noise.charge + (0.0 if look is None else look.charge)
        belief = believed(calibrated, noise, look)
        total = noise.log_likelihood + log_likelihood(calibrated.test, test_codes)
        return cls(calibrated, noise, total, charge, (belief,))

    @property
    def surplus(self) -> float:
        """Its log likelihood less its charge."""
        return self.log_likelihood - self.charge


def believed(calibrated: Calibrated, noise: NoiseFit, look: Look | None) -> Belief:
    """The rule that a fit comes to."""
    return Belief(calibrated, (noise.rates,), noise.follow, None if look is None else look.by)


def fit_none_wrong(predictions: Sequence[LabelPredictions], test_codes: Codes, given: GivenLabels) -> JointFit:
    """No label is wrong: R = 1, and calibration learns from all."""
    right = np.eye(predictions[0].test.shape[1])
    some, of_these = sampled(given, predictions)
    calibrated = calibrate(of_these, test_codes, some.likelihood(right)).applied_to(predictions)
    return JointFit.of(calibrated, with_rates(calibrated.train[given.rows], given.codes, right), test_codes)


def fit_by_class(predictions: Sequence[LabelPredictions], test_codes: Codes, given: GivenLabels) -> JointFit:
    """Some labels are wrong, at even rates unless uneven ones say clearly more."""
    even, free = (_in_turns(predictions, test_codes, replace(given, look=None), even=even) for even in (True, False))
    return free if uneven_are_better(even.noise, free.noise, free.log_likelihood - even.log_likelihood) else even


def fit_following(predictions: Sequence[LabelPredictions], test_codes: Codes, given: GivenLabels) -> JointFit:
    """Some labels follow the look of their row."""
    return _in_turns(predictions, test_codes, given, even=False)


def averaged_with_test_labels_alone(
    fit: JointFit, predictions: Sequence[LabelPredictions], test_codes: Codes, given: GivenLabels
) -> JointFit:
    """The fit with W halfway to that by predictors which the test labels alone have calibrated.

    Where labels follow the look of their row, thousands of training labels say more about a and b than they know; the
    test labels alone say less than they could. The one states too few errors, the other too many.
    """
    calibrated = calibrate(predictions, test_codes)
    alone = given.noise(calibrated, even=fit.noise.even, start=fit.noise)
    halfway = 0.5 * (fit.noise.posterior + alone.posterior)
    beliefs = (*fit.beliefs, believed(calibrated, alone, given.look))
    return replace(fit, noise=replace(fit.noise, posterior=halfway), beliefs=beliefs)


def contradicts_test_labels(
    fit: JointFit, predictions: Sequence[LabelPredictions], test_codes: Codes, given: GivenLabels, test_folds: Rows
) -> bool:
    """Whether test labels, held out, are less likely with a and b by all labels than by other test labels alone.

    Then the training labels have outvoted them: labels did not go wrong as the fit has it.
    """
    some, of_these = sampled(given, predictions)
    likelihood = some.likelihood(fit.noise.rates, fit.noise.follow)
    together = held_out_log_likelihood(of_these, test_codes, test_folds, likelihood, fit.calibrated)
    return together < held_out_log_likelihood(of_these, test_codes, test_folds) - chance(1)


def held_out_log_likelihood(
    predictions: Sequence[LabelPredictions],
    test_codes: Codes,
    test_folds: Rows,
    train_likelihood: Floats | None = None,
    start: Calibrated | None = None,
) -> float:
    """Log likelihood of the test labels, each fold with a and b from the others, and from training labels if given."""
    total, taught = (
        0.0,
        slice(None) if train_likelihood is not None else slice(0),
    )  # training rows that are learned from
    for fold in range(policy.FOLDS):
        apart = test_folds == fold
        others = [LabelPredictions(each.name, each.train[taught], each.test[~apart]) for each in predictions]
        calibrated = calibrate(others, test_codes[~apart], train_likelihood, start)
        total += log_likelihood(calibrated.of([each.test[apart] for each in predictions]), test_codes[apart])
    return total


def sampled(given: GivenLabels, predictions: Sequence[LabelPredictions]) -> tuple[GivenLabels, list[LabelPredictions]]:
    """As many labels as calibration needs to learn from, and the predictions of these alone."""
    some = given.at(few(np.arange(len(given.rows)), 0))
    of_these = [LabelPredictions(each.name, each.train[some.rows], each.test) for each in predictions]
    return replace(some, rows=np.arange(len(some.rows))), of_these


def _in_turns(
    predictions: Sequence[LabelPredictions], test_codes: Codes, given: GivenLabels, *, even: bool
) -> JointFit:
    some, of_these = sampled(given, predictions)
    rates, before, noise = even_rates(predictions[0].test.shape[1], START), -np.inf, None
    calibrator = Calibrator.of(of_these, test_codes, by_training=True)
    calibrated = calibrator.best(some.likelihood(rates, START_FOLLOWING if given.look else None))
    for _ in range(ROUNDS):
        noise = some.noise(calibrated, even=even, start=noise, rounds=ROUNDS_OF_EM)
        now = noise.log_likelihood + log_likelihood(calibrated.test, test_codes)
        if abs(now - before) < SETTLED:
            break
        likelihood = some.likelihood(noise.rates, noise.follow)
        calibrated, before = calibrator.best(likelihood, calibrated), now
    calibrated = calibrated.applied_to(predictions)
    return JointFit.of(calibrated, given.noise(calibrated, even=even, start=noise), test_codes, given.look)
