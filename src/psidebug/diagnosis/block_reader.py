"""What the final estimator sees of a block of rows: the steps before it as they are fitted, the labels as codes.

Steps before the final estimator are fitted on the drawn rows; a ``StandardScaler`` alone gets the moments of all rows.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from psidebug.blocks import Block
from psidebug.diagnosis.block_columns import Columns
from psidebug.diagnosis.first_reading import FirstReading
from psidebug.graybox.logistic.over_blocks import Rows
from psidebug.task.labels import Codes
from psidebug.task.tables import Table, as_table
from psidebug.task.task import Task


def takes_numbers_alone(model: Any) -> bool:
    """Whether nothing stands before the final estimator but a scaler."""
    steps = [step for _, step in model.steps[:-1]] if isinstance(model, Pipeline) else []
    return all(type(step) is StandardScaler for step in steps) and len(steps) <= 1


@dataclass(frozen=True, eq=False)
class Reader:
    """What the final estimator sees of a block, with the labels as they came or corrected."""

    features: tuple[str, ...]
    label: str
    code_of: dict[Any, int]
    steps: tuple[Any, ...]
    corrected: tuple[npt.NDArray[np.int64], Codes] | None = None
    """Numbers of rows, ascending, and their labels instead of those that came."""
    weight: str | None = None
    """The column of weights."""

    def __call__(self, block: Block) -> Rows:
        """Features, codes and weights."""
        return Rows(self.seen(block), self.codes(block), self.weights(block))

    def weights(self, block: Block) -> npt.NDArray[np.float64]:
        """1 if there is no column of them."""
        return np.ones(len(block)) if self.weight is None else block.column(self.weight).astype(np.float64)

    def table(self, block: Block) -> Table:
        """The features as they came."""
        return as_table(block.table.select(list(self.features)), name="X_train")

    def seen(self, block: Block) -> Any:
        """The features as numbers."""
        if not self.steps:
            return block.matrix(self.features)
        scaler = self.steps[0]
        if type(scaler) is StandardScaler:
            return (block.matrix(self.features) - scaler.mean_) / scaler.scale_
        return self.through(self.table(block))

    def through(self, table: Table) -> Any:
        """What the steps make of a table."""
        for step in self.steps:
            table = step.transform(table)
        return table

    def codes(self, block: Block) -> Codes:
        """The labels."""
        labels = block.table.column(self.label)
        values = labels.unique()
        known = np.array([self.code_of[each] for each in values.to_pylist()], dtype=np.intp)
        codes = known[pa.compute.index_in(labels, value_set=values).to_numpy()]
        if self.corrected is not None:
            rows, instead = self.corrected
            low, high = np.searchsorted(rows, [block.start, block.start + len(block)])
            codes[rows[low:high] - block.start] = instead[low:high]
        return np.asarray(codes)

    @property
    def columns(self) -> list[str]:
        """What it needs of a block."""
        return list(dict.fromkeys([*self.features, *([] if self.weight is None else [self.weight]), self.label]))

    def in_memory(self, table: Table) -> Any:
        """Rows in memory as the final estimator sees them."""
        return self.through(table) if self.steps else np.asarray(table, dtype=np.float64)

    def dense(self, block: Block) -> npt.NDArray[np.float64]:
        """The features as an array of numbers, for learners that take no other."""
        return as_numbers(self.seen(block))


def as_numbers(seen: Any) -> npt.NDArray[np.float64]:
    """What steps have made of rows, as an array."""
    return np.asarray(seen.toarray() if hasattr(seen, "toarray") else seen, dtype=np.float64)


def reader_of(first: FirstReading, task: Task, columns: Columns) -> Reader:
    """For the learner of the task of the drawn rows."""
    model = task.learner
    steps = (model[:-1],) if isinstance(model, Pipeline) and len(model.steps) > 1 else ()
    if steps and takes_numbers_alone(model) and first.moments is not None:
        steps = (_scaled_by(model.steps[0][1], first),)
    code_of = {each: code for code, each in enumerate(task.encoding.classes)}
    return Reader(columns.features, columns.label, code_of, steps, weight=columns.weight)


def _scaled_by(scaler: StandardScaler, first: FirstReading) -> StandardScaler:
    """A scaler fitted on the drawn rows, with the moments of all."""
    assert first.moments is not None
    made, moments = copy(scaler), first.moments
    variance = moments.about / moments.count
    constant = variance <= 10 * np.finfo(np.float64).eps * np.maximum(moments.mean**2, variance)
    made.mean_ = moments.mean if scaler.with_mean else np.zeros_like(moments.mean)
    made.var_ = variance
    made.scale_ = np.where(constant, 1.0, np.sqrt(variance)) if scaler.with_std else np.ones_like(variance)
    made.n_samples_seen_ = moments.count
    return made
