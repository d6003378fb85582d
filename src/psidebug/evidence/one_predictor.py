"""One who predicts labels: a learner that is trained without them, or a forest that is grown once.

How each is kept from the labels that it predicts is the matter of :mod:`psidebug.evidence.held_out` and
:mod:`psidebug.evidence.forest`; who they are, that of :mod:`psidebug.evidence.predictors`.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from psidebug.errors import UnsupportedLearner
from psidebug.evidence.forest import Counted, Forest, Leaves
from psidebug.evidence.held_out import (
    Floats,
    Folds,
    LabelPredictions,
    Recipe,
    Rows,
    Without,
    in_one_fit,
    log_probabilities,
    out_of_fold,
    soon_left_out,
    without_none,
)
from psidebug.task.probabilities import OutOfFold
from psidebug.task.tables import stacked, take
from psidebug.task.task import Task
from psidebug.training.trainer import Trainer


class Predictor(Protocol):
    """Who predicts."""

    @property
    def name(self) -> str:
        """Who it is."""
        ...

    @property
    def quick(self) -> bool:
        """Whether it takes no more than one fit to leave labels out, and none of a learner that may be slow."""
        ...

    def concerned(self, without: Without) -> bool:
        """Whether it would learn from one of these labels."""
        ...

    def predict(self, trainer: Trainer, folds: Folds, without: Without) -> LabelPredictions:
        """All rows, without the labels of some."""
        ...

    def inside(self, trainer: Trainer, without: Without) -> tuple[Floats, Floats] | None:
        """The rows whose labels are left out alone, those of both sets: by one model that has seen none of these.

        None if a slow learner would have to be trained for that.
        """
        ...


@dataclass(frozen=True, eq=False)
class Trained:
    """A learner: in one fit where there is a way to, else out of fold."""

    name: str
    for_folds: Recipe
    for_one_fit: Recipe | None = None
    """None if that is not possible."""
    _models: dict[bytes, Any] = field(default_factory=dict, repr=False)
    """By the labels that were left out."""

    @property
    def quick(self) -> bool:
        """Other learners than the user's, and logistic regressions."""
        return self.for_one_fit is not None or not self.for_folds.all_rows

    def concerned(self, without: Without) -> bool:
        """By the sets that it learns from."""
        return self.for_folds.concerned(without)

    def predict(self, trainer: Trainer, folds: Folds, without: Without) -> LabelPredictions:
        """As its recipes say."""
        if (recipe := self.for_one_fit) is not None:
            lesson = recipe.lesson(without)
            if soon_left_out(lesson, recipe.task.encoding.size):
                with suppress(UnsupportedLearner):
                    return in_one_fit(recipe, trainer, lesson, self.name)
        return out_of_fold(self.for_folds, trainer, folds, without, self.name)

    def inside(self, trainer: Trainer, without: Without) -> tuple[Floats, Floats] | None:
        """By a model that is kept: the slices that are accused are asked about more than once."""
        if not self.quick:
            return None
        recipe, model = self.for_folds, self._model(trainer, without)
        parts = zip((recipe.train, recipe.test), without, strict=True)
        train, test = (recipe.predicted(model, take(table, np.flatnonzero(rows))) for table, rows in parts)
        return train, test

    def _model(self, trainer: Trainer, without: Without) -> Any:
        if (key := _key(without)) not in self._models:
            self._models[key] = self.for_folds.fitted(trainer, self.for_folds.lesson(without))
        return self._models[key]


@dataclass(frozen=True, eq=False)
class Told:
    """The user's own model, by what it said out of fold. It cannot be trained again.

    Of rows whose labels are left out together it may have learned from the others', so there it says nothing.
    """

    opinion: OutOfFold
    name: str
    quick: bool = True

    def concerned(self, without: Without) -> bool:
        """By labels that it was trained on."""
        return bool(without.train.any())

    def predict(self, trainer: Trainer, folds: Folds, without: Without) -> LabelPredictions:
        """As it was told."""
        train = self.opinion.train.copy()
        train[without.train] = -np.log(train.shape[1])
        return LabelPredictions(self.name, train, self.opinion.test, _told_elsewhere)

    def inside(self, trainer: Trainer, without: Without) -> tuple[Floats, Floats] | None:
        """Nothing, unless only test labels are left out."""
        if without.train.any():
            return None
        return self.opinion.train[without.train], self.opinion.test[without.test]


def _told_elsewhere(task: Task, rows: Rows) -> Floats:
    assert task.data.opinion is not None
    return task.data.opinion.train[rows]


def _key(without: Without) -> bytes:
    return b"".join(map(np.ndarray.tobytes, without))


@dataclass(frozen=True, eq=False)
class Grown:
    """A forest, grown once."""

    recipe: Recipe
    trainer: Trainer
    name: str
    quick: bool = True
    _asked: list[tuple[Rows, Leaves]] = field(default_factory=list, repr=False)

    @cached_property
    def forest(self) -> Forest:
        """On rows of both sets."""
        recipe, task = self.recipe, self.recipe.task
        lesson = recipe.lesson(without_none(task))
        model = recipe.fitted(self.trainer, lesson)
        learned = np.concatenate([lesson.train, len(task.train) + lesson.test])
        return Forest.of(model, stacked(recipe.train, recipe.test), learned, lesson.codes, task.encoding.size)

    def concerned(self, without: Without) -> bool:
        """By labels of either set."""
        return self.recipe.concerned(without)

    def predict(self, trainer: Trainer, folds: Folds, without: Without) -> LabelPredictions:
        """Out of bag."""
        said, counted = self._counted(without)
        split = len(without.train)

        def elsewhere(task: Task, rows: Rows) -> Floats:
            return log_probabilities(counted.of(self._leaves(task, rows)))

        return LabelPredictions(self.name, said[:split], said[split:], elsewhere)

    def inside(self, trainer: Trainer, without: Without) -> tuple[Floats, Floats]:
        """Out of bag, too."""
        said, _ = self._counted(without)
        train, test = np.split(said, [len(without.train)])
        return train[without.train], test[without.test]

    def _counted(self, without: Without) -> tuple[Floats, Counted]:
        said, counted = self.forest.without(np.concatenate(without)[self.forest.learned])
        return log_probabilities(said), counted

    def _leaves(self, task: Task, rows: Rows) -> Leaves:
        """Those of the rows that were asked about last are kept: every hypothesis asks about the same."""
        held = self._asked[0] if self._asked else None
        if held is None or held[0] is not rows:  # two threads may ask: what is returned is never the other's
            assert self.recipe.prepared is not None
            leaves = self.forest.leaves_of(self.recipe.prepared(task, rows), of=task.part_of or len(task.train))
            held = rows, leaves
            self._asked[:] = [held]
        return held[1]
