"""PS by a histogram of effects, against the closed form and enumeration."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from psidebug.errors import NoWorldWithout, SymptomAbsent
from psidebug.inference.closed_form import closed_form
from psidebug.inference.enumeration import enumeration
from psidebug.inference.histogram import EffectHistogram, SufficiencyTable, sufficiency_table
from psidebug.inference.linear import LinearSymptom
from psidebug.priors import Floats, noise
from psidebug.symptoms import misclassified

RATE = 0.05


def effects_like(kind: str, size: int) -> Floats:
    rng = np.random.default_rng(size)
    if kind == "heavy":
        return rng.standard_t(3, size)
    return rng.normal(size=size) if kind == "normal" else rng.standard_exponential(size)


def linear_symptom(moves: Floats, rate: float, threshold: float) -> LinearSymptom:
    given = np.zeros(len(moves), dtype=np.intp)
    return LinearSymptom(noise(given, 2, rate), np.column_stack([np.zeros(len(moves)), moves]), threshold)


def compared(c: Floats, deviations: float) -> tuple[SufficiencyTable, Floats]:
    """The table, and how far it is off the closed form for each label: within its stated error."""
    mean, deviation = RATE * c.sum(), np.sqrt(RATE * (1 - RATE) * (c**2).sum())
    threshold = max(mean + deviations * deviation, 0.1 * deviation)
    truth = closed_form(linear_symptom(c, RATE, threshold))
    table = sufficiency_table(EffectHistogram.of(c), RATE, threshold)
    off = np.abs(table(c) - truth.ps)
    assert off.max() <= table.error + (truth.high - truth.ps).max()
    return table, off


@pytest.mark.parametrize("kind", ["normal", "heavy", "skewed"])
@pytest.mark.parametrize("deviations", [-1.0, 1.0, 4.0, 12.0])
def test_it_agrees_with_the_closed_form(kind: str, deviations: float) -> None:
    """Within its stated error of every label; thresholds from likely to very unlikely ones."""
    c = effects_like(kind, 20_000)
    table, _ = compared(c, deviations)
    assert table.error < 1e-4
    assert (table(c)[c <= 0] == 0).all()


def test_it_agrees_with_enumeration() -> None:
    """Fourteen labels of large rates, every one of 16,384 worlds visited: near, for the law of so few has steps."""
    rng = np.random.default_rng(3)
    c = rng.uniform(0.5, 1.5, 14)
    symptom = linear_symptom(c, 0.4, 6.0)
    truth = enumeration(symptom.prior, symptom.margins, misclassified(0)).ps
    table = sufficiency_table(EffectHistogram.of(c), 0.4, 6.0)
    np.testing.assert_allclose(table(c), truth, atol=1e-2)


def test_histograms_of_blocks_are_added() -> None:
    c = effects_like("heavy", 10_000)
    parts = EffectHistogram.of(c[:3000]) + EffectHistogram.of(c[3000:])
    np.testing.assert_array_equal(parts.counts, EffectHistogram.of(c).counts)
    assert parts.counts.sum() == len(c)
    effects, counts = parts.effects()
    assert counts @ effects == pytest.approx(c.sum())
    assert counts @ effects**2 == pytest.approx((c**2).sum())


def test_what_has_no_answer_is_refused() -> None:
    c = np.full(1000, 0.5)
    with pytest.raises(SymptomAbsent):
        sufficiency_table(EffectHistogram.of(c), RATE, 0.0)
    with pytest.raises(NoWorldWithout):
        sufficiency_table(EffectHistogram.of(c), RATE, 501.0)


KINDS: dict[str, Callable[[np.random.Generator], Floats]] = {
    "four kinds on a lattice": lambda rng: rng.choice([-1.0, -0.3, 0.5, 1.7], 1_000),
    "32 kinds": lambda rng: rng.choice(rng.normal(size=32), 6_000),
    "all alike": lambda rng: np.full(1_000, 0.5),
    "nearly alike": lambda rng: rng.choice([1.0, 1.00001, -1.0], 3_000),
    "numbers of one size": lambda rng: rng.uniform(1.0, 1.9, 5_000) * rng.choice([-1, 1], 5_000),
    "few labels": lambda rng: rng.normal(size=60),
    "one huge effect": lambda rng: np.r_[rng.choice([0.1, -0.2], 500), 100.0],
}


@pytest.mark.parametrize("kind", list(KINDS))
@pytest.mark.parametrize("deviations", [-1.0, 1.0])
def test_few_effects_and_effects_that_are_alike_have_their_ps(kind: str, deviations: float) -> None:
    """Rows of categories have few effects, whose sums tie: within the stated error of the closed form."""
    c = KINDS[kind](np.random.default_rng(5))
    table, off = compared(c, deviations)
    assert off.max() < 5e-3
    assert (table(c)[c <= 0] == 0).all()
