"""Opinions about the true labels, none of which has seen the label it speaks about.

The user's own learner is asked in folds: what does it say about rows that it was not trained on? It is asked once more
trained on the test set alone, whose labels are trusted. Where the features are numbers, two plain learners join in, a
linear one and a forest, trained on the other folds of both sets: a second opinion, where the learner cannot know
better. How much each of them is worth is not decided here: :mod:`psidebug.diagnosis.evidence.labeller` learns it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.special import log_softmax
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from psidebug import learner as learners
from psidebug.diagnosis.verification import Judge
from psidebug.errors import LearnerFailed
from psidebug.graybox.features import seen_by_final_step
from psidebug.labels import Codes
from psidebug.tables import Table, is_frame, take
from psidebug.task import Task

Floats = npt.NDArray[np.float64]
Rows = npt.NDArray[np.intp]
Mask = npt.NDArray[np.bool_]
Trained = Callable[[Mask, Mask], Any]
"""A model from the training rows and the test rows that it may see."""
Asked = Callable[[Any, bool, Rows], Floats]
"""Its scores (rows, K) of some training rows (True) or test rows (False)."""

FOLDS = 3
LEAST = float(np.log(1e-4))
"""No opinion is surer than this: log probabilities are kept above it."""
MOST_ROWS = 8_000
"""A second opinion is formed on so many training rows, and test rows, at most."""
WIDEST = 2_000
"""Columns up to which dense features are looked at."""


@dataclass(frozen=True, eq=False)
class Opinion:
    """What one learner says about every row, as log probabilities."""

    name: str
    train: Floats
    """(N, K)."""
    test: Floats
    """(M, K)."""


@dataclass(frozen=True, eq=False)
class Speaker:
    """Somebody who can be asked for an opinion."""

    name: str
    trained: Trained
    asked: Asked
    of_training_rows: bool = True
    """Whether it learns from training labels; if not its opinion never changes."""


@dataclass
class Panel:
    """All who can be asked about a task."""

    task: Task
    judge: Judge
    speakers: list[Speaker] = field(default_factory=list)
    _heard: dict[str, Opinion] = field(default_factory=dict)

    def __post_init__(self) -> None:
        chance = np.random.default_rng(self.task.seed)
        # In the order of their ids, so that the order in which the training rows came does not matter.
        ids = self.task.rows
        plain = np.array([str(each) for each in ids.tolist()]) if ids.dtype.kind == "O" else ids
        self._order = np.argsort(plain, kind="stable")
        self.folds = np.empty(len(self._order), dtype=np.intp)
        self.folds[self._order] = _folds(self.task.train.codes[self._order], chance)
        self.test_folds = _folds(self.task.test.codes, chance)
        self.speakers = [self._own(), self._own_on_test(), *self._second()]

    def hear(self, excluded: Mask) -> list[Opinion]:
        """Everyone's opinion, formed without the labels of the excluded rows (N,).

        Who cannot be trained on so few rows, or without a class, is silent. If all are, one who knows nothing speaks:
        the labeller then knows no more than the shares of the classes.
        """
        opinions = []
        for speaker in self.speakers:
            if speaker.name not in self._heard or speaker.of_training_rows:
                try:
                    self._heard[speaker.name] = self._opinion(speaker, excluded)
                except LearnerFailed:
                    self._heard.pop(speaker.name, None)
            if speaker.name in self._heard:
                opinions.append(self._heard[speaker.name])
        return opinions or [self._ignorant()]

    def dismiss(self, names: Sequence[str]) -> None:
        """Ask these no more."""
        self.speakers = [speaker for speaker in self.speakers if speaker.name not in names]

    def _opinion(self, speaker: Speaker, excluded: Mask) -> Opinion:
        """Fold by fold: a training row is spoken of by the model without its fold, an excluded one by all models.

        A test row is spoken of by one model too, chosen by its fold: an average of several would be better informed
        than what is said of the training rows, and make these look wrong beside it.
        """
        size, apart = self.task.encoding.size, np.flatnonzero(excluded)
        train, test = np.zeros((len(self.folds), size)), np.zeros((len(self.test_folds), size))
        for fold in range(FOLDS):
            model = speaker.trained((self.folds != fold) & ~excluded, self.test_folds != fold)
            if speaker.of_training_rows:
                own = np.flatnonzero((self.folds == fold) & ~excluded)
                train[own] = _log_probabilities(speaker.asked(model, True, own))
                if len(apart):
                    train[apart] += _log_probabilities(speaker.asked(model, True, apart)) / FOLDS
            else:
                train += _log_probabilities(speaker.asked(model, True, np.arange(len(train)))) / FOLDS
            held = np.flatnonzero(self.test_folds == fold)
            test[held] = _log_probabilities(speaker.asked(model, False, held))
        return Opinion(speaker.name, train, test)

    def _ignorant(self) -> Opinion:
        size = self.task.encoding.size
        train, test = (np.full((len(folds), size), -np.log(size)) for folds in (self.folds, self.test_folds))
        return Opinion("nobody", train, test)

    def _rows(self, train: Mask) -> Rows:
        """Their positions, in the order of their ids."""
        return np.asarray(self._order[train[self._order]])

    def _own(self) -> Speaker:
        task = self.task

        def trained(train: Mask, test: Mask) -> learners.Classifier:
            return self.judge.fit(task.train.codes, rows=self._rows(train))

        return Speaker("the learner", trained, self._scores)

    def _own_on_test(self) -> Speaker:
        task = self.task

        def trained(train: Mask, test: Mask) -> learners.Classifier:
            rows = np.flatnonzero(test)
            self.judge.fits += 1
            labels = task.encoding.native[task.test.codes[rows]]
            return learners.refit(task.learner, take(task.test.features, rows), labels, seed=task.seed)

        return Speaker("the learner, trained on the test set alone", trained, self._scores, of_training_rows=False)

    def _scores(self, model: learners.Classifier, train: bool, rows: Rows) -> Floats:
        features = take((self.task.train if train else self.task.test).features, rows)
        return learners.scores(model, features, self.task.encoding.native_codes, self.task.encoding.size)

    def _second(self) -> list[Speaker]:
        """A linear learner and, on dense features, a forest whose splits are drawn: as good, and faster."""
        seen = seen_by_final_step(self.task)
        tables = _matrix(seen.train), _matrix(seen.test)
        if tables[0] is None or tables[1] is None or tables[0].shape[1] != tables[1].shape[1]:
            return []
        tables = _varying(*tables)
        second = [Speaker("a linear second opinion", self._plain(_linear(tables[0]), *tables), self._plainly(*tables))]
        if not sp.issparse(tables[0]) and tables[0].shape[1] <= WIDEST:
            forest = make_pipeline(
                SimpleImputer(keep_empty_features=True),
                ExtraTreesClassifier(100, min_samples_leaf=5, random_state=self.task.seed),
            )
            second.append(Speaker("a forest's second opinion", self._plain(forest, *tables), self._plainly(*tables)))
        return second

    def _plain(self, estimator: Any, train_table: Any, test_table: Any) -> Trained:
        codes, test_codes = self.task.train.codes, self.task.test.codes

        def trained(train: Mask, test: Mask) -> Any:
            rows, held = (self._few(each) for each in (self._rows(train), np.flatnonzero(test)))
            features = _stacked(train_table[rows], test_table[held])
            return learners.refit(
                estimator, features, np.concatenate([codes[rows], test_codes[held]]), seed=self.task.seed
            )

        return trained

    def _few(self, rows: Rows) -> Rows:
        if len(rows) <= MOST_ROWS:
            return rows
        return np.random.default_rng(self.task.seed).choice(rows, MOST_ROWS, replace=False)

    def _plainly(self, train_table: Any, test_table: Any) -> Asked:
        codes = {code: code for code in range(self.task.encoding.size)}

        def asked(model: Any, train: bool, rows: Rows) -> Floats:
            return learners.scores(model, (train_table if train else test_table)[rows], codes, len(codes))

        return asked


def _folds(codes: Codes, rng: np.random.Generator) -> Rows:
    """A fold for each row, of every class as many in each as can be."""
    folds = np.empty(len(codes), dtype=np.intp)
    start = 0
    for code in np.unique(codes):
        rows = rng.permutation(np.flatnonzero(codes == code))
        folds[rows] = (start + np.arange(len(rows))) % FOLDS
        start += len(rows)
    return folds


def _log_probabilities(scores: Floats) -> Floats:
    return np.asarray(np.maximum(log_softmax(scores, axis=1), LEAST))


def _linear(features: Any) -> Any:
    """A logistic regression on features of one scale; counts and other sparse features weigh what is rare."""
    if not sp.issparse(features):
        return make_pipeline(
            SimpleImputer(keep_empty_features=True), StandardScaler(), LogisticRegression(max_iter=300)
        )
    if features.nnz and features.data.min() < 0:
        return make_pipeline(MaxAbsScaler(), LogisticRegression(C=0.1, max_iter=300))
    return make_pipeline(TfidfTransformer(sublinear_tf=True), LogisticRegression(C=10.0, max_iter=300))


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


def _stacked(first: Any, second: Any) -> Any:
    return sp.vstack([first, second], format="csr") if sp.issparse(first) else np.concatenate([first, second])
