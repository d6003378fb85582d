"""A task (Γ, Δ, 𝒜): training set, test set, and a learner fitted on the one and asked about the other."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from psidebug import timings
from psidebug.errors import LearnerFailed, NotMisclassified, ShapeMismatch, UnknownOption, UnknownRow
from psidebug.margins import margins_of, with_signs
from psidebug.task import learner as learners
from psidebug.task.data import Data, LabelledSet
from psidebug.task.final_features import FinalFeatures, blind_to_labels, seen_anew, seen_by
from psidebug.task.labels import Codes, Encoding
from psidebug.task.net_door import is_net, opened
from psidebug.task.nets import WholeNet
from psidebug.task.probabilities import head_for
from psidebug.task.tables import Table


@dataclass(frozen=True, eq=False)
class Task:
    """Data and a fitted learner, with its errors; made by :meth:`of`.

    Examples
    --------
    >>> import psidebug
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = load_iris(return_X_y=True)
    >>> task = psidebug.Task.of(LogisticRegression(max_iter=1000), X[::2], y[::2], X[1::2], y[1::2])
    >>> len(task.test), bool((task.predicted[task.bugs] != y[1::2][task.bugs]).all())
    (75, True)
    """

    learner: learners.Classifier
    data: Data
    predicted: Codes
    """What the learner says about the test rows."""
    bugs: npt.NDArray[np.intp]
    """Positions of the test rows to explain, all misclassified."""
    seed: int = 0
    fitted_by_user: bool = False
    """Whether the learner came fitted, by ways that Psi does not know."""
    whole: WholeNet | None = None
    """All layers of a net, of which the learner is the last on what the others make; None where nobody can train it."""
    part_of: int | None = None
    """How many training rows there are in all, if these are a block of them."""

    @classmethod
    def of(
        cls,
        model: Any,
        X_train: Any,
        y_train: Any,
        X_test: Any,
        y_test: Any,
        *,
        bugs: Any = None,
        known: Any = None,
        seed: int = 0,
        train: Any = None,
        fits: int | None = None,
        **tables: Any,
    ) -> Task:
        """Check everything once, and fit the learner if it is not; ``tables`` are further arguments of ``Data.of``.

        Without a model a logistic head is the learner. ``train`` and ``fits`` are how a neural net is trained, and how
        often at most.
        """
        if is_net(model):
            sets = {"X_train": X_train, "y_train": y_train, "X_test": X_test, "y_test": y_test}
            sets |= {name: tables.pop(name) for name in ("X_validation", "y_validation") if name in tables}
            net = opened(model, sets, train, seed=seed, fits=fits)
            task = cls.of(net.learner, bugs=bugs, known=known, seed=seed, **net.data, **tables)
            return replace(task, whole=net.whole)
        if train is not None or fits is not None:
            raise UnknownOption("train and fits are for neural nets, and the model is none: leave them out.")
        if model is None:
            given = tables.get("pred_probs"), tables.get("pred_probs_test")
            model, X_train, X_test = head_for(X_train, X_test, *given)
        learners.check_classifier(model)
        model = model if known is None else learners.fresh(model)  # to be fitted on what is known
        data = Data.of(model, X_train, y_train, X_test, y_test, known=known, **tables)
        timings.begin("the model's fit")
        return cls.fitted(model, data, bugs=bugs, seed=seed)

    @classmethod
    def fitted(cls, model: Any, data: Data, *, bugs: Any = None, seed: int = 0) -> Task:
        """The task of data that were checked; the learner is fitted here, on a copy, if it is not fitted."""
        train, came_fitted = data.train, learners.is_fitted(model)
        if came_fitted:
            _predicted(data.encoding, model, train.features, "X_train")  # it will be trained on them: can it take them?
            model = learners.own_copy(model)
        else:
            labels, weights = data.encoding.native[train.codes], data.sample_weight
            timings.count_fit()
            model = learners.refit(model, train.features, labels, sample_weight=weights, seed=seed, quiet=False)
            learners.classes_of(model)
        predicted = _predicted(data.encoding, model, data.test.features, "X_test")
        if data.validation is not None:
            _predicted(data.encoding, model, data.validation.features, "X_validation")
        named = _bugs(bugs, wrong=predicted != data.test.codes)
        task = cls(model, data, predicted, named, seed, came_fitted)
        vars(task)["_own_predictions"] = predicted
        return task

    # ── the data, by their own names ──

    @property
    def encoding(self) -> Encoding:
        """The classes."""
        return self.data.encoding

    @property
    def train(self) -> LabelledSet:
        """Γ."""
        return self.data.train

    @property
    def test(self) -> LabelledSet:
        """Δ."""
        return self.data.test

    @property
    def rows(self) -> npt.NDArray[Any]:
        """Ids of the training rows."""
        return self.data.rows

    @property
    def as_it_came(self) -> Task:
        """The task with the labels that the known rows came with."""
        return replace(self, data=self.data.with_labels(self.data.codes_as_they_came))

    def drawn(self, rows: npt.NDArray[np.intp]) -> Task:
        """The task of somebody who has these training rows alone; the learner is the one that was trained on all."""
        part = replace(self, data=self.data.drawn(rows), fitted_by_user=True)
        vars(part)["scores"] = self.scores
        vars(part)["_own_predictions"] = self._own_predictions
        vars(part)["seen"] = self.seen.of_rows(rows, part.train.features)
        again = self.seen_in_every_world
        vars(part)["seen_in_every_world"] = None if again is None else again.of_rows(rows, part.train.features)
        return part

    def block(self, train: LabelledSet, rows: npt.NDArray[Any], part_of: int, metadata: Table | None = None) -> Task:
        """Other training rows, a block of many, beside the same test set; steps and learner are as they were fitted."""
        data = replace(
            self.data,
            train=train,
            rows=rows,
            given_labels=None,
            metadata=metadata,
            sample_weight=None,
            known=None,
            came=None,
            part_of=None,
        )
        other = replace(self, data=data, part_of=part_of)
        vars(other)["seen"] = vars(other)["seen_in_every_world"] = self.seen.of_block(train.features)
        return other

    # ── the learner, asked ──

    @cached_property
    def seen(self) -> FinalFeatures:
        """What the final estimator of the learner as it is sees of the task's rows."""
        labels, fitted = self.encoding.native[self.train.codes], self.fitted_by_user
        return seen_by(self.learner, self._tables, labels, self.encoding, seed=self.seed, came_fitted=fitted)

    @cached_property
    def seen_in_every_world(self) -> FinalFeatures | None:
        """What it sees of them when trained anew, whatever the labels; None where these may have a part in it."""
        if not blind_to_labels(self.learner):
            return None
        # Steps that came fitted may have been fitted on other rows.
        return seen_anew(self.learner, self._tables) if self.fitted_by_user else self.seen

    @property
    def _tables(self) -> tuple[Table, ...]:
        parts = (self.train, self.test, self.data.validation)
        return tuple(part.features for part in parts if part is not None)

    @property
    def unfitted(self) -> Task:
        """The task with a learner that is not fitted, which is enough to train it in any world."""
        return self._with_learner(learners.fresh(self.learner))

    def with_options(self, **options: Any) -> Task:
        """The task with other options of its learner that change nothing of what its final estimator sees."""
        return self._with_learner(learners.fresh(self.learner).set_params(**options))

    def _with_learner(self, learner: learners.Classifier) -> Task:
        """The task with another learner, whose steps before the final estimator are the same."""
        other = replace(self, learner=learner)
        vars(other)["seen_in_every_world"] = self.seen_in_every_world
        return other

    def predict(self, model: learners.Classifier, on: LabelledSet) -> Codes:
        """Classes that a fitted model gives to these rows."""
        return _predicted(self.encoding, model, on.features, "the features")

    def margins(self, model: learners.Classifier, on: LabelledSet) -> npt.NDArray[np.float64]:
        """Margins m_tr (points, K-1) of a fitted model; their sign agrees with its own predictions, ties included."""
        if model is self.learner and on is self.test:
            return self._own_margins.copy()
        return _signed(self._scores(model, on), self.predict(model, on), on)

    @cached_property
    def scores(self) -> npt.NDArray[np.float64]:
        """Scores (points, K) that the learner gives to the test rows; see :func:`psidebug.task.learner.scores`."""
        return self._scores(self.learner, self.test)

    @cached_property
    def _own_margins(self) -> npt.NDArray[np.float64]:
        return _signed(self.scores, self._own_predictions, self.test)

    @cached_property
    def _own_predictions(self) -> Codes:
        return self.predict(self.learner, self.test)

    def _scores(self, model: learners.Classifier, on: LabelledSet) -> npt.NDArray[np.float64]:
        return learners.scores(model, on.features, self.encoding.native_codes, self.encoding.size)


def _signed(scores: npt.NDArray[np.float64], predicted: Codes, on: LabelledSet) -> npt.NDArray[np.float64]:
    """Margins by scores, with the signs of what was predicted."""
    return with_signs(margins_of(scores, on.codes), wrong=predicted != on.codes)


def _predicted(encoding: Encoding, model: learners.Classifier, features: Table, name: str) -> Codes:
    code_of = encoding.native_codes
    values = learners.predict(model, features, name=name)
    if not code_of.keys() >= set(values):
        strange = next(value for value in values if value not in code_of)
        raise LearnerFailed(
            f"{type(learners.final_step(model)).__name__} predicts {strange!r}, which is none of the classes it was "
            f"trained on: {list(code_of)[:6]}. Give a classifier that predicts the labels it was given."
        )
    return np.array([code_of[value] for value in values], dtype=np.intp)


def _bugs(bugs: Any, wrong: npt.NDArray[np.bool_]) -> npt.NDArray[np.intp]:
    """Positions of the test rows to explain, which must be ``wrong``; all that are when none are named."""
    if bugs is None:
        return np.flatnonzero(wrong)
    try:
        chosen = np.atleast_1d(np.asarray(bugs))
    except ValueError:
        chosen = np.array(["ragged"])
    if chosen.dtype == bool:
        if chosen.shape != wrong.shape:
            raise ShapeMismatch(f"bugs is a mask of {chosen.size} values but the test set has {wrong.size} rows.")
        chosen = np.flatnonzero(chosen)
    if chosen.ndim > 1 or (chosen.size and chosen.dtype.kind not in "iu"):
        raise UnknownRow("bugs takes positions of test rows (whole numbers from 0), or one True / False per test row.")
    chosen = np.unique(chosen).astype(np.intp)
    outside = chosen[(chosen < 0) | (chosen >= wrong.size)]
    if outside.size:
        raise UnknownRow(f"bugs names test row {outside[0]}, but the test set has rows 0 to {wrong.size - 1}.")
    right = chosen[~wrong[chosen]]
    if right.size:
        raise NotMisclassified(
            f"bugs names test row {right[0]}{f' and {right.size - 1} more' if right.size > 1 else ''}, which the "
            f"classifier gets right: there is no error to explain. Misclassified rows: "
            f"{np.flatnonzero(wrong)[:10].tolist()}."
        )
    return chosen
