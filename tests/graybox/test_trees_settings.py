"""Settings that change how leaf values come about: each must be read from the model, or refused in words."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from typing import Any

import lightgbm
import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
import xgboost
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from psidebug.errors import LearnerMismatch, UnsupportedLearner
from psidebug.graybox.trees.derivative import LeafDerivative, tangent
from psidebug.graybox.trees.ensemble import Ensemble
from psidebug.graybox.trees.passes import walk, weighed
from psidebug.graybox.trees.weighting import one_hot
from psidebug.task.task import Task


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    with threadpool_limits(limits=1):
        yield


def lgbm(**settings: Any) -> Any:
    return lightgbm.LGBMClassifier(n_estimators=8, num_leaves=7, verbose=-1, n_jobs=1, **settings)


def xgb(**settings: Any) -> Any:
    return xgboost.XGBClassifier(n_estimators=8, max_depth=3, n_jobs=1, **settings)


def gb(**settings: Any) -> Any:
    return GradientBoostingClassifier(n_estimators=8, **settings)


def hist(**settings: Any) -> Any:
    return HistGradientBoostingClassifier(max_iter=8, max_leaf_nodes=7, **settings)


def forest(**settings: Any) -> Any:
    return RandomForestClassifier(n_estimators=6, random_state=0, **settings)


def cat(**settings: Any) -> Any:
    return importlib.import_module("catboost").CatBoostClassifier(  # it has no types
        iterations=8, depth=3, verbose=0, thread_count=1, allow_writing_files=False, random_seed=0, **settings
    )


def rows(classes: int, count: int = 360) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.intp]]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(count, 5))
    z = X[:, 0] + X[:, 1] ** 2 + rng.normal(size=count)
    return X, np.digitize(z, np.quantile(z, np.arange(1, classes) / classes))


def task_of(model: Any, classes: int = 2, count: int = 300, **options: Any) -> Task:
    X, y = rows(classes, count + 60)
    return Task.of(model, X[:count], y[:count], X[count:], y[count:], **options)


READ: dict[str, Callable[[], Any]] = {
    "lightgbm L1 and L2": lambda: lgbm(reg_alpha=0.5, reg_lambda=2.0),
    "lightgbm bagging every other round": lambda: lgbm(subsample=0.6, subsample_freq=2, random_state=3),
    "lightgbm balanced": lambda: lgbm(class_weight="balanced"),
    "lightgbm class weights": lambda: lgbm(class_weight={0: 1.0, 1: 3.0, 2: 0.5}),
    "lightgbm from zero": lambda: lgbm(boost_from_average=False),
    "lightgbm extra trees": lambda: lgbm(extra_trees=True, random_state=1, colsample_bytree=0.5),
    "xgboost subsample": lambda: xgb(subsample=0.7, random_state=5, colsample_bytree=0.6),
    "xgboost base score and L1": lambda: xgb(base_score=0.3, reg_alpha=0.3, reg_lambda=0.0),
    "xgboost parallel trees": lambda: xgb(num_parallel_tree=2, subsample=0.7),
    "xgboost approx": lambda: xgb(tree_method="approx", min_child_weight=5),
    "sklearn subsample": lambda: gb(subsample=0.6, random_state=1),
    "sklearn early stopping": lambda: gb(n_iter_no_change=3, random_state=1),
    "sklearn from zero": lambda: gb(init="zero"),
    "histogram early stopping": lambda: hist(early_stopping=True, random_state=2),
    "histogram balanced": lambda: hist(class_weight="balanced", l2_regularization=1.0),
    "catboost penalty": lambda: cat(l2_leaf_reg=0.5, subsample=0.7, bootstrap_type="Bernoulli"),
    "catboost several steps": lambda: cat(leaf_estimation_iterations=4),
    "catboost ordered": lambda: cat(boosting_type="Ordered"),
    "forest grown out": lambda: forest(),
    "forest balanced": lambda: forest(class_weight="balanced", min_samples_leaf=3),
    "forest balanced in each sample": lambda: forest(class_weight="balanced_subsample", max_samples=0.5),
    "extra trees balanced": lambda: ExtraTreesClassifier(6, class_weight="balanced", random_state=0),
    "tree class weights": lambda: DecisionTreeClassifier(min_samples_leaf=9, class_weight={0: 1.0, 1: 2.0, 2: 3.0}),
}
READ_TWO_CLASSES: dict[str, Callable[[], Any]] = {
    "lightgbm scale_pos_weight": lambda: lgbm(scale_pos_weight=3.0),
    "lightgbm bagging by class": lambda: lgbm(
        pos_bagging_fraction=0.5, neg_bagging_fraction=0.9, subsample_freq=1, random_state=3
    ),
    "xgboost scale_pos_weight": lambda: xgb(scale_pos_weight=2.0),
    "xgboost softprob": lambda: xgb(objective="multi:softprob", num_class=2),
    "xgboost softmax": lambda: xgb(objective="multi:softmax", num_class=2, subsample=0.7),
    "lightgbm multiclass": lambda: lgbm(objective="multiclass", num_class=2),
    "catboost class weights": lambda: cat(class_weights=[1.0, 3.0]),
    "catboost from the average": lambda: cat(boost_from_average=True),
}
CASES = [(name, make, k) for name, make in READ.items() for k in (2, 3)]
CASES += [(name, make, 2) for name, make in READ_TWO_CLASSES.items()]


@pytest.mark.parametrize(("name", "make", "classes"), CASES, ids=[f"{name}, {k} classes" for name, _, k in CASES])
def test_settings_are_read(name: str, make: Callable[[], Any], classes: int) -> None:
    model = make()
    if getattr(model, "class_weight", None) and isinstance(model.class_weight, dict) and classes == 2:
        model.set_params(class_weight={0: 1.0, 1: 3.0})
    task = task_of(model, classes, count=1_300 if "bagging" in name else 300)
    ensemble = Ensemble.of(task)
    scale = max(1.0, float(np.abs(ensemble.profile.scores("train")).max()))
    np.testing.assert_allclose(ensemble.traced.train, ensemble.profile.scores("train"), rtol=0, atol=1e-6 * scale)
    _check_derivative(task, ensemble, classes)


def _check_derivative(task: Task, ensemble: Ensemble, classes: int) -> None:
    """Tangent against a central difference, and its transpose against the tangent."""
    profile, rng = ensemble.profile, np.random.default_rng(1)
    given = one_hot(task.train.codes[None, :], classes)
    moved = task.train.codes[None, :].copy()
    chosen = rng.choice(len(task.train), 20, replace=False)
    moved[0, chosen] = (moved[0, chosen] + 1) % classes
    change, small = one_hot(moved, classes) - given, 1e-5
    ahead, behind = (
        walk(profile, weighed(profile, given + sign * small * change), slice(None))[0] for sign in (1.0, -1.0)
    )
    found = tangent(ensemble.traced, given, change, slice(None))
    difference = (ahead - behind) / (2 * small)
    np.testing.assert_allclose(found, difference, rtol=0, atol=1e-5 * np.abs(difference).max())
    box = LeafDerivative(task, ensemble, softness=0.0)
    weights = rng.normal(size=ensemble.actual.shape)
    effects = box.effects(weights)
    by_margins = ((box.margins(moved) - ensemble.actual) * weights).sum()
    np.testing.assert_allclose(effects[np.arange(len(task.train)), moved[0]].sum(), by_margins, rtol=1e-8)


REFUSED: dict[str, Callable[[], Any]] = {
    "exponential": lambda: gb(loss="exponential"),
    "init estimator": lambda: gb(init=LogisticRegression()),
    "warm_start": lambda: gb(warm_start=True),
    "monotonic_cst": lambda: hist(monotonic_cst=[1, 0, 0, 0, 0]),
    "boosting='dart'": lambda: lgbm(boosting_type="dart"),
    "boosting='rf'": lambda: lgbm(boosting_type="rf", subsample=0.5, subsample_freq=1),
    "data_sample_strategy='goss'": lambda: lgbm(data_sample_strategy="goss"),
    "linear_tree": lambda: lgbm(linear_tree=True),
    "objective=cross_entropy": lambda: lgbm(objective="cross_entropy"),
    "objective=custom": lambda: lgbm(objective=lambda y, f: (f - y, np.ones_like(f))),
    "is_unbalance": lambda: lgbm(is_unbalance=True),
    "path_smooth": lambda: lgbm(path_smooth=1.0),
    "booster='dart'": lambda: xgb(booster="dart"),
    "objective='binary:hinge'": lambda: xgb(objective="binary:hinge"),
    "num_class": lambda: xgb(objective="multi:softprob", num_class=3),
    "max_delta_step": lambda: xgb(max_delta_step=1),
    "drawing subsamples": lambda: xgb(subsample=0.5, tree_method="exact"),
    "auto_class_weights": lambda: cat(auto_class_weights="Balanced"),
    "loss_function='MultiClass'.*'Logloss'": lambda: cat(loss_function="MultiClass"),
    "leaf_estimation_method": lambda: cat(leaf_estimation_method="Gradient"),
    "not a tree ensemble": lambda: LogisticRegression(),
}


@pytest.mark.parametrize("setting", REFUSED)
def test_settings_without_a_rule_are_refused_in_words(setting: str) -> None:
    with pytest.raises(UnsupportedLearner, match=f"{setting}.*retrain"):
        Ensemble.of(_with_scores(REFUSED[setting]()))


def _with_scores(model: Any) -> Task:
    """A task whatever the model's own idea of probabilities: only the profile is asked for."""
    from dataclasses import replace

    task = task_of(LogisticRegression())
    X, y = rows(2)
    return replace(task, learner=model.fit(X[:300], y[:300]))


def test_a_first_score_given_to_fit_is_found_out() -> None:
    X, y = rows(2)
    model = lgbm().fit(X[:300], y[:300], init_score=np.linspace(-1, 1, 300))
    with pytest.raises(LearnerMismatch, match="init_score"):
        Ensemble.of(Task.of(model, X[:300], y[:300], X[300:], y[300:]))


def cat_of_few_categories(most: int = 12) -> Any:
    return cat(cat_features=["kind"], one_hot_max_size=most)


@pytest.mark.parametrize(
    "make",
    [lgbm, hist, lambda: xgb(enable_categorical=True), cat_of_few_categories],
    ids=["lgbm", "hist", "xgb", "catboost"],
)
@pytest.mark.parametrize("categories", [3, 12])
def test_categories_and_missing_values(make: Callable[[], Any], categories: int) -> None:
    rng = np.random.default_rng(4)
    codes = rng.integers(categories, size=900)
    effect = rng.normal(size=categories) * 2
    number = np.where(rng.random(900) < 0.1, np.nan, rng.normal(size=900))
    y = (effect[codes] + np.nan_to_num(number, nan=1.0) + rng.normal(size=900) > 0).astype(int)
    frame = pd.DataFrame({"kind": pd.Categorical(codes), "number": number})
    model = make()
    if hasattr(model, "categorical_features"):
        model.set_params(categorical_features="from_dtype")
    ensemble = Ensemble.of(Task.of(model, frame[:800], y[:800], frame[800:], y[800:]))
    np.testing.assert_allclose(ensemble.traced.train, ensemble.profile.scores("train"), rtol=0, atol=1e-5)


def test_categories_that_catboost_codes_by_the_labels_are_refused() -> None:
    rng = np.random.default_rng(4)
    codes, y = rng.integers(12, size=300), rng.integers(2, size=300)
    frame = pd.DataFrame({"kind": pd.Categorical(codes), "number": rng.normal(size=300)})
    with pytest.raises(UnsupportedLearner, match=r"a category of 12 values \(kind\).*one_hot_max_size=12"):
        Ensemble.of(Task.of(cat_of_few_categories(11), frame[:200], y[:200], frame[200:], y[200:]))


def test_early_stopping_on_rows_of_ones_own_uses_the_best_round() -> None:
    X, y = rows(2, 460)
    stop = lightgbm.early_stopping(2, verbose=False)
    model = lightgbm.LGBMClassifier(n_estimators=60, learning_rate=0.5, verbose=-1, n_jobs=1)
    model.fit(X[:300], y[:300], eval_set=[(X[360:], y[360:])], callbacks=[stop])
    ensemble = Ensemble.of(Task.of(model, X[:300], y[:300], X[300:360], y[300:360]))
    assert len(ensemble.profile.rounds) == model.best_iteration_ < 60
    third = HistGradientBoostingClassifier(max_iter=60, learning_rate=0.5, early_stopping=True, n_iter_no_change=2)
    third.fit(X[:300], y[:300], X_val=X[360:], y_val=y[360:])
    ensemble = Ensemble.of(Task.of(third, X[:300], y[:300], X[300:360], y[300:360]))
    assert len(ensemble.profile.rounds) == third.n_iter_ < 60
    assert ensemble.profile.weighting.rows.all()
    other = xgboost.XGBClassifier(n_estimators=60, learning_rate=0.7, n_jobs=1, early_stopping_rounds=2)
    other.fit(X[:300], y[:300], eval_set=[(X[360:], y[360:])], verbose=False)
    ensemble = Ensemble.of(Task.of(other, X[:300], y[:300], X[300:360], y[300:360]))
    assert len(ensemble.profile.rounds) == other.best_iteration + 1 < 60
