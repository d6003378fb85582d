"""Answers known from elsewhere, each with its derivation."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest

from psidebug.inference.closed_form import closed_form
from psidebug.inference.enumeration import enumeration, mean, meaning
from psidebug.inference.linear import LinearSymptom
from psidebug.priors import noise
from psidebug.program.expressions import Negation, Variable
from psidebug.program.statements import Let, Observe, Program, Return, Sample, Statement
from psidebug.symptoms import misclassified
from tests.program.figures import AnyOf, Bernoulli, Constant, two_coins


def test_two_coins() -> None:
    """The paper, section 3.3: Pr(0,1) = Pr(1,0) = Pr(1,1) = 1/3 and Pr(0,0) = 0."""
    assert meaning(two_coins()) == pytest.approx({(False, True): 1 / 3, (True, False): 1 / 3, (True, True): 1 / 3})


def _binomial(n: int, p: float) -> np.ndarray:
    return np.array([comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)])


@pytest.mark.parametrize("rate", [0.01, 0.05, 0.3])
def test_the_vote_of_101(rate: float) -> None:
    """56 voted A, 45 voted B. What made A win, if each vote could have been the other way with probability ε?

    Let a be the A-votes among the 100 others of an A-voter: Bin(55, 1-ε) + Bin(45, ε). With his vote on B, A has lost
    when a ≤ 50; with it put back on A, A wins when a + 1 ≥ 51. So PS = P(a = 50) / P(a ≤ 50), the same for all 56;
    a B-voter is no cause of A's victory.

    As a linear symptom: A's lead is 11 - T, where T = 2 per A-vote that moves and -2 per B-vote; A has won while
    T < 11.
    """
    others = np.convolve(_binomial(55, 1 - rate), _binomial(45, rate))
    expected = others[50] / others[:51].sum()
    given = np.array([0] * 56 + [1] * 45)
    effects = np.zeros((101, 2))
    effects[:56, 1], effects[56:, 0] = 2.0, -2.0
    found = closed_form(LinearSymptom(noise(given, 2, rate), effects, 11.0))
    np.testing.assert_allclose(found.ps[:56], expected, rtol=1e-9)
    assert np.all(found.ps[56:] == 0.0)


# Electors by state, 2012 to 2020 (as the paper counts them: California 55, Wyoming 3), and the winner's states of 2012.
WON = {
    "CA": 55, "CO": 9, "CT": 7, "DE": 3, "DC": 3, "FL": 29, "HI": 4, "IL": 20, "IA": 6, "ME": 4, "MD": 10, "MA": 11,
    "MI": 16, "MN": 10, "NV": 6, "NH": 4, "NJ": 14, "NM": 5, "NY": 29, "OH": 18, "OR": 7, "PA": 20, "RI": 4, "VT": 3,
    "VA": 13, "WA": 12, "WI": 10,
}  # fmt: skip
LOST = {
    "AL": 9, "AK": 3, "AZ": 11, "AR": 6, "GA": 16, "ID": 4, "IN": 11, "KS": 6, "KY": 8, "LA": 8, "MS": 6, "MO": 10,
    "MT": 3, "NE": 5, "NC": 15, "ND": 3, "OK": 7, "SC": 9, "SD": 3, "TN": 11, "TX": 38, "UT": 6, "WV": 5, "WY": 3,
}  # fmt: skip


def _electors(without: str, rate: float) -> np.ndarray:
    """Distribution of the winner's electors from all states but one, by exact convolution."""
    law = np.ones(1)
    for state, electors in (WON | LOST).items():
        if state != without:
            keeps = np.zeros(electors + 1)
            keeps[electors], keeps[0] = (1 - rate, rate) if state in WON else (rate, 1 - rate)
            law = np.convolve(law, keeps)
    return law


def test_the_electoral_college() -> None:
    """332 to 206. A state that was won is sufficient when the rest alone is short of 270 and with it is not:
    with r the winner's electors elsewhere, PS = P(270 - e ≤ r < 270) / P(r < 270). A state that was lost is no cause.

    As a linear symptom, T counts the electors lost less those gained; the winner has won while T < 332 - 269 = 63.
    """
    assert sum(WON.values()) == 332
    assert sum(LOST.values()) == 206
    rate, states = 0.2, WON | LOST
    given = np.array([state in LOST for state in states], dtype=np.intp)
    effects = np.zeros((51, 2))
    for i, (state, electors) in enumerate(states.items()):
        effects[i, 1 - given[i]] = electors if state in WON else -electors
    found = closed_form(LinearSymptom(noise(given, 2, rate), effects, 63.0))
    for i, (state, electors) in enumerate(states.items()):
        law = _electors(state, rate)
        expected = law[270 - electors : 270].sum() / law[:270].sum() if state in WON else 0.0
        assert found.ps[i] == pytest.approx(expected, rel=1e-9), state
    ps = dict(zip(states, found.ps, strict=True))
    assert max(ps, key=lambda state: ps[state]) == "CA"
    # Wyoming was lost in 2012; Vermont, won, has as few electors
    assert ps["CA"] > 5 * ps["VT"] > 0 == ps["WY"]


def test_california_exceeds_wyoming_where_both_were_won() -> None:
    """The paper's own comparison, example 1: every state won, 538 to 0; A has won while T < 269."""
    electors = np.array(list((WON | LOST).values()), dtype=np.float64)
    effects = np.column_stack([np.zeros(51), electors])
    ps = closed_form(LinearSymptom(noise(np.zeros(51, dtype=np.intp), 2, 0.2), effects, 269.0)).ps
    states = list(WON | LOST)
    assert ps[states.index("CA")] > ps[states.index("WY")] > 0
    assert np.all(np.diff(ps[np.argsort(electors)]) >= -1e-12)


def _firing_squad(*rest: Statement) -> Program:
    """Pearl, Causality, section 9.2.3: the court orders with probability 1/2; riflemen A and B obey; either kills."""
    ordered, a, b = Variable("U"), Variable("A"), Variable("B")
    opening = (Sample("U", Bernoulli(0.5)), Let("A", ordered), Let("B", ordered), Let("D", AnyOf((a, b))))
    return Program("FiringSquad()", (*opening, *rest))


def test_the_firing_squad() -> None:
    """PN = P(D_{A=0} = 0 | A, D) = 0: B shoots too. PS = P(D_{A=1} = 1 | ¬A, ¬D) = 1: a shot kills.
    PNS = P(D_{A=1} = 1, D_{A=0} = 0) = P(no order) = 1/2, as in Pearl's table.
    """
    a, b, dead = Variable("A"), Variable("B"), Variable("D")
    again = Let("D", AnyOf((a, b)))
    spared = _firing_squad(Observe(a), Observe(dead), Let("A", Constant(0)), again, Return(Negation(dead)))
    killed = _firing_squad(Observe(Negation(a)), Observe(Negation(dead)), Let("A", Constant(1)), again, Return(dead))
    both = _firing_squad(Let("A", Constant(0)), again, Return(Negation(dead)))
    assert mean(spared) == 0.0
    assert mean(killed) == 1.0
    assert mean(both) == 0.5


@pytest.mark.parametrize("rate", [0.1, 0.3])
def test_the_overdetermined_disjunction(rate: float) -> None:
    """φ = Y₁ ∨ Y₂, both true, each false with probability ε. Either alone is sufficient: PS = 1. Both must be wrong for
    φ to go: p_wrong = 1, P(¬φ) = ε².

    As margins: each false label adds 1, and φ holds while their sum is below 2.
    """
    effects = np.array([[0.0, 1.0], [0.0, 1.0]])
    symptom = LinearSymptom(noise(np.zeros(2, dtype=np.intp), 2, rate), effects, 2.0)
    for found in (closed_form(symptom), enumeration(symptom.prior, symptom.margins, misclassified(0))):
        np.testing.assert_allclose(found.ps, 1.0)
        np.testing.assert_allclose(found.p_wrong, 1.0)
        assert found.log_p_without == pytest.approx(2 * np.log(rate))
