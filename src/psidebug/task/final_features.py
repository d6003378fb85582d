"""What the final estimator of a Pipeline sees: the rows of a task after every step but the last, made once.

**By the learner as it is** (``Task.seen``). For most steps ``transform`` gives the training rows as the estimator saw
them. A step that learns from the labels may cross-fit, as TargetEncoder does: each row is encoded without its own
label, and only ``fit_transform`` does that. Such steps are fitted once more, on the same rows and labels. Where two
such fits differ by chance, what the estimator saw cannot be known, and ``transform`` has to do.

**By the learner trained in any world** (``Task.seen_in_every_world``). A world changes labels, never features. So steps
that look at features alone give the same in every world, and a text need not be taken apart again for each. Which steps
are such is known only of those listed here, by their exact class, and of classes that say ``label_free = True``
themselves; with any other step in it a Pipeline is trained as a whole.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
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

from psidebug.task.labels import Encoding
from psidebug.task.learner import Classifier, final_step, fresh, scores, seeded
from psidebug.task.tables import Table, take

LABEL_FREE = (
    Binarizer, CountVectorizer, HashingVectorizer, MaxAbsScaler, MinMaxScaler, MissingIndicator, Normalizer,
    OneHotEncoder, OrdinalEncoder, PolynomialFeatures, RobustScaler, SimpleImputer, StandardScaler, TfidfTransformer,
    TfidfVectorizer, VarianceThreshold,
)  # fmt: skip
"""Deterministic, and blind to y."""


@dataclass(frozen=True, eq=False)
class FinalFeatures:
    """Rows as they came, and as they reach the final estimator: training, test and, if there are any, validation."""

    steps: tuple[Any, ...]
    """The fitted steps before the final estimator; none for a learner without steps."""
    came: tuple[Table, ...]
    seen: tuple[Table, ...]
    notes: tuple[str, ...] = ()
    exact: bool = True
    """Whether the training rows are known to be those of the fit."""

    @property
    def train(self) -> Table:
        """Training rows as the final estimator sees them."""
        return self.seen[0]

    @property
    def test(self) -> Table:
        """Test rows as the final estimator sees them."""
        return self.seen[1]

    def of(self, table: Table) -> Table:
        """What the steps make of a table: looked up if it is one of those that came, the very object."""
        for came, seen in zip(self.came, self.seen, strict=True):
            if came is table:
                return seen
        return _through(self.steps, table)

    def of_rows(self, rows: npt.NDArray[np.intp], came: Table) -> FinalFeatures:
        """The same of some training rows, which ``came``."""
        return replace(self, came=(came, *self.came[1:]), seen=(take(self.train, rows), *self.seen[1:]))

    def of_block(self, came: Table) -> FinalFeatures:
        """The same of other training rows, by the steps as they are fitted."""
        return replace(self, came=(came, *self.came[1:]), seen=(_through(self.steps, came), *self.seen[1:]))

    def with_final(self, final: Classifier) -> Classifier:
        """A fitted learner: these steps, and a final estimator that was fitted on their ``train``."""
        return Pipeline([("before", Remembering(self)), ("final", final)]) if self.steps else final


class Remembering(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Fitted steps as one, which know what they make of the rows of a task."""

    def __init__(self, features: FinalFeatures) -> None:
        self.features = features

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def fit(self, X: Any, y: Any = None) -> Remembering:
        """Nothing: the steps are fitted."""
        return self

    def transform(self, X: Any) -> Any:
        """What the steps make of the rows."""
        return self.features.of(X)


def seen_by(
    learner: Classifier,
    tables: tuple[Table, ...],
    labels: npt.NDArray[Any],
    encoding: Encoding,
    *,
    seed: int,
    came_fitted: bool,
) -> FinalFeatures:
    """What the final estimator of a fitted learner sees of these tables; it was trained on the first and ``labels``."""
    steps = tuple(_before_final(learner))
    plain = FinalFeatures(steps, tables, tuple(_through(steps, table) for table in tables))
    supervised = [part for step in steps for part in step.get_params().values() if _learns_from_labels(part)]
    if not supervised:
        return plain
    names = " and ".join(sorted({type(part).__name__ for part in supervised}))
    held = f"steps that learn from the labels ({names}) are held as they are, which retraining does not do"
    # The seed of a model that came fitted is not known: what depends on it is not either.
    once, again = (_fitted_through(steps, tables[0], labels, seed + n * came_fitted)[1] for n in (0, 1))
    final, codes_of, size = final_step(learner), encoding.native_codes, encoding.size
    if not np.array_equal(scores(final, once, codes_of, size), scores(final, again, codes_of, size)):
        unknown = (
            f"the features that the model was trained on are known only approximately, since chance has a part in "
            f"{names} (give it a fixed seed{', or give the model unfitted' if came_fitted else ''})"
        )
        return FinalFeatures(steps, tables, plain.seen, (held, unknown), exact=False)
    return FinalFeatures(steps, tables, (once, *plain.seen[1:]), (held,))


def seen_anew(learner: Classifier, tables: tuple[Table, ...]) -> FinalFeatures:
    """What it sees when its steps, :func:`blind_to_labels`, are fitted anew on the first of these tables."""
    steps, train = _fitted_through(tuple(_before_final(learner)), tables[0])
    return FinalFeatures(steps, tables, (train, *(_through(steps, table) for table in tables[1:])))


def blind_to_labels(learner: Classifier) -> bool:
    """Whether every step before the final estimator, if there are any, is known to look at features alone."""
    while hasattr(learner, "steps"):
        if type(learner) is not Pipeline or learner.memory is not None:
            return False
        if not all(_label_free(step) for _, step in learner.steps[:-1]):
            return False
        learner = learner.steps[-1][1]
    return True


def _before_final(learner: Classifier) -> Iterator[Any]:
    """The earlier steps of each (nested) Pipeline, as a Pipeline."""
    while hasattr(learner, "steps"):
        if len(learner.steps) > 1:
            yield learner[:-1]
        learner = learner.steps[-1][1]


def _through(steps: tuple[Any, ...], table: Table) -> Table:
    for step in steps:
        table = step.transform(table)
    return table


def _fitted_through(
    steps: tuple[Any, ...], table: Table, labels: npt.NDArray[Any] | None = None, seed: int | None = None
) -> tuple[tuple[Any, ...], Table]:
    """Fresh copies of the steps, fitted on the table, and what each made of it in its fit."""
    fitted = tuple(fresh(step) if seed is None else seeded(step, seed) for step in steps)
    with warnings.catch_warnings(action="ignore"):
        for step in fitted:
            table = step.fit_transform(table, labels)
    return fitted, table


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


def _learns_from_labels(part: Any) -> bool:
    """Whether it says so, by scikit-learn's tag."""
    try:
        return bool(part.__sklearn_tags__().target_tags.required)
    except AttributeError:  # made without scikit-learn's base class, or no estimator at all
        return False
