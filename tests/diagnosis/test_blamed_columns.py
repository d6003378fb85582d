"""When a column is blamed in the place of labels."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import psidebug
from psidebug.causes import one_column
from psidebug.causes.columns import both_sets
from psidebug.causes.one_column import Candidate, claim_of
from psidebug.diagnosis import blamed_columns as module
from psidebug.diagnosis import either_set
from psidebug.evidence.predictors import Predictors
from psidebug.task.task import Task
from psidebug.training.trainer import Trainer

ROWS, FEW = 400, 100
GONE, LEFT = 1.0, 90.0


def blamed(monkeypatch: pytest.MonkeyPatch, left: dict[int, float]) -> tuple[list[str] | None, list[int]]:
    """Columns to blame if 100 nats speak against the labels, and so many are left without the column, by rows asked."""
    rng = np.random.default_rng(0)
    X, X_test = rng.normal(size=(ROWS, 2)), rng.normal(size=(50, 2))
    task = Task.of(LogisticRegression(), X, (X[:, 0] > 0).astype(int), X_test, (X_test[:, 0] > 0).astype(int))
    asked: list[int] = []

    def evidence(everyone: Predictors, tick: Any) -> float:
        own = np.asarray(everyone.task.train.features)
        if np.ptp(own[:, 1]) > 0:
            return 100.0
        asked.append(len(own))
        return left[len(own)]

    monkeypatch.setattr(module, "MOST_WITHOUT_A_COLUMN", FEW)
    monkeypatch.setattr(module, "evidence_by_plain_predictors", evidence)
    monkeypatch.setattr(module, "evidence_soon_found", lambda *_: -np.inf)
    monkeypatch.setattr(one_column, "candidates", lambda trainer, task, columns: [Candidate(columns[1], "test", 1.0)])
    accused: Any = SimpleNamespace(likely=True, slices=(), evidence=100.0)
    found = module.columns_to_blame(Predictors.of(task, Trainer(task)), accused, None, (), lambda *_: None)
    return None if found is None else [str(each.column) for each in found], asked


def test_a_column_that_few_rows_blame_by_chance_is_not_blamed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert blamed(monkeypatch, {FEW: GONE, ROWS: LEFT}) == (None, [FEW, ROWS])


def test_a_column_that_all_rows_blame_is_blamed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert blamed(monkeypatch, {FEW: GONE, ROWS: GONE}) == (["x1"], [FEW, ROWS])


def test_all_rows_are_not_asked_where_few_acquit_the_column(monkeypatch: pytest.MonkeyPatch) -> None:
    assert blamed(monkeypatch, {FEW: LEFT, ROWS: GONE}) == (None, [FEW])


def test_a_column_without_which_nothing_changes_is_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """A constant column is blamed: leaving it out gains no nat, and the wrong labels stay the cause."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1600, 4))
    X[:, 3] = 1.0
    y = (X[:, 0] + 0.3 * rng.normal(size=1600) > 0).astype(int)
    given = np.where(X[:1000, 1] > 0.8, 0, y[:1000])

    def blame(everyone: Predictors, *_: Any) -> Any:
        columns = both_sets(everyone.task.data)
        return [claim_of(everyone.task.data, columns, Candidate(columns[3], "test", 1.0))]

    monkeypatch.setattr(either_set, "columns_to_blame", blame)
    found = psidebug.debug(LogisticRegression(), X[:1000], given, X[1000:], y[1000:], progress=False)
    assert found.cause == "training_labels"
