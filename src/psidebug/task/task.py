"""A task (Γ, Δ, 𝒜): training set, test set, learner. Checked once, here, at the door.

Behind this door everything is well-formed: labels are codes 0 … K-1, rows keep their ids to the end, the learner is
fitted, and the bugs are test rows that it misclassifies.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from psidebug.errors import (
    InvalidWeights,
    LearnerFailed,
    LearnerMismatch,
    NotAClassifier,
    ShapeMismatch,
    UnsupportedFeatures,
)
from psidebug.task import learner as learners
from psidebug.task.data import Data
from psidebug.task.data import LabelledSet as LabelledSet
from psidebug.task.encoders import Encoded, encoded
from psidebug.task.labels import Codes, Encoding, encoding_of, listed
from psidebug.task.rows import bugs_of, ids_of, places_of, positions_of
from psidebug.task.tables import Table, as_table, row_count, same_columns, take


@dataclass(frozen=True, eq=False)
class Task:
    """Training set Γ, test set Δ and fitted learner 𝒜, validated; made by :meth:`of`."""

    learner: learners.Classifier
    encoding: Encoding
    train: LabelledSet
    test: LabelledSet
    validation: LabelledSet | None
    rows: npt.NDArray[Any]
    """Ids of the training rows; their positions when none were given."""
    bugs: npt.NDArray[np.intp]
    """Positions of the test rows to explain, all misclassified."""
    predicted: Codes
    """What the learner says about the test rows."""
    metadata: Table | None
    """Columns about the training rows that the learner never saw."""
    given_labels: Any
    """The training labels as the user gave them."""
    seed: int
    fitted_by_user: bool = False
    """Whether the learner came fitted, by ways that Psi does not know."""
    sample_weight: npt.NDArray[np.float64] | None = None
    """Weights of the training rows, given to every fit; None when all are 1."""
    known: npt.NDArray[np.bool_] | None = None
    """Training rows (N,) whose labels are facts: they cannot be wrong. None when there are none such."""
    came: Codes | None = None
    """Labels (N,) that these rows came with, before a person settled them."""

    @classmethod
    def of(
        cls,
        model: Any,
        X_train: Any,
        y_train: Any,
        X_test: Any,
        y_test: Any,
        *,
        rows: Any = None,
        bugs: Any = None,
        X_validation: Any = None,
        y_validation: Any = None,
        sample_weight: Any = None,
        metadata: Any = None,
        known: Any = None,
        seed: int = 0,
    ) -> Task:
        """Check everything once and fit the learner if it is not fitted; raises ``InputError`` or ``LearnerError``."""
        learners.check_classifier(model)
        model = model if known is None else learners.fresh(model)  # to be fitted on what is known
        train_table = as_table(X_train, name="X_train")
        train_labels = listed(y_train, name="y_train")
        _check_lengths(train_table, train_labels, "X_train", "y_train")

        fitted = learners.is_fitted(model)
        encoding = encoding_of(train_labels, order=_classes(model) if fitted else None)
        if not fitted and learners.takes_only_codes(model):
            encoding = replace(encoding, as_codes=True)
        train = LabelledSet(train_table, _encode_training(encoding, train_labels, fitted))
        test = _labelled(encoding, train_table, X_test, y_test, "test")
        validation = None
        if X_validation is not None or y_validation is not None:
            if X_validation is None or y_validation is None:
                raise ShapeMismatch("X_validation and y_validation go together: give both or neither.")
            validation = _labelled(encoding, train_table, X_validation, y_validation, "validation")
        weights = None if sample_weight is None else _weights(sample_weight, model, len(train))
        ids = ids_of(rows, len(train))
        settled, came = (None, None) if known is None else _settled(ids, known, train.codes, encoding)
        about = None if metadata is None else _metadata(metadata, len(train))

        if not fitted:
            model = learners.refit(
                model,
                train.features,
                encoding.native[train.codes],
                sample_weight=weights,
                seed=seed,
                quiet=False,
            )
            _classes(model)
        else:
            _predicted(encoding, model, train.features, "X_train")  # it will be trained on these: can it take them?
        predicted = _predicted(encoding, model, test.features, "X_test")
        if validation is not None:
            _predicted(encoding, model, validation.features, "X_validation")
        return cls(
            learner=model,
            encoding=encoding,
            train=train,
            test=test,
            validation=validation,
            rows=ids,
            bugs=bugs_of(bugs, wrong=predicted != test.codes),
            predicted=predicted,
            metadata=about,
            given_labels=y_train,
            seed=seed,
            fitted_by_user=fitted,
            sample_weight=weights,
            known=settled,
            came=came,
        )

    @cached_property
    def data(self) -> Data:
        """The rows alone, without the learner."""
        return Data(**{each.name: getattr(self, each.name) for each in fields(Data) if hasattr(self, each.name)})

    def positions(self, rows: Iterable[Any]) -> npt.NDArray[np.intp]:
        """Positions of the training rows with these ids; or where one True or False per training row is True."""
        return positions_of(self._places, rows)

    @cached_property
    def _places(self) -> dict[Hashable, int]:
        return places_of(self.rows)

    def with_labels(self, rows: Iterable[Any] | Mapping[Any, Any], *, proposed: Codes | None = None) -> Codes:
        """The training labels (N,) with these rows (ids) moved: to the labels of a mapping, else the ``proposed``."""
        chosen, codes = self.positions(rows), self.train.codes.copy()
        if isinstance(rows, Mapping):
            codes[chosen] = self.encoding.encode(list(rows.values()), where="rows")
        elif proposed is not None:
            codes[chosen] = proposed[chosen]
        return codes

    @property
    def as_it_came(self) -> Task:
        """The task with the labels that the known rows came with: where they were wrong, others may be."""
        if self.known is None or self.came is None:
            return self
        codes = np.where(self.known, self.came, self.train.codes)
        return replace(self, train=LabelledSet(self.train.features, codes))

    def refit(self, codes: Codes, *, rows: npt.NDArray[np.intp] | None = None) -> learners.Classifier:
        """𝒜(Γ) in another world: the learner trained anew on these labels (N,), with the weights of the task.

        ``rows`` are the positions to train on, all when left out.
        """
        features, weights = self.train.features, self.sample_weight
        if rows is None and self.encoded is not None:
            final = learners.refit(
                self.learner.steps[-1][1],
                self.encoded.train,
                self.encoding.native[codes],
                sample_weight=weights,
                seed=self.seed,
            )
            return self.encoded.with_final(final)
        if rows is not None:
            features, codes = take(features, rows), codes[rows]
            weights = None if weights is None else weights[rows]
        return learners.refit(
            self.learner, features, self.encoding.native[codes], sample_weight=weights, seed=self.seed
        )

    @cached_property
    def in_order_of_ids(self) -> npt.NDArray[np.intp]:
        """All training rows, in an order that does not depend on how they came."""
        plain = np.array([str(each) for each in self.rows.tolist()]) if self.rows.dtype.kind == "O" else self.rows
        return np.argsort(plain, kind="stable")

    @cached_property
    def encoded(self) -> Encoded | None:
        """What the final estimator sees, where the labels have no part in it: the same in every world."""
        others = (self.test,) if self.validation is None else (self.test, self.validation)
        return encoded(self.learner, self.train.features, *(each.features for each in others))

    def with_options(self, **options: Any) -> Task:
        """The task with other options of its learner, such that its features stay the same: encoded once is enough."""
        other = replace(self, learner=learners.fresh(self.learner).set_params(**options))
        vars(other)["encoded"] = self.encoded
        return other

    def after(self, codes: Codes) -> Task:
        """The task of the next round: the same rows with these labels (N,), the learner trained on them, its errors."""
        model = self.refit(codes, rows=np.arange(len(codes)))  # the whole Pipeline, as the next round may ask about it
        predicted = self.predict(model, self.test)
        return replace(
            self,
            learner=model,
            train=LabelledSet(self.train.features, codes),
            predicted=predicted,
            bugs=np.flatnonzero(predicted != self.test.codes),
            given_labels=self.encoding.decode(codes),
            fitted_by_user=False,
        )

    def predict(self, model: learners.Classifier, on: LabelledSet) -> Codes:
        """Classes that a fitted model gives to these rows."""
        return _predicted(self.encoding, model, on.features, "the features")

    def margins(self, model: learners.Classifier, on: LabelledSet) -> npt.NDArray[np.float64]:
        """Margins m_tr of a fitted model on a labelled set, shape (points, K-1); negative where it is wrong.

        The sign always agrees with the model's own prediction, ties included.
        """
        if model is self.learner and on is self.test:
            return self._margins_of_tests.copy()
        return self._margins(model, on)

    @cached_property
    def _margins_of_tests(self) -> npt.NDArray[np.float64]:
        return self._margins(self.learner, self.test)

    def _margins(self, model: learners.Classifier, on: LabelledSet) -> npt.NDArray[np.float64]:
        scores = learners.scores(model, on.features, self.encoding.native_codes, self.encoding.size)
        margins = learners.margins(scores, on.codes)
        smallest = margins.min(axis=1)
        wrong = self.predict(model, on) != on.codes
        tiny = np.finfo(np.float64).tiny
        disagree = np.flatnonzero(wrong != (smallest < 0))
        nearest = margins[disagree].argmin(axis=1)
        margins[disagree, nearest] = np.where(wrong[disagree], -tiny, 0.0)
        right = disagree[~wrong[disagree]]
        margins[right] = np.maximum(margins[right], 0.0)
        return margins


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


def _labelled(encoding: Encoding, train: Table, X: Any, y: Any, kind: str) -> LabelledSet:
    table = same_columns(train, as_table(X, name=f"X_{kind}"), name=f"X_{kind}")
    labels = listed(y, name=f"y_{kind}")
    _check_lengths(table, labels, f"X_{kind}", f"y_{kind}")
    return LabelledSet(table, encoding.encode(labels, where=f"y_{kind}"))


def _encode_training(encoding: Encoding, labels: Sequence[Hashable], fitted: bool) -> Codes:
    unknown = set(labels) - set(encoding.classes)
    if fitted and unknown:
        raise LearnerMismatch(
            f"the model was fitted on classes {list(encoding.classes)[:6]}, but y_train has "
            f"{sorted(map(repr, unknown))[:6]}. "
            f"Give the labels it was fitted on, or an unfitted model."
        )
    return encoding.encode(labels, where="y_train")


def _classes(model: learners.Classifier) -> list[Hashable]:
    classes = getattr(model, "classes_", ())
    values = [value.tolist() if hasattr(value, "tolist") else value for value in classes]
    if not values or any(isinstance(value, list) for value in values):
        raise NotAClassifier(
            f"the fitted {type(learners.final_step(model)).__name__} has no classes_ with one value per class, so it "
            f"is no classifier of one label per row. Give a scikit-learn-compatible classifier."
        )
    return values


def _check_lengths(table: Table, labels: Sequence[Hashable], table_name: str, labels_name: str) -> None:
    if row_count(table) != len(labels):
        raise ShapeMismatch(
            f"{table_name} has {row_count(table)} rows but {labels_name} has {len(labels)} labels: one label per row."
        )


def _settled(
    ids: npt.NDArray[Any], known: Any, codes: Codes, encoding: Encoding
) -> tuple[npt.NDArray[np.bool_], Codes]:
    """Which rows are known, and the labels that they came with; ``codes`` get the known ones."""
    places, came = positions_of(places_of(ids), known), codes.copy()
    mask = np.zeros(len(ids), dtype=bool)
    mask[places] = True
    if isinstance(known, Mapping):
        codes[places] = encoding.encode(list(known.values()), where="known")
    return mask, came


def _weights(sample_weight: Any, model: learners.Classifier, count: int) -> npt.NDArray[np.float64]:
    try:
        weights = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidWeights("sample_weight takes one number per training row.") from None
    weights = weights.reshape(-1) if weights.ndim == 2 and weights.shape[1] == 1 else weights
    if weights.shape != (count,):
        raise ShapeMismatch(
            f"sample_weight has shape {weights.shape} but X_train has {count} rows: one weight per training row."
        )
    wrong = np.flatnonzero(~np.isfinite(weights) | (weights < 0))
    if wrong.size:
        raise InvalidWeights(
            f"sample_weight of training row {wrong[0]} is {weights[wrong[0]]:g}"
            f"{f' and {wrong.size - 1} more are no weights' if wrong.size > 1 else ''}. "
            f"Weights are finite and not negative; 0 leaves a row out."
        )
    if not weights.any():
        raise InvalidWeights("every sample_weight is 0: nothing is left to train on.")
    learners.check_takes_weights(model)
    return weights


def _metadata(metadata: Any, count: int) -> Table:
    table = as_table(metadata, name="metadata")
    if len(table.shape) != 2:
        raise UnsupportedFeatures("metadata is one column without a name: give a data frame with named columns.")
    if row_count(table) != count:
        raise ShapeMismatch(f"metadata has {row_count(table)} rows but X_train has {count}: one per training row.")
    return table
