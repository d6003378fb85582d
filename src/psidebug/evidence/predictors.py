"""Who can say what a label should be, none of whom saw it.

The user's own learner, on rows that it was not trained on; the same learner, trained on the test set alone, whose
labels are trusted; a linear learner and a forest trained on both sets, of features that are numbers or told in numbers
(:mod:`psidebug.evidence.in_numbers`), where the user's cannot know better; and a model that the user has trained
elsewhere, by the probabilities that were given. How each is kept from the labels that it predicts is the matter of
:mod:`psidebug.evidence.held_out`, how far it is believed that of :mod:`psidebug.evidence.calibration`.

What they say without the labels of some rows costs little where nothing need be trained for it: a forest counts anew,
a logistic regression is trained once. Any other learner of the user has no say about these rows: there it says what the
others say together (decision 41).
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from psidebug import policy
from psidebug.errors import LearnerFailed
from psidebug.evidence.calibration import calibrate
from psidebug.evidence.forest import extra_trees
from psidebug.evidence.held_out import (
    MOST_ROWS,
    Floats,
    Folds,
    LabelPredictions,
    Mask,
    Prepared,
    Recipe,
    Rows,
    Without,
    can_leave_one_out,
    out_of_fold,
    without_none,
)
from psidebug.evidence.in_numbers import InNumbers
from psidebug.evidence.one_predictor import Grown, Predictor, Told, Trained
from psidebug.slices.conditions import Conjunction
from psidebug.task import learner as learners
from psidebug.task.nets import Head
from psidebug.task.tables import Table, is_frame, stacked, take
from psidebug.task.task import Task
from psidebug.training.trainer import Trainer

WIDEST = 2_000
"""Columns up to which dense features are looked at by a forest."""
WORDS = 2**16
"""Places that the words of texts are hashed to."""
OWN, OWN_ON_TEST = "the learner", "the learner, trained on the test set alone"
TOLD = "the probabilities given"
LINEAR, FOREST = "a linear learner", "a forest"
AS_THEY_CAME = "{} of the rows themselves"
ON_REPAIRED = "the learner, trained on repaired labels"


@dataclass(frozen=True, eq=False)
class Predictors:
    """All who can predict the labels of a task."""

    task: Task
    trainer: Trainer
    folds: Folds
    everyone: tuple[Predictor, ...]
    exchanged: bool = False
    """Whether they were made for the task with its sets in each other's place."""
    slow: bool = False
    """Whether it takes a fit of the user's learner for each fold to hear it."""
    _asked: set[str] = field(default_factory=set, repr=False)
    """What was asked of a slow learner, of either set."""
    _first: dict[str, LabelPredictions] = field(default_factory=dict, repr=False)
    """What they say if all may learn from all labels, as they were made."""

    @classmethod
    def of(cls, task: Task, trainer: Trainer, folds: Folds | None = None) -> Predictors:
        """The user's learner twice, and two plain ones if the features are numbers, or can be told in numbers."""
        train, test = _matrix(task.seen.train), _matrix(task.seen.test)
        if train is None or test is None or train.shape[1] != test.shape[1]:
            train = test = None
        plain = _of_mixed_rows(task, trainer) if train is None else _plain(task, trainer, train, test)
        everyone = [*_own(task, train, test), *plain]
        everyone += _of_rows_as_they_came(task, trainer)
        if task.data.opinion is not None:
            everyone.append(Told(task.data.opinion, TOLD))
        slow = not everyone[0].quick
        return cls(task, trainer, Folds.of(task) if folds is None else folds, tuple(everyone), slow=slow)

    def of_mirrored(self, task: Task) -> Predictors:
        """The same about the task with its sets in each other's place: nothing is trained for that."""
        return replace(self, task=task, folds=self.folds.exchanged, exchanged=not self.exchanged)

    def tested_by(self, task: Task, kept: Rows) -> Predictors:
        """Those about the task with these test rows alone: who learns from training labels only has spoken."""
        fewer = Predictors.of(task, self.trainer, Folds(self.folds.train, self.folds.test[kept]))
        if (own := self._first.get(OWN)) is not None:
            fewer._first[OWN] = replace(own, test=own.test[kept])
        asked = {each.name for each in self.everyone}
        return fewer.without([each.name for each in fewer.everyone if each.name not in asked])

    def without(self, names: Sequence[str]) -> Predictors:
        """The others."""
        return replace(self, everyone=tuple(each for each in self.everyone if each.name not in names))

    @property
    def impartial(self) -> Predictors:
        """Those in whom neither set of labels had a part before; of a net, who look at its rows, not its activations.

        Activations were made to tell training labels apart, wrong ones, too: by them it is the test labels that err.
        """
        if not isinstance(learners.final_step(self.task.learner), Head):
            return self
        blind = (TOLD, AS_THEY_CAME.format(LINEAR), AS_THEY_CAME.format(FOREST))
        return replace(self, everyone=tuple(each for each in self.everyone if each.name in blind))

    def predict(self, excluded: Mask | None = None, slices: Sequence[Conjunction] = ()) -> list[LabelPredictions]:
        """By everyone, without the labels of the excluded training rows (N,), those of the slices.

        A slow learner of the user's is not trained again for that: inside the slices the others speak for it. If nobody
        can be trained, a uniform prediction: calibration then makes the shares of the classes of it.
        """
        silent = [each for each in self.everyone if self._is_silent(each, excluded)]
        made = self._said([each for each in self.everyone if each not in silent], excluded)
        if excluded is None or not made:
            made += self._said(silent, excluded)
        elif silent:
            others, said = calibrate(made, self.task.test.codes), self._said(silent, None)
            made += [others.speaking_for(each, excluded, slices, self.task.data) for each in said]
        size = self.task.encoding.size
        train, test = (np.full((len(each), size), -np.log(size)) for each in (self.task.train, self.task.test))
        return made or [LabelPredictions("uniform", train, test)]

    def inside(self, area: Without) -> list[tuple[Floats, Floats]]:
        """What is said of these rows of both sets, by everyone who has seen none of their labels."""
        made = []
        for each in self.everyone:
            with suppress(LearnerFailed):
                if (said := each.inside(self.trainer, self._as_made(area))) is not None:
                    made.append((said[1], said[0]) if self.exchanged else said)
        return made

    def _said(self, predictors: Sequence[Predictor], excluded: Mask | None) -> list[LabelPredictions]:
        """By those who can be trained without the labels of the excluded rows."""
        without, folds = self._without(excluded), self.folds.exchanged if self.exchanged else self.folds
        made = []
        for each in predictors:
            with suppress(LearnerFailed):
                if each.name not in self._first:
                    self._first[each.name] = each.predict(self.trainer, folds, self._without(None))
                said = self._first[each.name]
                if each.concerned(without):
                    said = each.predict(self.trainer, folds, without)
                made.append(said.exchanged if self.exchanged else said)
        return made

    def _is_silent(self, each: Predictor, excluded: Mask | None) -> bool:
        """Whether it takes fits of the user's learner to hear what it says without these labels."""
        return not each.quick and each.concerned(self._without(excluded))

    def _without(self, excluded: Mask | None) -> Without:
        """These training rows, for the sets as they were."""
        none = without_none(self.task)
        return self._as_made(none if excluded is None else none._replace(train=excluded))

    def _as_made(self, without: Without) -> Without:
        return without.exchanged if self.exchanged else without

    def predict_from_repaired(self, posterior: Floats) -> LabelPredictions | None:
        """By the user's learner, trained on the likeliest labels and on test rows, of other folds each.

        ``posterior`` (N, K) is W. None if the learner cannot be trained on that, or does not weigh its rows; and if it
        is slow and has been asked for that already, about either set.
        """
        task = self.task
        if not learners.takes_weights(task.learner) or (self.slow and ON_REPAIRED in self._asked):
            return None
        self._asked.add(ON_REPAIRED)
        recipe = Recipe(
            task, task.learner, task.train.features, task.test.features, "both", True, posterior, prepared=as_it_came
        )
        if (seen := task.seen_in_every_world) is not None:  # texts need not be taken apart again
            final = learners.final_step(task.learner)
            recipe = replace(recipe, estimator=final, train=seen.train, test=seen.test, prepared=as_seen_anew)
        try:
            return out_of_fold(recipe, self.trainer, self.folds, without_none(task), ON_REPAIRED)
        except LearnerFailed:
            return None


def as_it_came(task: Task, rows: Rows) -> Table:
    """Training rows of a task as the user's learner takes them."""
    return take(task.train.features, rows)


def as_seen_anew(task: Task, rows: Rows) -> Table:
    """Training rows of a task as the final estimator takes them, whatever the labels are."""
    seen = task.seen_in_every_world
    assert seen is not None
    return take(seen.train, rows)


def as_matrix(task: Task, rows: Rows) -> Any:
    """Training rows of a task as the final estimator takes them, as numbers."""
    return _matrix(take(task.seen.train, rows))


def once_for_all(prepared: Prepared) -> Prepared:
    """The same; the rows that were asked about last are kept, since every hypothesis asks about the same."""
    last: list[tuple[Rows, Any]] = []

    def kept(task: Task, rows: Rows) -> Any:
        held = last[0] if last else None
        if held is None or held[0] is not rows:  # two threads may ask: what is returned is never the other's
            held = rows, prepared(task, rows)
            last[:] = [held]
        return held[1]

    return kept


def _own(task: Task, train: Any, test: Any) -> list[Predictor]:
    """The user's learner; in one fit if labels have no part in what comes before its final estimator."""
    final, whole = learners.final_step(task.learner), None
    folded = Recipe(
        task, task.learner, task.train.features, task.test.features, "training", all_rows=True, prepared=as_it_came
    )
    blind = final is task.learner or task.seen_in_every_world is not None
    if blind and train is not None and can_leave_one_out(final):
        whole = replace(folded, estimator=final, train=train, test=test, prepared=as_matrix)
    whole_on_test = None if whole is None else replace(whole, learns_from="test")
    on_test = Trained(OWN_ON_TEST, replace(folded, learns_from="test"), whole_on_test)
    return [Trained(OWN, folded, whole), on_test]


def _of_rows_as_they_came(task: Task, trainer: Trainer) -> list[Predictor]:
    """For a net, plain learners of its rows, of texts by their words: wrong labels have had a part in its activations.

    Digits in which a slice is wrong, two seeds: average precision .88 and .82 without them, .95 and .94 with them.
    """
    if not isinstance(learners.final_step(task.learner), Head):
        return []
    train, test = _counted(task.train.features), _counted(task.test.features)
    if train is None or test is None:
        return []

    def came(other: Task, rows: Rows) -> Any:
        return _counted(take(other.train.features, rows))

    return _plain(task, trainer, train, test, as_numbers=came, named=AS_THEY_CAME)


def _of_mixed_rows(task: Task, trainer: Trainer) -> list[Predictor]:
    """Plain learners beside one that reads categories or dates itself, of the same rows in numbers."""
    if sp.issparse(task.seen.train) or (numbers := InNumbers.of(task.seen.train)) is None:
        return []
    train, test = numbers(task.seen.train), numbers(task.seen.test)

    def told(other: Task, rows: Rows) -> Any:
        return numbers(take(other.seen.train, rows))

    return _plain(task, trainer, train, test, as_numbers=told)


def _plain(
    task: Task, trainer: Trainer, train: Any, test: Any, *, as_numbers: Prepared = as_matrix, named: str = "{}"
) -> list[Predictor]:
    """A linear learner and, on dense features, a forest."""
    varies = _varying(train)
    train, test = train[:, varies], test[:, varies]
    scaler, estimator = _linear(train)
    scaled = scaler.fit_transform(stacked(train, test))

    def in_scale(other: Task, rows: Rows) -> Any:
        return scaler.transform(as_numbers(other, rows)[:, varies])

    parts = scaled[: train.shape[0]], scaled[train.shape[0] :]
    linear = Recipe(task, estimator, *parts, "both", prepared=once_for_all(in_scale))
    if sp.issparse(train) or train.shape[1] > WIDEST:
        return [Trained(named.format(LINEAR), linear, linear)]
    filled = SimpleImputer(keep_empty_features=True).fit(train)

    def complete(other: Task, rows: Rows) -> Any:
        return filled.transform(as_numbers(other, rows)[:, varies])

    trees = extra_trees(sum(min(part.shape[0], MOST_ROWS) for part in (train, test)))
    forest = Recipe(task, trees, filled.transform(train), filled.transform(test), "both", prepared=complete)
    return [Trained(named.format(LINEAR), linear, linear), Grown(forest, trainer, named.format(FOREST))]


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


def _counted(rows: Table) -> Any:
    """Rows of a net as numbers, the words of texts counted; None if they are too wide."""
    if len(rows.shape) == 1:
        return sp.csr_array(HashingVectorizer(n_features=WORDS, alternate_sign=False, norm=None).transform(rows))
    numbers = _matrix(rows)
    return None if numbers is None or numbers.shape[1] > WIDEST else numbers


def _varying(features: Any) -> Any:
    """Dense features without the constant ones, which say nothing but take part in a forest's draws of features."""
    if sp.issparse(features) or not len(features):
        return slice(None)
    varies = ((features != features[0]) & ~(np.isnan(features) & np.isnan(features[0]))).any(axis=0)
    return varies if varies.any() else slice(None)
