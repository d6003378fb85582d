"""Learners with ``partial_fit`` over blocks of rows: block after block in the order of rows, as often as they need."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.base import is_classifier

from psidebug.blocks import Block, Blocks, Training
from psidebug.diagnosis.block_columns import Columns
from psidebug.diagnosis.block_reader import Reader, reader_of
from psidebug.diagnosis.first_reading import FirstReading
from psidebug.errors import LearnerFailed, UnsupportedLearner, first_line
from psidebug.graybox.protocol import Floats
from psidebug.margins import margins_of
from psidebug.task import learner as learners
from psidebug.task.data import LabelledSet
from psidebug.task.labels import Codes
from psidebug.task.task import Task

ENOUGH_SEEN = 10**6
"""Rows that a learner of stochastic gradients has seen when it has learned, says scikit-learn's guide: from a million
rows on one pass is enough, and fewer rows are passed over so often."""


@dataclass(frozen=True, eq=False)
class PartialFitOverBlocks:
    """Any classifier of scikit-learn's kind that learns from one batch after the other."""

    blocks: Blocks
    reader: Reader
    model: Any
    """Fitted; before that, as it came."""
    classes: npt.NDArray[Any]
    needs_complete: ClassVar[bool] = True
    ranks_all: ClassVar[bool] = False
    needs: ClassVar[Training] = "turns"

    @staticmethod
    def takes(final: Any) -> bool:
        """Whether it has ``partial_fit``."""
        return hasattr(final, "partial_fit") and is_classifier(final)

    @staticmethod
    def check(final: Any) -> None:
        """Refuse what a batch cannot have."""
        if getattr(final, "early_stopping", False):
            raise UnsupportedLearner(
                "early_stopping keeps some rows apart, which partial_fit cannot: set it to False for rows in blocks."
            )

    @classmethod
    def of(cls, blocks: Blocks, first: FirstReading, task: Task, columns: Columns) -> PartialFitOverBlocks:
        """Fitted on all rows, with the options of the task's learner."""
        model = learners.seeded(learners.final_step(task.learner), task.seed)
        native = task.encoding.native
        if getattr(model, "class_weight", None) == "balanced":  # by the labels that came: a batch does not know all
            counts = np.array([first.counts[each] for each in task.encoding.classes], dtype=np.float64)
            weights = counts.sum() / (len(counts) * counts)
            model.set_params(class_weight=dict(zip(native.tolist(), weights.tolist(), strict=True)))
        return cls(blocks, reader_of(first, task, columns), model, native).fitted()

    @property
    def passes(self) -> int:
        """How often all rows are passed over; those who count, such as naive Bayes, need one."""
        most = int(getattr(self.model, "max_iter", 1) or 1)
        return min(max(1, -(-ENOUGH_SEEN // len(self.blocks))), most)

    def fitted(self) -> PartialFitOverBlocks:
        """The same, fitted from the beginning."""
        model = learners.fresh(self.model)
        step = partial(_seen, reader=self.reader, classes=self.classes)
        for _ in range(self.passes):
            model = self.blocks.fold(step, model, self.reader.columns)
        return replace(self, model=model)

    def retrained(self, task: Task, drawn: Codes, rows: npt.NDArray[np.int64], codes: Codes) -> PartialFitOverBlocks:
        """With these labels of these rows."""
        return replace(self, reader=replace(self.reader, corrected=(rows, codes))).fitted()

    def margins(self, on: LabelledSet) -> Floats:
        """m_tr (points, K-1) on rows in memory."""
        codes_of = {value: code for code, value in enumerate(self.classes.tolist())}
        scores = learners.scores(self.model, self.reader.in_memory(on.features), codes_of, len(codes_of))
        return margins_of(scores, on.codes)

    def moves(self, test: LabelledSet, signed: Floats) -> None:
        """There is no gray box over blocks."""
        return


def _seen(model: Any, block: Block, reader: Reader, classes: npt.NDArray[Any]) -> Any:
    """The model after one more block."""
    rows = reader(block)
    try:
        more = {} if reader.weight is None else {"sample_weight": rows.weights}
        return model.partial_fit(rows.features, classes[rows.codes], classes=classes, **more)
    except Exception as error:  # negative numbers for a multinomial, say
        raise LearnerFailed(
            f"{type(model).__name__} could not be fitted on rows {block.start} and after: {first_line(error)}."
        ) from error
