"""Small contests with planted errors."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.peers.contest import Contest
from benchmarks.peers.harness import Ground
from psidebug.datasets import Benchmark, Learner, linear


def small(kind: Learner, *, rows: int = 120, points: int = 60, seed: int = 1000) -> Contest:
    """The first rows of the generated data, with random noise."""
    data = linear(seed)
    contest = Contest.of(data, kind, seed=seed)
    return Contest(
        kind=kind,
        model=contest.model,
        train=data.X_train[:rows],
        test=data.X_test[:points],
        X_train=contest.X_train[:rows],
        X_test=contest.X_test[:points],
        near_train=contest.near_train[:rows],
        near_test=contest.near_test[:points],
        given=data.given[:rows],
        y_test=data.y_test[:points],
        size=2,
        seed=seed,
    )


@pytest.fixture(scope="session")
def one_slice() -> tuple[Benchmark, Ground]:
    data = linear(1000, noise="systematic")
    return data, Ground.of(data, Contest.of(data, "logistic", seed=1000))


@pytest.fixture(scope="session")
def scattered() -> tuple[Benchmark, Ground]:
    data = linear(1000, noise="random")
    return data, Ground.of(data, Contest.of(data, "logistic", seed=1000))


def rank_correlation(one: np.ndarray, other: np.ndarray) -> float:
    from scipy.stats import spearmanr

    return float(spearmanr(one, other).statistic)
