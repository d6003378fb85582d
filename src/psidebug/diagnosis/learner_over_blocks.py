"""Learners over blocks of rows: what one must offer, and which there are.

To add one, write a class with the members of :class:`LearnerOverBlocks`, and name it in :data:`KINDS`.

- ``takes(final)``: whether it is for such an estimator; ``check(model)``: refuse options that it cannot have;
- ``of(…)``: fitted on all rows, from the task of the drawn rows;
- ``retrained(…)``: the same with corrected labels;
- ``margins(on)``: what it says of rows in memory;
- ``moves(test, signed)``: its gray box over blocks, or None: then PS is of the drawn rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from psidebug.blocks import Blocks, Training
from psidebug.diagnosis.block_boosters import LightGBMOverBlocks, XGBoostOverBlocks
from psidebug.diagnosis.block_columns import Columns
from psidebug.diagnosis.block_learner import LogisticOverBlocks
from psidebug.diagnosis.block_partial_fit import PartialFitOverBlocks
from psidebug.diagnosis.block_reader import Reader
from psidebug.diagnosis.boosters_on_dask import LightGBMOnDask, XGBoostOnDask
from psidebug.diagnosis.first_reading import FirstReading
from psidebug.errors import UnsupportedLearner
from psidebug.graybox.logistic.over_blocks import Rows
from psidebug.graybox.protocol import Floats
from psidebug.task.data import LabelledSet
from psidebug.task.labels import Codes
from psidebug.task.learner import final_step
from psidebug.task.task import Task

Moves = Callable[[Rows], tuple[Codes, Floats]]
"""Of the rows of a block: the class to which each label would move, and what that adds to the weighted test margins."""


class LearnerOverBlocks(Protocol):
    """The user's learner, fitted on all rows."""

    needs_complete: ClassVar[bool]
    """Whether no cell may be empty."""
    ranks_all: ClassVar[bool]
    """Whether it has a gray box over blocks."""
    needs: ClassVar[Training]
    """What it is trained by."""

    @property
    def blocks(self) -> Blocks:
        """All rows."""

    @property
    def reader(self) -> Reader:
        """What it sees of a block."""

    @staticmethod
    def takes(final: Any) -> bool:
        """Whether it is for this estimator, the last of a Pipeline."""

    @staticmethod
    def check(final: Any) -> None:
        """Refuse options that cannot be had over blocks."""

    @classmethod
    def of(cls, blocks: Blocks, first: FirstReading, task: Task, columns: Columns) -> LearnerOverBlocks:
        """Fitted on all rows; ``task`` is that of the drawn ones."""

    def retrained(self, task: Task, drawn: Codes, rows: npt.NDArray[np.int64], codes: Codes) -> LearnerOverBlocks:
        """With these labels of these rows, which ascend; ``drawn`` are the labels of the drawn rows then."""

    def margins(self, on: LabelledSet) -> Floats:
        """m_tr (points, K-1) on rows in memory."""

    def moves(self, test: LabelledSet, signed: Floats) -> Moves | None:
        """The gray box, for weights ``signed`` (points, K) of the test scores."""


KINDS: tuple[type[LearnerOverBlocks], ...] = (
    LogisticOverBlocks,
    LightGBMOverBlocks,
    XGBoostOverBlocks,
    LightGBMOnDask,
    XGBoostOnDask,
    PartialFitOverBlocks,
)


def kind_for(model: Any) -> type[LearnerOverBlocks]:
    """Who trains this learner over blocks; it is refused, before any row is read, if nobody does."""
    final = final_step(model)
    found = next((each for each in KINDS if each.takes(final)), None)
    if found is None:
        raise UnsupportedLearner(
            f"over blocks of rows the learner is scikit-learn's LogisticRegression, one with partial_fit, or a "
            f"classifier of LightGBM or XGBoost, alone or at the end of a Pipeline, not {type(final).__name__}: give "
            f"one of these, or fewer rows in memory."
        )
    found.check(final)
    return found


def trained_by(model: Any, blocks: Blocks) -> type[LearnerOverBlocks]:
    """Who trains it on these rows; a learner that whoever has them cannot train is refused."""
    final = final_step(model)
    for each in KINDS:
        if each.takes(final) and each.needs in blocks.offers:
            return each
    raise UnsupportedLearner(
        f"{blocks.called} cannot train {type(final).__name__} here: give scikit-learn's LogisticRegression, or write "
        f"the rows to Parquet files and give these."
    )


def check_weighted(model: Any, weight: str | None) -> None:
    """Refuse class weights that would have to be counted from weights of rows."""
    if weight is not None and getattr(final_step(model), "class_weight", None) == "balanced":
        raise UnsupportedLearner(
            "class_weight='balanced' and weights of rows do not go together over blocks: give the classes' weights."
        )
