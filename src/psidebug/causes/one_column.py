"""``dead_column`` by labels: what the sets say against each other is gone without one column, so it is that column.

A column that was shuffled, garbled or measured otherwise in one set makes the labels of the sets contradict each other,
as wrong labels do. But without that column they agree again, and wrong labels remain wrong whichever column is left
out. This module says which columns are worth the trial. Either the values of a column differ between the sets, or what
it is worth does: a forest trained on half of one set loses nats on its other half when the column is permuted there,
and none, or fewer, on the other set.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from psidebug import policy
from psidebug.causes.claim import SIDES, Claim, Side, side_name
from psidebug.causes.columns import Floats, TwoSets, distance
from psidebug.causes.dead import leak_of
from psidebug.changes import Blank
from psidebug.evidence.extra_trees import ExtraTrees
from psidebug.task.data import Data
from psidebug.task.labels import Codes
from psidebug.task.task import Task
from psidebug.training.trainer import Trainer

TREES, MOST_ROWS, MOST_COLUMNS = 30, 1_500, 12
MOST_TRIED = 3
"""Columns that the contest is held without."""


@dataclass(frozen=True, eq=False)
class Candidate:
    """A column that may be the cause, and the set that it is at fault in, if that shows."""

    column: TwoSets
    side: Side | None
    strength: float


def candidates(trainer: Trainer, task: Task, columns: Sequence[TwoSets]) -> list[Candidate]:
    """Columns to leave out for trial, the likeliest first."""
    if len(columns) < 2:
        return []
    moved = [
        Candidate(each, None, distance(each.present("training"), each.present("test")))
        for each in columns
        if each.differ < policy.CLEARLY_DIFFERENT
    ]
    worth = sorted(_worth_less(trainer, task, columns), key=lambda each: -each.strength)
    sides = {each.column.name: each.side for each in worth}
    moved = [Candidate(each.column, sides.get(each.column.name), each.strength) for each in moved]
    moved.sort(key=lambda each: -each.strength)
    names = {each.column.name for each in moved}
    return [*moved[:2], *(each for each in worth if each.column.name not in names)][:MOST_TRIED]


def claim_of(data: Data, columns: Sequence[TwoSets], found: Candidate) -> Claim:
    """What is told of a column without which the labels agree."""
    place = next(at for at, each in enumerate(columns) if each is found.column)
    if (leak := leak_of(data, columns, place)) is not None:
        return leak
    name = found.column.name
    where = "one of the sets" if found.side is None else side_name(found.side)
    return Claim(
        "dead_column",
        f"column {name}, {where}",
        f"{name} says something else about the labels in training than in the test set, and without it the labels of "
        f"both sets agree: in {where} it no longer belongs to its rows, or means something else",
        f"Look how {name} was made and joined to the rows of {where}. If it cannot be mended, leave it out.",
        (Blank(name),),
        column=name,
        side=found.side,
        strength=found.strength,
    )


def _worth_less(trainer: Trainer, task: Task, columns: Sequence[TwoSets]) -> Iterator[Candidate]:
    """Columns that tell the labels of one set, by a forest trained there, and hardly those of the other."""
    data, rng = task.data, np.random.default_rng(task.seed)
    parts = {}
    for side, labelled in zip(SIDES, (data.train, data.test), strict=True):
        rows = rng.permutation(len(labelled))[:MOST_ROWS]
        parts[side] = _numbers(columns, side)[rows], labelled.codes[rows]
    for side in SIDES:
        other: Side = "test" if side == "training" else "training"
        features, codes = parts[side]
        half = len(codes) // 2
        model = trainer.fit(ExtraTrees(TREES), features[:half], codes[:half])
        own, apart = (_Asked.of(model, *each) for each in ((features[half:], codes[half:]), parts[other]))
        for place in np.argsort(-model.feature_importances_)[:MOST_COLUMNS]:
            at, orders = int(place), [rng.permutation(len(each.codes)) for each in (own, apart)]
            here, error = own.worth(at, orders[0])
            if here <= policy.LEAST_Z * error:  # nor is it worth more than elsewhere
                continue
            there, error_there = apart.worth(at, orders[1])
            apart_by = here - there - policy.LEAST_Z * float(np.hypot(error, error_there))
            if there < policy.HARDLY_ANY * here and apart_by > 0:
                yield Candidate(columns[at], other, apart_by)


@dataclass(frozen=True, eq=False)
class _Asked:
    """Rows of classes that a forest knows, and what it says of them."""

    model: Any
    features: npt.NDArray[np.float32]
    codes: Codes
    said: Floats

    @classmethod
    def of(cls, model: Any, features: Floats, codes: Codes) -> _Asked:
        known = np.isin(codes, model.classes_)
        rows, own = features[known].astype(np.float32), np.searchsorted(model.classes_, codes[known])
        return cls(model, rows, own, _said(model, rows, own))

    def worth(self, place: int, order: npt.NDArray[np.intp]) -> tuple[float, float]:
        """Nats a row that a column is worth to the model beyond the same in another order, and their standard error."""
        permuted = self.features.copy()
        permuted[:, place] = permuted[order, place]
        gains = self.said - _said(self.model, permuted, self.codes)
        return float(gains.mean()), float(gains.std() / np.sqrt(max(len(gains), 1)))


def _said(model: Any, features: npt.NDArray[np.float32], codes: Codes) -> Floats:
    """Log probabilities of these labels; asked of the trees themselves, which is soon done."""
    if not len(codes):
        return np.zeros(0)
    shares = np.mean([each.predict(features).reshape(len(codes), -1) for each in model.grown_], axis=0)
    return np.asarray(np.log(np.maximum(shares[np.arange(len(codes)), codes], 1e-2)))


def _numbers(columns: Sequence[TwoSets], side: Side) -> Floats:
    """The columns of a set as one matrix; values by their codes, ordered by nothing, which trees can bear."""
    made = np.column_stack([each.of(side).astype(np.float64) for each in columns])
    return np.asarray(np.nan_to_num(made, nan=-1.0, posinf=0.0, neginf=0.0))
