"""The sampling engines on tasks small enough to enumerate. Coverage of their intervals is in tests/statistical."""

from __future__ import annotations

import numpy as np
import pytest

from psidebug.errors import NoWorldWithout
from psidebug.inference.enumeration import enumeration
from psidebug.inference.estimates import Estimates
from psidebug.inference.linear_learner import LinearLearner
from psidebug.inference.sampling import sampling
from psidebug.inference.tilting import states_without, tilted_towards_absence, tilting
from psidebug.margins import log_losses
from psidebug.priors import Prior, noise
from psidebug.program.interpreter import interpret
from psidebug.program.paper import LABELS, sufficiency
from psidebug.symptoms import LogLossAbove, Symptom, at_least, misclassified
from tests.inference.tasks import random_learner

SYMPTOMS: list[Symptom] = [
    misclassified(0),
    misclassified(0, 1, 2),
    at_least(2, [0, 1, 2]),
    at_least(3),
    LogLossAbove(1.05),
    misclassified(0) | misclassified(1),
    at_least(2) & ~misclassified(4),
]


@pytest.mark.chance(1e-4)
@pytest.mark.parametrize("symptom", SYMPTOMS, ids=str)
@pytest.mark.parametrize("classes", [2, 3])
def test_tilting_agrees_with_enumeration(symptom: Symptom, classes: int) -> None:
    """Estimates worth 1,000 worlds: every label worth 200 is within 5 standard errors (false alarm below 1e-4)."""
    rng = np.random.default_rng(21 + classes)
    prior, learner, symptom, truth = _ordinary_task(rng, symptom, classes)
    found = tilting(prior, learner, symptom, rng=rng, effective=1000)
    worth = found.effective_sample_size >= 200
    assert worth.sum() >= 2
    assert np.all(np.abs(found.ps - truth.ps)[worth] <= 5 * found.standard_error[worth] + 1e-9)
    assert np.abs(found.p_wrong - truth.p_wrong)[worth].max() <= 0.1
    assert found.log_p_without == pytest.approx(truth.log_p_without, abs=0.3)


def _ordinary_task(
    rng: np.random.Generator, symptom: Symptom, classes: int
) -> tuple[Prior, LinearLearner, Symptom, Estimates]:
    """The first random task in which the symptom holds, and is gone in at least one world of ten.

    A log loss is asked to fall by two percent.
    """
    while True:
        learner = random_learner(rng, labels=9 if classes == 2 else 6, points=5, classes=classes)
        prior = noise(learner.given, classes, rng.uniform(0.05, 0.3, len(learner.given)))
        if isinstance(symptom, LogLossAbove):
            symptom = LogLossAbove(0.98 * float(log_losses(learner.actual).mean()))
        holds = symptom.holds(learner.actual[None])[0]
        gone = ~symptom.holds(learner(prior.draw(2000, rng)))
        if holds and gone.mean() > 0.1:
            return prior, learner, symptom, enumeration(prior, learner, symptom)


def test_states_are_those_of_the_changed_worlds() -> None:
    rng = np.random.default_rng(4)
    learner = random_learner(rng, labels=6, points=4, classes=3)
    worlds = rng.integers(0, 3, (30, 6))
    for symptom in (misclassified(0), at_least(2), LogLossAbove(1.0)):
        kept, moved = states_without(learner, symptom, worlds)
        for k in range(3):
            for i in range(6):
                changed = worlds.copy()
                changed[:, i] = k
                own = learner.given[i]
                found = kept[:, i] if k == own else moved[k - (k > own), :, i]
                assert np.array_equal(found, ~symptom.holds(learner(changed)))


def _rare_task(labels: int = 200) -> tuple[LinearLearner, Symptom]:
    """One point whose margin needs about forty of two hundred labels to turn."""
    rng = np.random.default_rng(9)
    coefficients = np.zeros((2, 1, 1, labels))
    coefficients[1, 0, 0] = rng.uniform(0.0, 1.0, labels)
    return LinearLearner(np.zeros(labels, dtype=np.intp), np.array([[-20.0]]), coefficients), misclassified(0)


def test_tilting_reaches_what_sampling_cannot() -> None:
    learner, symptom = _rare_task()
    prior = noise(learner.given, 2, 0.02)
    with pytest.raises(NoWorldWithout, match="too rare"):
        sampling(prior, learner, symptom, worlds=2000, rng=np.random.default_rng(0))
    found = tilting(prior, learner, symptom, rng=np.random.default_rng(0))
    assert found.log_p_without < -25
    assert found.warnings == ()
    share = (
        ~symptom.holds(
            learner(
                tilted_towards_absence(prior, learner, symptom, np.random.default_rng(1)).draw(
                    400, np.random.default_rng(2)
                )
            )
        )
    ).mean()
    assert 0.2 < share < 0.8


def test_tilting_says_when_a_conjunction_saturates() -> None:
    """Sixty bugs, each turned by one of its own labels at ε = 0.2: some bug is fixed in nearly every world."""
    coefficients = np.zeros((2, 60, 1, 60))
    coefficients[1, :, 0] = 2.0 * np.eye(60)
    learner = LinearLearner(np.zeros(60, dtype=np.intp), -np.ones((60, 1)), coefficients)
    prior = noise(learner.given, 2, 0.2)
    found = tilting(prior, learner, misclassified(*range(60)), rng=np.random.default_rng(0))
    assert any("saturated" in warning for warning in found.warnings)
    calm = tilting(prior, learner, at_least(50), rng=np.random.default_rng(0))
    assert calm.warnings == ()


def test_tilting_says_when_it_is_not_to_be_trusted() -> None:
    learner, symptom = _rare_task()
    found = tilting(noise(learner.given, 2, 0.02), learner, symptom, rng=np.random.default_rng(0), worlds=250)
    assert any("do not trust" in warning for warning in found.warnings)


def test_tilting_gives_up_on_the_impossible() -> None:
    coefficients = np.zeros((2, 1, 1, 5))
    coefficients[1, 0, 0] = 0.1
    learner = LinearLearner(np.zeros(5, dtype=np.intp), np.array([[-9.0]]), coefficients)
    with pytest.raises(NoWorldWithout, match="milder"):
        tilting(noise(learner.given, 2, 0.1), learner, misclassified(0), rng=np.random.default_rng(0))


@pytest.mark.chance(2e-6)
def test_figure_psi_as_printed_agrees_with_enumeration() -> None:
    """Worlds that pass both observations, one label after another: within 5 standard errors (false alarm 1e-6)."""
    rng = np.random.default_rng(2)
    learner = random_learner(rng, labels=6, points=3, classes=2)
    prior = noise(learner.given, 2, 0.3)
    truth = enumeration(prior, learner, misclassified(0))
    program = sufficiency(prior, learner, misclassified(0))
    for i in (1, 4):
        returned = interpret(program, {LABELS: prior.draw(20_000, rng)}, index=i).values
        assert len(returned) > 100
        assert abs(returned.mean() - truth.ps[i]) <= 5 * np.sqrt(0.25 / len(returned))


def test_engines_repeat_themselves_with_the_same_seed() -> None:
    learner, symptom = _rare_task(50)
    learner = LinearLearner(learner.given, np.array([[-3.0]]), learner.coefficients)
    prior = noise(learner.given, 2, 0.1)
    for engine in (tilting, lambda *a, rng: sampling(*a, worlds=500, rng=rng)):
        first, second = (engine(prior, learner, symptom, rng=np.random.default_rng(7)) for _ in range(2))
        assert np.array_equal(first.ps, second.ps)
        assert np.array_equal(first.high, second.high)
