"""Tasks on which an engine has once been confidently wrong."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import poisson

from psidebug.errors import SymptomAbsent
from psidebug.inference.closed_form import closed_form
from psidebug.inference.linear import LinearSymptom
from psidebug.inference.linear_learner import LinearLearner
from psidebug.inference.tilting import tilting
from psidebug.priors import noise
from psidebug.symptoms import misclassified


def one_sided(effects: np.ndarray, rates: float | np.ndarray, threshold: float) -> LinearSymptom:
    """All labels given 0, with these effects of moving to 1."""
    effects = np.asarray(effects)
    table = np.zeros((len(effects), 2), dtype=effects.dtype)
    table[:, 1] = effects
    return LinearSymptom(noise(np.zeros(len(effects), dtype=np.intp), 2, rates), table, threshold)


def by_all_sums(effects: np.ndarray, rates: np.ndarray, threshold: float, i: int) -> float:
    """PS(i) from the list of all sums of the other labels."""
    sums, chance = np.zeros(1), np.ones(1)
    for j in range(len(effects)):
        if j != i:
            sums = np.concatenate([sums, sums + effects[j]])
            chance = np.concatenate([chance * (1 - rates[j]), chance * rates[j]])
    away = sums + effects[i] >= threshold
    return float(chance[away & (sums < threshold)].sum() / chance[away].sum())


@pytest.mark.parametrize("big", [1e3, 1e4])
def test_a_rare_label_of_large_effect_does_not_hide_the_others(big: float) -> None:
    effects = np.r_[big, np.random.default_rng(1).normal(size=19)]
    rates = np.r_[1e-6, np.full(19, 0.01)]
    i = 1 + int(effects[1:].argmax())
    found = closed_form(one_sided(effects, rates, 0.05))
    truth = by_all_sums(effects, rates, 0.05, i)
    assert truth > 0.9
    assert found.low[i] - 1e-9 <= truth <= found.high[i] + 1e-9
    assert abs(found.ps[i] - truth) < 2e-3


@pytest.mark.parametrize("size", [20, 30, 60, 100, 400])
@pytest.mark.parametrize("share", [1.0, 0.9999])
def test_a_threshold_that_takes_every_label(size: int, share: float) -> None:
    """M is the largest possible sum, or nearly: every positive label is needed, so PS = 1, and no NaN appears."""
    effects = np.random.default_rng(3).normal(size=size)
    found = closed_form(one_sided(effects, 0.05, share * effects[effects > 0].sum()))
    for values in (found.ps, found.low, found.high, found.p_wrong):
        assert np.all(np.isfinite(values))
    assert found.log_p_without < 0
    strong = effects > effects[effects > 0].sum() * (1 - share) * 1.01
    assert np.all(found.ps[~(effects > 0)] == 0)
    if share == 1.0:
        np.testing.assert_allclose(found.ps[strong], 1.0, atol=1e-6)


def test_a_lattice_with_a_long_period_states_its_error() -> None:
    """Whole-numbered effects around 50 and one of 3,000; the truth by convolution."""
    rng = np.random.default_rng(0)
    effects = np.round(rng.normal(size=60) * 50)
    effects[0] = 3000
    found = closed_form(one_sided(effects, 0.25, 20.0))
    low = int(effects[effects < 0].sum())
    for i in (0, 1, 5):
        law = np.zeros(int(effects[effects > 0].sum()) - low + 1)
        law[-low] = 1.0
        for j in range(60):
            if j != i:
                law = 0.75 * law + 0.25 * np.roll(law, int(effects[j]))
        at = np.arange(len(law)) + low
        away = at + effects[i] >= 20
        truth = law[away & (at < 20)].sum() / law[away].sum() if effects[i] > 0 else 0.0
        assert found.low[i] - 1e-9 <= truth <= found.high[i] + 1e-9


def test_many_labels_of_few_kinds_are_inverted_by_kind() -> None:
    size = 120_000
    effects = np.ones(size)
    rates = np.full(size, 1e-6)
    rates[:12] = 0.3
    found = closed_form(one_sided(effects, rates, 8.0))
    assert "2 kinds" in found.reason
    law = np.ones(1)
    for _ in range(11):
        law = np.convolve(law, [0.7, 0.3])
    law = np.convolve(law, poisson.pmf(range(12), (size - 12) * 1e-6))
    assert found.ps[0] == pytest.approx(law[7] / law[7:].sum(), abs=1e-5)


def test_unlikely_beyond_floating_point() -> None:
    """Twelve of eighteen labels of rate 1e-30: probability 1e-356, and PS is 1 to thirty digits."""
    found = closed_form(one_sided(np.ones(18), 1e-30, 12.0))
    np.testing.assert_allclose(found.ps, 1.0)
    assert found.log_p_without == pytest.approx(12 * np.log(1e-30) + np.log(18564), rel=1e-9)


def test_labels_that_cannot_move_do_not_matter() -> None:
    effects = np.random.default_rng(5).normal(size=100)
    alone = closed_form(one_sided(effects, 0.05, 8.0))
    for size in (1e3, 1e6, 1e17):
        among = closed_form(one_sided(np.r_[effects, size], np.r_[np.full(100, 0.05), 0.0], 8.0))
        np.testing.assert_allclose(among.ps[:100], alone.ps, atol=1e-9)
        assert among.log_p_without == pytest.approx(alone.log_p_without)


def test_a_threshold_just_above_a_lattice_point() -> None:
    exact = closed_form(one_sided(np.ones(40), 0.05, 4.0))
    above = closed_form(one_sided(np.ones(40), 0.05, 3.0 + 5e-7))
    np.testing.assert_allclose(above.ps, exact.ps, atol=1e-9)


def test_whole_numbers_as_effects() -> None:
    whole = closed_form(one_sided(np.arange(30) % 5, 0.05, 7.0))
    real = closed_form(one_sided((np.arange(30) % 5).astype(float), 0.05, 7.0))
    assert np.array_equal(whole.ps, real.ps)


def test_tilting_warns_when_the_symptom_has_a_way_out_that_it_did_not_follow() -> None:
    """Both points must be wrong. Near point 0 takes twelve labels of forty; far point 1 only four: the likelier way.

    Whatever the sampler follows, an answer that is far off must come with a warning.
    """
    coefficients = np.zeros((2, 2, 1, 80))
    coefficients[1, 0, 0, :40], coefficients[1, 1, 0, 40:] = 0.1, 3.5
    learner = LinearLearner(np.zeros(80, dtype=np.intp), np.array([[-1.15], [-9.0]]), coefficients)
    prior = noise(learner.given, 2, 0.03)
    near = closed_form(one_sided(np.full(40, 0.1), 0.03, 1.15)).log_p_without
    far = closed_form(one_sided(np.full(40, 3.5), 0.03, 9.0)).log_p_without
    truth = np.logaddexp(near, far)
    for seed in range(10):
        found = tilting(prior, learner, misclassified(0, 1), rng=np.random.default_rng(seed))
        assert abs(found.log_p_without - truth) < 0.5 or found.warnings, seed


def test_labels_that_are_hardly_seen_have_the_widest_interval() -> None:
    coefficients = np.zeros((2, 1, 1, 30))
    coefficients[1, 0, 0] = np.r_[np.full(29, 1.0), -5.0]
    learner = LinearLearner(np.zeros(30, dtype=np.intp), np.array([[-12.0]]), coefficients)
    found = tilting(noise(learner.given, 2, 0.02), learner, misclassified(0), rng=np.random.default_rng(0))
    hidden = found.effective_sample_size < 20
    assert np.all(found.low[hidden] == 0.0)
    assert np.all(found.high[hidden] == 1.0)


def test_a_symptom_that_is_absent_is_refused_by_the_closed_form_only_when_it_is() -> None:
    with pytest.raises(SymptomAbsent):
        one_sided(np.ones(3), 0.1, 0.0)
    tiny, plain = one_sided(np.full(3, 1e-8), 0.1, 2e-8), one_sided(np.ones(3), 0.1, 2.0)
    np.testing.assert_allclose(closed_form(tiny).ps, closed_form(plain).ps)
