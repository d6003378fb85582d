"""What can be wrong with a task, planted: each says which cause it is, and in which column."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.ensemble import RandomForestClassifier

from benchmarks.causes.tables import Labels, Tables
from psidebug.task.learner import Classifier

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Planted:
    """Rows with something wrong."""

    tables: Tables
    cause: str
    column: str | None = None
    """The one that is wrong."""
    wrong_train: Mask | None = None
    wrong_test: Mask | None = None
    """Labels that are."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Of the learner's last step."""
    skipped: str = ""
    """Why this cannot be planted here, if it cannot."""


Plant = Callable[[Tables, np.random.Generator, str], Planted]


def telling(tables: Tables, names: list[str]) -> list[str]:
    """Those of these columns that tell most about the label, by a forest, best first."""
    coded = tables.X_train.apply(
        lambda each: each if pd.api.types.is_numeric_dtype(each) else pd.factorize(each)[0]
    ).fillna(-1)
    trees = RandomForestClassifier(60, min_samples_leaf=5, random_state=0, n_jobs=1).fit(coded, tables.y_train)
    told = dict(zip(tables.X_train.columns, trees.feature_importances_, strict=True))
    return sorted(names, key=lambda name: -told[name])


def one_of_the_best(tables: Tables, rng: np.random.Generator, *, numbers: bool = True, most: int = 2) -> str:
    """A column, by chance one of those that tell most."""
    names = tables.numbers if numbers else tables.X_train.columns.tolist()
    varied = [name for name in names if tables.X_train[name].nunique() > (8 if numbers else 1)]
    if numbers:  # where most are one value, as 0, no unit shows
        varied = [name for name in varied if tables.X_train[name].value_counts(normalize=True).iloc[0] < 0.5]
    return str(rng.choice(telling(tables, varied)[:most]))


def _moved(labels: Labels, rows: Mask, rng: np.random.Generator) -> Labels:
    classes, moved = np.unique(labels), labels.copy()
    at = np.flatnonzero(rows)
    codes = np.searchsorted(classes, labels[at])
    moved[at] = classes[(codes + rng.integers(1, len(classes), len(at))) % len(classes)]
    return moved


def _slice(tables: Tables, rng: np.random.Generator) -> Callable[[pd.DataFrame], Mask]:
    """Rows of about a sixth of the table: a value of a category, or a range of numbers."""
    found: list[Callable[[pd.DataFrame], Mask]] = []
    for name in tables.categories:
        shares = tables.X_train[name].value_counts(normalize=True)
        values = shares[(shares > 0.08) & (shares < 0.3)].index
        found += [partial(_has, name=name, value=value) for value in values]
    if not found or rng.random() < 0.3:
        name = one_of_the_best(tables, rng, most=4)
        low, high = tables.X_train[name].quantile([0.55, 0.75])
        found = [partial(_between, name=name, low=low, high=high)]
    return found[int(rng.integers(len(found)))]


def _has(X: pd.DataFrame, *, name: str, value: Any) -> Mask:
    return np.asarray(X[name] == value)


def _between(X: pd.DataFrame, *, name: str, low: float, high: float) -> Mask:
    return np.asarray(X[name].between(low, high))


def _marked(labels: Labels, inside: Mask) -> tuple[Labels, Mask]:
    """All rows inside carry the label that is rarest there of the two most frequent."""
    values, counts = np.unique(labels[inside], return_counts=True)
    order = values[np.argsort(-counts)]
    marked = labels.copy()
    marked[inside] = order[1] if len(order) > 1 else order[0]
    return marked, np.asarray(marked != labels)


def nothing(t: Tables, rng: np.random.Generator, learner: str) -> Planted:
    """Nothing."""
    return Planted(t, "none")


def labels_at_random(t: Tables, rng: np.random.Generator, learner: str) -> Planted:
    """A quarter of the training labels."""
    wrong = rng.random(len(t.y_train)) < 0.25
    return Planted(replace(t, y_train=_moved(t.y_train, wrong, rng)), "training_labels", wrong_train=wrong)


def labels_of_a_slice(t: Tables, rng: np.random.Generator, learner: str) -> Planted:
    """Training labels of a slice are all one class."""
    marked, wrong = _marked(t.y_train, _slice(t, rng)(t.X_train))
    return Planted(replace(t, y_train=marked), "training_labels", wrong_train=wrong)


def test_labels_at_random(t: Tables, rng: np.random.Generator, learner: str) -> Planted:
    """15% of the test labels."""
    wrong = rng.random(len(t.y_test)) < 0.15
    return Planted(replace(t, y_test=_moved(t.y_test, wrong, rng)), "test_labels", wrong_test=wrong)


def test_labels_of_a_slice(t: Tables, rng: np.random.Generator, learner: str) -> Planted:
    """Test labels of a slice are all one class."""
    marked, wrong = _marked(t.y_test, _slice(t, rng)(t.X_test))
    return Planted(replace(t, y_test=marked), "test_labels", wrong_test=wrong)


FACTORS = (12.0, 60.0, 1000.0, 100.0, 2.54, 0.4536, 0.1, 24.0)


def unit_in_test(t: Tables, rng: np.random.Generator, learner: str) -> Planted:
    """A column in another unit in the test set."""
    name, factor = one_of_the_best(t, rng), float(rng.choice(FACTORS))
    return Planted(replace(t, X_test=t.X_test.assign(**{name: t.X_test[name] * factor})), "unit", name)


def unit_in_training(t: Tables, rng: np.random.Generator, learner: str) -> Planted:
    """A column in another unit in the training set."""
    name, factor = one_of_the_best(t, rng), float(rng.choice(FACTORS))
    return Planted(replace(t, X_train=t.X_train.assign(**{name: t.X_train[name] * factor})), "unit", name)


def unit_of_a_source(t: Tables, rng: np.random.Generator, learner: str) -> Planted:
    """A column in another unit in the training rows of one source, or of some months."""
    name, factor = one_of_the_best(t, rng), float(rng.choice([12.0, 60.0, 1000.0, 100.0]))
    if rng.random() < 0.5:
        rows = (t.metadata["source"] == "south").to_numpy()
    else:
        rows = t.metadata["date"].between("2025-03-01", "2025-06-15").to_numpy()
    values = t.X_train[name].astype(float).where(~rows, t.X_train[name] * factor)
    return Planted(replace(t, X_train=t.X_train.assign(**{name: values})), "unit", name)


def _code(t: Tables, part: str, rng: np.random.Generator) -> Planted:
    name, code = one_of_the_best(t, rng), float(rng.choice([-999.0, -1.0, 9999.0, 99999.0]))
    X = getattr(t, f"X_{part}")
    if code == -1.0 and X[name].min() < 0:
        code = -999.0
    rows = rng.random(len(X)) < 0.25
    return Planted(
        replace(t, **{f"X_{part}": X.assign(**{name: X[name].astype(float).where(~rows, code)})}), "missing_code", name
    )


def code_in_test(t: Tables, rng: np.random.Generator, learner: str) -> Planted:
    """A quarter of a test column is -999, or the like."""
    return _code(t, "test", rng)


def code_in_training(t: Tables, rng: np.random.Generator, learner: str) -> Planted:
    """The same in the training set."""
    return _code(t, "train", rng)


def class_shares(t: Tables, rng: np.random.Generator, learner: str) -> Planted:
    """Of the rarest class, 15% of the training rows are kept."""
    values, counts = np.unique(t.y_train, return_counts=True)
    rare = values[np.argmin(counts)]
    kept = (t.y_train != rare) | (rng.random(len(t.y_train)) < 0.15)
    return Planted(t.rows("train", np.flatnonzero(kept)), "class_shares")


def thinned_group(t: Tables, rng: np.random.Generator, learner: str) -> Planted:
    """Nearly all training rows of a slice are gone."""
    inside = _slice(t, rng)(t.X_train)
    kept = ~inside | (rng.random(len(inside)) < 0.02)
    return Planted(t.rows("train", np.flatnonzero(kept)), "under_represented")


def _repeated(t: Tables, rng: np.random.Generator, *, wrong: bool) -> Planted:
    some = rng.choice(len(t.y_train), max(4, len(t.y_train) // 60), replace=False)
    labels = t.y_train.copy()
    if wrong:
        chosen = np.zeros(len(labels), dtype=bool)
        chosen[some] = True
        labels = _moved(labels, chosen, rng)
    kept = rng.permutation(np.concatenate([np.arange(len(labels)), np.repeat(some, 40)]))
    again = replace(t, y_train=labels).rows("train", kept)
    return Planted(again, "duplicates", wrong_train=np.asarray(labels != t.y_train)[kept])


def duplicates(t: Tables, rng: np.random.Generator, learner: str) -> Planted:
    """Some rows forty times."""
    return _repeated(t, rng, wrong=False)


def duplicates_with_wrong_labels(t: Tables, rng: np.random.Generator, learner: str) -> Planted:
    """Some rows forty times, with a wrong label."""
    return _repeated(t, rng, wrong=True)


def leak(t: Tables, rng: np.random.Generator, learner: str) -> Planted:
    """A column that follows the label in training, and is not known yet in the test set."""
    codes = np.searchsorted(np.unique(t.y_train), t.y_train).astype(float)
    told = codes + 0.05 * rng.normal(size=len(codes))
    drawn = [rng.permutation(codes)[: len(part)] if len(part) <= len(codes) else rng.choice(codes, len(part))
             for part in (t.X_test, t.X_validation)]  # fmt: skip
    return Planted(
        replace(
            t,
            X_train=t.X_train.assign(score=told),
            X_test=t.X_test.assign(score=drawn[0] + 0.05 * rng.normal(size=len(drawn[0]))),
            X_validation=t.X_validation.assign(score=drawn[1] + 0.05 * rng.normal(size=len(drawn[1]))),
        ),
        "leak",
        "score",
    )


def _dead(t: Tables, part: str, rng: np.random.Generator) -> Planted:
    name = one_of_the_best(t, rng, numbers=False, most=1)
    X = getattr(t, f"X_{part}")
    values = X[name].to_numpy()
    values = rng.permutation(values) if rng.random() < 0.5 else np.roll(values, 1)
    return Planted(replace(t, **{f"X_{part}": X.assign(**{name: values})}), "dead_column", name)


def dead_in_training(t: Tables, rng: np.random.Generator, learner: str) -> Planted:
    """A column of the training set that lost its rows: shuffled, or shifted by one."""
    return _dead(t, "train", rng)


def dead_in_test(t: Tables, rng: np.random.Generator, learner: str) -> Planted:
    """The same in the test set."""
    return _dead(t, "test", rng)


def penalty(t: Tables, rng: np.random.Generator, learner: str) -> Planted:
    """The learner is far too weak."""
    options = {"C": 1e-4} if learner == "logistic" else {"n_estimators": 3}
    return Planted(t, "capacity", options=options)


def spelling(t: Tables, rng: np.random.Generator, learner: str) -> Planted:
    """A third of the labels of a class are spelled otherwise in training."""
    chosen = rng.choice(np.unique(t.y_train))
    rows = (t.y_train == chosen) & (rng.random(len(t.y_train)) < 0.35)
    labels = t.y_train.copy()
    labels[rows] = [f"{each} " if rng.random() < 0.5 else f" {each}" for each in labels[rows]]
    return Planted(replace(t, y_train=labels), "label_spelling", wrong_train=rows)


def learner_of(planted: Planted, kind: str) -> Classifier:
    """With the options that were planted."""
    made = planted.tables.learner(kind)
    made.steps[-1][1].set_params(**planted.options)
    return made


PLANTS: Mapping[str, Plant] = {
    each.__name__: each
    for each in (
        nothing, labels_at_random, labels_of_a_slice, test_labels_at_random, test_labels_of_a_slice, unit_in_test,
        unit_in_training, unit_of_a_source, code_in_test, code_in_training, class_shares, thinned_group, duplicates,
        duplicates_with_wrong_labels, leak, dead_in_training, dead_in_test, penalty, spelling,
    )
}  # fmt: skip
