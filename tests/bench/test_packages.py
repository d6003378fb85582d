"""Peers that are packages: what is asked of them and how their answers are read.

CatBoost is here; of the others, which live in an environment of their own, stand-ins are, with the parts of their faces
that are used.
"""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from benchmarks.measures import average_precision, order_of
from benchmarks.peers import catboosted, confident, valuation
from benchmarks.peers.baselines import out_of_fold
from benchmarks.peers.contest import Contest
from psidebug.datasets import breast_cancer
from tests.bench.conftest import small


def stand_in(monkeypatch: pytest.MonkeyPatch, name: str, **members: Any) -> None:
    parts = name.split(".")
    for depth in range(1, len(parts) + 1):
        module = ".".join(parts[:depth])
        if module not in sys.modules:
            monkeypatch.setitem(sys.modules, module, ModuleType(module))
    for member, value in members.items():
        monkeypatch.setattr(sys.modules[name], member, value, raising=False)


def test_catboost_finds_one_sided_errors() -> None:
    data = breast_cancer(1000, noise="one_sided")
    contest = Contest.of(data, "boosting", seed=1000)
    found = average_precision(order_of(catboosted.rank(contest).scores), data.wrong)
    assert found is not None
    assert found > 2.0 * data.wrong.mean()


def test_cleanlab_is_given_probabilities_out_of_fold(monkeypatch: pytest.MonkeyPatch) -> None:
    contest = small("logistic")
    asked = []

    def quality(labels: np.ndarray, p: np.ndarray, method: str) -> np.ndarray:
        asked.append((labels, p, method))
        return np.asarray(p[np.arange(len(labels)), labels])

    stand_in(monkeypatch, "cleanlab.rank", get_label_quality_scores=quality)
    stand_in(monkeypatch, "cleanlab.filter", find_label_issues=lambda labels, p, n_jobs: p.argmax(axis=1) != labels)
    found = confident.rank(contest)
    labels, p, method = asked[0]
    assert method == "self_confidence"
    np.testing.assert_allclose(p, out_of_fold(contest))
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    np.testing.assert_array_equal(labels, contest.given)
    np.testing.assert_allclose(found.scores, -p[np.arange(len(contest)), contest.given])
    np.testing.assert_array_equal(found.kept, p.argmax(axis=1) == contest.given)


def test_rows_out_of_fold_are_judged_by_a_model_that_has_not_seen_them() -> None:
    contest = small("logistic", rows=50)
    p = out_of_fold(contest)
    seen = contest.probabilities(contest.fit(), contest.X_train)
    assert (np.abs(p - seen).max(axis=1) > 1e-6).all()
    losses = [-np.log(each[np.arange(50), contest.given]).mean() for each in (p, seen)]
    assert losses[0] > losses[1]


@pytest.mark.thorough
def test_values_are_read_by_row_whatever_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """The least worth is the most suspicious, and pyDVL's results come in an order of their own."""
    contest = small("logistic", rows=40)
    worth = np.random.default_rng(0).normal(size=40)
    shuffled = np.random.default_rng(1).permutation(40)

    class Valuation:
        def __init__(self, *_: Any, **__: Any) -> None:
            self.result = SimpleNamespace(indices=shuffled, values=worth[shuffled])

        def fit(self, data: Any) -> None:
            np.testing.assert_array_equal(data[1], contest.given)

    stand_in(monkeypatch, "pydvl.valuation.dataset", Dataset=lambda x, y: (x, y))
    stand_in(monkeypatch, "pydvl.valuation.methods.knn_shapley", KNNShapleyValuation=Valuation)
    stand_in(monkeypatch, "pydvl.valuation.methods.data_oob", DataOOBValuation=Valuation)
    np.testing.assert_allclose(valuation.knn_shapley(contest).scores, -worth)
    np.testing.assert_allclose(valuation.data_oob(contest).scores, -worth)


def test_datascope_is_asked_for_neighbours(monkeypatch: pytest.MonkeyPatch) -> None:
    contest = small("logistic", rows=40)
    worth = np.random.default_rng(0).normal(size=40)

    class Shapley:
        def __init__(self, method: str, utility: Any) -> None:
            assert method == "neighbor"

        def fit(self, X: Any, y: Any) -> None:
            np.testing.assert_array_equal(y, contest.given)

        def score(self, X: Any, y: Any) -> Any:
            np.testing.assert_array_equal(y, contest.y_test)
            return iter(worth)

    stand_in(monkeypatch, "datascope.importance.utility", SklearnModelAccuracy=lambda model: model)
    stand_in(
        monkeypatch,
        "datascope.importance.shapley",
        ShapleyImportance=Shapley,
        ImportanceMethod=SimpleNamespace(NEIGHBOR="neighbor"),
    )
    np.testing.assert_allclose(valuation.datascope(contest).scores, -worth)
