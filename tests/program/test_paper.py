"""The paper's programs: what they print and what they mean."""

from __future__ import annotations

import numpy as np
import pytest

from psidebug.errors import NoWorldWithout, TooManyWorlds
from psidebug.inference.enumeration import enumeration, mean, meaning
from psidebug.inference.linear import LinearSymptom
from psidebug.priors import noise
from psidebug.program import paper
from psidebug.program.distributions import Alternative, Labels
from psidebug.program.expressions import Negation, Variable
from psidebug.program.interpreter import finish, interpret, start
from psidebug.program.statements import If, Let, Observe, Program, Return, Sample
from psidebug.program.transformations import reuse_samples
from psidebug.symptoms import misclassified
from tests.program import figures
from tests.program.figures import Bernoulli, Constant

PHI = misclassified(0)


@pytest.fixture
def symptom() -> LinearSymptom:
    rng = np.random.default_rng(3)
    given = np.array([0, 1, 0, 2, 1])
    effects = rng.normal(size=(5, 3))
    effects[np.arange(5), given] = 0.0
    return LinearSymptom(noise(given, 3, rng.uniform(0.05, 0.4, 5)), effects, 0.6)


def test_programs_print_as_in_the_paper(symptom: LinearSymptom) -> None:
    assert str(figures.two_coins()) == (
        "TwoCoins()\n"
        "1:  c₁ := sample(Bernoulli(0.5));\n"
        "2:  c₂ := sample(Bernoulli(0.5));\n"
        "3:  observe(c₁ ∨ c₂);\n"
        "4:  return(c₁, c₂);"
    )
    assert str(paper.sufficiency(symptom.prior, symptom.margins, PHI)) == (
        "PS_i(𝒜, Γ, φ)\n"
        "1:  Γ.Y := sample(p_T);\n"
        "2:  observe(Γ.Y_i ≠ y^i);\n"
        "3:  c := 𝒜(Γ);\n"
        "4:  observe(¬φ(c));\n"
        "5:  Γ.Y_i := y^i;\n"
        "6:  c′ := 𝒜(Γ);\n"
        "7:  return(φ(c′));"
    )
    assert str(figures.shared_as_printed(symptom.prior, symptom.margins, PHI)) == (
        "PS_i(𝒜, Γ, φ)\n"
        "1:  Γ.Y := sample(p_T);\n"
        "2:  c := 𝒜(Γ);\n"
        "3:  observe(¬φ(c));\n"
        "4:  if (Γ.Y_i ≠ y^i)\n"
        "5:    Γ.Y_i := y^i;\n"
        "6:    c′ := 𝒜(Γ);\n"
        "7:    return(φ(c′));\n"
        "8:  return(0);"
    )


def test_the_corrected_shared_program_discards_instead_of_returning_zero(symptom: LinearSymptom) -> None:
    corrected = reuse_samples(paper.sufficiency(symptom.prior, symptom.margins, PHI))
    assert "4:  observe(Γ.Y_i ≠ y^i);" in str(corrected)
    assert len(corrected.shared) == 3


def test_each_program_means_what_its_definition_says(symptom: LinearSymptom) -> None:
    """PS and the joint probability summed directly over all worlds, against the programs' meanings."""
    prior, effects, threshold = symptom.prior, symptom.effects, symptom.threshold
    worlds = np.concatenate([block for block, _ in Labels(prior).support(None)])
    chance = np.exp(prior.log_probability(worlds))

    def shows(labels: np.ndarray) -> np.ndarray:
        return np.asarray(effects[np.arange(5), labels].sum(axis=1) < threshold)

    for i in range(5):
        back = worlds.copy()
        back[:, i] = prior.given[i]
        differs, gone, returns = worlds[:, i] != prior.given[i], ~shows(worlds), shows(back)
        ps = chance[differs & gone & returns].sum() / chance[differs & gone].sum()
        joint = chance[differs & gone & returns].sum() / chance[gone].sum()
        arguments = (prior, symptom.margins, PHI)
        assert mean(paper.sufficiency(*arguments), i) == pytest.approx(ps)
        assert mean(figures.shared_as_printed(*arguments), i) == pytest.approx(joint)
        found = enumeration(*arguments)
        assert (found.ps[i], found.ps[i] * found.p_wrong[i]) == pytest.approx((ps, joint))


def test_starting_once_and_finishing_for_each_label_is_running_the_whole(symptom: LinearSymptom) -> None:
    program = reuse_samples(paper.sufficiency(symptom.prior, symptom.margins, PHI))
    draws = {paper.LABELS: symptom.prior.draw(500, np.random.default_rng(0))}
    state = start(program, draws)
    for i in range(5):
        once, whole = finish(program, state, index=i), interpret(program, draws, index=i)
        assert np.array_equal(once.worlds, whole.worlds)
        assert np.array_equal(once.values, whole.values)


def test_enumeration_asks_the_learner_once_for_each_world(symptom: LinearSymptom) -> None:
    asked = []

    def learner(worlds: np.ndarray) -> np.ndarray:
        asked.append(worlds.copy())
        return symptom.margins(worlds)

    found = enumeration(symptom.prior, learner, PHI)
    everything = np.concatenate(asked)
    assert len(everything) == len(np.unique(everything, axis=0)) == 3**5 == found.learner_calls


def test_a_program_that_never_returns_is_an_error() -> None:
    coin = Variable("c")
    contradiction = Program("", (Sample("c", Bernoulli(0.5)), Observe(coin), Observe(Negation(coin)), Return(coin)))
    with pytest.raises(NoWorldWithout, match="no world"):
        meaning(contradiction)


def test_an_if_without_return_is_an_error() -> None:
    coin = Variable("c")
    program = Program("", (Sample("c", Bernoulli(0.5)), If(coin, (Let("d", Constant(1)),)), Return(coin)))
    with pytest.raises(ValueError, match="end in return"):
        meaning(program)


def test_enumeration_refuses_politely() -> None:
    prior = noise(np.zeros(40, dtype=np.intp), 2, 0.1)
    with pytest.raises(TooManyWorlds, match="closed_form"):
        enumeration(prior, lambda worlds: np.zeros((len(worlds), 1, 1)), PHI)
    for size in (40, 5000):
        many = Labels(noise(np.zeros(size, dtype=np.intp), 2, 0.1))
        with pytest.raises(TooManyWorlds, match="can be enumerated"):
            meaning(Program("", (Sample("Y", many), Return(Constant(0)))))


def test_enumeration_says_when_no_world_is_free() -> None:
    prior = noise(np.zeros(3, dtype=np.intp), 2, 0.1)
    with pytest.raises(NoWorldWithout, match="every world"):
        enumeration(prior, lambda worlds: -np.ones((len(worlds), 1, 1)), PHI)


def test_distributions_list_what_may_happen() -> None:
    prior = noise(np.array([0, 2]), 3, [0.3, 0.1], [[0.0, 0.9, 0.1], [1.0, 0.0, 1.0], [0.5, 0.5, 0.0]])
    for distribution, index, size in ((Bernoulli(0.3), None, 2), (Labels(prior), None, 9), (Alternative(prior), 0, 2)):
        listed = list(distribution.support(index))
        assert sum(len(values) for values, _ in listed) == size == distribution.support_size(index)
        assert sum(float(probabilities.sum()) for _, probabilities in listed) == pytest.approx(1.0)
    (others, chances), *_ = Alternative(prior).support(0)
    assert dict(zip(others.tolist(), chances.tolist(), strict=True)) == pytest.approx({1: 0.9, 2: 0.1})
