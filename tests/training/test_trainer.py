"""The trainer against fits by hand: what it trains on, what it keeps, what it counts, and how it is stopped."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pytest
from lightgbm import LGBMClassifier
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import psidebug
from psidebug.changes import NOTHING, Change, Drop, Relabel, Rescale, Weigh
from psidebug.errors import LearnerFailed
from psidebug.task import learner as learners
from psidebug.task.data import Data, LabelledSet
from psidebug.task.task import Task
from psidebug.threads import WORTH_THREADS
from psidebug.training import backends
from psidebug.training.backends import Here, Processes, Several, WhenItPays
from psidebug.training.fits import Fit, Fitting, Trained, Training
from psidebug.training.trainer import Trainer, backend_for
from tests.conftest import Planted, planted_rows


def task_of(planted: Planted, model: Any = None, **more: Any) -> Task:
    model = LogisticRegression() if model is None else model
    return Task.of(model, planted.X_train, planted.y_train, planted.X_test, planted.y_test, **more)


def by_hand(task: Task, change: Change, model: Any) -> Any:
    data = change.applied(task.data)
    weights = {} if data.sample_weight is None else {"sample_weight": data.sample_weight}
    return model.fit(data.train.features, data.encoding.decode(data.train.codes), **weights), data


@pytest.mark.parametrize(
    "change",
    [
        NOTHING,
        Relabel(np.array([0, 5]), np.array([0, 0])),
        Drop(np.arange(30)),
        Weigh(np.linspace(0.0, 2.0, 120)),
        Rescale("x0", factor=10.0),
        Rescale("x0", test=True, factor=10.0),
    ],
    ids=lambda change: type(change).__name__,
)
def test_a_change_is_trained_on_as_by_hand(planted: Planted, change: Change) -> None:
    task = task_of(planted, X_validation=planted_rows(seed=5).X_test, y_validation=planted_rows(seed=5).y_test)
    trained = Trainer(task).trained(change)
    model, data = by_hand(task, change, LogisticRegression())
    np.testing.assert_allclose(trained.test, task.margins(model, data.test), rtol=1e-9)
    assert trained.validation is not None
    assert data.validation is not None
    np.testing.assert_allclose(trained.validation, task.margins(model, data.validation), rtol=1e-9)


def test_steps_before_the_final_one_see_the_changed_features(planted: Planted) -> None:
    model = make_pipeline(StandardScaler(), LogisticRegression())
    task = task_of(planted, model)
    change = Rescale("x0", factor=10.0)
    fitted, data = by_hand(task, change, make_pipeline(StandardScaler(), LogisticRegression()))
    np.testing.assert_allclose(Trainer(task).trained(change).test, task.margins(fitted, data.test), rtol=1e-9)


def test_what_was_trained_on_is_kept_and_fits_are_counted(planted: Planted) -> None:
    task = task_of(planted)
    trainer = Trainer(task)
    trainer.trained(NOTHING)
    assert trainer.fits == 0, "the learner came from these labels"
    one, two = Relabel.of(task.data, 1 - task.train.codes), Relabel(np.array([0]), 1 - task.train.codes[:1])
    answers = list(trainer.trained_each([one, two, one, NOTHING]))
    assert trainer.fits == 2
    assert answers[0] is answers[2]
    assert trainer.trained(one) is answers[0]
    trainer.refit(task.train.codes, np.arange(60))
    trainer.fit(LogisticRegression(C=3.0), planted.X_test, planted.y_test)
    assert trainer.fits == 3, "other learners are not counted"


def test_a_model_that_came_fitted_is_fitted_once_more(planted: Planted) -> None:
    shuffled = np.random.default_rng(0).permutation(planted.y_train)
    task = task_of(planted, LogisticRegression().fit(planted.X_train, shuffled))
    trainer = Trainer(task)
    fresh, data = by_hand(task, NOTHING, LogisticRegression())
    np.testing.assert_allclose(trainer.trained(NOTHING).test, task.margins(fresh, data.test), rtol=1e-9)
    assert trainer.fits == 1


def test_an_answer_that_was_not_kept_is_trained_for_again(planted: Planted) -> None:
    task = task_of(planted)
    one, two = Relabel.of(task.data, 1 - task.train.codes), Relabel(np.array([0]), 1 - task.train.codes[:1])
    expected = [Trainer(task).trained(each).test for each in (one, two, one, NOTHING)]
    short = Trainer(task, kept_bytes=1)
    np.testing.assert_array_equal([each.test for each in short.trained_each([one, two, one, NOTHING])], expected)
    assert short.fits == 3
    np.testing.assert_array_equal(
        [each.test for each in short.trained_each([two, NOTHING, two])], np.stack(expected)[[1, 3, 1]]
    )


def test_a_failure_is_kept_too_and_does_not_stop_the_others(planted: Planted) -> None:
    task = task_of(planted)
    trainer = Trainer(task)
    impossible = Relabel.of(task.data, np.zeros_like(task.train.codes))
    for _ in range(2):
        with pytest.raises(LearnerFailed, match="could not be fitted"):
            trainer.trained(impossible)
    assert trainer.fits == 1
    trainer.trained(Relabel.of(task.data, 1 - task.train.codes))
    assert trainer.fits == 2


def test_fits_can_be_told_and_stopped(planted: Planted) -> None:
    told: list[int] = []

    class Stopped(Exception):
        pass

    def before(fits: int) -> None:
        told.append(fits)
        if fits == 2:
            raise Stopped

    task = task_of(planted)
    trainer = Trainer(task, before_fit=before)
    for row in range(2):
        trainer.trained(Relabel(np.array([row]), 1 - task.train.codes[[row]]))
    with pytest.raises(Stopped):
        trainer.trained(Relabel(np.array([7]), 1 - task.train.codes[[7]]))
    assert told == [0, 1, 2]
    assert trainer.fits == 2


class Counting:
    """A back end that says how many jobs it was given."""

    def __init__(self) -> None:
        self.jobs: list[int] = []

    def map(self, function: Callable[[Any], Any], jobs: Several[Any]) -> Iterator[Any]:
        self.jobs.append(len(jobs))
        return Here().map(function, jobs)


def test_only_what_is_not_known_goes_to_the_back_end(planted: Planted) -> None:
    task, backend = task_of(planted), Counting()
    trainer = Trainer(task, backend=backend)
    changes = [Relabel(np.array([row]), 1 - task.train.codes[[row]]) for row in range(4)]
    list(trainer.trained_each(changes[:2]))
    list(trainer.trained_each(changes))
    assert backend.jobs == [2, 2]


def test_every_back_end_gives_the_same_answer(planted: Planted) -> None:
    task = task_of(planted, make_pipeline(StandardScaler(), LogisticRegression()))
    changes = [Relabel(np.array([row]), 1 - task.train.codes[[row]]) for row in range(5)]
    here, there = (Trainer(task, backend=each, one_thread=True) for each in (Here(), Processes(2)))
    for one, two in zip(here.trained_each(changes), there.trained_each(changes), strict=True):
        np.testing.assert_array_equal(one.test, two.test)


@pytest.mark.parametrize(
    "model", [GradientBoostingClassifier(n_estimators=5, subsample=0.8), LGBMClassifier(n_estimators=8, verbose=-1)]
)
def test_a_diagnosis_is_the_same_wherever_it_fits(
    model: Any, planted: Planted, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To the last bit, with as many fits: in processes as soon as there is a second fit, or all of them here."""
    spread = []

    class Watched(Processes):
        def map(self, function: Any, jobs: Iterable[Any]) -> Iterator[Any]:
            spread.append(type(function.args[0]))
            return super().map(function, jobs)

    def proved() -> Any:
        data = planted.X_train, planted.y_train, planted.X_test, planted.y_test
        found = psidebug.debug(model, *data, effort="prove", rng=0, progress=False)
        return asdict(found.found) | {"repaired": found.repairs.to_dict(), "origin": "which has the time"}

    monkeypatch.setattr(backends, "Processes", Watched)
    here = proved()
    assert not spread
    monkeypatch.setattr(backends, "WORTH_STARTING", -1.0)
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", "2")
    there = proved()
    assert {Fitting, Training} <= set(spread)
    np.testing.assert_equal(there, here)


@pytest.mark.parametrize(
    ("model", "kind"),
    [
        (LGBMClassifier(), WhenItPays),
        (RandomForestClassifier(), WhenItPays),
        (make_pipeline(StandardScaler(), LGBMClassifier(device_type="cpu")), WhenItPays),
        (RandomForestClassifier(n_jobs=2), Here),
        (make_pipeline(StandardScaler(), LGBMClassifier(device_type="gpu")), Here),
    ],
)
def test_fits_travel_where_they_are_the_same_elsewhere(model: Any, kind: type, planted: Planted) -> None:
    data = Data.of(model, planted.X_train, planted.y_train, planted.X_test, planted.y_test)
    task = Task(model, data, data.test.codes, np.array([0]))
    assert isinstance(backend_for(task), kind)
    half = LabelledSet(data.train.features, np.zeros(WORTH_THREADS // 2, dtype=np.intp))
    assert isinstance(backend_for(replace(task, data=replace(data, train=half))), kind)
    both = replace(data, train=half, test=half)  # of which a fit to both sets has several threads
    assert isinstance(backend_for(replace(task, data=both)), Here)


@pytest.mark.parametrize("steps", [(), (StandardScaler(),)], ids=["alone", "behind a step"])
def test_a_learner_travels_without_what_it_has_learned(steps: tuple[Any, ...], planted: Planted) -> None:
    forest = make_pipeline(*steps, RandomForestClassifier(100, random_state=0))
    task = task_of(planted, forest)
    flipped = Relabel.of(task.data, 1 - task.train.codes)
    fit = Fit(task.train.features, task.train.codes)
    fitting, training = Fitting(task.learner, 0, False), Training(task, False)
    there, also_there = (pickle.loads(pickle.dumps(each)) for each in (fitting, training))
    assert not learners.is_fitted(there.estimator)
    assert not learners.is_fitted(also_there.task.learner[-1])
    assert len(pickle.dumps(training)) < len(pickle.dumps(task.learner))
    features = planted.X_test
    np.testing.assert_array_equal(there(fit).predict_proba(features), fitting(fit).predict_proba(features))
    one, two = also_there(flipped), training(flipped)
    assert isinstance(one, Trained)
    assert isinstance(two, Trained)
    np.testing.assert_array_equal(one.test, two.test)


def test_a_fit_that_fails_in_another_process_says_so(planted: Planted) -> None:
    task = task_of(planted)
    good = Fit(task.train.features, task.train.codes)
    trainer = Trainer(task, backend=Processes(2))
    fitted = trainer.fit_each(LogisticRegression(), [good, Fit(good.features, np.zeros_like(good.labels))])
    assert learners.is_fitted(next(fitted))
    with pytest.raises(LearnerFailed, match="could not be fitted"):
        next(fitted)


def test_the_next_task_is_the_learner_trained_anew_and_its_errors(planted: Planted) -> None:
    task = task_of(planted)
    change = Relabel.of(task.data, np.where(planted.wrong, 1, task.train.codes))
    after = Trainer(task).after(change)
    model, _ = by_hand(task, change, LogisticRegression())
    predicted = model.predict(planted.X_test)
    np.testing.assert_array_equal(after.encoding.decode(after.predicted), predicted)
    np.testing.assert_array_equal(after.bugs, np.flatnonzero(predicted != planted.y_test))
    assert not after.fitted_by_user
    assert learners.is_fitted(after.learner)
