"""A scikit-learn classifier that corrects its training labels before it learns from them."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import assert_all_finite, check_random_state, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from psidebug.diagnosis.debug import debug
from psidebug.diagnosis.diagnosis import Diagnosis
from psidebug.errors import InputError, LabelError, UnknownOption


def _learner_has(method: str) -> Any:
    """Whether the learner, fitted or not, has this method."""
    return available_if(lambda self: hasattr(getattr(self, "estimator_", self.estimator), method))


def _plain(table: Any) -> Any:
    """The table; what only can be made an array becomes one."""
    return table if hasattr(table, "shape") or isinstance(table, list | tuple) else np.asarray(table)


class PsiCleaner(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier that finds and corrects wrong training labels, and learns from the repaired ones.

    It changes labels only where retraining proves, on the trusted rows, that this improves the learner.

    Parameters
    ----------
    estimator
        A scikit-learn-compatible classifier. It is cloned, never changed.
    trusted
        A pair ``(X_trusted, y_trusted)``: rows with the same columns as the training rows, and labels that are mostly
        right. At least 30 rows; with fewer, nothing is corrected. Left out, the labels are taken as they are, with a
        warning.
    options
        Options of :func:`psidebug.debug`, by name, for instance ``{"rounds": 3}``.
    random_state
        A seed; the same seed gives the same labels.

    Attributes
    ----------
    diagnosis_
        The :class:`~psidebug.Diagnosis`; None without trusted rows.
    labels_
        The repaired labels, one for each training row.
    n_corrected_
        How many of them differ from those given.
    estimator_
        The learner, fitted on ``labels_``.
    classes_
        The classes that it knows.

    Examples
    --------
    Every large tumour is marked benign, by mistake; 143 trusted rows tell.

    >>> import psidebug
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import train_test_split
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X_train, X_trusted, y_train, y_trusted = train_test_split(X, y, random_state=0)
    >>> y_train[X_train[:, 0] > 18] = 1
    >>> learner = make_pipeline(StandardScaler(), LogisticRegression())
    >>> cleaner = psidebug.PsiCleaner(learner, trusted=(X_trusted, y_trusted)).fit(X_train, y_train)
    >>> cleaner.n_corrected_
    71
    """

    def __init__(
        self,
        estimator: Any,
        *,
        trusted: tuple[Any, Any] | None = None,
        options: Mapping[str, Any] | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.trusted = trusted
        self.options = options
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Find wrong labels, correct them, and fit the learner on the result."""
        if y is None:
            raise LabelError("PsiCleaner requires y to be passed, but the target y is None.")
        X, y = _plain(X), _plain(y)
        assert_all_finite(np.asarray(y))
        check_classification_targets(y)
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        self.estimator_ = clone(self.estimator).fit(X, y, **weights)  # what X and y lack, the learner says itself
        self.diagnosis_, self.labels_, self.n_corrected_ = self._diagnosed(X, y, sample_weight), y, 0
        if self.diagnosis_ is not None:
            self.labels_ = self.diagnosis_.repaired_labels
            self.n_corrected_ = int(np.sum(np.asarray(self.labels_) != np.asarray(y).reshape(-1)))
        if self.n_corrected_:
            self.estimator_ = clone(self.estimator).fit(X, self.labels_, **weights)
        return self

    def _diagnosed(self, X: Any, y: Any, sample_weight: Any) -> Diagnosis | None:
        trusted = self._trusted_rows(X, y)
        if trusted is None:
            warnings.warn(
                "PsiCleaner has no trusted rows, so it takes all labels as they are: give trusted=(X, y).", stacklevel=3
            )
            return None
        seed = self.random_state
        if seed is not None and not isinstance(seed, int | np.integer):
            seed = int(check_random_state(seed).randint(2**31 - 1))
        try:
            options = {"progress": False} | dict(self.options or {})
            return debug(self.estimator_, X, y, *trusted, sample_weight=sample_weight, rng=seed, **options)
        except InputError as error:
            said = str(error).replace("X_test", "trusted[0]").replace("y_test", "trusted[1]")
            raise type(error)(said) from error

    def _trusted_rows(self, X: Any, y: Any) -> tuple[Any, Any] | None:
        """Features and labels of the trusted rows."""
        if self.trusted is not None and not (isinstance(self.trusted, tuple | list) and len(self.trusted) == 2):
            raise UnknownOption("trusted must be a pair: trusted=(X_trusted, y_trusted).")
        return None if self.trusted is None else (self.trusted[0], self.trusted[1])

    @property
    def classes_(self) -> Any:
        """The classes that the learner knows."""
        return self.estimator_.classes_

    @property
    def n_features_in_(self) -> int:
        """The number of columns, where the learner counts them."""
        return int(self.estimator_.n_features_in_)

    @property
    def feature_names_in_(self) -> Any:
        """The names of the columns, where the learner knows them."""
        return self.estimator_.feature_names_in_

    def predict(self, X: Any) -> Any:
        """The class of each row."""
        check_is_fitted(self, "estimator_")
        return self.estimator_.predict(X)

    @_learner_has("predict_proba")  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Any:
        """The probability of each class, where the learner has it."""
        check_is_fitted(self, "estimator_")
        return self.estimator_.predict_proba(X)

    @_learner_has("predict_log_proba")  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> Any:
        """Its logarithm, where the learner has it."""
        check_is_fitted(self, "estimator_")
        return self.estimator_.predict_log_proba(X)

    @_learner_has("decision_function")  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> Any:
        """The margin of each row, where the learner has it."""
        check_is_fitted(self, "estimator_")
        return self.estimator_.decision_function(X)

    def __sklearn_tags__(self) -> Any:
        tags, inner = super().__sklearn_tags__(), get_tags(self.estimator)
        tags.input_tags, tags.classifier_tags = inner.input_tags, inner.classifier_tags
        return tags
