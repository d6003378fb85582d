"""The tree gray boxes against answers that can be worked out by hand, and against the learner itself."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from psidebug.errors import LearnerMismatch, UnknownOption
from psidebug.graybox.retrain import Retrain
from psidebug.graybox.trees import passes
from psidebug.graybox.trees.derivative import LeafDerivative
from psidebug.graybox.trees.ensemble import Ensemble
from psidebug.graybox.trees.linear import Leaf, LeafResidual
from psidebug.graybox.trees.loss import Sigmoid
from psidebug.graybox.trees.profile import Fitted, checked, leaf_indices
from psidebug.graybox.trees.refit import LeafRefit, LeafRefits, nearby, regrown
from psidebug.graybox.trees.weighting import Start, Weighting, one_hot, recognised
from psidebug.task.task import Task


def one_stump() -> Task:
    """Two leaves: x < 0 holds labels 1 0 0 0, x > 0 holds 1 1 1 0 1 1; one test row on each side."""
    X = np.array([-4.0, -3, -2, -1, 1, 2, 3, 4, 5, 6])[:, None]
    y = np.array([1, 0, 0, 0, 1, 1, 1, 0, 1, 1])
    model = GradientBoostingClassifier(
        n_estimators=1, max_depth=1, learning_rate=0.5, init="zero", min_samples_leaf=4, random_state=0
    )
    return Task.of(model, X, y, np.array([[-1.5], [2.5]]), np.array([1, 1]))


def test_the_papers_coefficient_of_one_stump() -> None:
    """From score 0: p = ½, every row has Hessian ¼; a flip moves the numerator by 1, the leaf of n rows by ρ 4/n."""
    task = one_stump()
    box = Leaf(task)
    np.testing.assert_allclose(box.actual[:, 0], [0.5 * (1 - 4 * 0.5) / 1.0, 0.5 * (5 - 6 * 0.5) / 1.5])
    left, right = (box.effects(np.array([[1.0], [0.0]])), box.effects(np.array([[0.0], [1.0]])))
    np.testing.assert_allclose(left[:4, 1] - left[:4, 0], 0.5 * 4 / 4)
    np.testing.assert_allclose(right[4:, 1] - right[4:, 0], 0.5 * 4 / 6)
    assert not left[4:].any()
    assert not right[:4].any()


def test_at_score_zero_residual_and_flip_are_one() -> None:
    task = one_stump()
    weights = np.array([[1.0], [-2.0]])
    np.testing.assert_allclose(LeafResidual(task).effects(weights), Leaf(task).effects(weights))


def test_all_forms_agree_on_one_tree_from_zero() -> None:
    """One tree, no penalty, a constant first score: the refit is linear in the labels and the paper's form exact."""
    task = one_stump()
    ensemble = Ensemble.of(task)
    worlds = np.random.default_rng(0).integers(0, 2, size=(20, 10))
    expected = LeafRefit(task, ensemble).margins(worlds)
    for box in (Leaf(task, ensemble), LeafDerivative(task, ensemble), LeafDerivative(task, ensemble, softness=0.0)):
        np.testing.assert_allclose(box.margins(worlds), expected, atol=1e-12)


def blobs(seed: int = 0, count: int = 400) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.intp]]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(count, 4))
    return X, (X[:, 0] + X[:, 1] ** 2 + rng.normal(size=count) > 1).astype(np.intp)


def test_the_refit_has_the_scale_of_retraining_and_the_papers_form_has_not() -> None:
    X, y = blobs(count=700)
    task = Task.of(GradientBoostingClassifier(n_estimators=100, random_state=0), X[:400], y[:400], X[400:], y[400:])
    rng = np.random.default_rng(1)
    worlds = np.tile(task.train.codes, (12, 1))
    for world in worlds:
        moved = rng.choice(400, 20, replace=False)
        world[moved] = 1 - world[moved]
    ensemble = Ensemble.of(task)
    real = Retrain(task).margins(worlds) - ensemble.actual

    def slope(box: Any) -> float:
        predicted = box.margins(worlds) - ensemble.actual
        return float((real * predicted).sum() / (predicted**2).sum())

    assert 0.7 < slope(LeafRefit(task, ensemble)) < 1.4
    assert 0.7 < slope(LeafDerivative(task, ensemble)) < 1.4
    assert slope(Leaf(task, ensemble)) < 0.5


def test_a_single_tree_follows_its_leaf_frequencies() -> None:
    X, y = blobs()
    task = Task.of(DecisionTreeClassifier(min_samples_leaf=20, random_state=0), X[:300], y[:300], X[300:], y[300:])
    world = task.train.codes[None, :].copy()
    world[0, :40] = 1 - world[0, :40]
    leaf_of = task.learner.apply
    train, test = leaf_of(X[:300]), leaf_of(X[300:])
    share = np.array([world[0, train == leaf].mean() for leaf in test])
    log_odds = np.log(share + 0.01) - np.log(1 - share + 0.01)
    expected = np.where(task.test.codes == 1, log_odds, -log_odds)
    np.testing.assert_allclose(LeafRefit(task).margins(world)[0, :, 0], expected, atol=1e-9)


def test_a_forests_effects_are_finite_where_no_tree_votes_for_a_class() -> None:
    X, y = blobs()
    task = Task.of(RandomForestClassifier(5, random_state=0), X[:300], y[:300], X[300:], y[300:])
    box = LeafDerivative(task)
    assert (np.abs(box.actual) > 4.6).any()  # probabilities of exactly 0
    effects = box.effects(np.ones_like(box.actual))
    assert np.isfinite(effects).all()
    assert np.abs(effects).max() < 1e3


def test_a_trees_effects_have_the_slope_of_slightly_uncertain_labels() -> None:
    """A flip in a leaf of n rows moves log odds by (1/(p̃+a) + 1/(1-p̃+a))/n, p̃ = 0.95 p + 0.05 (1-p), a = 0.01."""
    X = np.array([-4.0, -3, -2, -1, 1, 2, 3, 4, 5, 6])[:, None]
    y = np.array([1, 0, 0, 0, 1, 1, 1, 1, 1, 1])
    tree = DecisionTreeClassifier(max_depth=1, min_samples_leaf=4, random_state=0)
    task = Task.of(tree, X, y, np.array([[-1.5], [2.5]]), np.array([1, 1]))
    for point, rows, p in ((0, slice(0, 4), 0.25), (1, slice(4, 10), 1.0)):
        weights = np.zeros((2, 1))
        weights[point] = 1.0
        effects = LeafDerivative(task).effects(weights)[rows]
        soft = 0.95 * p + 0.05 * (1 - p)
        expected = (1 / (soft + 0.01) + 1 / (1 - soft + 0.01)) / len(effects)
        np.testing.assert_allclose(effects[:, 1] - effects[:, 0], expected)


def test_a_forest_grown_out_has_one_scale_in_all_forms() -> None:
    X, y = blobs(count=700)
    task = Task.of(RandomForestClassifier(30, random_state=0), X[:400], y[:400], X[400:], y[400:])
    worlds = np.tile(task.train.codes, (12, 1))
    rng = np.random.default_rng(1)
    for world in worlds:
        moved = rng.choice(400, 20, replace=False)
        world[moved] = 1 - world[moved]
    ensemble = Ensemble.of(task)
    real, linear = (box(task, ensemble).margins(worlds) - ensemble.actual for box in (LeafRefit, LeafDerivative))
    assert 0.8 < (real * linear).sum() / (linear**2).sum() < 1.4


def test_scores_carried_as_exponentials_are_the_scores() -> None:
    """And a score beyond what an exponential holds is as good as certain, never a 0 · ∞."""
    loss, leaves = Sigmoid(), np.array([0, 1, 0])
    f, s = np.array([[-3.0], [0.5], [40.0]]), np.array([[1.5], [-2.0]])
    x = loss.carried(f)
    loss.add(x, loss.step(s), leaves)
    np.testing.assert_allclose(loss.scores(x), f + s[leaves], rtol=1e-12)
    np.testing.assert_allclose(loss.probability(x), 1 / (1 + np.exp(-(f + s[leaves]))), rtol=1e-12)
    extreme = loss.carried(np.array([[-1e4], [1e4]]))
    for step in (1e5, -1e5):
        loss.add(extreme, loss.step(np.full((1, 1), step)), np.array([0, 0]))
        assert np.isin(loss.probability(extreme), (0.0, 1.0)).all()


def test_regions_are_grown_on_labels_of_which_one_in_twenty_has_moved() -> None:
    X, y = blobs()
    y = y.copy()
    y[7] = 2  # a class of one row
    task = Task.of(DecisionTreeClassifier(max_depth=3), X, y, X[:50], y[:50])
    draws = [nearby(task, np.random.default_rng(seed)) for seed in range(40)]
    assert {int((draw != y).sum()) for draw in draws} == {20}
    assert all(draw[7] == 2 for draw in draws)
    assert len(np.unique([np.flatnonzero(draw != y) for draw in draws])) > 300
    with pytest.raises(UnknownOption, match="structures takes a number of fits from 1, not 0"):
        LeafRefits(task, structures=0)


def test_the_mean_over_regions_is_that_of_its_parts() -> None:
    X, y = blobs(count=300)
    task = Task.of(GradientBoostingClassifier(n_estimators=5), X[:200], y[:200], X[200:], y[200:], seed=3)
    ensemble, rng = Ensemble.of(task), np.random.default_rng(3)
    parts = [LeafRefit(task, regrown(ensemble, task, nearby(task, rng))) for _ in range(2)]
    world = 1 - task.train.codes[None]
    np.testing.assert_allclose(
        LeafRefits(task, ensemble).margins(world), (parts[0].margins(world) + parts[1].margins(world)) / 2
    )
    assert np.abs(parts[0].margins(world) - parts[1].margins(world)).max() > 0.01


def test_blocks_of_rows_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = blobs(count=1_300)
    task = Task.of(GradientBoostingClassifier(n_estimators=5), X[:1_000], y[:1_000], X[1_000:], y[1_000:])
    worlds = np.tile(task.train.codes, (3, 1))
    worlds[1, :50] = 1 - worlds[1, :50]
    weights = np.random.default_rng(0).normal(size=(300, 1))
    whole = [LeafRefit(task).margins(worlds), Leaf(task).effects(weights)]
    whole += [LeafDerivative(task).effects(weights), LeafDerivative(task).margins(worlds)]
    monkeypatch.setattr(passes, "BLOCK", 256)
    parts = [LeafRefit(task).margins(worlds), Leaf(task).effects(weights)]
    parts += [LeafDerivative(task).effects(weights), LeafDerivative(task).margins(worlds)]
    for one, other in zip(whole, parts, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    "kind",
    [
        np.asarray,
        sp.csr_array,
        lambda table: table.astype(np.float32),
        lambda table: np.where(np.isnan(table), None, table),
        lambda table: pd.DataFrame(table).rename(columns=str),
        lambda table: pd.DataFrame(table).rename(columns=str).astype("Float64"),
        lambda table: pl.DataFrame(table, schema=["a", "b", "c"]),
        lambda table: pa.table({name: pa.array(table[:, at], from_pandas=True) for at, name in enumerate("abc")}),
    ],
    ids=["float64", "sparse", "float32", "objects", "pandas", "pandas with NA", "polars", "arrow"],
)
def test_the_few_rows_that_lack_values_are_among_those_compared(kind: Callable[[Any], Any]) -> None:
    """One of 2,000 rows; there alone the trees as they were read differ from the model."""
    table = np.random.default_rng(0).normal(size=(2000, 3))
    profile: Any = SimpleNamespace(columns=1, scores=lambda which, rows: np.zeros((1, 2000))[:, rows])

    def raw(some: Any) -> npt.NDArray[np.bool_]:
        plain = some.toarray() if sp.issparse(some) else some.to_pandas() if hasattr(some, "to_pandas") else some
        return np.asarray(pd.DataFrame(plain).isna().any(axis=1))

    def fitted(train: Any, test: Any) -> Fitted:
        return Fitted(SimpleNamespace(), train, test, np.zeros(2000, dtype=np.intp), 2, None)

    lacking = table.copy()
    lacking[1001, 1] = np.nan
    assert checked(profile, raw, fitted(kind(table), kind(table))) is profile
    with pytest.raises(LearnerMismatch, match="on the test rows"):
        checked(profile, raw, fitted(kind(table), kind(lacking)))


def test_sums_by_leaf_are_the_same_for_one_world_and_for_many() -> None:
    rng = np.random.default_rng(0)
    leaves, values = rng.integers(0, 6, size=50).astype(np.uint8), rng.normal(size=(50, 3))
    many = passes.sum_by_leaf(leaves, values, 7)
    one = np.column_stack([passes.sum_by_leaf(leaves, values[:, [b]], 7)[:, 0] for b in range(3)])
    np.testing.assert_allclose(many, one)
    np.testing.assert_allclose(many[2], values[leaves == 2].sum(axis=0))


@pytest.mark.parametrize("kind", ["constant", "log_odds", "newton", "log_prior", "centred"])
def test_first_scores_follow_the_class_totals(kind: Any) -> None:
    totals = np.array([30.0, 12.0] if kind in ("log_odds", "newton") else [30.0, 12.0, 7.0])
    columns = 1 if len(totals) == 2 else 3
    start = Start(kind, np.zeros(columns))
    small, slopes = 1e-5, start.slopes(totals)
    for k in range(len(totals)):
        step = np.zeros(len(totals))
        step[k] = small
        ahead, behind = start.scores((totals + step)[:, None])[:, 0], start.scores((totals - step)[:, None])[:, 0]
        np.testing.assert_allclose(slopes[:, k], (ahead - behind) / (2 * small), atol=1e-8)


def test_a_first_score_that_no_rule_explains_is_a_constant() -> None:
    totals = np.array([30.0, 10.0])
    assert recognised(("log_odds", "newton"), np.log([1 / 3]), totals).kind == "log_odds"
    assert recognised(("log_odds", "newton"), np.array([-1.0]), totals).kind == "newton"
    assert recognised(("log_odds", "newton"), np.array([0.123]), totals).kind == "constant"


@pytest.mark.parametrize("balanced", [False, True])
@pytest.mark.parametrize("start_uses_classes", [False, True])
def test_weights_move_and_pull_as_one(balanced: bool, start_uses_classes: bool) -> None:
    """``moved`` against a central difference, ``pulled`` as its transpose."""
    rng = np.random.default_rng(0)
    weighting = Weighting(rng.uniform(0.5, 2, 12), np.array([1.0, 3.0, 0.5]), balanced, start_uses_classes)
    labels = rng.dirichlet(np.ones(3), size=12).T[:, :, None]
    change, small = rng.normal(size=(3, 12, 1)), 1e-6
    in_trees, in_start = weighting.moved(labels, change)
    ahead, behind = labels + small * change, labels - small * change
    np.testing.assert_allclose(
        in_trees, (weighting.weighted(ahead) - weighting.weighted(behind)) / (2 * small), rtol=1e-6
    )
    starts = weighting.start_totals(ahead) - weighting.start_totals(behind)
    np.testing.assert_allclose(in_start, starts / (2 * small), rtol=1e-6)
    on_weights, on_start = rng.normal(size=(3, 12)), rng.normal(size=3)
    pulled = weighting.pulled(labels[:, :, 0], on_weights, on_start)
    expected = (on_weights * in_trees[:, :, 0]).sum() + on_start @ in_start[:, 0]
    np.testing.assert_allclose((pulled * change[:, :, 0]).sum(), expected)


def test_worlds_become_labels_and_leaves_take_little_room() -> None:
    assert one_hot(np.array([[0, 2], [1, 1]]), 3)[:, :, 0].tolist() == [[1, 0], [0, 0], [0, 1]]
    table = np.arange(5.0)[:, None]
    small, large = (leaf_indices(lambda block: block % 2, table, largest=largest) for largest in (255, 256))
    assert [leaves.itemsize for leaves in (small, large)] == [1, 2]
    assert small.tolist() == large.tolist() == [[0, 1, 0, 1, 0]]
