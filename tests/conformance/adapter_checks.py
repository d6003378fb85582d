"""What every adapter must hold, whatever its library: each check takes a case and fails if its promise is broken."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
import scipy.sparse as sp

from psidebug.changes import Relabel
from psidebug.errors import LearnerFailed, LearnerMismatch, UnsupportedLearner
from psidebug.graybox.trees.adapters import adapter_of, profile_of
from psidebug.graybox.trees.derivative import LeafDerivative, tangent
from psidebug.graybox.trees.ensemble import Ensemble, trace_at
from psidebug.graybox.trees.linear import Leaf, LeafResidual
from psidebug.graybox.trees.passes import walk, weighed
from psidebug.graybox.trees.refit import LeafRefit, LeafRefits, nearby
from psidebug.graybox.trees.weighting import one_hot
from psidebug.task.data import LabelledSet
from psidebug.task.task import Task
from psidebug.training.trainer import Trainer
from tests.conformance.graybox_checks import choice_of_points, effects_of_worlds

Floats = npt.NDArray[np.float64]
SMALL: dict[tuple[str, ...], Any] = {
    ("iterations", "n_estimators", "max_iter"): 8,
    ("depth", "max_depth"): 3,
    ("min_samples_leaf",): 5,
    ("random_seed", "random_state"): 0,
    ("thread_count", "n_jobs"): 1,
    ("allow_writing_files",): False,
    ("logging_level",): "Silent",
}
"""Settings that make a model small and quiet; of several names for one thing, the first that the constructor knows."""
CATEGORICAL = {"cat_features": ["city"], "one_hot_max_size": 20, "categorical_features": ["city"]}
"""Settings that name the column of categories, as far as the constructor knows them."""
TAKES = ("many classes", "sparse", "missing", "weights", "categories")


@dataclass(frozen=True)
class Case:
    """A small model of one library."""

    kind: type[Any]

    def model(self, **more: Any) -> Any:
        """An unfitted model, small where its constructor has a name for it; with those of more settings it knows."""
        known = inspect.signature(self.kind.__init__).parameters
        named = {next((name for name in names if name in known), None): value for names, value in SMALL.items()}
        settings = {name: value for name, value in named.items() if name is not None}
        if self.kind.__module__.startswith("lightgbm"):
            settings["verbose"] = -1  # reaches the library by keyword only
        return self.kind(**settings, **{name: value for name, value in more.items() if name in known})

    @property
    def takes(self) -> frozenset[str]:
        """What the adapter says its models take."""
        module = adapter_of(self.model())
        assert module is not None
        return frozenset(importlib.import_module(module).TAKES)


def rows(count: int = 300, classes: int = 2, seed: int = 0) -> tuple[Floats, npt.NDArray[np.intp]]:
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(count, 5)), 2)
    z = X[:, 0] + X[:, 1] ** 2 + rng.normal(size=count)
    return X, np.digitize(z, np.quantile(z, np.arange(1, classes) / classes))


def task(model: Any, classes: int = 2, change: Callable[[Floats], Any] = lambda X: X, **options: Any) -> Task:
    X, y = rows(360, classes)
    return Task.of(model, change(X[:300]), y[:300], change(X[300:]), y[300:], **options)


def some_worlds(task_: Task, draws: int = 3, flips: int = 15) -> npt.NDArray[np.intp]:
    rng = np.random.default_rng(1)
    worlds = np.tile(task_.train.codes, (draws, 1))
    for world in worlds:
        moved = rng.choice(len(world), flips, replace=False)
        world[moved] = (world[moved] + rng.integers(1, task_.encoding.size, flips)) % task_.encoding.size
    return worlds


def well_profiled(task_: Task) -> Ensemble:
    """Leaf values add up to the model's scores, the walk returns the model's leaf values, margins are the learner's."""
    ensemble = Ensemble.of(task_)
    profile = ensemble.profile
    raw = ensemble.margins(profile.scores("test")[:, :, None])[0]
    scale = max(1.0, float(np.abs(ensemble.actual).max()))
    np.testing.assert_allclose(raw, ensemble.actual, rtol=0, atol=1e-5 * scale)
    np.testing.assert_allclose(ensemble.traced.test, profile.scores("test"), rtol=0, atol=1e-6 * scale)
    np.testing.assert_allclose(ensemble.traced.train, profile.scores("train"), rtol=0, atol=1e-6 * scale)
    box = LeafRefit(task_, ensemble)
    np.testing.assert_array_equal(box.margins(task_.train.codes[None, :])[0], ensemble.actual)
    return ensemble


def reproduces_raw_scores(case: Case) -> None:
    well_profiled(task(case.model()))


def reproduces_raw_scores_of_many_classes(case: Case) -> None:
    if "many classes" in case.takes:
        ensemble = well_profiled(task(case.model(), classes=3))
        assert ensemble.actual.shape == (60, 2)
    else:
        with pytest.raises((UnsupportedLearner, LearnerFailed), match=r"retrain|two classes"):
            profile_of(task(case.model(), classes=3))


def reproduces_raw_scores_of_sparse_rows(case: Case) -> None:
    if "sparse" in case.takes:
        dense = task(case.model(), change=lambda X: np.where(np.abs(X) < 0.5, 0.0, X))
        sparse = task(case.model(), change=lambda X: sp.csr_matrix(np.where(np.abs(X) < 0.5, 0.0, X)))
        well_profiled(sparse)
        if "missing" not in case.takes:  # a library with missing values may take what is not stored for one
            np.testing.assert_allclose(Ensemble.of(sparse).actual, Ensemble.of(dense).actual, atol=1e-9)


def reproduces_raw_scores_with_missing_values(case: Case) -> None:
    if "missing" in case.takes:
        well_profiled(task(case.model(), change=lambda X: np.where(np.abs(X) > 1.8, np.nan, X)))


def with_cities(X: Floats) -> pd.DataFrame:
    """The first column as one of eight cities, whose order says nothing."""
    cities = np.array(["Oslo", "Lima", "Pune", "Kyiv", "Graz", "Bari", "Faro", "Cork"])
    table = pd.DataFrame(X[:, 1:], columns=list("abcd"))
    table["city"] = pd.Categorical(cities[np.clip(np.round(X[:, 0] * 2), -4, 3).astype(int)], categories=cities)
    return table


def reproduces_raw_scores_with_categories(case: Case) -> None:
    if "categories" in case.takes:
        for classes in (2, 3) if "many classes" in case.takes else (2,):
            task_ = task(case.model(**CATEGORICAL), classes=classes, change=with_cities)
            well_profiled(task_)
            cities = task_.test.features["city"]
            elsewhere = pd.Categorical.from_codes((cities.cat.codes + 3) % 8, dtype=cities.dtype)
            other = LabelledSet(task_.test.features.assign(city=elsewhere), task_.test.codes)
            moved = task_.margins(task_.learner, other) - task_.margins(task_.learner, task_.test)
            assert np.abs(moved).max() > 0.01, "the trees split on the cities"


def reproduces_raw_scores_with_sample_weights(case: Case) -> None:
    if "weights" in case.takes:
        weight = np.random.default_rng(2).uniform(0.2, 3.0, size=300)
        weighted = task(case.model(), sample_weight=weight)
        well_profiled(weighted)
        with pytest.raises(LearnerMismatch, match="sample_weight"):
            Ensemble.of(task(weighted.learner))


def linear_forms_add_up(case: Case) -> None:
    for classes in (2, 3) if "many classes" in case.takes else (2,):
        task_ = task(case.model(), classes=classes)
        ensemble, worlds = Ensemble.of(task_), some_worlds(task_)
        for box in (Leaf(task_, ensemble), LeafResidual(task_, ensemble), LeafDerivative(task_, ensemble)):
            effects_of_worlds(box, task_, worlds)


def derivative_is_that_of_the_refit(case: Case) -> None:
    """The tangent against a central difference of the leaf refit, labels moved by a small fraction."""
    for classes in (2, 3) if "many classes" in case.takes else (2,):
        task_ = task(case.model(), classes=classes)
        profile = profile_of(task_)
        given = one_hot(task_.train.codes[None, :], classes)
        at = 0.95 * given + 0.05 * (1 - given) / (classes - 1)
        change = one_hot(some_worlds(task_, draws=2), classes) - given
        small = 1e-5

        def scores(labels: Floats, profile: Any = profile) -> Floats:
            return walk(profile, weighed(profile, labels), slice(None))[0]

        difference = (scores(at + small * change) - scores(at - small * change)) / (2 * small)
        found = tangent(trace_at(profile, at), at, change, slice(None))
        np.testing.assert_allclose(found, difference, rtol=0, atol=1e-6 * np.abs(difference).max())


def other_regions_lead_to_the_learner_of_their_labels(case: Case) -> None:
    """In the regions of another world, the way from the given labels to that world is the way back, turned round."""
    for classes in (2, 3) if "many classes" in case.takes else (2,):
        task_ = task(case.model(), classes=classes)
        given, world = task_.train.codes, nearby(task_, np.random.default_rng(task_.seed))
        there = Trainer(task_).after(Relabel.of(task_.data, world))
        back = LeafRefit(there).margins(np.stack([world, given]))
        here = LeafRefits(task_, structures=1).margins(np.stack([given, world]))
        scale = max(1.0, float(np.abs(back).max()))
        np.testing.assert_allclose(here[0], Ensemble.of(task_).actual, rtol=0, atol=1e-12 * scale)
        np.testing.assert_allclose(here[1] - here[0], back[0] - back[1], rtol=0, atol=1e-5 * scale)
        assert np.abs(here[1] - here[0]).max() > 0.01


def points_are_a_choice_of_rows(case: Case) -> None:
    task_ = task(case.model())
    ensemble = Ensemble.of(task_)
    for form in (Leaf, LeafResidual, LeafRefit, LeafRefits, LeafDerivative):
        choice_of_points(form(task_, ensemble), some_worlds(task_), np.array([7, 3, 50]))


def refuses_other_labels(case: Case) -> None:
    """A model fitted on other labels than given is found out."""
    fitted = task(case.model()).learner
    X, y = rows(360)
    other = y.copy()
    other[:300:7] = 1 - other[:300:7]
    with pytest.raises(LearnerMismatch, match="fitted on"):
        Ensemble.of(Task.of(fitted, X[:300], other[:300], X[300:], y[300:]))


def refuses_other_rows(case: Case) -> None:
    """A model fitted on other rows than given is found out."""
    fitted = task(case.model()).learner
    X, y = rows(360, seed=5)
    with pytest.raises(LearnerMismatch, match="fitted on"):
        Ensemble.of(Task.of(fitted, X[:300], y[:300], X[300:], y[300:]))


def works_inside_a_pipeline(case: Case) -> None:
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    well_profiled(task(make_pipeline(StandardScaler(), case.model())))


CHECKS: tuple[Callable[[Case], None], ...] = (
    reproduces_raw_scores,
    reproduces_raw_scores_of_many_classes,
    reproduces_raw_scores_of_sparse_rows,
    reproduces_raw_scores_with_missing_values,
    reproduces_raw_scores_with_categories,
    reproduces_raw_scores_with_sample_weights,
    linear_forms_add_up,
    derivative_is_that_of_the_refit,
    other_regions_lead_to_the_learner_of_their_labels,
    points_are_a_choice_of_rows,
    refuses_other_labels,
    refuses_other_rows,
    works_inside_a_pipeline,
)
