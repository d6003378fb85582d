"""No model at all: what somebody's model says of the rows, and a logistic head in its place.

The probabilities of the training rows must be *out of fold*: each by a model that was not trained on the row. They are
one opinion among those that Psi weighs, and never trained on a label that Psi leaves out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.optimize import linear_sum_assignment
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from psidebug.errors import InvalidProbabilities, NotAClassifier, ShapeMismatch, UnsupportedFeatures
from psidebug.policy import LEAST_PROBABILITY
from psidebug.task.labels import Codes, Encoding, quoted
from psidebug.task.tables import is_frame, off_device

Floats = npt.NDArray[np.float64]
HEAD = "logistic head"
"""The name of the step by which a head is known, also in a saved run."""
SUM_TO_ONE = 1e-3
BY_HEART, WORSE_ON_TEST = 0.995, 0.05
"""Probabilities that agree with so many training labels, and give test labels so much less, have seen the former."""


@dataclass(frozen=True, eq=False)
class OutOfFold:
    """Log probabilities of the classes by the user's own model: training rows (N, K) and test rows (M, K)."""

    train: Floats
    test: Floats

    @classmethod
    def of(cls, train: Any, test: Any, encoding: Encoding, given: Codes, right: Codes) -> OutOfFold:
        """Checked: shape, rows that add up to 1, the order of the classes, and that training rows are out of fold."""
        tables = (("pred_probs", train, given), ("pred_probs_test", test, right))
        said = [_checked(table, encoding, len(codes), name) for name, table, codes in tables]
        _check_order(said[1], right, encoding)
        own, on_test = (p[np.arange(len(p)), codes].mean() for p, codes in zip(said, (given, right), strict=True))
        agreed = float((said[0].argmax(axis=1) == given).mean())
        if agreed > BY_HEART and on_test < own - WORSE_ON_TEST:
            raise InvalidProbabilities(
                f"pred_probs agree with {agreed:.1%} of the training labels, and give them a probability of {own:.2f} "
                f"where test labels get {on_test:.2f}: the model has seen the labels that it predicts. Give "
                f"out-of-fold probabilities, for instance by sklearn.model_selection.cross_val_predict(…, "
                f"method='predict_proba')."
            )
        return cls(*(np.log(np.maximum(p, LEAST_PROBABILITY)) for p in said))

    def of_rows(self, rows: npt.NDArray[np.intp]) -> OutOfFold:
        """Some of the training rows."""
        return OutOfFold(self.train[rows], self.test)

    def of_tests(self, rows: npt.NDArray[np.intp]) -> OutOfFold:
        """Some of the test rows."""
        return OutOfFold(self.train, self.test[rows])

    def joined(self, rows: npt.NDArray[np.intp]) -> OutOfFold:
        """With these test rows after the training rows."""
        return OutOfFold(np.concatenate([self.train, self.test[rows]]), self.test)


def head_for(X_train: Any, X_test: Any, pred_probs: Any, pred_probs_test: Any) -> tuple[Any, Any, Any]:
    """A logistic regression on scaled features, and these; without any they are the log probabilities."""
    if (X_train is None) != (X_test is None):
        raise ShapeMismatch("X_train and X_test go together: give embeddings of both sets, or of neither.")
    if X_train is None:
        if pred_probs is None or pred_probs_test is None:
            raise NotAClassifier(
                "model is None, and there are no features and no probabilities either. Give a model, or embeddings, or "
                "pred_probs and pred_probs_test."
            )
        X_train, X_test = (np.log(np.maximum(_numbers(p), LEAST_PROBABILITY)) for p in (pred_probs, pred_probs_test))
    X_train, X_test = (_embeddings(X, name) for X, name in ((X_train, "X_train"), (X_test, "X_test")))
    scaler = StandardScaler(with_mean=not sp.issparse(X_train))
    return Pipeline([("scaler", scaler), (HEAD, LogisticRegression(max_iter=300))]), X_train, X_test


def _embeddings(features: Any, name: str) -> Any:
    features = off_device(features)
    if not is_frame(features) and isinstance(next(iter(features), None), str):
        raise UnsupportedFeatures(
            f"{name} holds texts, and there is no model to read them: give their embeddings, and the texts as metadata "
            f"with text= their column; or a model of texts."
        )
    return features


def is_head(learner: Any) -> bool:
    """Whether the learner stands in the place of a model that was not given."""
    return isinstance(learner, Pipeline) and learner.steps[-1][0] == HEAD


def _checked(table: Any, encoding: Encoding, rows: int, name: str) -> Floats:
    """Probabilities (rows, K) in the order of the classes; columns of a data frame are matched by their names."""
    if is_frame(table):
        frame = nw.from_native(table, eager_only=True)
        wanted = [str(each) for each in encoding.classes]
        places = {str(column): place for place, column in enumerate(frame.columns)}
        if set(wanted) <= set(places):
            table = frame.to_numpy()[:, [places[each] for each in wanted]]
    p = _numbers(table)
    if p.shape in ((rows,), (rows, 1)) and encoding.size == 2:
        p = np.column_stack([1.0 - p, p])
    if p.shape != (rows, encoding.size):
        classes = ", ".join(quoted(each) for each in encoding.classes[:6])
        raise ShapeMismatch(
            f"{name} has shape {p.shape}, but there are {rows} rows and {encoding.size} classes: give one row of "
            f"probabilities for each, one column for each class in sorted order ({classes}…)."
        )
    odd = np.flatnonzero(
        ~(np.isfinite(p).all(axis=1) & (p >= 0).all(axis=1) & (np.abs(p.sum(axis=1) - 1) < SUM_TO_ONE))
    )
    if odd.size:
        raise InvalidProbabilities(
            f"row {odd[0]} of {name}{f' and {odd.size - 1} more' if odd.size > 1 else ''} has no probabilities: they "
            f"must be numbers from 0 that add up to 1. Give those of predict_proba or of a softmax."
        )
    return p


def _check_order(p: Floats, right: Codes, encoding: Encoding) -> None:
    """Refuse columns that agree with the test labels far better in another order."""
    together = np.zeros((encoding.size, encoding.size))
    np.add.at(together, (p.argmax(axis=1), right), 1.0)
    own, best = float(np.trace(together)), float(together[linear_sum_assignment(-together)].sum())
    if best > len(right) / 2 and own < best / 2:
        raise InvalidProbabilities(
            "pred_probs_test agree with the test labels far better if the columns are in another order. Give one "
            "column for each class in sorted order, or a data frame whose columns have the names of the classes."
        )


def _numbers(table: Any) -> Floats:
    try:
        return np.asarray(table.to_numpy() if hasattr(table, "to_numpy") else off_device(table), dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidProbabilities(
            "pred_probs and pred_probs_test take a table of numbers: one row of probabilities each."
        ) from None
