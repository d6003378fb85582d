"""Hypotheses about the labels of a task compete: scattered errors, and the slices that three searches propose."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from psidebug import policy
from psidebug.evidence.contest import (
    Contest,
    joint_surplus,
    mislabelled,
    predictions_without,
    promise,
    scattered,
    scattered_jointly,
)
from psidebug.evidence.held_out import Floats
from psidebug.evidence.hypotheses import Hypothesis
from psidebug.evidence.predictors import Predictors
from psidebug.slices.find import searchable, slices_by_label_share, slices_by_score
from psidebug.slices.slices import Slice
from psidebug.task.task import Task
from psidebug.training.trainer import Trainer

Tick = Callable[[str, int, int], None]


def compete(
    task: Task, trainer: Trainer, effects: Floats | None, stated: Floats | None, tick: Tick
) -> list[Hypothesis]:
    """Hypotheses about how the labels came about, the one with the most evidence first.

    ``effects`` (N,) is what moving each label does to the test loss, by the gray box; ``stated`` (N, K) a prior that
    the user gave. Predictors are trained anew for the slices that promise most.
    """
    tick("evidence", 0, 1)
    contest = Contest.of(task, Predictors.of(task, trainer), stated)
    first = scattered(contest)
    tick("slices", 0, 1)
    found = _proposed(task, first.p_wrong(contest.labels.codes), effects)
    best_scattered, bar = scattered_jointly(contest, first)
    hypotheses = [best_scattered]
    for each in _promising(contest, first, found)[: policy.SLICES_WEIGHED]:
        predictions = predictions_without(contest, [each])
        hypothesis = mislabelled(contest, [each], predictions)
        if bar is None or joint_surplus(contest, hypothesis, predictions) > bar:
            hypotheses.append(hypothesis)
    hypotheses.sort(key=lambda each: -each.surplus)
    while (best := hypotheses[0]).slices and len(best.slices) < policy.MOST_SLICES:
        slices = [*best.slices, *_promising(contest, best, found)[:1]]
        if len(slices) == len(best.slices):
            break
        longer = mislabelled(contest, slices, predictions_without(contest, slices))
        if not longer.surplus > best.surplus:
            break
        hypotheses.insert(0, longer)
    return hypotheses


def _proposed(task: Task, p_wrong: Floats, effects: Floats | None) -> list[Slice]:
    """Slices by three searches: where training labels are not those of the test set, where scattered errors would be
    thickest, and where labels have the largest effect."""
    came = task.as_it_came  # labels that were wrong and are settled still show where others are
    within = searchable(came)
    found = slices_by_label_share(came, most=policy.SLICES_LISTED)
    for scores in (p_wrong,) if effects is None else (p_wrong, effects):
        found += slices_by_score(came, scores, most=policy.SLICES_LISTED, within=within)
    if task.known is None:
        return found
    unsettled = [replace(each, members=each.members[~task.known[each.members]]) for each in found]
    return [each for each in unsettled if len(each.members)]


def _promising(contest: Contest, by: Hypothesis, found: list[Slice]) -> list[Slice]:
    """Slices that gain by rates of their own, most first; of nearly the same rows one."""
    promises = sorted(((promise(contest, each, by), -place) for place, each in enumerate(found)), reverse=True)
    kept: list[Slice] = []
    for gain, place in promises:
        each = found[-place]
        if gain > 0 and not any(_overlap(each, other) for other in [*kept, *by.slices]):
            kept.append(each)
    return kept


def _overlap(one: Slice, other: Slice) -> bool:
    both = len(np.intersect1d(one.members, other.members))
    return both > policy.SAME_RANGE * min(len(one.members), len(other.members))
