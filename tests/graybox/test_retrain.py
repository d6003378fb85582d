"""Retraining as a gray box: exact, each world fitted once, the same in any number of processes."""

from __future__ import annotations

import importlib
from typing import Any

import lightgbm
import numpy as np
import numpy.typing as npt
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from psidebug.errors import LearnerFailed, UnknownOption
from psidebug.graybox.retrain import Retrain
from psidebug.task.task import Task
from psidebug.training import backends
from tests.conftest import Planted, refit
from tests.graybox.logistic_tasks import census_like

catboost: Any = importlib.import_module("catboost")  # a developer has it: its absence is a failure, not a skip


def task_of(planted: Planted, model: Any = None) -> Task:
    learner = LogisticRegression() if model is None else model
    return Task.of(learner, planted.X_train, planted.y_train, planted.X_test, planted.y_test)


def some_worlds(task: Task, count: int = 6, moved: int = 5) -> npt.NDArray[np.intp]:
    rng = np.random.default_rng(0)
    worlds = np.tile(task.train.codes, (count, 1))
    for world in worlds[1:]:
        rows = rng.choice(len(world), moved, replace=False)
        world[rows] = (world[rows] + 1) % task.encoding.size
    return worlds


MODELS: dict[str, Any] = {
    "logistic": LogisticRegression(),
    "pipeline": make_pipeline(StandardScaler(), LinearSVC()),
    "bayes": GaussianNB(),
    "neighbours": KNeighborsClassifier(3),
    "calibrated": CalibratedClassifierCV(GaussianNB(), cv=3),
    "forest": RandomForestClassifier(5, n_jobs=2, random_state=0),
    "catboost": catboost.CatBoostClassifier(
        iterations=5, verbose=0, allow_writing_files=False, thread_count=2, class_weights=[1, 2]
    ),
    "lightgbm": lightgbm.LGBMClassifier(n_estimators=5, verbose=-1),
}


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_any_classifier_is_trained_as_by_hand(planted: Planted, model: Any) -> None:
    task = task_of(planted, model)
    worlds = some_worlds(task, count=3)
    found = Retrain(task).margins(worlds)
    for world, margins in zip(worlds, found, strict=True):
        np.testing.assert_allclose(margins, task.margins(refit(task, world), task.test), rtol=1e-9)
    np.testing.assert_allclose(found[0], task.margins(task.learner, task.test), rtol=1e-9)
    assert np.abs(found[1] - found[0]).max() > 0


def test_each_world_is_fitted_once_however_often_it_is_asked(planted: Planted) -> None:
    task = task_of(planted)
    worlds = some_worlds(task, count=4)
    box = Retrain(task)
    first = box.margins(worlds[[0, 1, 1, 0, 2]])
    assert box.fits == 3
    again = box.margins(worlds, np.array([3, 1]))
    assert box.fits == 4
    np.testing.assert_array_equal(again[:3], first[[0, 1, 4]][:, [3, 1]])
    assert box.margins(worlds[:0]).shape == (0, 80, 1)
    assert box.margins(worlds[:0], np.array([3, 1])).shape == (0, 2, 1)


def test_what_is_remembered_is_bounded_and_the_last_asked_for_is_kept(planted: Planted) -> None:
    task = task_of(planted)
    worlds = some_worlds(task, count=4)
    box = Retrain(task, kept_bytes=2 * 8 * 80)  # two worlds of 80 points
    box.margins(worlds[:2])
    box.margins(worlds[[0]])  # known, and now the last that was asked for
    box.margins(worlds[[2]])
    assert box.fits == 3
    box.margins(worlds[[0, 2]])
    assert box.fits == 3
    box.margins(worlds[[1]])
    assert box.fits == 4
    everything = Retrain(task, kept_bytes=1).margins(worlds)
    np.testing.assert_array_equal(everything, Retrain(task).margins(worlds))


@pytest.mark.parametrize("name", ["pipeline", "lightgbm"])
def test_the_number_of_workers_changes_no_digit(planted: Planted, name: str) -> None:
    task = task_of(planted, MODELS[name])
    worlds = some_worlds(task, count=7)
    alone, together = Retrain(task, workers=1), Retrain(task, workers=2)
    np.testing.assert_array_equal(together.margins(worlds), alone.margins(worlds))
    assert together.fits == alone.fits == 7


def test_workers_are_started_when_the_fits_are_worth_it(planted: Planted, monkeypatch: pytest.MonkeyPatch) -> None:
    task = task_of(planted)
    worlds = some_worlds(task)
    spread: list[int] = []

    def counted(self: backends.Processes, function: Any, jobs: Any) -> Any:
        some = list(jobs)
        spread.append(len(some))
        return map(function, some)

    monkeypatch.setattr(backends.Processes, "map", counted)
    monkeypatch.setattr("joblib.cpu_count", lambda: 4)
    expected = Retrain(task, workers=1).margins(worlds)
    np.testing.assert_array_equal(Retrain(task).margins(worlds), expected)
    assert spread == [], "six small fits are not worth a process"
    monkeypatch.setattr(backends, "WORTH_STARTING", 0.0)
    np.testing.assert_array_equal(Retrain(task).margins(worlds), expected)
    assert spread == [5], "the first fit, at home, tells how long they take"


class Homebody(LogisticRegression):  # type: ignore[misc]
    """A classifier that cannot be sent to another process."""

    def __getstate__(self) -> Any:
        raise TypeError("cannot pickle this")


def test_a_learner_that_cannot_travel_is_trained_at_home(planted: Planted) -> None:
    worlds = some_worlds(task_of(planted), count=3)
    expected = Retrain(task_of(planted), workers=1).margins(worlds)
    np.testing.assert_array_equal(Retrain(task_of(planted, Homebody()), workers=2).margins(worlds), expected)


@pytest.mark.parametrize("workers", [0, -1, 1.5, "two"])
def test_what_is_no_number_of_workers(planted: Planted, workers: Any) -> None:
    with pytest.raises(UnknownOption, match="workers"):
        Retrain(task_of(planted), workers=workers)


def test_a_world_with_one_class_has_a_constant_classifier(planted: Planted) -> None:
    task = task_of(planted)
    found = Retrain(task).margins(np.stack([np.zeros(120, dtype=np.intp), np.ones(120, dtype=np.intp)]))
    np.testing.assert_array_equal(found[0, :, 0], np.where(task.test.codes == 0, 1.0, -1.0))
    np.testing.assert_array_equal(found[1], -found[0])


@pytest.mark.parametrize("model", [LogisticRegression(), GaussianNB(), RandomForestClassifier(5, random_state=0)])
def test_a_class_that_a_world_lost_is_never_predicted(model: Any) -> None:
    data = census_like(classes=3)
    task = data.task(model)
    world = np.where(task.train.codes == 2, 0, task.train.codes)
    margins = Retrain(task).margins(world[None])[0]
    lost = task.test.codes == 2
    assert np.isneginf(margins[lost]).all(), "the lost class is behind both others"
    assert np.isposinf(margins[~lost].max(axis=1)).all(), "and every other class is ahead of it"
    assert np.isfinite(margins[~lost].min(axis=1)).all()
    by_hand = model.fit(data.X_train, world).predict(data.X_test)
    np.testing.assert_array_equal(margins.min(axis=1) >= 0, by_hand == task.test.codes)


class Choosy(LogisticRegression):  # type: ignore[misc]
    """A learner that needs at least 40 rows of each class."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Choosy:
        if np.unique(y, return_counts=True)[1].min() < 40:
            raise ValueError("too few rows of a class")
        super().fit(X, y, sample_weight)
        return self


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.thorough
def test_a_world_in_which_the_learner_fails_is_named(planted: Planted, workers: int) -> None:
    rows = [f"row-{i}" for i in range(120)]
    task = Task.of(Choosy(), planted.X_train, planted.y_train, planted.X_test, planted.y_test, rows=rows)
    few = int(np.bincount(task.train.codes).argmin())
    moved = np.flatnonzero(task.train.codes == few)[: int((task.train.codes == few).sum()) - 39]
    world = task.train.codes.copy()
    world[moved] = 1 - few
    with pytest.raises(LearnerFailed) as caught:
        Retrain(task, workers=workers).margins(np.stack([task.train.codes, world]))
    message = str(caught.value)
    assert "Choosy could not be fitted: too few rows of a class" in message
    assert f"{len(moved)} of 120 labels differ" in message
    assert f"row-{moved[0]} → {task.encoding.classes[1 - few]!r}" in message
    assert "\n" not in message
