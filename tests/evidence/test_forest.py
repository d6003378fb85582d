"""A forest that counts anew: against scikit-learn's own out-of-bag predictions, and against trees counted by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesClassifier

from psidebug.evidence import forest as forests
from psidebug.evidence.extra_trees import ExtraTrees
from psidebug.evidence.forest import Forest, extra_trees
from psidebug.margins import log_shares
from psidebug.policy import LEAST_LEAF


def rows(seed: int, count: int, classes: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(count, 6)).astype(np.float32)
    return X, (np.digitize(X[:, 0] + 0.4 * rng.normal(size=count), [-0.5, 0.5]) % classes).astype(np.intp)


def grown(X: Any, y: Any, learned: Any, classes: int, trees: int = 60) -> Forest:
    model = extra_trees(len(learned)).set_params(random_state=0, trees=trees).fit(X[learned], y[learned])
    return Forest.of(model, X, learned, y[learned], classes)


@pytest.mark.parametrize(("classes", "counts"), [(2, 2**22), (3, 2**22), (3, 500)])
def test_with_all_labels_it_says_what_scikit_learn_says(
    classes: int, counts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if the trees are counted in several blocks."""
    monkeypatch.setattr(forests, "MOST_COUNTS", counts)
    X, y = rows(0, 400, classes)
    learned = np.random.default_rng(1).permutation(400)[:300]
    forest = grown(X, y, learned, classes)
    assert (len(forest.blocks) > 1) == (counts == 500)
    same = ExtraTreesClassifier(60, min_samples_leaf=LEAST_LEAF, bootstrap=True, oob_score=True, random_state=0)
    same.fit(X[learned], y[learned])
    said, counted = forest.without(np.zeros(300, dtype=bool))
    np.testing.assert_allclose(said[learned], log_shares(same.oob_decision_function_), atol=1e-5)
    others = np.setdiff1d(np.arange(400), learned)
    fewer = np.mean([each.predict_proba(X[others]) for each in same.estimators_[:22]], axis=0)  # 60 / e
    np.testing.assert_allclose(said[others], log_shares(fewer), atol=1e-5)
    np.testing.assert_allclose(counted.of(forest.leaves_of(X[others], of=400)), said[others], atol=1e-6)


def test_without_some_labels_the_smallest_node_with_enough_rows_speaks() -> None:
    X, y = rows(2, 250, 2)
    learned = np.arange(250)
    forest = grown(X, y, learned, 2, trees=8)
    excluded = X[:, 0] > 0.2
    said, _ = forest.without(excluded)
    for row in (3, 50, 111, 249):
        votes = []
        for tree, each in enumerate(forest.model.grown_):
            if forest.drawn[tree, row]:
                continue
            path = each.decision_path(X[[row]]).indices
            below = each.decision_path(X).toarray().astype(bool)
            weights = forest.drawn[tree] * ~excluded
            enough = [node for node in path if weights[below[:, node]].sum() >= LEAST_LEAF] or [0]
            own = below[:, enough[-1]] * weights
            votes.append([own[y == code].sum() / own.sum() for code in (0, 1)])
        np.testing.assert_allclose(said[row], log_shares(np.mean(votes, axis=0)), atol=1e-5)


def test_without_any_label_it_knows_nothing() -> None:
    X, y = rows(3, 120, 2)
    said, _ = grown(X, y, np.arange(120), 2, trees=5).without(np.ones(120, dtype=bool))
    np.testing.assert_allclose(np.exp(said), 0.5, atol=1e-6)


def test_of_very_many_rows_fewer_trees_speak() -> None:
    X, y = rows(4, 120, 2)
    forest = grown(X, y, np.arange(120), 2)
    assert forest.leaves_of(X, of=120).shape[0] == 22
    assert forest.leaves_of(X, of=200_000).shape[0] == 20
    assert forest.leaves_of(X, of=10**8).shape[0] == forests.LEAST_TREES


@pytest.mark.parametrize("bootstrap", [True, False])
@pytest.mark.parametrize("classes", [2, 3])
def test_its_trees_are_those_of_scikit_learn(classes: int, bootstrap: bool) -> None:
    X, y = rows(5, 200, classes)
    names = np.array(["a", "b", "c"])[y]
    own = ExtraTrees(9, bootstrap=bootstrap, random_state=7).fit(X, names)
    same = ExtraTreesClassifier(9, min_samples_leaf=LEAST_LEAF, bootstrap=bootstrap, random_state=7).fit(X, names)
    assert own.classes_.tolist() == same.classes_.tolist()
    for tree, other in zip(own.grown_, same.estimators_, strict=True):
        assert tree.threshold.tobytes() == other.tree_.threshold.tobytes()
        assert tree.value.tobytes() == other.tree_.value.tobytes()
    drawn = [np.bincount(each, minlength=200) for each in same.estimators_samples_]
    np.testing.assert_array_equal(own.drawn_, drawn)
    np.testing.assert_allclose(own.feature_importances_, same.feature_importances_, rtol=1e-12)


def test_trees_without_a_split_have_no_important_column() -> None:
    forest = ExtraTrees(2, random_state=0).fit(np.zeros((8, 3)), np.arange(8) % 2)
    assert forest.feature_importances_.tolist() == [0.0, 0.0, 0.0]


def test_of_many_rows_fewer_trees_are_grown() -> None:
    assert [extra_trees(rows).trees for rows in (0, 4_000, 5_000, 6_000, 10_000)] == [150, 150, 120, 100, 100]


@pytest.mark.filterwarnings("ignore:overflow encountered in cast")
@pytest.mark.parametrize("value", [np.nan, np.inf, 1e60])
def test_what_no_tree_can_split_is_refused(value: float) -> None:
    with pytest.raises(ValueError, match="finite numbers of 32 bits"):
        ExtraTrees(2, random_state=0).fit(np.array([[0.0], [1.0], [value], [3.0]]), np.arange(4) % 2)
