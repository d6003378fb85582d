"""Gray box "surrogate": a logistic regression stands in for a learner that has no gray box of its own.

The stand-in g is fitted to the given labels on what the learner's final estimator itself sees: the numbers that reach
it, their Gaussian kernel, or its leaves if it has ``apply``. Its Newton step says how far labels move its margins; the
learner's own margins are kept and moved by as much, in the learner's units:

    m_tr(w) = m_tr + κ (m_tr^g(w) - m_tr^g),   κ = mean |m_tr| / mean |m_tr^g| over the test set.

Rows are scaled to a mean squared length of 1: on numbers of unit variance the stand-in is all but free of its penalty
and overstates flips, on digits 20 to 170 times. Of numbers and kernel the one is taken whose margins are ordered more
like the learner's own. That costs no retraining, and of 20 cases (five learners on four data sets) it missed the one
that follows retraining better, by more than 0.05 in the correlation of margins, once.

Nothing guarantees that a learner answers to labels as its stand-in does. How well it does is measured
(:mod:`psidebug.graybox.fidelity`) and told with every answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, ParamSpec, TypeVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.stats import spearmanr
from sklearn import config_context
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler, OneHotEncoder, StandardScaler

from psidebug.errors import UnsupportedLearner
from psidebug.graybox.logistic import LogisticBox
from psidebug.graybox.protocol import Floats, Worlds
from psidebug.task import learner as learners
from psidebug.task.columns import Column, columns
from psidebug.task.data import LabelledSet
from psidebug.task.final_features import FinalFeatures
from psidebug.task.task import Task
from psidebug.training.trainer import Trainer

P = ParamSpec("P")
T = TypeVar("T")
KERNEL_COLUMNS = 300
KERNEL_ROWS = 100_000
"""Beyond this many rows the kernel's columns, 8 · 300 bytes a row, are not worth their memory."""
MOST_VALUES = 50
"""Of a column of categories; the less frequent ones are one."""


@dataclass(frozen=True, eq=False)
class Embedding:
    """Training and test rows as the stand-in sees them."""

    of: str
    """What they are, in words."""
    train: Any
    test: Any


class Surrogate:
    """A logistic gray box on the learner's own features, kernel or leaves, moved to the learner's own margins."""

    name = "surrogate"

    def __init__(self, task: Task, *, because: str = "") -> None:
        self._because = because
        self.actual: Floats = task.margins(task.learner, task.test)
        self._notes = task.seen.notes
        fitted = [(each.of, LogisticBox(_stand_in(task, each))) for each in embeddings(task)]
        self.embedding, self._box = max(fitted, key=lambda each: _agreement(each[1].actual, self.actual))
        self.scale = float(np.abs(self.actual).mean() / (np.abs(self._box.actual).mean() or 1.0))
        """κ: one unit of the stand-in's log odds in the learner's units."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What stands in for what and why, and what a reader of the answers should know."""
        why = f"{self._because}, so " if self._because else ""
        return (f"{why}a logistic surrogate on {self.embedding} stands in", *self._notes, *self._box.notes)

    def effects(self, weights: Floats) -> Floats:
        """κ times the stand-in's effects, shape (N, K)."""
        return self.scale * self._box.effects(weights)

    def coefficients(self, points: npt.NDArray[np.intp]) -> Floats:
        """κ times the stand-in's coefficients, shape (K, points, K-1, N)."""
        return self.scale * self._box.coefficients(points)

    def margins(self, worlds: Worlds, points: npt.NDArray[np.intp] | None = None) -> Floats:
        """The learner's own margins, moved as the stand-in's are."""
        chosen = slice(None) if points is None else points
        moved = self._box.margins(worlds, points) - self._box.actual[chosen]
        return np.asarray(self.actual[chosen] + self.scale * moved)


def embeddings(task: Task) -> Iterator[Embedding]:
    """Leaves, if the final estimator has them; else its features and, where they are dense and few, their kernel.

    Raises :class:`UnsupportedLearner` if what reaches the final estimator are texts.
    """
    model = learners.final_step(task.learner)
    leaves = _leaves(model, task.seen)
    if leaves is not None:
        yield _of_unit_length("its leaves", *_by(OneHotEncoder(handle_unknown="ignore"), *leaves))
        return
    numbers = _numbers(task.seen, type(model).__name__)
    sparse = sp.issparse(numbers[0])
    features = _of_unit_length("its features", *_by(MaxAbsScaler() if sparse else StandardScaler(), *numbers))
    yield features
    if not sparse and len(task.train) <= KERNEL_ROWS:
        columns = min(KERNEL_COLUMNS, max(len(task.train) // 2, 1))
        kernel = Nystroem(gamma=1.0, n_components=columns, random_state=task.seed)
        yield _of_unit_length("the Gaussian kernel of its features", *_by(kernel, features.train, features.test))


def _as_arrays(function: Callable[P, T]) -> Callable[P, T]:
    """Whatever users have set scikit-learn to put out."""
    made: Callable[P, T] = config_context(transform_output="default")(function)
    return made


@_as_arrays
def _by(transformer: Any, train: Any, test: Any) -> tuple[Any, Any]:
    """Both sets by a transformer that is fitted on the first."""
    transformer.fit(train)
    return transformer.transform(train), transformer.transform(test)


def _leaves(model: Any, seen: FinalFeatures) -> list[npt.NDArray[Any]] | None:
    """Leaves (rows, trees) of the training and test rows; None for a model without trees.

    Having ``apply`` proves nothing: XGBClassifier has it with booster="gblinear" too, and raises.
    """
    try:
        return [np.asarray(model.apply(table)).reshape(table.shape[0], -1) for table in (seen.train, seen.test)]
    except Exception:
        return None


def _of_unit_length(of: str, train: Any, test: Any) -> Embedding:
    squares = train.multiply(train).sum() if sp.issparse(train) else np.square(train).sum()
    length = float(np.sqrt(squares / train.shape[0])) or 1.0  # 0 when every feature is constant
    return Embedding(of, train / length, test / length)


def _stand_in(task: Task, rows: Embedding) -> Task:
    """The same task, the learner replaced by a logistic regression on the embedded rows."""
    # Weights get a mean of 1: for most learners their unit means nothing, beside a penalty it would.
    weights = None if task.data.sample_weight is None else task.data.sample_weight / task.data.sample_weight.mean()
    labels = task.encoding.native[task.train.codes]
    model = Trainer(task).fit(LogisticRegression(max_iter=1000), rows.train, labels, weights)
    train, test = LabelledSet(rows.train, task.train.codes), LabelledSet(rows.test, task.test.codes)
    data = replace(task.data, train=train, test=test, validation=None, metadata=None, sample_weight=weights)
    return replace(task, learner=model, data=data)


def _agreement(stand_in: Floats, own: Floats) -> float:
    """Rank correlation of two learners' margins on the test set; -1 where there is none."""
    if np.ptp(stand_in) == 0 or np.ptp(own) == 0:
        return -1.0
    return float(spearmanr(stand_in, own, axis=None).statistic)


@_as_arrays
def _numbers(seen: FinalFeatures, learner: str) -> tuple[Any, Any]:
    """Training and test rows as numeric matrices, or a refusal of texts and infinite numbers.

    What is missing is the mean of its column. Columns of categories make a sparse matrix: a column for each frequent
    value, beside the standardised numbers.
    """
    tables = seen.train, seen.test
    if any(len(table.shape) != 2 for table in tables):
        raise _refusal(learner, "the features that reach it are not numeric")
    if any(sp.issparse(table) for table in tables):
        own = others = []
        matrices, numeric = [sp.csr_matrix(table) for table in tables], [True]
    else:
        own, others = (columns(table) for table in tables)
        numeric = [one.values.dtype.kind in "fiub" for one in own]
        matrices = [
            _of_numbers(part, numeric, table.shape[0]) for part, table in zip((own, others), tables, strict=True)
        ]
    if any(np.isinf(each.data if sp.issparse(each) else each).any() for each in matrices):
        raise _refusal(learner, "the features that reach it have infinite values")
    if any(numeric):
        matrices = [*_by(SimpleImputer(keep_empty_features=True), *matrices)]
    if all(numeric):
        return matrices[0], matrices[1]
    texts = [_of_texts(part, numeric) for part in (own, others)]
    coder = OneHotEncoder(handle_unknown="infrequent_if_exist", max_categories=MOST_VALUES).fit(texts[0])
    scaler = StandardScaler().fit(matrices[0]) if any(numeric) else FunctionTransformer()
    train, test = (
        sp.csr_matrix(sp.hstack([scaler.transform(each), coder.transform(text)]))
        for each, text in zip(matrices, texts, strict=True)
    )
    return train, test


def _of_numbers(part: list[Column], numeric: list[bool], rows: int) -> Floats:
    kept = [np.asarray(each.values, dtype=np.float64) for each, number in zip(part, numeric, strict=True) if number]
    return np.column_stack(kept) if kept else np.zeros((rows, 0))


def _of_texts(part: list[Column], numeric: list[bool]) -> npt.NDArray[Any]:
    kept = [[str(value) for value in each.values] for each, number in zip(part, numeric, strict=True) if not number]
    return np.array(kept, dtype=object).T


def _refusal(learner: str, why: str) -> UnsupportedLearner:
    return UnsupportedLearner(
        f"a logistic surrogate cannot stand in for {learner}: {why}. Put an encoder or imputer before it in a "
        f"Pipeline, or use graybox='retrain', which takes any classifier."
    )
