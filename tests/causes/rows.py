"""Small tables of parcels, late or not, in which something can be planted: what was clean stays at hand to compare."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from psidebug.causes.claim import Side
from psidebug.diagnosis.causes import claims_of
from psidebug.task.data import Data

Labels = npt.NDArray[Any]
NUMBERS = ["weight", "price", "days", "age"]
SEEDS = range(4)
SIDES: tuple[Side, Side] = ("training", "test")


@dataclass(frozen=True, eq=False)
class Rows:
    """Two sets with their labels."""

    X_train: pd.DataFrame
    y_train: Labels
    X_test: pd.DataFrame
    y_test: Labels

    @property
    def parts(self) -> tuple[pd.DataFrame, Labels, pd.DataFrame, Labels]:
        """As ``debug`` takes them."""
        return self.X_train, self.y_train, self.X_test, self.y_test

    @property
    def data(self) -> Data:
        """Behind the door."""
        return Data.of(learner(), *self.parts)

    def features(self, side: Side) -> pd.DataFrame:
        """Of one set."""
        return self.X_train if side == "training" else self.X_test

    def labels(self, side: Side) -> Labels:
        """Of one set."""
        return self.y_train if side == "training" else self.y_test

    def with_column(self, side: Side, name: str, values: Any) -> Rows:
        """With other values in one column of one set."""
        return self.with_features(side, self.features(side).assign(**{name: values}))

    def with_features(self, side: Side, X: pd.DataFrame) -> Rows:
        """With another table."""
        return replace(self, X_train=X) if side == "training" else replace(self, X_test=X)

    def with_labels(self, side: Side, labels: Labels) -> Rows:
        """With other labels in one set."""
        return replace(self, y_train=labels) if side == "training" else replace(self, y_test=labels)

    def taken(self, side: Side, kept: npt.NDArray[Any]) -> Rows:
        """With some rows of one set, in this order."""
        X, y = self.features(side).iloc[kept].reset_index(drop=True), self.labels(side)[kept]
        return self.with_features(side, X).with_labels(side, y)


def parcels(seed: int, train: int = 700, test: int = 350) -> Rows:
    """Numbers that hang together, two categories, and a label that all of them have a say in."""
    rng, n = np.random.default_rng(seed), train + test
    size = rng.normal(size=n)
    weight = np.exp(1.0 + 0.5 * size + 0.2 * rng.normal(size=n)).round(3)
    price = np.exp(3.0 + 0.5 * size + 0.3 * rng.normal(size=n)).round(2)
    days = (5.0 + 1.2 * size + rng.normal(size=n)).clip(0.5).round(1)
    age = np.clip(rng.gamma(9.0, 4.5, n), 18, 95).round()
    kind = rng.choice(["box", "bag", "tube", "roll"], n, p=[0.4, 0.3, 0.2, 0.1])
    route = np.where(size + rng.normal(size=n) > 0, "road", rng.choice(["rail", "air"], n))
    worth = np.vectorize({"box": 0.0, "bag": 1.2, "tube": -1.2, "roll": 0.6}.get)(kind)
    score = 1.6 * size + worth - 0.05 * (age - 40) + np.where(route == "air", -0.8, 0.3)
    late = rng.random(n) < 1 / (1 + np.exp(-2.5 * score))
    X = pd.DataFrame({"weight": weight, "price": price, "days": days, "age": age, "kind": kind, "route": route})
    y = np.where(late, "late", "punctual")
    return Rows(X[:train], y[:train], X[train:].reset_index(drop=True), y[train:])


def learner(**options: Any) -> Any:
    """A logistic regression that takes such tables, with missing values."""
    filled = make_pipeline(SimpleImputer(strategy="median", keep_empty_features=True), StandardScaler())
    encoder = make_column_transformer((filled, NUMBERS), (OneHotEncoder(handle_unknown="ignore"), ["kind", "route"]))
    return make_pipeline(encoder, LogisticRegression(**options))


def moved(labels: Labels, rows: npt.NDArray[np.bool_]) -> Labels:
    """With the other of the two labels in these rows."""
    return np.where(rows, np.where(labels == "late", "punctual", "late"), labels)


def in_training_slice(rows: Rows) -> Rows:
    """Every late bag is called punctual in training: one-sided errors of a slice."""
    return rows.with_labels("training", np.where(rows.X_train["kind"] == "bag", "punctual", rows.y_train))


def in_test_slice(rows: Rows) -> Rows:
    """Every late bag is called punctual in the test set."""
    return rows.with_labels("test", np.where(rows.X_test["kind"] == "bag", "punctual", rows.y_test))


def at_random(side: Side, share: float = 0.25) -> Callable[[Rows], Rows]:
    """A share of the labels of one set is wrong."""

    def plant(rows: Rows) -> Rows:
        wrong = np.random.default_rng(99).random(len(rows.labels(side))) < share
        return rows.with_labels(side, moved(rows.labels(side), wrong))

    return plant


def some_of(rows: Rows, kind: str, share: float, *, way: str | None = None) -> Rows:
    """A share of the training labels of one kind of parcel is wrong; only those of one label, if ``way`` is given."""
    chosen = (rows.X_train["kind"] == kind).to_numpy() & (np.random.default_rng(5).random(len(rows.y_train)) < share)
    return rows.with_labels("training", moved(rows.y_train, chosen & ((way is None) | (rows.y_train == way))))


def by_bob(rows: Rows, share: float = 0.4) -> tuple[Rows, pd.DataFrame]:
    """One of four annotators errs both ways; with the metadata that say who gave each label."""
    rng = np.random.default_rng(5)
    who = rng.choice(["ann", "bob", "cy", "dee"], len(rows.y_train))
    wrong = (who == "bob") & (rng.random(len(who)) < share)
    return rows.with_labels("training", moved(rows.y_train, wrong)), pd.DataFrame({"annotator": who})


def swapped_in_summer(rows: Rows) -> tuple[Rows, pd.DataFrame]:
    """In two months the classes were swapped; with the metadata that say when each label was given."""
    days = np.random.default_rng(5).integers(0, 365, len(rows.y_train))
    day = pd.Timestamp("2024-01-01") + pd.to_timedelta(days, unit="D")
    wrong = np.asarray((day >= "2024-06-01") & (day < "2024-08-01"))
    return rows.with_labels("training", moved(rows.y_train, wrong)), pd.DataFrame({"day": day})


def three_classes(rows: Rows) -> Rows:
    """Heavy parcels that are late are lost."""
    for side in SIDES:
        lost = (rows.labels(side) == "late") & (rows.features(side)["weight"] > 3.2).to_numpy()
        rows = rows.with_labels(side, np.where(lost, "lost", rows.labels(side).astype(object)))
    return rows


def late_is_rare(rows: Rows) -> Rows:
    """The class late has a sixth of its training rows: other class shares, and nothing wrong."""
    kept = (rows.y_train != "late") | (np.arange(len(rows.y_train)) % 6 == 0)
    return rows.taken("training", np.flatnonzero(kept))


WRONG_LABELS: dict[str, Callable[[Rows], Rows]] = {
    "training, a slice": in_training_slice,
    "training, at random": at_random("training"),
    "test, a slice": in_test_slice,
    "test, at random": at_random("test"),
}


def seen(rows: Rows) -> list[tuple[str, str | None]]:
    """What the rows themselves show: cause and column of each claim."""
    return [(each.cause, each.column) for each in claims_of(rows.data)]


def causes_seen(rows: Sequence[Rows]) -> set[str]:
    """The causes that any of them shows."""
    return {cause for each in rows for cause, _ in seen(each)}
