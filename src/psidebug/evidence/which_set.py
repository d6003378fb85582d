"""Which set has the wrong labels? Training labels and test labels that contradict each other accuse each other.

The contest trusts the test labels. Mirrored, it trusts the training labels, and looks for errors in the test labels.
Where both find some, a third party decides. In a slice S these are predictors P that know no label inside it, of either
set. The labels that are wrong need noise rates to be explained by them, the others do not:

    max_R 1/|S| Σ_{i∈S} log Σ_k P(k | x_i) R(y_i | k) / P(y_i | x_i)

is compared between the sets, in the slices of both hypotheses. To that comes the likelihood of all labels under either,
which decides where no slice is accused. Alone it fails where a flexible learner has learned the wrong labels of a
slice; the third party alone fails where only the wrong hypothesis has slices. Where both accuse the same rows, all
other labels are right by either, and the third party decides alone: there the likelihoods differ by how well P was
calibrated, by one on the M test labels and by the other on the N training labels, and the few that are lost for each
row outweigh the slice as N grows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.special import softmax

from psidebug import policy
from psidebug.evidence.calibration import calibrate
from psidebug.evidence.held_out import Floats, LabelPredictions, Mask, Without
from psidebug.evidence.hypotheses import Hypothesis
from psidebug.evidence.noise_rates import fit_rates, log_likelihood
from psidebug.evidence.predictors import OWN_ON_TEST, Predictors
from psidebug.slices.conditions import inside_both
from psidebug.task.labels import Codes
from psidebug.task.task import Task

UNSURE = 0.05
"""Part of every probability that is spread over all classes."""


def mirrored(task: Task) -> Task:
    """The test rows to train on, and the training rows to test with; the learner is the same, and was trained before.

    Nobody asks about its errors.
    """
    data = task.data
    swapped = replace(
        data,
        train=data.test,
        test=data.train,
        rows=np.arange(len(data.test)),
        given_labels=data.encoding.decode(data.test.codes),
        validation=None,
        metadata=None,
        sample_weight=None,
        known=None,
        came=None,
        annotations=None,
        opinion=None,
        test_metadata=None,
        part_of=None,
    )
    return Task(task.learner, swapped, data.train.codes, np.empty(0, dtype=np.intp), task.seed, task.fitted_by_user)


def noise_in_test_labels(predictions: Sequence[LabelPredictions], train: Codes, test: Codes) -> float:
    """Nats that noise rates of test labels gain beyond their charge, by predictors calibrated on training labels."""
    calibrated = calibrate([each.exchanged for each in predictions], train)
    noise = fit_rates(calibrated.train, test)
    return noise.log_likelihood - log_likelihood(calibrated.train, test) - noise.charge


def training_labels_rather(predictors: Predictors, of_train: Hypothesis, of_test: Hypothesis) -> float:
    """Nats that speak for errors in the training labels, and against errors in the test labels; < 0 the other way.

    The likelihood of all labels under either, and what a third party says of the slices that each accuses; that alone
    if these are the same rows, and it can tell.
    """
    third_party, accused = 0.0, []
    for each in (of_train, of_test):
        area = inside_both(each.slices, predictors.task.data)
        if area is not None and all(rows.any() and not rows.all() for rows in area):
            third_party += _in_slice(predictors, Without(*area))
            accused.append(np.concatenate(area))
    if third_party != 0.0 and len(accused) == 2 and _same_rows(*accused):
        return third_party
    return of_train.log_likelihood - of_test.log_likelihood + third_party


def _same_rows(one: Mask, other: Mask) -> bool:
    """Whether most rows that either accuses are accused by both."""
    return int((one & other).sum()) > policy.MAJORITY * int((one | other).sum())


def _in_slice(predictors: Predictors, area: Without) -> float:
    """By how much more the training labels inside need noise rates than the test labels do, for as many rows.

    0 if a class is hardly known outside: who has not seen it cannot say that it is not there. 0 also if they cannot
    explain the labels of either set: then they do not know such rows.
    """
    task = predictors.task
    if not _known_outside(task, *area):
        return 0.0
    said = _outsiders(predictors, area)
    codes = task.train.codes[area.train], task.test.codes[area.test]
    needed = [_needs(logs, own) / len(own) for logs, own in zip(said, codes, strict=True)]
    if min(needed) > policy.HARDLY_ANY * max(needed):
        return 0.0
    return (needed[0] - needed[1]) * min(len(each) for each in codes)


def _known_outside(task: Task, train: Mask, test: Mask) -> bool:
    """Whether of every class a fair share of its labels is outside, by one of the sets: the other may be the wrong."""
    size, shares = task.encoding.size, []
    for codes, inside in ((task.train.codes, train), (task.test.codes, test)):
        every, outside = np.bincount(codes, minlength=size), np.bincount(codes[~inside], minlength=size)
        shares.append(np.where(every > 0, outside / np.maximum(every, 1), np.nan))
    known = np.fmax(*shares)  # NaN of a class that neither has
    return not (known < policy.HARDLY_ANY).any()


def _needs(logs: Floats, codes: Codes) -> float:
    """Nats that noise rates gain, beyond their charge."""
    noise = fit_rates(logs, codes)
    return max(noise.log_likelihood - log_likelihood(logs, codes) - noise.charge, 0.0)


def _outsiders(predictors: Predictors, area: Without) -> tuple[Floats, Floats]:
    """Log probabilities of the rows inside, by predictors that have seen no label there; uniform if none can be had.

    The learner that was trained on the test set alone is not asked: what it knows, the others know.
    """
    size, said = predictors.task.encoding.size, predictors.without([OWN_ON_TEST]).inside(area)
    counts = int(area.train.sum()), int(area.test.sum())
    means = [np.mean([each[at] for each in said], axis=0) if said else np.zeros((counts[at], size)) for at in (0, 1)]
    # They speak of rows unlike those that they know: never too sure.
    sure = [(1.0 - UNSURE) * softmax(each, axis=1) + UNSURE / size for each in means]
    return np.log(sure[0]), np.log(sure[1])
