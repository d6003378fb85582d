"""Who can say what a label should be, none of whom saw it.

The user's own learner, on rows that it was not trained on; the same learner, trained on the test set alone, whose
labels are trusted; and, where the features are numbers, a linear learner and a forest trained on both sets, where the
user's cannot know better. How each is kept from the labels that it predicts is the matter of
:mod:`psidebug.evidence.held_out`, how far it is believed that of :mod:`psidebug.evidence.calibration`.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from psidebug import policy
from psidebug.errors import LearnerFailed, UnsupportedLearner
from psidebug.evidence.held_out import (
    Floats,
    Folds,
    HeldOut,
    LabelPredictions,
    Mask,
    Recipe,
    can_leave_one_out,
    in_one_fit,
    leave_one_out,
    out_of_bag,
    out_of_fold,
    soon_left_out,
)
from psidebug.task import learner as learners
from psidebug.task.tables import Table, is_frame, stacked
from psidebug.task.task import Task
from psidebug.training.trainer import Trainer

WIDEST = 2_000
"""Columns up to which dense features are looked at by a forest."""
TREES = 150
"""Its trees. Out of bag they replace 3 × 100 in folds: whole diagnoses differ by less than 0.006 in average precision
(decision 18)."""
OWN, OWN_ON_TEST = "the learner", "the learner, trained on the test set alone"
LINEAR, FOREST = "a linear learner", "a forest"
ON_REPAIRED = "the learner, trained on repaired labels"


@dataclass(frozen=True, eq=False)
class Predictor:
    """Who predicts: in one fit where there is a way to, else out of fold."""

    name: str
    for_folds: Recipe
    for_one_fit: Recipe | None = None
    """None if that is not possible."""
    held_out: HeldOut = leave_one_out

    def predict(self, trainer: Trainer, folds: Folds, excluded: Mask) -> LabelPredictions:
        """All rows, without the labels of the excluded training rows (N,)."""
        if (recipe := self.for_one_fit) is not None:
            lesson = recipe.lesson(~excluded, np.ones(len(folds.test), dtype=bool))
            if self.held_out is not leave_one_out or soon_left_out(lesson, recipe.task.encoding.size):
                with suppress(UnsupportedLearner):
                    return LabelPredictions(self.name, *in_one_fit(recipe, trainer, lesson, self.held_out))
        return LabelPredictions(self.name, *out_of_fold(self.for_folds, trainer, folds, excluded))


@dataclass(frozen=True, eq=False)
class Predictors:
    """All who can predict the labels of a task."""

    task: Task
    trainer: Trainer
    folds: Folds
    everyone: tuple[Predictor, ...]
    _unchanging: dict[str, LabelPredictions] = field(default_factory=dict)
    """LabelPredictions from test labels alone, made once."""

    @classmethod
    def of(cls, task: Task, trainer: Trainer, folds: Folds | None = None) -> Predictors:
        """The user's learner twice, and two plain ones if the features are numbers."""
        train, test = _matrix(task.seen.train), _matrix(task.seen.test)
        if train is None or test is None or train.shape[1] != test.shape[1]:
            train = test = None
        everyone = _own(task, train, test) + ([] if train is None else _plain(task, train, test))
        return cls(task, trainer, Folds.of(task) if folds is None else folds, tuple(everyone))

    def without(self, names: Sequence[str]) -> Predictors:
        """The others."""
        return replace(self, everyone=tuple(each for each in self.everyone if each.name not in names))

    def predict(self, excluded: Mask) -> list[LabelPredictions]:
        """By everyone who can be trained without the labels of the excluded training rows (N,).

        If nobody can, a uniform prediction: calibration then makes the shares of the classes of it.
        """
        made = []
        for each in self.everyone:
            with suppress(LearnerFailed):
                made.append(self._unchanging.get(each.name) or each.predict(self.trainer, self.folds, excluded))
                if each.for_folds.learns_from == "test":
                    self._unchanging[each.name] = made[-1]
        size = self.task.encoding.size
        uniform = (np.full((len(each), size), -np.log(size)) for each in (self.task.train, self.task.test))
        return made or [LabelPredictions("uniform", *uniform)]

    def predict_from_repaired(self, posterior: Floats) -> LabelPredictions | None:
        """By the user's learner, trained on the likeliest labels and on test rows, of other folds each.

        ``posterior`` (N, K) is W. None if the learner cannot be trained on that, or does not weigh its rows.
        """
        task = self.task
        if not learners.takes_weights(task.learner):
            return None
        recipe = Recipe(task, task.learner, task.train.features, task.test.features, "both", True, posterior)
        if (seen := task.seen_in_every_world) is not None:  # texts need not be taken apart again
            recipe = replace(recipe, estimator=learners.final_step(task.learner), train=seen.train, test=seen.test)
        nobody = np.zeros(len(task.train), dtype=bool)
        try:
            return LabelPredictions(ON_REPAIRED, *out_of_fold(recipe, self.trainer, self.folds, nobody))
        except LearnerFailed:
            return None


def plain_recipes(task: Task) -> list[Recipe]:
    """How a linear learner and a forest are trained; none where the features are no numbers."""
    train, test = _matrix(task.seen.train), _matrix(task.seen.test)
    if train is None or test is None or train.shape[1] != test.shape[1]:
        return []
    return [each.for_folds for each in _plain(task, train, test)]


def _own(task: Task, train: Any, test: Any) -> list[Predictor]:
    """The user's learner; in one fit if labels have no part in what comes before its final estimator."""
    final, whole = learners.final_step(task.learner), None
    folded = Recipe(task, task.learner, task.train.features, task.test.features, "training", all_rows=True)
    blind = final is task.learner or task.seen_in_every_world is not None
    if blind and train is not None and can_leave_one_out(final):
        whole = replace(folded, estimator=final, train=train, test=test)
    whole_on_test = None if whole is None else replace(whole, learns_from="test")
    on_test = Predictor(OWN_ON_TEST, replace(folded, learns_from="test"), whole_on_test)
    return [Predictor(OWN, folded, whole), on_test]


def _plain(task: Task, train: Any, test: Any) -> list[Predictor]:
    """A linear learner and, on dense features, a forest whose splits are drawn: as good, and faster."""
    train, test = _varying(train, test)
    scaler, estimator = _linear(train)
    scaled = scaler.fit_transform(stacked(train, test))
    linear = Recipe(task, estimator, scaled[: train.shape[0]], scaled[train.shape[0] :], "both")
    if sp.issparse(train) or train.shape[1] > WIDEST:
        return [Predictor(LINEAR, linear, linear)]
    filled = SimpleImputer(keep_empty_features=True).fit(train)
    trees = ExtraTreesClassifier(TREES, min_samples_leaf=policy.LEAST_LEAF, bootstrap=True, oob_score=True)
    forest = Recipe(task, trees, filled.transform(train), filled.transform(test), "both")
    return [Predictor(LINEAR, linear, linear), Predictor(FOREST, forest, forest, out_of_bag)]


def _linear(features: Any) -> tuple[Any, LogisticRegression]:
    """Features of one scale and a logistic regression; of counts and other sparse features what is rare weighs more."""
    if not sp.issparse(features):
        scaler, strength = make_pipeline(SimpleImputer(keep_empty_features=True), StandardScaler()), 1.0
    elif features.nnz and features.data.min() < 0:
        scaler, strength = MaxAbsScaler(), 1.0 / policy.SPARSE_C
    else:
        scaler, strength = TfidfTransformer(sublinear_tf=True), policy.SPARSE_C
    return scaler, LogisticRegression(C=strength, max_iter=300)


def _matrix(table: Table) -> Any:
    """The features as numbers, sparse or dense; None if they are not."""
    if sp.issparse(table):
        return sp.csr_array(table)
    try:
        values = np.asarray(table.to_numpy() if is_frame(table) and hasattr(table, "to_numpy") else table, dtype=float)
    except (TypeError, ValueError):
        return None
    return values if values.ndim == 2 and not np.isinf(values).any() else None


def _varying(train: Any, test: Any) -> tuple[Any, Any]:
    """Dense features without the constant ones, which say nothing but take part in a forest's draws of features."""
    if sp.issparse(train) or not len(train):
        return train, test
    varies = ((train != train[0]) & ~(np.isnan(train) & np.isnan(train[0]))).any(axis=0)
    return (train[:, varies], test[:, varies]) if varies.any() else (train, test)
