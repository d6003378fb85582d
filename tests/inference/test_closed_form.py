"""The closed form against enumeration, by each of its three paths."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from psidebug.errors import InvalidSymptom, NoWorldWithout, SymptomAbsent
from psidebug.inference import closed_form as module
from psidebug.inference.characteristic import invert, last_return
from psidebug.inference.closed_form import closed_form
from psidebug.inference.enumeration import enumeration
from psidebug.inference.estimates import Estimates, exact_estimates
from psidebug.inference.linear import LinearSymptom, lattice_step
from psidebug.inference.tilted_prior import first_order_sufficiency, saddle_point, tilt_at
from psidebug.priors import Floats, noise
from psidebug.symptoms import misclassified
from tests.inference.tasks import random_linear_symptom


def oracle(symptom: LinearSymptom) -> Estimates:
    return enumeration(symptom.prior, symptom.margins, misclassified(0))


def assert_agree(found: Estimates, truth: Estimates, tolerance: float) -> None:
    for field in ("ps", "p_wrong"):
        np.testing.assert_allclose(getattr(found, field), getattr(truth, field), atol=tolerance, err_msg=field)
    assert found.log_p_without == pytest.approx(truth.log_p_without, abs=1e-6, rel=1e-6)


@pytest.mark.parametrize("kind", ["lattice", "real", "heavy"])
@pytest.mark.parametrize("classes", [2, 3])
def test_listing_sums_is_exact(kind: str, classes: int) -> None:
    rng = np.random.default_rng(11)
    for _ in range(40):
        symptom = random_linear_symptom(rng, kind=kind, most_labels=11 if classes == 2 else 7, classes=classes)
        assert_agree(closed_form(symptom), oracle(symptom), 1e-10)


@pytest.mark.parametrize("classes", [2, 3])
def test_inversion_is_exact_on_a_lattice(classes: int) -> None:
    rng = np.random.default_rng(12)
    for _ in range(60):
        symptom = random_linear_symptom(rng, kind="lattice", most_labels=12 if classes == 2 else 7, classes=classes)
        tails, error = invert(symptom).sufficiency(np.arange(symptom.prior.size))
        found = exact_estimates(symptom.prior, tails, error=error, engine="closed_form", reason="")
        np.testing.assert_allclose(found.ps, oracle(symptom).ps, atol=1e-9)


def test_inversion_of_a_smooth_sum_is_exact_to_its_stated_error() -> None:
    """Eighteen labels with 2¹⁸ sums: the law is nearly smooth, and the stated error is met for every label."""
    rng = np.random.default_rng(13)
    for _ in range(6):
        given = rng.integers(0, 2, 18)
        effects = np.zeros((18, 2))
        effects[np.arange(18), 1 - given] = rng.normal(1.0, 0.3, 18)
        symptom = LinearSymptom(noise(given, 2, rng.uniform(0.2, 0.4, 18)), effects, rng.uniform(6, 12))
        tails, error = invert(symptom).sufficiency(np.arange(18))
        found, truth = tails.sufficiency(symptom.prior.proposals), oracle(symptom).ps
        assert np.all(np.abs(found - truth) <= error)
        assert np.abs(found - truth).max() <= 2e-3


def test_listing_the_likely_sums_is_exact_to_its_stated_error() -> None:
    """Twenty-four labels that seldom move: too many sums to list, few that matter. Truth by all sums."""
    rng = np.random.default_rng(19)
    effects = np.zeros((24, 2))
    effects[:, 1] = rng.normal(size=24)
    symptom = LinearSymptom(noise(np.zeros(24, dtype=np.intp), 2, 0.005), effects, 0.6)
    found = closed_form(symptom)
    assert "that matter" in found.reason
    sums, chance = np.zeros(1), np.ones(1)
    for effect in effects[1:, 1]:  # the law of T without the first label, all 2²³ sums
        sums = np.concatenate([sums, sums + effect])
        chance = np.concatenate([0.995 * chance, 0.005 * chance])
    away = sums + effects[0, 1] >= 0.6
    expected = chance[away & (sums < 0.6)].sum() / chance[away].sum()
    assert abs(found.ps[0] - expected) <= found.high[0] - found.ps[0] + 1e-12
    assert abs(found.ps[0] - expected) <= 2e-3


def test_far_tails_keep_three_digits() -> None:
    """60 equal voters, rate 1e-4, and a threshold that takes 12 of them: probability near 1e-36, by exact fractions."""
    size, rate, needed = 60, Fraction(1, 10_000), 12
    effects = np.zeros((size, 2))
    effects[:, 1] = 1.0
    symptom = LinearSymptom(noise(np.zeros(size, dtype=np.intp), 2, float(rate)), effects, float(needed))
    pmf = [_binomial(size - 1, k, rate) for k in range(size)]
    exact = pmf[needed - 1] / sum(pmf[needed - 1 :])
    found = closed_form(symptom)
    assert found.log_p_without < np.log(1e-30)
    np.testing.assert_allclose(found.ps, float(exact), rtol=1e-6)


def _binomial(n: int, k: int, p: Fraction) -> Fraction:
    from math import comb

    return comb(n, k) * p**k * (1 - p) ** (n - k)


def test_many_labels_by_samples_equal_all_inverted(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(14)
    given = rng.integers(0, 2, 6000)
    effects = np.zeros((6000, 2))
    effects[np.arange(6000), 1 - given] = rng.normal(size=6000)
    symptom = LinearSymptom(noise(given, 2, 0.05), effects, 80.0)
    monkeypatch.setattr(module, "MANY", 10**6)
    all_inverted = closed_form(symptom)
    monkeypatch.setattr(module, "MOST_ROWS", 100)
    sampled = closed_form(symptom)
    assert "saddle-point" in sampled.reason
    assert "every label" in all_inverted.reason
    np.testing.assert_allclose(sampled.ps, all_inverted.ps, atol=1e-4)
    assert np.all(np.abs(sampled.ps - all_inverted.ps) <= sampled.high - sampled.ps + 1e-12)
    assert np.array_equal(np.argsort(-sampled.ps)[:500], np.argsort(-all_inverted.ps)[:500])


def many_labels(moves: Floats, rates: Floats, deviations: float) -> LinearSymptom:
    """Two classes; the threshold is so many prior deviations above the mean."""
    effects = np.column_stack([np.zeros(len(moves)), moves])
    mean, variance = float(rates @ moves), float((rates * (1.0 - rates)) @ moves**2)
    prior = noise(np.zeros(len(moves), dtype=np.intp), 2, rates)
    return LinearSymptom(prior, effects, mean + deviations * variance**0.5)


@pytest.mark.parametrize(("kind", "settled"), [("normal", 0), ("normal", 3_000), ("heavy", 3_000), ("tiny", 0)])
def test_many_labels_in_a_table_equal_each_by_its_own_factor(
    kind: str, settled: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Labels that are settled never move, whatever their effect."""
    rng = np.random.default_rng(17)
    moves = {
        "normal": rng.normal(size=12_000),
        "heavy": rng.standard_t(3, 12_000),
        "tiny": rng.normal(size=12_000) ** 5,
    }
    symptom = many_labels(moves[kind], np.repeat([0.0, 0.05], [settled, 12_000 - settled]), 3.0)
    found = closed_form(symptom)
    assert "table" in found.reason
    monkeypatch.setattr(module, "MANY", 10**6)
    truth = closed_form(symptom)
    assert "every label" in truth.reason
    off = np.abs(found.ps - truth.ps)
    assert 0 < off.max() < 2e-5
    assert np.all(off <= found.high - found.ps + 1e-7)
    assert np.all(off <= found.ps - found.low + 1e-7)
    np.testing.assert_allclose(found.p_wrong, truth.p_wrong, atol=1e-4)
    np.testing.assert_array_equal(found.proposed, truth.proposed)
    assert found.log_p_without == pytest.approx(truth.log_p_without, abs=1e-5)


EVERY_15TH = np.arange(8_000) % 15 == 0


def _rate(rate: float) -> Floats:
    return np.full(8_000, rate)


@pytest.mark.parametrize(
    ("moves", "rates"),
    [
        (lambda rng: rng.integers(1, 3_000, 8_000) * rng.choice([-1.0, 1.0], 8_000), _rate(0.05)),
        (lambda rng: rng.integers(1, 900, 8_000) + 1e-5 * rng.normal(size=8_000), _rate(0.05)),
        (lambda rng: rng.normal(size=8_000), _rate(0.002)),
        (lambda rng: rng.choice([-1.0, 0.3, np.pi], 8_000), _rate(0.05)),
        (lambda rng: rng.normal(size=8_000), np.linspace(0.01, 0.1, 8_000)),
        (lambda rng: rng.normal(size=8_000), np.repeat([0.0, 0.02], [7_000, 1_000])),
        (
            lambda rng: np.where(EVERY_15TH, rng.normal(size=8_000), rng.integers(-3_000, 3_000, 8_000)),
            np.where(EVERY_15TH, 0.0, 0.05),
        ),
    ],
    ids=[
        "a lattice",
        "nearly a lattice",
        "few are wrong",
        "few kinds",
        "rates of their own",
        "few of those that move are wrong",
        "those that move lie on a lattice",
    ],
)
def test_sums_that_may_tie_or_have_several_rates_have_no_table(
    moves: Callable[[np.random.Generator], Floats], rates: Floats
) -> None:
    symptom = many_labels(moves(np.random.default_rng(18)), rates, 2.0)
    assert "table" not in closed_form(symptom).reason


def test_sampled_form_states_its_error_when_rates_differ_by_row(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(15)
    effects = np.zeros((5000, 2))
    effects[:, 1] = rng.normal(size=5000)
    symptom = LinearSymptom(noise(np.zeros(5000, dtype=np.intp), 2, rng.uniform(0.01, 0.2, 5000)), effects, 150.0)
    all_inverted = closed_form(symptom)
    monkeypatch.setattr(module, "MOST_ROWS", 100)
    sampled = closed_form(symptom)
    beyond = np.abs(sampled.ps - all_inverted.ps) > sampled.high - sampled.ps
    # the error is stated from 256 checked rows of 3,000: a few rows may lie just beyond their worst
    assert beyond.mean() < 0.01
    np.testing.assert_allclose(sampled.ps, all_inverted.ps, atol=2e-3)


def test_three_classes_and_many_labels_agree_with_a_finer_enumeration() -> None:
    """Of 400 labels only ten can move: enumeration sees the same worlds as the inversion."""
    rng = np.random.default_rng(16)
    given = rng.integers(0, 3, 400)
    effects = rng.normal(size=(400, 3))
    effects[np.arange(400), given] = 0.0
    rates = np.zeros(400)
    rates[:10] = 0.2
    symptom = LinearSymptom(noise(given, 3, rates), effects, 2.0)
    assert_agree(closed_form(symptom), oracle(symptom), 1e-10)


def test_tilt_centres_the_sum_at_the_threshold() -> None:
    rng = np.random.default_rng(17)
    for _ in range(20):
        symptom = random_linear_symptom(rng, kind="real", most_labels=40)
        tilt = saddle_point(symptom, tolerance=1e-6)
        if tilt.rate > 0:
            assert abs(tilt.mean - symptom.threshold) <= 1e-6 * tilt.deviation
        slope = (tilt_at(symptom, tilt.rate + 1e-6).log_norm - tilt_at(symptom, tilt.rate).log_norm) / 1e-6
        assert slope == pytest.approx(tilt.mean, rel=1e-3, abs=1e-3)


def test_first_order_form_is_close_for_many_labels() -> None:
    rng = np.random.default_rng(18)
    effects = np.zeros((400, 2))
    effects[:, 1] = rng.normal(size=400)
    symptom = LinearSymptom(noise(np.zeros(400, dtype=np.intp), 2, 0.05), effects, 15.0)
    first = first_order_sufficiency(symptom, saddle_point(symptom))
    np.testing.assert_allclose(first, closed_form(symptom).ps, atol=0.05)


@pytest.mark.parametrize(
    ("effects", "step"),
    [
        ([2.0, 4.0, -6.0], 2.0),
        ([0.1, 0.25, 0.4], 0.05),
        ([55.0, 3.0, 20.0], 1.0),
        ([1.0, np.pi], None),
        ([0.0, 0.0], None),
        ([1.0, 1e-7], None),
    ],
)
def test_lattice_step(effects: list[float], step: float | None) -> None:
    found = lattice_step(np.array(effects))
    assert found == (None if step is None else pytest.approx(step))


def test_labels_that_help_only_the_other_way_have_no_sufficiency() -> None:
    effects = np.array([[0.0, 1.0], [0.0, -1.0], [0.0, 1.0]])
    found = closed_form(LinearSymptom(noise(np.zeros(3, dtype=np.intp), 2, 0.1), effects, 1.0))
    assert found.ps[1] == 0.0
    assert found.high[1] == 0.0
    assert found.ps[0] > 0


def test_a_label_that_never_moves_is_no_cause() -> None:
    effects = np.array([[0.0, 1.0], [0.0, 1.0]])
    found = closed_form(LinearSymptom(noise(np.zeros(2, dtype=np.intp), 2, [0.1, 0.0]), effects, 1.0))
    assert found.ps[1] == 0.0
    assert found.p_wrong[1] == 0.0
    assert found.ps[0] == 1.0


def test_wrong_questions_are_refused() -> None:
    prior = noise(np.zeros(2, dtype=np.intp), 2, 0.1)
    effects = np.array([[0.0, 1.0], [0.0, 1.0]])
    with pytest.raises(SymptomAbsent, match="does not hold"):
        LinearSymptom(prior, effects, -1.0)
    with pytest.raises(NoWorldWithout, match="milder"):
        LinearSymptom(prior, effects, 3.0)
    with pytest.raises(InvalidSymptom, match="finite"):
        LinearSymptom(prior, effects * np.nan, 1.0)
    with pytest.raises(InvalidSymptom, match="one effect per"):
        LinearSymptom(prior, effects[:1], 1.0)


def test_the_last_return_is_the_same_as_by_all_labels_at_once() -> None:
    """Probes that a part of the labels rules out are not asked again: the sum of what they lose only rises."""
    rng = np.random.default_rng(3)
    for spread in (0.0, 1e-4, 1e-3, 0.3):
        effects = np.zeros((3000, 2))
        given = rng.integers(0, 2, 3000)
        effects[np.arange(3000), 1 - given] = 1.0 + spread * rng.normal(size=3000)
        symptom = LinearSymptom(noise(given, 2, 0.05), effects, 200.0)
        tilt = saddle_point(symptom)
        moves, spreads = symptom.moves[0], (tilt.moved * (1.0 - tilt.moved))[0]
        strong = np.argsort(spreads * moves**2)[-2048:]
        probes = (2.0 * np.pi * np.arange(1, 5)[:, None] / np.abs(moves[strong[-64:]])).ravel()
        loss = (1.0 - np.cos(np.outer(probes, moves[strong]))) @ spreads[strong]
        expected = probes[np.exp(-loss) * tilt.rate / probes > 1e-7].max(initial=0.0)
        assert last_return(moves, spreads, tilt.rate, np.inf) == pytest.approx(expected, rel=1e-12)
