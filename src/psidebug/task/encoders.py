"""Steps of a Pipeline that learn nothing from the labels are fitted once, however often the learner is trained anew.

A world changes labels, never features. So whatever comes before the final estimator, if it looks at features alone,
gives the same in every world, and a text need not be taken apart again for each. Which steps are such is known only of
those listed here, by their exact class, and of classes that say ``label_free = True`` themselves; with any other step
in it a Pipeline is trained as a whole.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.feature_selection import VarianceThreshold
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import (
    Binarizer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    RobustScaler,
    StandardScaler,
)

from psidebug.task.learner import Classifier, fresh
from psidebug.task.tables import Table

LABEL_FREE = (
    Binarizer,
    CountVectorizer,
    HashingVectorizer,
    MaxAbsScaler,
    MinMaxScaler,
    MissingIndicator,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    RobustScaler,
    SimpleImputer,
    StandardScaler,
    TfidfTransformer,
    TfidfVectorizer,
    VarianceThreshold,
)
"""Deterministic, and blind to y."""


@dataclass(frozen=True, eq=False)
class Encoded:
    """The fitted steps before the final one, and what they make of the tables that are asked about most."""

    steps: Pipeline
    train: Table
    remembered: tuple[tuple[Table, Any], ...]

    def with_final(self, final: Classifier) -> Pipeline:
        """A fitted Pipeline: these steps, and a final estimator that was fitted on their ``train``."""
        return Pipeline([("encoded", Remembering(self)), ("final", final)])


class Remembering(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Fitted steps that know the answer for some tables: for those very objects, not for equal ones."""

    def __init__(self, encoded: Encoded) -> None:
        self.encoded = encoded

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def fit(self, X: Any, y: Any = None) -> Remembering:
        """Nothing: the steps are fitted."""
        return self

    def transform(self, X: Any) -> Any:
        """What the steps make of the rows."""
        for table, answer in self.encoded.remembered:
            if table is X:
                return answer
        return self.encoded.steps.transform(X)


def encoded(model: Classifier, train: Table, *others: Table) -> Encoded | None:
    """The steps of a Pipeline but the last, fitted on ``train``; None unless all of them are label-free."""
    if type(model) is not Pipeline or len(model.steps) < 2 or model.memory is not None:
        return None
    if not all(_label_free(step) for _, step in model.steps[:-1]):
        return None
    steps = fresh(model)[:-1]
    seen = steps.fit_transform(train)
    return Encoded(steps, seen, ((train, seen), *((table, steps.transform(table)) for table in others)))


def _label_free(step: Any) -> bool:
    if step is None or isinstance(step, str):  # "passthrough", "drop"
        return True
    if type(step) is ColumnTransformer:
        return all(_label_free(each) for _, each, _ in step.transformers) and _label_free(step.remainder)
    if type(step) is FeatureUnion:
        return all(_label_free(each) for _, each in step.transformer_list)
    if type(step) is Pipeline:
        return step.memory is None and all(_label_free(each) for _, each in step.steps)
    return type(step) in LABEL_FREE or vars(type(step)).get("label_free") is True
