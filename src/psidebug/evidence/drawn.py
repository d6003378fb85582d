"""Labels are weighed by a part of the rows if there are many, and what comes of it is applied to all of them.

A few thousand labels say how far predictors are believed and how labels go wrong; a hundred times as many say hardly
more, since it is the test labels that are few. What is left for the other rows is one look at each: what predictors say
of it that never saw it, and the posterior by the same rule. It goes over the rows in blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

import numpy as np

from psidebug.blocks import lots
from psidebug.evidence.belief import Labels, mean_posterior
from psidebug.evidence.calibration import Calibrated
from psidebug.evidence.contest import given_labels
from psidebug.evidence.held_out import Elsewhere, Floats, Rows
from psidebug.evidence.hypotheses import Hypothesis
from psidebug.evidence.joint_fit import GivenLabels
from psidebug.task.data import Data
from psidebug.task.task import Task

MOST_WEIGHED = 10_000
"""Training rows that hypotheses are weighed by. Measured on 30,000 rows: average precision is the same within 0.003
with 5,000, 10,000, 20,000 and all (decision 29)."""
MOST_WITHOUT_A_COLUMN = 3_000
"""The same, where the question is whether labels are wrong without a column, too; ``psi bench causes`` has no more."""
MOST_LOOKED_AT = 20_000
"""Training rows in which units, codes and dead columns are looked for; only if these show one, all are. A code that 1%
of the rows have is there 200 times."""
RARE = 0.01
"""Part of the drawn rows up to which all rows of a class are among them."""
BLOCK, BLOCK_NUMBERS = 50_000, 2**22
"""Rows that are looked at together, and numbers in them: predictors scale and copy what they look at."""


def drawn_rows(data: Data, count: int, seed: int = 0) -> Rows:
    """So many training rows, drawn by chance, the same in whatever order they came; and all of rare classes.

    A row's lot is that of its number, so that a part of a part is drawn as it is from all, and from files as from an
    array (:func:`psidebug.blocks.lots`).
    """
    whole = data.whole
    drawn = whole.class_counts[data.train.codes] <= count * RARE
    drawn[np.argsort(-lots(whole.numbers, seed), kind="stable")[:count]] = True
    return np.flatnonzero(drawn)


def weighed_rows(task: Task) -> Rows | None:
    """The training rows that hypotheses are weighed by; None if all are, as where annotators have answered."""
    if len(task.train) <= MOST_WEIGHED or task.data.annotations is not None:
        return None
    drawn = drawn_rows(task.data, MOST_WEIGHED, task.seed)
    return drawn if len(drawn) < len(task.train) else None  # where all classes are rare, all rows are drawn


def of_all(hypotheses: Sequence[Hypothesis], drawn: Rows, task: Task, stated: Floats | None) -> tuple[Hypothesis, ...]:
    """Hypotheses about the drawn rows of a task, for all its rows; nats are those of the drawn rows."""
    labels = given_labels(task, stated)
    others = np.ones(len(task.train), dtype=bool)
    others[drawn] = False
    extended = [_extended(each, drawn, task, labels) for each in hypotheses]
    block = max(1, min(BLOCK, BLOCK_NUMBERS // max(1, prod(task.train.features.shape[1:]))))
    for rows in np.array_split(np.flatnonzero(others), -(-int(others.sum()) // block)):
        _judge(hypotheses, extended, rows, task, labels, stated)
    return tuple(extended)


def of_block(hypotheses: Sequence[Hypothesis], task: Task) -> tuple[Hypothesis, ...]:
    """Hypotheses about drawn rows, for the rows of a task that is a block of all: nobody has seen any of them."""
    labels, nobody = given_labels(task, None), np.empty((0, task.encoding.size))
    extended = []
    for each in hypotheses:
        rule = replace(each, posterior=nobody, calibrated=replace(each.calibrated, train=nobody))
        extended.append(_extended(rule, np.empty(0, dtype=np.intp), task, labels))
    _judge(hypotheses, extended, np.arange(len(task.train)), task, labels, None)
    return tuple(extended)


def _judge(
    hypotheses: Sequence[Hypothesis],
    extended: Sequence[Hypothesis],
    rows: Rows,
    task: Task,
    labels: GivenLabels,
    stated: Floats | None,
) -> None:
    """The posterior of these rows, by the rules of the hypotheses, written into the extended ones."""
    said: dict[Elsewhere, Floats] = {}
    for small, large in zip(hypotheses, extended, strict=True):
        given = Labels(
            labels.codes[rows],
            large.groups[rows],
            None if labels.known is None else labels.known[rows],
            None if labels.possible is None else labels.possible[rows],
            None if stated is None else stated[rows],
        )
        logs = [_logs(each.calibrated, task, rows, said) for each in small.beliefs]
        q = next((each.look for each in small.beliefs if each.look is not None), None)
        look = None if q is None else _logs(q, task, rows, said)
        if not logs:
            large.posterior[rows, labels.codes[rows]] = 1.0
            continue
        large.posterior[rows] = mean_posterior(small.beliefs, logs, look, given)
        large.calibrated.train[rows] = logs[0]


def _extended(small: Hypothesis, drawn: Rows, task: Task, labels: GivenLabels) -> Hypothesis:
    """With room for all rows; those that were drawn are as they were."""
    size, count = task.encoding.size, len(task.train)
    posterior, logs = np.zeros((count, size)), np.full((count, size), -np.log(size))
    posterior[drawn], logs[drawn] = small.posterior, small.calibrated.train
    groups, slices = np.zeros(count, dtype=np.intp), []
    for group, each in enumerate(small.slices, start=1):
        inside = each.holds(task.data)
        groups[inside] = group
        members = np.flatnonzero(inside & (labels.codes == each.given))
        slices.append(replace(each, members=members, held=(task.train.features, inside)))
    return replace(
        small,
        slices=tuple(slices),
        calibrated=replace(small.calibrated, train=logs),
        groups=groups,
        posterior=posterior,
        possible=labels.possible,
    )


def _logs(calibrated: Calibrated, task: Task, rows: Rows, said: dict[Elsewhere, Floats]) -> Floats:
    """log P of these rows; who counts for nothing is not asked."""
    parts = []
    for weight, elsewhere in zip(calibrated.weights, calibrated.elsewhere, strict=True):
        if weight <= 0.0 or elsewhere is None:  # a predictor that knows nothing of rows says the same of all
            parts.append(np.zeros((len(rows), len(calibrated.bias))))
            continue
        if elsewhere not in said:
            said[elsewhere] = elsewhere(task, rows)
        parts.append(said[elsewhere])
    return calibrated.of(parts)
