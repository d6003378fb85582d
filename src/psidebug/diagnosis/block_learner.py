"""The user's logistic regression over blocks of rows: its steps as they are fitted, Newton's method on sums, effects.

Steps before the final estimator are fitted on the drawn rows; a ``StandardScaler`` alone gets the moments of all rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from psidebug.blocks import Block, Blocks
from psidebug.diagnosis.first_reading import FirstReading
from psidebug.errors import UnsupportedLearner
from psidebug.graybox.logistic.likelihood import Likelihood, Multinomial, Separate
from psidebug.graybox.logistic.over_blocks import BlockFit, Rows, fit_over_blocks
from psidebug.graybox.logistic.reading import objective_of
from psidebug.graybox.protocol import Floats
from psidebug.margins import margins_of
from psidebug.task.data import LabelledSet
from psidebug.task.labels import Codes
from psidebug.task.learner import final_step
from psidebug.task.tables import Table, as_table
from psidebug.task.task import Task

REFUSED = (
    "over blocks of rows the learner is scikit-learn's LogisticRegression with an L2 penalty, alone or at the end of a "
    "Pipeline, not {}: give that, or fewer rows in memory."
)


def check_learner(model: Any) -> None:
    """Refuse a learner that blocks cannot train, before any row is read."""
    final = final_step(model)
    if type(final).__name__ != "LogisticRegression":
        raise UnsupportedLearner(REFUSED.format(type(final).__name__))
    if getattr(final, "l1_ratio", None) not in (None, 0, 0.0) or getattr(final, "penalty", "l2") in (
        "l1",
        "elasticnet",
    ):
        raise UnsupportedLearner(REFUSED.format("one with an L1 penalty"))
    if final.solver == "liblinear":
        raise UnsupportedLearner(REFUSED.format("liblinear, which penalises the intercept"))


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

    def __call__(self, block: Block) -> Rows:
        """Features, codes and weights."""
        return Rows(self.seen(block), self.codes(block), np.ones(len(block)))

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


@dataclass(frozen=True, eq=False)
class BlockLearner:
    """The learner, fitted on all rows."""

    blocks: Blocks
    reader: Reader
    likelihood: Likelihood
    ridge: float
    intercept: bool
    fit: BlockFit

    @classmethod
    def of(cls, blocks: Blocks, first: FirstReading, task: Task, features: Sequence[str], label: str) -> BlockLearner:
        """From the task of the drawn rows: its fit is the start, its steps and options are taken."""
        model = task.learner
        steps = (model[:-1],) if isinstance(model, Pipeline) and len(model.steps) > 1 else ()
        if steps and takes_numbers_alone(model):
            assert first.moments is not None
            steps = (_scaled_by(model.steps[0][1], first),)
        final = final_step(model)
        objective = objective_of(final, task)
        kappa = objective.likelihood.class_weight
        if final.class_weight == "balanced":
            counts = np.array([first.counts[each] for each in task.encoding.classes], dtype=np.float64)
            kappa = counts.sum() / (len(counts) * counts)
        kind = Separate if task.encoding.size == 2 else Multinomial
        likelihood: Likelihood = kind(task.encoding.size, kappa)
        reader = Reader(tuple(features), label, {each: code for code, each in enumerate(task.encoding.classes)}, steps)
        ridge = float(objective.ridge[0, 0]) if objective.ridge.size else 0.0
        made = cls(blocks, reader, likelihood, ridge, bool(final.fit_intercept), None)  # type: ignore[arg-type]
        return made.fitted(made.near(task, task.train.codes))

    def fitted(self, start: Floats) -> BlockLearner:
        """The same, fitted from θ = ``start``."""
        columns = [*self.reader.features, self.reader.label]
        fit = fit_over_blocks(
            self.blocks, self.reader, self.likelihood, start, self.ridge, intercept=self.intercept, columns=columns
        )
        return replace(self, fit=fit)

    def with_labels(self, rows: npt.NDArray[np.int64], codes: Codes, start: Floats) -> BlockLearner:
        """Trained again, with these labels of these rows, which ascend, in the place of those that came."""
        return replace(self, reader=replace(self.reader, corrected=(rows, codes))).fitted(start)

    def near(self, task: Task, codes: Codes) -> Floats:
        """θ of the drawn rows with these labels, penalised as lightly as all rows are: a start that saves readings."""
        if len(np.unique(codes)) < task.encoding.size:
            return self.fit.theta
        strength = np.inf if self.ridge == 0 else len(self.blocks) / (self.ridge * len(codes))
        weights = dict(enumerate(self.likelihood.class_weight))
        model = LogisticRegression(
            C=strength, class_weight=weights, fit_intercept=self.intercept, max_iter=1000, tol=1e-6
        )
        model.fit(self.through(task.train.features), codes)
        return np.column_stack([model.coef_, model.intercept_]) if self.intercept else model.coef_

    def margins(self, on: LabelledSet) -> Floats:
        """m_tr (points, K-1) on rows in memory."""
        seen = self.through(on.features)
        scores = self.fit.scores(seen)
        both = np.column_stack([np.zeros(len(on)), scores]) if self.likelihood.free == 1 else scores
        return margins_of(both, on.codes)

    def through(self, table: Table) -> Any:
        """Rows in memory as the final estimator sees them."""
        return self.reader.through(table) if self.reader.steps else np.asarray(table, dtype=np.float64)


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


def proposed_effects(rows: Rows, fit: BlockFit, pull: Floats) -> tuple[Codes, Floats]:
    """Of every label the class that the model finds likeliest beside it, and what moving the label there does."""
    effects, places = fit.effects(rows, pull), np.arange(len(rows.codes))
    if fit.likelihood.free == 1:
        other = 1 - rows.codes
    else:
        scores = fit.scores(rows.features)
        scores[places, rows.codes] = -np.inf
        other = scores.argmax(axis=1)
    return other, effects[places, other]
