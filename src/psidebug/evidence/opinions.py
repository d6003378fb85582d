"""Opinions about the true labels, none of which has seen the label it speaks about.

The user's own learner is asked: what does it say about rows that it was not trained on? It is asked once more trained
on the test set alone, whose labels are trusted. Where the features are numbers, two plain learners join in, a linear
one and a forest, trained on both sets: a second opinion, where the learner cannot know better. How each of them is kept
from the labels that it speaks about is the matter of :mod:`psidebug.evidence.speakers`. How much it is worth
is not decided here: :mod:`psidebug.evidence.labeller` learns it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from psidebug.errors import LearnerFailed
from psidebug.evidence.speakers import (
    AtOnce,
    Floats,
    InFolds,
    LeftOut,
    Mask,
    Opinion,
    Rows,
    Speaker,
    few,
    folds_of,
    leaves_out,
    left_out,
    out_of_bag,
    stacked,
)
from psidebug.task import learner as learners
from psidebug.task.tables import Table, is_frame, take
from psidebug.task.task import Task
from psidebug.training.trainer import Trainer

WIDEST = 2_000
"""Columns up to which dense features are looked at by a forest."""
TREES, LEAF = 150, 5
OWN, OWN_ON_TEST = "the learner", "the learner, trained on the test set alone"
LINEAR, FOREST = "a linear second opinion", "a forest's second opinion"


@dataclass
class Panel:
    """All who can be asked about a task."""

    task: Task
    trainer: Trainer
    speakers: list[Speaker] = field(default_factory=list)
    _heard: dict[str, Opinion] = field(default_factory=dict)

    def __post_init__(self) -> None:
        chance = np.random.default_rng(self.task.seed)
        self._order = self.task.in_order_of_ids
        self.folds = np.empty(len(self._order), dtype=np.intp)
        self.folds[self._order] = folds_of(self.task.train.codes[self._order], chance)
        self.test_folds = folds_of(self.task.test.codes, chance)
        tables = _matrix(self.task.seen.train), _matrix(self.task.seen.test)
        numbers = tables[0] is not None and tables[1] is not None and tables[0].shape[1] == tables[1].shape[1]
        self.speakers = [
            *self._own(*(tables if numbers else (None, None))),
            *(self._second(*tables) if numbers else ()),
        ]

    def hear(self, excluded: Mask) -> list[Opinion]:
        """Everyone's opinion, formed without the labels of the excluded rows (N,).

        Who cannot be trained on so few rows, or without a class, is silent. If all are, one who knows nothing speaks:
        the labeller then knows no more than the shares of the classes.
        """
        opinions = []
        for speaker in self.speakers:
            if speaker.name not in self._heard or speaker.of_training_rows:
                try:
                    self._heard[speaker.name] = speaker.opinion(excluded)
                except LearnerFailed:
                    self._heard.pop(speaker.name, None)
            if speaker.name in self._heard:
                opinions.append(self._heard[speaker.name])
        return opinions or [self._ignorant()]

    def dismiss(self, names: Sequence[str]) -> None:
        """Ask these no more."""
        self.speakers = [speaker for speaker in self.speakers if speaker.name not in names]

    def _ignorant(self) -> Opinion:
        size = self.task.encoding.size
        train, test = (np.full((len(folds), size), -np.log(size)) for folds in (self.folds, self.test_folds))
        return Opinion("nobody", train, test)

    def _own(self, train: Any, test: Any) -> list[Speaker]:
        """The user's learner: with rows left out if labels have no part in what comes before its final estimator."""
        task, estimator = self.task, learners.final_step(self.task.learner)
        ways: list[Speaker] = []
        for name, on_test, trained in ((OWN, False, self._fit), (OWN_ON_TEST, True, self._fit_on_test)):
            in_folds = self._in_folds(name, trained, self._scores, of_training_rows=not on_test)
            if train is None or not leaves_out(estimator) or task.seen_in_every_world is None:
                ways.append(in_folds)
                continue
            at_once = AtOnce(
                name,
                task,
                self._fit_final,
                train,
                test,
                self._order,
                left_out,
                of_training_rows=not on_test,
                of_test_rows=on_test,
                whole=True,
            )
            ways.append(LeftOut(at_once, in_folds))
        return ways

    def _second(self, train: Any, test: Any) -> list[Speaker]:
        """A linear learner and, on dense features, a forest whose splits are drawn: as good, and faster."""
        train, test = _varying(train, test)
        first, linear = _linear(train)
        both = first.fit_transform(stacked(train, test))
        scaled = both[: train.shape[0]], both[train.shape[0] :]
        trained, asked = self._plain(linear, *scaled)
        at_once = AtOnce(LINEAR, self.task, self._fit_plainly(linear), *scaled, self._order, left_out)
        second: list[Speaker] = [LeftOut(at_once, self._in_folds(LINEAR, trained, asked))]
        if not sp.issparse(train) and train.shape[1] <= WIDEST:
            filled = SimpleImputer(keep_empty_features=True).fit(train)
            forest = ExtraTreesClassifier(TREES, min_samples_leaf=LEAF, bootstrap=True, oob_score=True)
            tables = filled.transform(train), filled.transform(test)
            second.append(AtOnce(FOREST, self.task, self._fit_plainly(forest), *tables, self._order, out_of_bag))
        return second

    def _in_folds(self, name: str, trained: Any, asked: Any, *, of_training_rows: bool = True) -> InFolds:
        size = self.task.encoding.size
        return InFolds(name, trained, asked, self.folds, self.test_folds, size, of_training_rows)

    def _rows(self, train: Mask) -> Rows:
        """Their positions, in the order of their ids."""
        return np.asarray(self._order[train[self._order]])

    def _fit(self, train: Mask, test: Mask) -> learners.Classifier:
        return self.trainer.refit(self.task.train.codes, self._rows(train))

    def _fit_on_test(self, train: Mask, test: Mask) -> learners.Classifier:
        task, rows = self.task, np.flatnonzero(test)
        labels = task.encoding.native[task.test.codes[rows]]
        return self.trainer.fit(task.learner, take(task.test.features, rows), labels)

    def _fit_final(self, features: Any, labels: Any, weights: Floats | None) -> learners.Classifier:
        return self.trainer.fit(learners.final_step(self.task.learner), features, labels, weights)

    def _scores(self, model: learners.Classifier, train: bool, rows: Rows) -> Floats:
        features = take((self.task.train if train else self.task.test).features, rows)
        return learners.scores(model, features, self.task.encoding.native_codes, self.task.encoding.size)

    def _fit_plainly(self, estimator: Any) -> Any:
        def fitted(features: Any, labels: Any, weights: Floats | None) -> Any:
            return self.trainer.fit(estimator, features, labels)

        return fitted

    def _plain(self, estimator: Any, train_table: Any, test_table: Any) -> tuple[Any, Any]:
        """How a learner of plain numbers is trained in folds, and asked."""
        task = self.task
        native, names, size = task.encoding.native, task.encoding.native_codes, task.encoding.size

        def trained(train: Mask, test: Mask) -> Any:
            rows, held = (few(each, task.seed) for each in (self._rows(train), np.flatnonzero(test)))
            features = stacked(train_table[rows], test_table[held])
            labels = native[np.concatenate([task.train.codes[rows], task.test.codes[held]])]
            return self.trainer.fit(estimator, features, labels)

        def asked(model: Any, train: bool, rows: Rows) -> Floats:
            return learners.scores(model, (train_table if train else test_table)[rows], names, size)

        return trained, asked


def _linear(features: Any) -> tuple[Any, LogisticRegression]:
    """Features of one scale and a logistic regression; of counts and other sparse features what is rare weighs more."""
    if not sp.issparse(features):
        return make_pipeline(SimpleImputer(keep_empty_features=True), StandardScaler()), LogisticRegression(
            max_iter=300
        )
    if features.nnz and features.data.min() < 0:
        return MaxAbsScaler(), LogisticRegression(C=0.1, max_iter=300)
    return TfidfTransformer(sublinear_tf=True), LogisticRegression(C=10.0, max_iter=300)


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
