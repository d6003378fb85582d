"""Fits of few rows get one thread for the loops of trees, whatever the machine would give them."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.naive_bayes import GaussianNB
from threadpoolctl import threadpool_info, threadpool_limits

import psidebug


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
