"""What an adapter is given, ``Fitted``, and what it makes of that, ``Profile``: all that is kept of one ordinary fit.

The score of row x in column c is  f_c(x) = f_0c + Σ_{trees n of column c} s_n[leaf_n(x)]. The rounds are kept apart
since all trees of one round see the same residuals. Leaf indices are stored in the smallest integer type that holds
them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt
from sklearn.model_selection import train_test_split

from psidebug.errors import LearnerMismatch, UnsupportedLearner
from psidebug.graybox.protocol import Floats
from psidebug.graybox.trees.loss import Loss
from psidebug.graybox.trees.weighting import Start, Weighting, one_hot
from psidebug.task.labels import Codes
from psidebug.task.tables import Table, is_frame, is_missing, row_count, take

Leaves = npt.NDArray[np.unsignedinteger[Any]]
Bag = npt.NDArray[Any]  # of the smallest type that holds it: 0 or 1 under subsampling, weights under a bootstrap
TOLERANCE = 1e-5
ROWS_AT_ONCE = 20_000
ROWS_COMPARED = 500
"""Rows of each set of which the scores are compared with the model's own: trees that are misread show in each."""


@dataclass(frozen=True, eq=False)
class Fitted:
    """A fitted tree ensemble with its data, features as the estimator itself sees them (after a Pipeline's steps)."""

    model: Any
    train: Table
    test: Table
    codes: Codes
    """Training labels in the order of the model's own classes."""
    classes: int
    sample_weight: Floats | None

    @property
    def name(self) -> str:
        """The estimator's class, for messages."""
        return type(self.model).__name__

    @property
    def rows(self) -> Floats:
        """Sample weights, 1 where none were given."""
        if self.sample_weight is None:
            return np.ones(len(self.codes))
        return np.asarray(self.sample_weight, dtype=np.float64)

    def refuse(self, *, setting: str, instead: str) -> UnsupportedLearner:
        """The error for a setting under which leaf values do not follow the labels in a way Psi knows."""
        return UnsupportedLearner(
            f"{self.name} with {setting} has no tree gray box. Use {instead}, or graybox='retrain', which takes any "
            f"classifier."
        )

    def weighting(self, class_weight: Any, *, rows: Floats | None = None) -> Weighting:
        """Weights under scikit-learn's ``class_weight``: None, "balanced", or a number by class label."""
        s = self.rows if rows is None else rows
        if class_weight is None:
            return Weighting(s, np.ones(self.classes))
        if isinstance(class_weight, str) and class_weight == "balanced":
            counts = np.bincount(self.codes, minlength=self.classes)
            return Weighting(s, len(self.codes) / (self.classes * np.maximum(counts, 1e-12)), balanced=True)
        if not isinstance(class_weight, dict):
            raise self.refuse(setting=f"class_weight={class_weight!r}", instead="class_weight='balanced' or a dict")
        labels = np.asarray(self.model.classes_).tolist()
        return Weighting(s, np.array([float(class_weight.get(label, 1.0)) for label in labels]))

    def leaves(self, apply: Callable[[Table], Any], *, largest: int) -> tuple[Leaves, Leaves]:
        """Leaf indices (trees, rows) of the training rows and of the test rows, see :func:`leaf_indices`."""
        return leaf_indices(apply, self.train, largest=largest), leaf_indices(apply, self.test, largest=largest)

    def refuse_other(self, settings: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
        """Refuse a setting that is not the wanted one."""
        for key, value in wanted.items():
            if settings.get(key, value) != value:
                raise self.refuse(setting=f"{key}={settings[key]!r}", instead=f"{key}={value!r}")

    def totals(self, weighting: Weighting) -> Floats:
        """S_k (K,), the class totals of the given labels from which a first score is made."""
        return weighting.start_totals(one_hot(self.codes[None, :], self.classes))[:, 0]

    def rows_kept(self, *, apart: float, random_state: Any) -> Floats:
        """1 for the rows that scikit-learn's trees were fitted on, 0 for the share set apart to stop early (N,)."""
        kept, _ = train_test_split(
            np.arange(len(self.codes)),
            test_size=apart,
            random_state=random_state,
            stratify=self.codes.astype(np.float64),
        )
        learned = np.zeros(len(self.codes))
        learned[kept] = 1.0
        return learned


@dataclass(frozen=True, eq=False)
class Tree:
    """One tree of one column: regions as leaf indices, and the rule of its leaf values."""

    train: Leaves
    """Leaf of every training row (N,)."""
    test: Leaves
    """Leaf of every test row."""
    values: Floats
    """s, what each leaf adds to the score: shrunk, and without the first score."""
    column: int
    rate: float
    """ρ: learning rate, times whatever factor the library puts on the leaf value."""
    l2: Floats
    """λ by leaf."""
    l1: float = 0.0
    least_hessian: float = 0.0
    """The least Σ Hessian that the library lets a leaf have: no other world divides by less."""
    bag: Bag | None = None
    """How often each training row counts in this tree's leaf values; None: once each."""
    fixed: bool = False
    """Whether the values stay as they are whatever the labels: a tree without a split, in some libraries."""
    steps: int = 1
    """How many Newton steps its leaf values take."""


Rounds = tuple[tuple[Tree, ...], ...]


@dataclass(frozen=True, eq=False)
class Profile:
    """A fitted ensemble: rounds of trees, the first score, the loss, and how rows are weighted."""

    rounds: Rounds
    start: Start
    loss: Loss
    weighting: Weighting
    columns: int
    """1 for two classes under log loss, else one per class."""
    given: Codes
    """The training labels the ensemble was fitted on."""
    classes: int
    averaged: bool = False
    """Whether scores are mean probabilities (forests) rather than log odds."""
    notes: tuple[str, ...] = ()
    """What a reader of the answers should know."""

    @property
    def trees(self) -> Iterator[Tree]:
        """All trees in the order in which they were grown."""
        return (tree for trees in self.rounds for tree in trees)

    @property
    def labels(self) -> Floats:
        """The given labels as shares of the classes, shape (K, N, 1)."""
        return one_hot(self.given[None, :], self.classes)

    @property
    def test_size(self) -> int:
        """Number of test rows."""
        return len(self.rounds[0][0].test)

    def scores(self, which: str, rows: slice | npt.NDArray[np.intp] = slice(None)) -> Floats:
        """Σ of the profiled leaf values for these ``"train"`` or ``"test"`` rows, shape (columns, rows)."""
        size = len(getattr(self.rounds[0][0], which)[rows])
        total = np.repeat(self.start.value[:, None], size, axis=1)
        for tree in self.trees:
            total[tree.column] += tree.values[getattr(tree, which)[rows]]
        return total


def checked(profile: Profile, raw: Callable[[Table], Any], fitted: Fitted) -> Profile:
    """The profile, if its leaf values add up to the model's own raw scores, within 1e-5 of their scale; or a refusal.

    ``raw`` gives the model's scores of a table, shape (rows,) or (rows, columns). At most ``ROWS_COMPARED`` rows of
    each set are compared, evenly spaced, and as many of those that lack values.
    """
    for which, table in (("train", fitted.train), ("test", fitted.test)):
        rows = _sampled(table)
        own = np.asarray(raw(take(table, rows)), dtype=np.float64).reshape(len(rows), profile.columns)
        added = profile.scores(which, rows).T
        gap = float(np.abs(added - own).max(initial=0.0))
        if not gap <= TOLERANCE * max(1.0, float(np.abs(own).max(initial=0.0))):
            raise LearnerMismatch(
                f"the leaf values read from this {fitted.name} add up to scores {gap:.2g} away from its own on the "
                f"{which} rows, so its trees are not understood. Use graybox='retrain', and tell us the settings "
                f"and the library's version."
            )
    return profile


def leaf_indices(apply: Callable[[Table], Any], table: Table, *, largest: int) -> Leaves:
    """Leaf indices (trees, rows), in the smallest type that holds the ``largest``.

    ``apply`` gives those of a block of rows, shape (rows, trees), or (rows,) for one tree.
    """
    kind: Any = next(t for t in (np.uint8, np.uint16, np.uint32) if largest <= np.iinfo(t).max)
    count = row_count(table)
    leaves: Leaves = np.empty((0, count), dtype=kind)
    done = 0
    for begin in range(0, count, ROWS_AT_ONCE):  # so that what a library returns about each row fits in memory
        rows = slice(begin, min(begin + ROWS_AT_ONCE, count))
        some = table if count <= ROWS_AT_ONCE else _rows_at(table, rows)
        block = np.asarray(apply(some))
        block = block.reshape(len(block), -1)
        if not done:
            leaves = np.empty((block.shape[1], count), dtype=kind)
        leaves[:, done : done + len(block)] = block.astype(kind).T  # small numbers are quicker to turn round
        done += len(block)
    return leaves


def _sampled(table: Table) -> npt.NDArray[np.intp]:
    """Rows whose scores are compared: some of all, and some of those that lack values, which trees treat apart."""
    groups = np.arange(row_count(table)), np.flatnonzero(_lacking(table))
    return np.unique(np.concatenate([each[:: max(1, -(-len(each) // ROWS_COMPARED))] for each in groups]))


def _lacking(table: Table) -> npt.NDArray[np.bool_]:
    """Which rows lack a value."""
    if is_frame(table):
        columns = nw.from_native(table, eager_only=True).iter_columns()
        lacks = (each.is_null() | each.is_nan() if each.dtype.is_float() else each.is_null() for each in columns)
        return np.asarray(np.logical_or.reduce([np.asarray(each.to_numpy(), dtype=bool) for each in lacks]))
    if table.dtype == object:
        return np.array([any(map(is_missing, row)) for row in table.tolist()])
    with np.errstate(invalid="ignore"):  # ∞ - ∞
        return np.asarray(np.isnan(table.sum(axis=1, dtype=np.float64))).ravel()


def _rows_at(table: Table, rows: slice) -> Table:
    return take(table, np.arange(*rows.indices(row_count(table)))) if is_frame(table) else table[rows]
