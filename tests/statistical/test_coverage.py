"""Do 95% intervals cover 95% of the time? Fixed seeds, never retried; each test states its budget."""

from __future__ import annotations

import numpy as np
import pytest

from psidebug.inference.closed_form import closed_form
from psidebug.inference.linear import LinearSymptom
from psidebug.inference.linear_learner import LinearLearner
from psidebug.inference.sampling import sampling
from psidebug.inference.tilting import tilting
from psidebug.priors import noise
from psidebug.symptoms import misclassified
from tests.chance import allowed

RUNS = 100


def _task(labels: int, threshold: float, rate: float) -> tuple[LinearSymptom, LinearLearner]:
    rng = np.random.default_rng(77)
    effects = np.zeros((labels, 2))
    effects[:, 1] = rng.gamma(2.0, 0.5, labels)
    prior = noise(np.zeros(labels, dtype=np.intp), 2, rate)
    coefficients = np.zeros((2, 1, 1, labels))
    coefficients[1, 0, 0] = effects[:, 1]
    return LinearSymptom(prior, effects, threshold), LinearLearner(prior.given, np.array([[-threshold]]), coefficients)


@pytest.mark.chance(2e-4)
def test_tilting_covers_the_closed_form(budget: float) -> None:
    """One label per run, so that they are independent: of 100 runs one in twenty may miss it."""
    symptom, learner = _task(labels=60, threshold=9.0, rate=0.05)
    truth = closed_form(symptom).ps
    covered = 0
    for run in range(RUNS):
        found = tilting(symptom.prior, learner, misclassified(0), rng=np.random.default_rng(run), effective=300)
        i = run % 60
        covered += found.low[i] - 1e-9 <= truth[i] <= found.high[i] + 1e-9
    assert RUNS - covered <= allowed(RUNS, 0.05, budget)


@pytest.mark.chance(2e-4)
def test_sampling_covers_the_closed_form(budget: float) -> None:
    """One label per run, so that they are independent: of 100 runs one in twenty may miss it."""
    symptom, learner = _task(labels=20, threshold=2.5, rate=0.1)
    truth = closed_form(symptom).ps
    covered = 0
    for run in range(RUNS):
        found = sampling(symptom.prior, learner, misclassified(0), worlds=600, rng=np.random.default_rng(run))
        i = run % 20
        covered += found.low[i] <= truth[i] <= found.high[i]
    assert RUNS - covered <= allowed(RUNS, 0.05, budget)


@pytest.mark.chance(1e-6)
def test_a_world_serves_every_label() -> None:
    """At equal standard error the tilted, marginalised sampler asks the learner far less often than figure "psi".

    68 ± 1 times, over seeds.
    """
    symptom, learner = _task(labels=60, threshold=6.0, rate=0.05)
    tilted = tilting(symptom.prior, learner, misclassified(0), rng=np.random.default_rng(0), effective=500)
    plain = sampling(symptom.prior, learner, misclassified(0), worlds=40_000, rng=np.random.default_rng(0))
    needed = plain.learner_calls * (plain.standard_error / tilted.standard_error) ** 2
    assert np.median(needed) > 20 * tilted.learner_calls
