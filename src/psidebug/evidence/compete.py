"""Hypotheses compete: searches propose slices, the most promising are weighed, and the one with most evidence wins."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np

from psidebug import policy
from psidebug.evidence.annotators import Annotated, look_of
from psidebug.evidence.contest import (
    Contest,
    joint_surplus,
    mislabelled,
    predictions_without,
    rates_of,
    scattered,
    scattered_jointly,
    with_repaired_labels,
)
from psidebug.evidence.held_out import Floats
from psidebug.evidence.hypotheses import Hypothesis
from psidebug.evidence.noise_rates import with_rates
from psidebug.evidence.parents import parents
from psidebug.evidence.predictors import AS_THEY_CAME, FOREST, OWN, OWN_ON_TEST, Predictors
from psidebug.evidence.proposals import proposed
from psidebug.slices.conditions import Slice
from psidebug.task.annotations import Annotations
from psidebug.timings import Tick


def compete(contest: Contest, effects: Floats | None, tick: Tick) -> list[Hypothesis]:
    """Hypotheses about how the labels came about, the one with the most evidence first.

    ``effects`` (N,) is what moving each label does to the test loss, by the gray box. Predictors are trained anew for
    the slices that promise most.
    """
    hypotheses = compared(contest, effects, tick)
    hypotheses[0] = with_repaired_labels(contest, hypotheses[0])
    if (answers := contest.task.data.annotations) is not None:
        hypotheses[0] = _with_answers(contest, hypotheses[0], answers)
    return hypotheses


def evidence_by_plain_predictors(everyone: Predictors, tick: Tick) -> float:
    """Nats against the training labels by the best hypothesis, without the user's learner where others can predict."""
    plain = everyone.without([OWN, OWN_ON_TEST])
    contest = Contest.of(everyone.task, plain if plain.everyone else everyone)
    return compared(contest, None, tick)[0].evidence


def evidence_soon_found(everyone: Predictors, slices: Sequence[Slice], ignored: Collection[str]) -> float:
    """No more than the same, by a linear predictor alone, of scattered errors and of slices without some columns."""
    linear = everyone.without([OWN, OWN_ON_TEST, FOREST, AS_THEY_CAME.format(FOREST)])
    if not linear.everyone:
        return -np.inf
    contest = Contest.of(everyone.task, linear)
    own = [replace(each, held=None) for each in slices if not set(each.columns) & set(ignored)]
    found = [scattered(contest)]
    if own and not any(each.everyone(everyone.task).all() for each in own):
        found.append(mislabelled(contest, own, predictions_without(contest, own)))
    return max(each.evidence for each in found if each.likely) if any(each.likely for each in found) else -np.inf


def compared(contest: Contest, effects: Floats | None, tick: Tick) -> list[Hypothesis]:
    """The same by the predictors that there are: none is trained on repaired labels, and no annotator is heard."""
    tick("slices", 0, 1)
    first = scattered(contest)
    found = proposed(
        contest.task, contest.binned, first.p_wrong(contest.labels.codes), contest.calibrated.train, effects
    )
    best_scattered, bar = scattered_jointly(contest, first)
    hypotheses = [best_scattered]
    weighed = [[each] for each in promising(contest, first, found)[: policy.SLICES_WEIGHED]]
    for slices in weighed:
        predictions = predictions_without(contest, slices)
        hypothesis = mislabelled(contest, slices, predictions)
        if bar is None or joint_surplus(contest, hypothesis, predictions) > bar:
            hypotheses.append(hypothesis)
    hypotheses.sort(key=lambda each: -each.surplus)
    while (best := hypotheses[0]).slices and len(best.slices) < policy.MOST_PARTS:
        slices = [*best.slices, *promising(contest, best, found)[:1]]
        if len(slices) == len(best.slices):
            break
        longer = mislabelled(contest, slices, predictions_without(contest, slices))
        if not longer.surplus > best.surplus:
            break
        hypotheses.insert(0, longer)
    return hypotheses


def promising(contest: Contest, by: Hypothesis, found: list[Slice]) -> list[Slice]:
    """Slices that gain by rates of their own, most first; of nearly the same rows one, with no needless condition."""
    promises = sorted(((promise(contest, each, by), -place) for place, each in enumerate(found)), reverse=True)
    kept: list[Slice] = []
    for gain, place in promises:
        if gain <= 0:
            break
        each = _widest(contest, by, found[-place], gain)
        inside, taken = np.zeros(len(contest.labels.codes), dtype=bool), [*kept, *by.slices]
        inside[each.members] = True
        same = any(set(own.conditions) == set(each.conditions) for own in taken)
        shared = ((inside[own.members].sum(), len(each.members), len(own.members)) for own in taken)
        if not same and not any(both > policy.MAJORITY * min(sizes) for both, *sizes in shared):
            kept.append(each)
    return kept


def promise(contest: Contest, suspect: Slice, by: Hypothesis) -> float:
    """Nats that rates of its own would gain for a slice, with nothing trained anew; less the charge for choosing it."""
    members = suspect.everyone(contest.task)
    if members.all() or not members.any():
        return -np.inf
    given, logs = contest.labels.codes[members], by.calibrated.train[members]
    alone = rates_of(contest, logs, members)
    before = sum(
        with_rates(logs[part], given[part], rates).log_likelihood
        for group, rates in enumerate(by.rates)
        if (part := by.groups[members] == group).any()
    )
    return alone.log_likelihood - before - suspect.charge - alone.charge


def _widest(contest: Contest, by: Hypothesis, one: Slice, gain: float) -> Slice:
    """The slice, or the one that some of its conditions make, if that promises as much: the others are needless."""
    wider = [(promise(contest, each, by), each) for each in parents(contest.task, one)]
    most, best = max(wider, key=lambda each: each[0], default=(-np.inf, one))
    return best if most >= gain else one


def _with_answers(contest: Contest, best: Hypothesis, answers: Annotations) -> Hypothesis:
    """The best hypothesis, rows with answers judged by these; its evidence is that of the given labels, as before.

    P is by test labels alone, or without the accused slices: a joint fit has learned from the given labels, and these
    come from the answers. A class with hardly any test rows is possible where an annotator says it.
    """
    logs = best.calibrated.train if best.slices else contest.calibrated.train
    look = look_of(contest.predictions, answers)
    possible = None if best.possible is None else best.possible | answers.said(contest.task.encoding.size)
    annotated = Annotated.of(answers, logs, look, contest.labels.known, possible)
    return replace(best, posterior=annotated.over(best.posterior), annotated=annotated)
