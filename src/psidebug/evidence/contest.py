"""Hypotheses are weighed in one currency: the held-out log likelihood of all labels, in nats,

    E = Σ_i log Σ_k P(k | x_i) R_g(i)(y_i | k)  +  Σ_t log P(y_t | x_t),

training labels through the noise rates of their group, test labels as they are. The predictors P of a hypothesis never
learn from the slices that it accuses. The baseline, "the labels are right", is R = 1. What a hypothesis gains on that
must exceed its charge: log(conditions looked at) for each slice, ½ log n for each rate, and (N/M) χ²/2 for the p
numbers that calibrate the predictors on M test points and are then applied to N training rows: what chance gains on
clean labels, by the 95% point of χ² with p degrees of freedom. Scattered errors are weighed once more by
:mod:`psidebug.evidence.joint_fit`, which also learns from the training labels: they have rates by class, or follow the
look of their row (decision 23).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from psidebug import policy
from psidebug.evidence.belief import Belief
from psidebug.evidence.calibration import Calibrated, calibrate, chance
from psidebug.evidence.held_out import Floats, LabelPredictions, Mask, log_probabilities
from psidebug.evidence.hypotheses import Hypothesis
from psidebug.evidence.joint_fit import (
    GivenLabels,
    JointFit,
    averaged_with_test_labels_alone,
    contradicts_test_labels,
    fit_by_class,
    fit_following,
    fit_none_wrong,
    held_out_log_likelihood,
)
from psidebug.evidence.noise_rates import NoiseFit, even_rates, fit_rates, log_likelihood, with_rates
from psidebug.evidence.predictors import OWN, Predictors
from psidebug.slices.binned import Binned
from psidebug.slices.conditions import Slice
from psidebug.task.labels import Codes
from psidebug.task.task import Task


@dataclass(frozen=True, eq=False)
class Contest:
    """What all hypotheses about the labels of a task are weighed with."""

    task: Task
    labels: GivenLabels
    """Of all training rows, as they came."""
    stated: Floats | None
    """A prior (N, K) that the user gave."""
    predictors: Predictors
    """Those that are worth training again."""
    predictions: Sequence[LabelPredictions]
    """By everyone, trained on all labels."""
    calibrated: Calibrated
    """These, calibrated on the test labels alone."""
    cut: Callable[[], Binned]
    """Who cuts the columns, if they are searched."""

    @classmethod
    def of(
        cls,
        task: Task,
        predictors: Predictors,
        stated: Floats | None = None,
        *,
        cut: Callable[[], Binned] | None = None,
    ) -> Contest:
        """Trains every predictor once; ``cut`` may give columns that another contest has cut."""
        predictions = predictors.predict()
        calibrated = calibrate(predictions, task.test.codes)
        predictors = predictors.without(calibrated.unused)
        cut = partial(Binned.of, task) if cut is None else cut
        return cls(task, given_labels(task, stated), stated, predictors, predictions, calibrated, cut)

    @cached_property
    def binned(self) -> Binned:
        """The columns in cells, for all searches."""
        return self.cut()

    @cached_property
    def baseline(self) -> float:
        """Log likelihood of all labels if they are right."""
        return log_likelihood(self.calibrated.train, self.labels.codes) + self.of_test(self.calibrated)

    @cached_property
    def undecided(self) -> Mask:
        """Rows whose true label may be another than the given one."""
        possible = self.labels.possible
        return np.ones(len(self.labels.codes), dtype=bool) if possible is None else possible.sum(axis=1) > 1

    @property
    def miscalibration(self) -> float:
        """What chance gains for each row by the biases of the classes, K-1 numbers calibrated on M test points."""
        return chance(self.task.encoding.size - 1) / len(self.task.test)

    def of_test(self, calibrated: Calibrated) -> float:
        """Log likelihood of the test labels."""
        return log_likelihood(calibrated.test, self.task.test.codes)

    def undecided_in(self, own: Mask) -> GivenLabels:
        """The labels of these rows that may be wrong, in an order that does not depend on how the rows came."""
        order = self.task.data.in_order_of_ids
        return self.labels.at(order[(own & self.undecided)[order]])


def worth_asking(everyone: Predictors) -> Predictors:
    """Without the user's learner, if it is slow and counts for nothing beside the others: then no fold is trained.

    What the model says of the test rows as it was fitted is known, and it has learned from more rows than the model of
    a fold has. If the test labels give it no weight, they give none to its folds.
    """
    task, others = everyone.task, everyone.without([OWN])
    if not others.everyone or all(each.quick for each in everyone.everyone if each.name == OWN):
        return everyone
    scores = task.scores
    unseen = np.zeros((len(task.train), task.encoding.size))  # what it says of training rows is not asked
    fitted = LabelPredictions(OWN, unseen, log_probabilities(scores))
    return others if OWN in calibrate([*others.predict(), fitted], task.test.codes).unused else everyone


def scattered(contest: Contest) -> Hypothesis:
    """Errors here and there, at rates that depend on the classes alone, by the test labels alone."""
    return _weighed(contest, (), contest.calibrated)


def scattered_jointly(
    contest: Contest, by_test_labels: Hypothesis, from_repaired: Sequence[LabelPredictions] | None = None
) -> tuple[Hypothesis, float | None]:
    """Scattered errors by the joint fit, if that explains the labels; and the nats that slices must then exceed.

    It is believed where errors gain more nats than they cost. Elsewhere labels that are wrong together may have taught
    it, and the fit by test labels alone is believed, unless that finds nothing and errors gain a little here. Labels
    follow the look of their row if that says more than rates by class do, or where these contradict the test labels;
    ``from_repaired`` are predictions for which that has been decided.
    """
    if contest.stated is not None:
        return by_test_labels, None
    predictions = contest.predictions if from_repaired is None else from_repaired
    given, test_codes = contest.undecided_in(by_test_labels.groups == 0), contest.task.test.codes
    right, wrong = _joint_fits(contest, predictions, given)
    bar = wrong.surplus if wrong.surplus > right.log_likelihood else None
    folds = contest.predictors.folds.test
    refuted = from_repaired is not None or contradicts_test_labels(wrong, predictions, test_codes, given, folds)
    given = given.looked_at(contest.predictions)
    follows = fit_following(predictions, test_codes, given)
    if follows.surplus > wrong.surplus or (refuted and follows.surplus > right.log_likelihood):
        wrong = averaged_with_test_labels_alone(follows, predictions, test_codes, given)
    evidence, charge = wrong.log_likelihood - right.log_likelihood, wrong.charge
    if evidence <= charge and (by_test_labels.likely or evidence <= policy.LEAST_JOINT_GAIN):
        return by_test_labels, None
    posterior = np.eye(contest.task.encoding.size)[contest.labels.codes]
    posterior[given.rows] = wrong.noise.posterior
    if evidence - charge < by_test_labels.surplus:
        evidence, charge = by_test_labels.evidence, by_test_labels.charge
    hypothesis = replace(
        by_test_labels,
        calibrated=wrong.calibrated,
        rates=(wrong.noise.rates,),
        posterior=posterior,
        evidence=evidence,
        charge=charge,
        log_likelihood=wrong.surplus,
        miscalibration=0.0,  # what is uncertain about the calibration was weighed with the rates
        follow=wrong.noise.follow,
        beliefs=wrong.beliefs,
    )
    return hypothesis, bar


def with_repaired_labels(contest: Contest, best: Hypothesis) -> Hypothesis:
    """Scattered errors that follow the look of their row, with one more predictor: the learner on repaired labels.

    The user's learner has learned to repeat such errors; trained on the likeliest labels instead, each with the
    confidence in it as its weight, and on test rows of other folds, it predicts better. It stays if the test labels,
    held out, are likelier by it.
    """
    if best.slices or best.follow is None:
        return best
    test_codes, folds, by_test_labels = contest.task.test.codes, contest.predictors.folds.test, scattered(contest)
    kept, reached = list(contest.predictions), held_out_log_likelihood(contest.predictions, test_codes, folds)
    for _ in range(policy.ASKED_AGAIN):
        again = contest.predictors.predict_from_repaired(by_test_labels.posterior)
        if again is None:
            break
        tried = [*contest.predictions, again]
        now, calibrated = held_out_log_likelihood(tried, test_codes, folds), calibrate(tried, test_codes)
        if now <= reached or again.name in calibrated.unused:
            break
        kept, reached = tried, now
        by_test_labels = _weighed(contest, (), calibrated)
    if len(kept) == len(contest.predictions):
        return best
    hypothesis, _ = scattered_jointly(contest, by_test_labels, kept)
    return hypothesis


def predictions_without(contest: Contest, slices: Sequence[Slice]) -> list[LabelPredictions]:
    """By predictors that learn from no label inside these slices, unless too little would be left."""
    within = np.logical_or.reduce([each.everyone(contest.task) for each in slices])
    codes = contest.task.train.codes
    enough = within.mean() <= policy.MAJORITY and set(codes[~within].tolist()) == set(codes.tolist())
    return contest.predictors.predict(within, slices) if enough else contest.predictors.predict()


def mislabelled(contest: Contest, slices: Sequence[Slice], predictions: Sequence[LabelPredictions]) -> Hypothesis:
    """These slices have rates of their own, whatever happens elsewhere; with the predictions without them."""
    return _weighed(contest, tuple(slices), calibrate(predictions, contest.task.test.codes))


def joint_surplus(contest: Contest, accused: Hypothesis, predictions: Sequence[LabelPredictions]) -> float:
    """Log likelihood less charges of a hypothesis of mislabelled slices, by the joint fit of all other labels."""
    right, wrong = _joint_fits(contest, predictions, contest.undecided_in(accused.groups == 0))
    total = max(right.log_likelihood, wrong.surplus)
    calibrated = (right if total == right.log_likelihood else wrong).calibrated
    for group, each in enumerate(accused.slices, start=1):
        own = (accused.groups == group) & contest.undecided
        noise = rates_of(contest, calibrated.train[own], own)
        total += noise.log_likelihood - noise.charge - each.charge
    return total


def _weighed(contest: Contest, slices: tuple[Slice, ...], calibrated: Calibrated) -> Hypothesis:
    given, known, size = contest.labels.codes, contest.labels.known, contest.task.encoding.size
    groups = np.zeros(len(given), dtype=np.intp)
    for number, each in enumerate(slices, start=1):
        groups[each.everyone(contest.task)] = number
    posterior, rates, total, shares = np.empty((len(given), size)), [], 0.0, None
    calibration = chance(max(calibrated.parameters, 1)) * len(given) / len(contest.task.test)
    charge = calibration + sum(each.charge for each in slices)
    for group in range(len(slices) + 1):
        own = groups == group
        logs, codes = calibrated.train[own], given[own]
        if group == 0 and contest.stated is not None and own.any():
            shares = np.exp(logs).mean(axis=0)
            noise = _stated_rates(logs, codes, contest.stated[own], shares)
        else:
            noise = rates_of(contest, logs, own)
            gain = noise.log_likelihood - log_likelihood(logs, codes)
            if slices and group == 0 and gain <= calibration + noise.charge:  # what chance would gain elsewhere
                noise = with_rates(logs, codes, even_rates(size, policy.RATE_ELSEWHERE))
        posterior[own] = noise.posterior
        rates.append(noise.rates)
        total += noise.log_likelihood
        charge += noise.charge
    if known is not None:  # also where rates were not learned
        posterior[known >= 0] = np.eye(size)[known[known >= 0]]
    return Hypothesis(
        slices,
        calibrated,
        groups,
        tuple(rates),
        posterior,
        evidence=total + contest.of_test(calibrated) - contest.baseline,
        charge=charge,
        log_likelihood=total + contest.of_test(calibrated) - (charge - calibration),
        possible=contest.labels.possible,
        stated=contest.stated is not None,
        miscalibration=contest.miscalibration,
        beliefs=(Belief(calibrated, tuple(rates), shares=shares),),
    )


def rates_of(contest: Contest, logs: Floats, own: Mask) -> NoiseFit:
    """The noise rates of some rows, by log P of their labels."""
    labels = contest.labels.at(own)
    return fit_rates(logs, labels.codes, labels.known, labels.possible, miscalibration=contest.miscalibration)


def _stated_rates(logs: Floats, given: Codes, stated: Floats, shares: Floats) -> NoiseFit:
    """What the user states is P(true label | given label) row by row: with it the rates need not be learned."""
    size = logs.shape[1]
    joint = logs + (np.log(np.maximum(stated, 1e-300)) - np.log(np.maximum(shares, 1e-6)))
    joint = np.exp(joint - joint.max(axis=1, keepdims=True))
    posterior = joint / joint.sum(axis=1, keepdims=True)
    counts = posterior.T @ np.eye(size)[given] + np.eye(size)
    rates = counts / counts.sum(axis=1, keepdims=True)
    return NoiseFit(rates, posterior, with_rates(logs, given, rates).log_likelihood)


def _joint_fits(
    contest: Contest, predictions: Sequence[LabelPredictions], given: GivenLabels
) -> tuple[JointFit, JointFit]:
    test_codes = contest.task.test.codes
    return fit_none_wrong(predictions, test_codes, given), fit_by_class(predictions, test_codes, given)


def given_labels(task: Task, stated: Floats | None) -> GivenLabels:
    """The labels as they came, those that a person has settled, and which classes the others may have.

    A stated prior may rule classes out; a class with hardly any test rows keeps its labels and gets no others.
    """
    given, classes = task.train.codes, np.arange(task.encoding.size)
    possible = None if stated is None else np.asarray(stated > 0)
    untested = np.bincount(task.test.codes, minlength=len(classes)) < policy.LEAST_ROWS
    if untested.any():
        possible = np.ones((len(given), len(classes)), dtype=bool) if possible is None else possible
        possible[untested[given]] = False
        possible[:, untested] = False
        possible[np.arange(len(given)), given] = True
    known = None if task.data.known is None else np.where(task.data.known, given, -1)
    if known is not None and possible is not None:
        possible |= known[:, None] == classes
    return GivenLabels(task.as_it_came.train.codes, np.arange(len(given)), known, possible)
