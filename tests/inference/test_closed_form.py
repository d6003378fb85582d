"""The closed form against enumeration, by each of its three paths."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from psidebug.errors import InvalidSymptom, NoWorldWithout, SymptomAbsent
from psidebug.inference import closed_form as module
from psidebug.inference import linear
from psidebug.inference.characteristic import _last_return, invert
from psidebug.inference.closed_form import closed_form
from psidebug.inference.enumeration import enumeration
from psidebug.inference.estimates import Estimates, exact_estimates
from psidebug.inference.linear import LinearSymptom, lattice_step
from psidebug.inference.tilted_prior import first_order_sufficiency, saddle_point, tilt_at
from psidebug.priors import noise
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
    all_inverted = closed_form(symptom)
    monkeypatch.setattr(module, "MOST_ROWS", 100)
    sampled = closed_form(symptom)
    assert "saddle-point" in sampled.reason
    assert "every label" in all_inverted.reason
    np.testing.assert_allclose(sampled.ps, all_inverted.ps, atol=1e-4)
    assert np.all(np.abs(sampled.ps - all_inverted.ps) <= sampled.high - sampled.ps + 1e-12)
    assert np.array_equal(np.argsort(-sampled.ps)[:500], np.argsort(-all_inverted.ps)[:500])


@pytest.mark.parametrize("kind", ["normal", "heavy", "tiny"])
def test_many_labels_in_bins_equal_each_by_its_own_factor(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(17)
    moves = {
        "normal": rng.normal(size=20_000),
        "heavy": rng.standard_t(3, 20_000),
        "tiny": rng.normal(size=20_000) ** 5,
    }
    effects = np.column_stack([np.zeros(20_000), moves[kind]])
    prior, threshold = noise(np.zeros(20_000, dtype=np.intp), 2, 0.05), 2.0 * float(np.sqrt((moves[kind] ** 2).sum()))
    by_factors = invert(LinearSymptom(prior, effects, threshold))
    monkeypatch.setattr(linear, "MOST_ROWS", 1000)
    in_bins = invert(LinearSymptom(prior, effects, threshold))
    assert by_factors.symptom.bins is None
    assert in_bins.symptom.bins is not None
    rows = np.arange(0, 20_000, 20)
    (truth, error), (found, stated) = by_factors.sufficiency(rows), in_bins.sufficiency(rows)
    proposals = prior.proposals[:, rows]
    off = np.abs(found.sufficiency(proposals) - truth.sufficiency(proposals))
    assert 0 < off.max() <= (stated + error).max() < 1e-5


def test_labels_on_a_lattice_or_of_few_kinds_have_no_bins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linear, "MOST_ROWS", 1000)
    effects = np.zeros((2000, 2))
    effects[:, 1] = np.random.default_rng(18).integers(1, 5, 2000)
    assert LinearSymptom(noise(np.zeros(2000, dtype=np.intp), 2, 0.05), effects, 400.0).bins is None


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
        assert _last_return(symptom, tilt, np.inf) == pytest.approx(expected, rel=1e-12)
