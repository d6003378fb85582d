"""Fits of few rows get one thread for the loops of trees, whatever the machine would give them."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest
from lightgbm import LGBMClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline
from threadpoolctl import threadpool_info, threadpool_limits

import psidebug
from psidebug.changes import Relabel
from psidebug.task.learner import refit
from psidebug.task.task import Task
from psidebug.threads import WORTH_THREADS
from psidebug.training.trainer import Trainer


class Watched(GaussianNB):  # type: ignore[misc]
    """Keeps how many threads every fit could have had."""

    threads: ClassVar[list[int]] = []

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Watched:
        Watched.threads += [each["num_threads"] for each in threadpool_info() if each["user_api"] == "openmp"]
        super().fit(X, y, sample_weight)
        return self


def test_a_diagnosis_of_few_rows_fits_with_one_thread() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(160, 3))
    y = (X[:, 0] + rng.normal(size=160) > 0).astype(int)
    Watched.threads.clear()
    with threadpool_limits(2, user_api="openmp"):
        psidebug.debug(Watched(), X[:100], y[:100], X[100:], y[100:], effort="rank")
        assert Watched.threads, "scikit-learn brings OpenMP"
        assert set(Watched.threads) == {1}
        assert {each["num_threads"] for each in threadpool_info() if each["user_api"] == "openmp"} == {2}


@pytest.mark.parametrize("way", ["fit", "trained", "model", "after"])
def test_all_that_a_trainer_fits_has_as_many_threads(way: str) -> None:
    X, y = np.arange(60.0)[:, None], np.arange(60) % 2
    trainer = Trainer(Task.of(Watched(), X, y, X, y))
    flipped = Relabel(np.array([0]), 1 - y[:1])
    Watched.threads.clear()
    with threadpool_limits(2, user_api="openmp"):
        trainer.fit(Watched(), X, y) if way == "fit" else getattr(trainer, way)(flipped)
    assert set(Watched.threads) == {1}


@pytest.mark.parametrize(("one_thread", "threads"), [(True, 1), (False, 2)])
def test_fits_to_many_rows_have_one_thread_where_that_is_asked_for(one_thread: bool, threads: int) -> None:
    X, y = np.arange(WORTH_THREADS * 1.0)[:, None], np.arange(WORTH_THREADS) % 2
    trainer = Trainer(Task.of(Watched(), X, y, X[:2], y[:2]), one_thread=one_thread)
    Watched.threads.clear()
    with threadpool_limits(2, user_api="openmp"):
        trainer.fit(Watched(), X, y)
        trainer.model(Relabel(np.array([0]), 1 - y[:1]))
    assert set(Watched.threads) == {threads}


class Open(LGBMClassifier):
    """Keeps how many threads every fit could have had; LightGBM takes every core if none are named."""

    __module__ = LGBMClassifier.__module__
    seen: ClassVar[list[int | None]] = []

    def fit(self, *given: Any, **named: Any) -> Any:
        Open.seen.append(self.n_jobs)
        return super().fit(*given, **named)


@pytest.mark.parametrize(("given", "rows", "fitted"), [(None, 100, 1), (None, WORTH_THREADS, None), (3, 100, 3)])
def test_a_number_of_threads_that_is_left_open_is_one_for_few_rows(
    given: int | None, rows: int, fitted: int | None
) -> None:
    model = Pipeline([("trees", Open(n_estimators=1, n_jobs=given, verbose=-1))])
    Open.seen.clear()
    again = refit(model, np.arange(rows, dtype=float)[:, None], np.arange(rows) % 2, seed=0)
    assert Open.seen == [fitted]
    assert again[-1].n_jobs == given, "the learner's options are its own"
