"""Labels weighed by some of the rows: without copies, without test rows of a kind, or in other shares; told of all."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from psidebug.causes.duplicates import row_keys
from psidebug.evidence.held_out import Rows
from psidebug.evidence.hypotheses import Hypothesis
from psidebug.task.data import LabelledSet
from psidebug.task.tables import take
from psidebug.task.task import Task


def in_shares_of_training(task: Task) -> Rows:
    """As many test rows of each class as training has, in proportion: drawn by chance, all of the scarcest class."""
    size, rng = task.encoding.size, np.random.default_rng(task.seed)
    trained, tested = (np.bincount(each.codes, minlength=size) for each in (task.train, task.test))
    both = (trained > 0) & (tested > 0)
    scale = float((tested[both] / trained[both]).min())
    drawn = [
        rng.permutation(np.flatnonzero(task.test.codes == code))[: round(scale * trained[code])]
        for code in np.flatnonzero(both)
    ]
    return np.sort(np.concatenate(drawn))


def tested_by(task: Task, kept: Rows) -> Task:
    """The task of somebody who has these test rows alone."""
    test = LabelledSet(take(task.test.features, kept), task.test.codes[kept])
    bugs = np.flatnonzero(np.isin(kept, task.bugs))
    opinion = None if task.data.opinion is None else task.data.opinion.of_tests(kept)
    data = replace(task.data, test=test, opinion=opinion)
    return replace(task, data=data, predicted=task.predicted[kept], bugs=bugs)


def of_all_tests(hypothesis: Hypothesis, task: Task, kept: Rows) -> Hypothesis:
    """A hypothesis about some test labels, for all: nothing speaks against the others."""
    posterior, groups = np.eye(task.encoding.size)[task.test.codes], np.zeros(len(task.test), dtype=np.intp)
    logs = np.full_like(posterior, -np.log(task.encoding.size))
    posterior[kept], groups[kept], logs[kept] = hypothesis.posterior, hypothesis.groups, hypothesis.calibrated.train
    slices = tuple(replace(each, members=kept[each.members], held=None) for each in hypothesis.slices)
    calibrated = replace(hypothesis.calibrated, train=logs)
    return replace(hypothesis, slices=slices, groups=groups, posterior=posterior, calibrated=calibrated, possible=None)


def of_all_rows(hypothesis: Hypothesis, task: Task, kept: Rows) -> Hypothesis:
    """A hypothesis about rows without their copies, for all rows: a copy has the posterior of the row that was kept."""
    keys = row_keys(task.data)[0]
    order = np.argsort(keys[kept])
    place = order[np.searchsorted(keys[kept][order], keys)]
    slices = (
        replace(each, members=np.flatnonzero(each.everyone(task) & (task.train.codes == each.given)))
        for each in hypothesis.slices
    )
    return replace(
        hypothesis,
        slices=tuple(slices),
        calibrated=replace(hypothesis.calibrated, train=hypothesis.calibrated.train[place]),
        groups=hypothesis.groups[place],
        posterior=hypothesis.posterior[place],
        possible=None if hypothesis.possible is None else hypothesis.possible[place],
        annotated=None,
    )
