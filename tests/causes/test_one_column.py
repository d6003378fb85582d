"""A column that means something else in one set, and hangs together with no other: known by the labels alone."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

import psidebug
from psidebug.causes import one_column
from psidebug.causes.columns import both_sets
from psidebug.task.task import Task
from psidebug.training.trainer import Trainer
from tests.causes.rows import Rows, learner

ROWS, TEST = 800, 400


def apart(seed: int) -> Rows:
    """Columns that hang together with no other; two of the numbers and a category tell the label."""
    rng, n = np.random.default_rng(seed), ROWS + TEST
    X = pd.DataFrame(9.0 + rng.normal(size=(n, 4)).round(4), columns=["weight", "price", "days", "age"])
    X["kind"] = rng.choice(["bag", "box", "roll"], n)
    X["route"] = rng.choice(["north", "south"], n)
    score = 1.6 * (X["weight"] - 9) - 1.2 * (X["price"] - 9) + X["kind"].map({"bag": -1.3, "box": 0.1, "roll": 1.4})
    y = np.where(rng.random(n) < 1 / (1 + np.exp(-1.5 * score)), "late", "on time").astype(object)
    parts = X.iloc[:ROWS].reset_index(drop=True), y[:ROWS], X.iloc[ROWS:].reset_index(drop=True), y[ROWS:]
    return Rows(*parts)


def shuffled_in_training(rows: Rows) -> Rows:
    values = rows.X_train["weight"].to_numpy()
    return rows.with_column("training", "weight", np.random.default_rng(1).permutation(values))


def shifted_by_a_row_in_test(rows: Rows) -> Rows:
    return rows.with_column("test", "weight", np.roll(rows.X_test["weight"].to_numpy(), 1))


def other_values_in_test(rows: Rows) -> Rows:
    return rows.with_column("test", "kind", rows.X_test["kind"].map({"bag": "box", "box": "roll", "roll": "bag"}))


def noise_in_test(rows: Rows) -> Rows:
    noise = 3.0 * np.random.default_rng(1).normal(size=len(rows.X_test))
    return rows.with_column("test", "weight", rows.X_test["weight"] + noise)


@pytest.mark.parametrize(
    ("plant", "column"),
    [
        (shuffled_in_training, "weight"),
        (shifted_by_a_row_in_test, "weight"),
        (other_values_in_test, "kind"),
        (noise_in_test, "weight"),
    ],
)
def test_the_column_is_the_cause_and_no_label_is_changed(plant: Callable[[Rows], Rows], column: str) -> None:
    rows = plant(apart(0))
    found = psidebug.debug(learner(), *rows.parts, check_fidelity=False, rng=0)
    assert found.cause == "dead_column"
    assert column in found.causes.iloc[0]["where"]
    assert found.suspect_tests is None or not len(found.suspect_tests)
    np.testing.assert_array_equal(np.asarray(found.repaired_labels), rows.y_train)


def test_labels_that_are_wrong_by_values_of_a_column_are_not_its_fault() -> None:
    rows = apart(0)
    marked = rows.y_train.copy()
    marked[rows.X_train["kind"] == "roll"] = "on time"
    wrong = marked != rows.y_train
    found = psidebug.debug(learner(), *rows.with_labels("training", marked).parts, check_fidelity=False, rng=0)
    assert found.cause == "training_labels"
    repaired = np.asarray(found.repaired_labels) == rows.y_train
    assert repaired[wrong].mean() > 0.8


def test_candidates_are_columns_whose_worth_or_values_differ_between_the_sets() -> None:
    def found(rows: Rows) -> list[tuple[str, str | None]]:
        task = Task.of(learner(), *rows.parts, seed=0)
        return [
            (each.column.name, each.side) for each in one_column.candidates(Trainer(task), task, both_sets(task.data))
        ]

    assert found(apart(0)) == []
    assert found(noise_in_test(apart(0)))[0][0] == "weight"
    assert found(shuffled_in_training(apart(0)))[0] == ("weight", "training")
