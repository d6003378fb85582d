"""The user's logistic regression over blocks of rows: Newton's method on sums, and the effects of all labels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.linear_model import LogisticRegression

from psidebug.blocks import Blocks, Training
from psidebug.diagnosis.block_columns import Columns
from psidebug.diagnosis.block_reader import Reader, reader_of
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
from psidebug.task.task import Task

REFUSED = "over blocks of rows LogisticRegression has an L2 penalty, not {}: give such a one, or fewer rows in memory."


@dataclass(frozen=True, eq=False)
class LogisticOverBlocks:
    """The learner, fitted on all rows."""

    blocks: Blocks
    reader: Reader
    likelihood: Likelihood
    ridge: float
    intercept: bool
    fit: BlockFit
    needs_complete: ClassVar[bool] = True
    ranks_all: ClassVar[bool] = True
    needs: ClassVar[Training] = "sums"

    @staticmethod
    def takes(final: Any) -> bool:
        """Scikit-learn's."""
        return type(final).__name__ == "LogisticRegression"

    @staticmethod
    def check(final: Any) -> None:
        """Refuse other penalties."""
        penalty = getattr(final, "penalty", "l2")
        if getattr(final, "l1_ratio", None) not in (None, 0, 0.0) or penalty in ("l1", "elasticnet"):
            raise UnsupportedLearner(REFUSED.format("an L1 penalty"))
        if final.solver == "liblinear":
            raise UnsupportedLearner(REFUSED.format("that of liblinear, which penalises the intercept"))

    @classmethod
    def of(cls, blocks: Blocks, first: FirstReading, task: Task, columns: Columns) -> LogisticOverBlocks:
        """From the task of the drawn rows: its fit is the start, its steps and options are taken."""
        final = final_step(task.learner)
        objective = objective_of(final, task)
        kappa = objective.likelihood.class_weight
        if final.class_weight == "balanced":
            counts = np.array([first.counts[each] for each in task.encoding.classes], dtype=np.float64)
            kappa = counts.sum() / (len(counts) * counts)
        kind = Separate if task.encoding.size == 2 else Multinomial
        likelihood: Likelihood = kind(task.encoding.size, kappa)
        reader = reader_of(first, task, columns)
        ridge = float(objective.ridge[0, 0]) if objective.ridge.size else 0.0
        made = cls(blocks, reader, likelihood, ridge, bool(final.fit_intercept), None)  # type: ignore[arg-type]
        return made.fitted(made.near(task, task.train.codes))

    def fitted(self, start: Floats) -> LogisticOverBlocks:
        """The same, fitted from θ = ``start``."""
        fit = fit_over_blocks(
            self.blocks,
            self.reader,
            self.likelihood,
            start,
            self.ridge,
            intercept=self.intercept,
            columns=self.reader.columns,
        )
        return replace(self, fit=fit)

    def retrained(self, task: Task, drawn: Codes, rows: npt.NDArray[np.int64], codes: Codes) -> LogisticOverBlocks:
        """With these labels of these rows; the fit of the drawn rows with theirs is the start."""
        return replace(self, reader=replace(self.reader, corrected=(rows, codes))).fitted(self.near(task, drawn))

    def near(self, task: Task, codes: Codes) -> Floats:
        """θ of the drawn rows with these labels, penalised as lightly as all rows are: a start that saves readings."""
        if len(np.unique(codes)) < task.encoding.size:
            return self.fit.theta
        strength = np.inf if self.ridge == 0 else len(self.blocks) / (self.ridge * len(codes))
        weights = dict(enumerate(self.likelihood.class_weight))
        model = LogisticRegression(
            C=strength, class_weight=weights, fit_intercept=self.intercept, max_iter=1000, tol=1e-6
        )
        model.fit(self.reader.in_memory(task.train.features), codes, sample_weight=task.data.sample_weight)
        return np.column_stack([model.coef_, model.intercept_]) if self.intercept else model.coef_

    def margins(self, on: LabelledSet) -> Floats:
        """m_tr (points, K-1) on rows in memory."""
        seen = self.reader.in_memory(on.features)
        scores = self.fit.scores(seen)
        both = np.column_stack([np.zeros(len(on)), scores]) if self.likelihood.free == 1 else scores
        return margins_of(both, on.codes)

    def moves(self, test: LabelledSet, signed: Floats) -> Callable[[Rows], tuple[Codes, Floats]]:
        """Newton's step for each label, over blocks."""
        seen = self.reader.in_memory(test.features)
        pull = self.fit.pull(seen, signed[:, signed.shape[1] - self.likelihood.free :])
        return partial(proposed_effects, fit=self.fit, pull=pull)


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
