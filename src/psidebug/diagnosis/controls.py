"""Controls of a repair: the same done elsewhere. What that gains too is no proof of the cause."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from psidebug.causes.columns import TwoSets, both_sets
from psidebug.changes import Blank, Change, Drop, Mask, Relabel, Rescale, Swap, Weigh
from psidebug.diagnosis.proof import Prover, moved_at_random
from psidebug.errors import LearnerFailed
from psidebug.findings.effects import Verification
from psidebug.task.data import Data


def control_of(prover: Prover, change: Change) -> Verification | None:
    """The effect of the same elsewhere; None where there is no elsewhere, or the learner cannot be trained on it."""
    other = elsewhere(prover.task.data, change, np.random.default_rng(prover.task.seed))
    try:
        return None if other is None else prover.verify(other)
    except LearnerFailed:
        return None


def elsewhere(data: Data, change: Change, rng: np.random.Generator) -> Change | None:
    """The same done to another column, by chance, or to as many other rows; None if there are none."""
    match change:
        case Rescale() | Blank():
            columns = [each for each in _others(data, change.column) if each.numeric or isinstance(change, Blank)]
            return replace(change, column=_any_of(columns, rng).name) if columns else None
        case Mask():
            return _masked(data, change, rng)
        case Swap():
            names = [each.name for each in _others(data, change.one, change.other) if each.numeric]
            if len(names) < 2:
                return None
            one, other = map(str, rng.choice(names, 2, replace=False))
            return replace(change, one=one, other=other)
        case Drop():
            kept = np.setdiff1d(np.arange(len(data.train)), change.rows)
            count = change.count(data)
            return Drop(rng.choice(kept, count, replace=False)) if count < len(kept) else None
        case Weigh():
            return Weigh(rng.permutation(change.weights))
        case Relabel():
            return Relabel.of(data, moved_at_random(data.train.codes, change.labels(data), rng))
    return None


def _masked(data: Data, change: Mask, rng: np.random.Generator) -> Mask | None:
    """As many cells of another column, of the same kind where there is one, without their value."""
    others, own = _others(data, change.column), _others(data)
    numeric = next(each.numeric for each in own if each.name == change.column)
    columns = [each for each in others if each.numeric == numeric] or others
    if not columns:
        return None
    column = _any_of(columns, rng)
    values = column.test if change.test else column.train
    fill = change.fill
    if column.numeric and np.isfinite(fill):
        fill = float(np.nanmedian(values))
    rows = rng.choice(len(values), change.count(data), replace=False)
    return Mask(column.name, test=change.test, rows=np.sort(rows), fill=fill)


def _others(data: Data, *names: str) -> list[TwoSets]:
    return [each for each in both_sets(data) if each.name not in names]


def _any_of(columns: list[TwoSets], rng: np.random.Generator) -> TwoSets:
    name = str(rng.choice([each.name for each in columns]))
    return next(each for each in columns if each.name == name)
