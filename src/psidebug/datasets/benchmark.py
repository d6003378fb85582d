"""A benchmark: rows to train on, to test and to validate, labels with known errors, and the two learners to debug."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from psidebug.datasets.noise import Fault, Labels, Noise, Planted, marked_range, plant
from psidebug.datasets.sources import Source
from psidebug.errors import InputError, LearnerError, UnknownOption
from psidebug.task.learner import Classifier
from psidebug.task.tables import Table

Learner = Literal["logistic", "boosting"]
Rows = Callable[[np.random.Generator, int], tuple[Callable[[slice], Table], Labels]]
"""Chance and the number of rows → how to take a part of the rows, and their right labels."""


@dataclass(frozen=True)
class Sizes:
    """Number of rows to train on, to test and to validate."""

    train: int
    test: int
    validation: int

    @property
    def total(self) -> int:
        """Rows of all three parts."""
        return self.train + self.test + self.validation


@dataclass(frozen=True, eq=False)
class Design:
    """What all benchmarks of one name have in common; called with a seed, it makes one of them."""

    name: str
    sizes: Sizes
    columns: int | str
    """Number of columns, or "text"."""
    classes: tuple[str, ...]
    """What the classes 0 … K-1 are called."""
    source: Source
    rows: Rows
    usual: Noise = "random"
    """The noise that is planted unless another is asked for."""
    summary: str = "10% of the labels, at random, are wrong"
    """What the usual noise does, in words that hold for every seed."""
    fault: Callable[[Table, Labels, np.random.Generator], Fault] = marked_range
    """For systematic noise: a fault that fits the training rows and their right labels, chosen by chance."""
    encoders: Mapping[Learner, Any] = field(default_factory=dict)
    """The transformer before each learner; none if the columns can be used as they are."""

    def __call__(self, seed: int, *, test: int | None = None, noise: Noise | None = None) -> Benchmark:
        """Rows split in the order they come in, and errors planted in the training labels.

        Fewer test rows are the first of all test rows, and change no other part; nor does another kind of noise. So
        differences between runs come only from what was changed.
        """
        sizes, rng = self.sizes, np.random.default_rng(seed)
        test, noise = sizes.test if test is None else test, self.usual if noise is None else noise
        if not 1 <= test <= sizes.test:
            raise InputError(f"{self.name} has {sizes.test} test rows, not {test}. Choose test from 1 to {sizes.test}.")
        part, labels = self.rows(rng, sizes.total)
        train = slice(0, sizes.train)
        points = slice(sizes.train, sizes.train + test)
        validation = slice(sizes.train + sizes.test, sizes.total)
        X_train, clean = part(train), labels[train]
        given, planted = plant(
            noise, clean, self.classes, rng=rng, table=X_train, fault=lambda: self.fault(X_train, clean, rng)
        )
        return Benchmark(
            name=self.name,
            X_train=X_train,
            clean=clean,
            given=given,
            X_test=part(points),
            y_test=labels[points],
            X_validation=part(validation),
            y_validation=labels[validation],
            classes=self.classes,
            planted=planted,
            encoders=self.encoders,
        )


def shuffled(load: Callable[[], tuple[npt.NDArray[Any], npt.NDArray[Any]]]) -> Rows:
    """Rows that come in an order of their own."""

    def rows(rng: np.random.Generator, count: int) -> tuple[Callable[[slice], Table], Labels]:
        found, labels = load()
        order = rng.permutation(len(labels))
        return found[order].__getitem__, labels[order].astype(np.intp)

    return rows


@dataclass(frozen=True, eq=False)
class Benchmark:
    """Classes are the numbers 0 … K-1; only training labels are wrong, and only those of ``wrong``."""

    name: str
    X_train: Table
    clean: Labels
    """The right training labels."""
    given: Labels
    """The training labels with the planted errors."""
    X_test: Table
    y_test: Labels
    X_validation: Table
    y_validation: Labels
    classes: tuple[str, ...]
    """What the classes are called."""
    planted: Planted
    encoders: Mapping[Learner, Any]

    @property
    def wrong(self) -> npt.NDArray[np.bool_]:
        """Training rows whose given label is not the right one."""
        return np.asarray(self.given != self.clean)

    def learner(self, kind: Learner) -> Classifier:
        """A fresh learner for these columns, unfitted.

        "logistic" is scikit-learn's logistic regression with its usual penalty, "boosting" LightGBM with 100 trees of
        15 leaves. Neither leaves anything to chance.
        """
        if kind not in get_args(Learner):
            raise UnknownOption(f"the learner must be one of {', '.join(get_args(Learner))}, not {kind!r}.")
        final = LogisticRegression(max_iter=1000) if kind == "logistic" else _boosting()
        encoder = self.encoders.get(kind)
        return final if encoder is None else make_pipeline(clone(encoder), final)


def _boosting() -> Classifier:
    if importlib.util.find_spec("lightgbm") is None:
        raise LearnerError("the boosted trees of the benchmarks need LightGBM. Run: pip install 'psidebug[lightgbm]'.")
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_estimators=100, num_leaves=15, n_jobs=1, verbose=-1)
