"""Transformations keep the meaning of generated small programs, by enumeration; the paper's own rewrite does not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from psidebug.errors import InvalidPrior, PsiError
from psidebug.inference.enumeration import enumeration, mean
from psidebug.inference.linear_learner import LinearLearner
from psidebug.priors import Prior, noise
from psidebug.program import paper
from psidebug.program import transformations as change
from psidebug.program.distributions import Alternative, Labels
from psidebug.program.expressions import Expression, LabelDiffers, Learned, Negation, Shows, Variable
from psidebug.program.interpreter import finish, interpret, start
from psidebug.program.statements import Factor, If, Intervene, Let, Observe, Program, Return, Sample, Statement
from psidebug.symptoms import LogLossAbove, Symptom, at_least, misclassified
from tests.inference.tasks import random_learner
from tests.program import figures
from tests.program.figures import AnyOf, Bernoulli, Constant, Pair

SYMPTOMS: list[Symptom] = [
    misclassified(0),
    misclassified(0, 1),
    at_least(1),
    at_least(2, [0, 1, 2]),
    LogLossAbove(0.8),
    misclassified(0) & ~misclassified(2),
    misclassified(1) | at_least(3),
]
Kind = Callable[[Prior, LinearLearner, Symptom], Program]
KINDS: list[Kind] = [paper.sufficiency, figures.shared_as_printed]


@st.composite
def tasks(draw: st.DrawFn) -> tuple[Prior, LinearLearner, Symptom, int]:
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    classes, labels = draw(st.sampled_from([(2, 6), (3, 4)]))
    learner = random_learner(rng, labels=labels, points=3, classes=classes)
    prior = noise(learner.given, classes, rng.uniform(0.02, 0.45, labels))
    return prior, learner, draw(st.sampled_from(SYMPTOMS)), draw(st.integers(0, labels - 1))


def same_meaning(before: Program, after: Program, index: int) -> None:
    try:
        expected = mean(before, index)
    except PsiError:
        assume(False)
    assert mean(after, index) == pytest.approx(expected, abs=1e-12)


@given(task=tasks(), kind=st.sampled_from(KINDS))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_reusing_samples_keeps_the_meaning(task: tuple[Prior, LinearLearner, Symptom, int], kind: Kind) -> None:
    prior, learner, symptom, index = task
    program = kind(prior, learner, symptom)
    same_meaning(program, change.reuse_samples(program), index)


@given(task=tasks(), kind=st.sampled_from(KINDS), seed=st.integers(0, 10**6))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_tilting_with_its_weights_keeps_the_meaning(
    task: tuple[Prior, LinearLearner, Symptom, int], kind: Kind, seed: int
) -> None:
    prior, learner, symptom, index = task
    program = kind(prior, learner, symptom)
    drawn_from = prior.tilted(np.random.default_rng(seed).normal(size=prior.moves.shape))
    tilted = change.tilt_prior(program, drawn_from)
    assert any(isinstance(statement, Factor) for statement in tilted.statements)
    same_meaning(program, tilted, index)
    same_meaning(program, change.reuse_samples(tilted), index)


@given(task=tasks())
@settings(max_examples=60, deadline=None, derandomize=True)
def test_marginalising_label_i_keeps_the_meaning(task: tuple[Prior, LinearLearner, Symptom, int]) -> None:
    prior, learner, symptom, index = task
    program = paper.sufficiency(prior, learner, symptom)
    marginal = change.marginalise_label(program)
    assert sum(isinstance(statement, Intervene) for statement in marginal.statements) == 2
    same_meaning(program, marginal, index)
    drawn_from = prior.tilted(np.random.default_rng(index).normal(size=prior.moves.shape))
    same_meaning(program, change.tilt_prior(marginal, drawn_from), index)


@given(task=tasks(), kind=st.sampled_from(KINDS))
@settings(max_examples=40, deadline=None, derandomize=True)
def test_a_faithful_gray_box_keeps_the_meaning(task: tuple[Prior, LinearLearner, Symptom, int], kind: Kind) -> None:
    """A gray box that gives other margins, but the same symptom in every world, changes nothing."""
    prior, learner, symptom, index = task
    assume("log loss" not in str(symptom))
    graybox = replace(learner, actual=3.0 * learner.actual, coefficients=3.0 * learner.coefficients)
    same_meaning(kind(prior, learner, symptom), kind(prior, graybox, symptom), index)


def test_an_unfaithful_gray_box_changes_the_meaning() -> None:
    rng = np.random.default_rng(0)
    learner = random_learner(rng, labels=6, points=3, classes=2)
    prior = noise(learner.given, 2, 0.2)
    program = paper.sufficiency(prior, learner, misclassified(0))
    replaced = paper.sufficiency(prior, lambda worlds: learner(worlds) + 0.1, misclassified(0))
    assert any(abs(mean(program, i) - mean(replaced, i)) > 0.01 for i in range(6))


@given(task=tasks())
@settings(max_examples=60, deadline=None, derandomize=True)
def test_the_rewrite_as_printed_is_the_joint_probability(task: tuple[Prior, LinearLearner, Symptom, int]) -> None:
    """Figure "parallel-psi" as printed equals PS(i) · P(Y_i ≠ y_i | ¬φ), which is PS(i) only when one of them is 0."""
    prior, learner, symptom, index = task
    try:
        truth = enumeration(prior, learner, symptom)
        printed = mean(figures.shared_as_printed(prior, learner, symptom), index)
    except PsiError:
        assume(False)
    assert printed == pytest.approx(truth.ps[index] * truth.p_wrong[index], abs=1e-12)


def test_the_rewrite_as_printed_is_not_meaning_preserving() -> None:
    """φ: none of two votes has moved. With ε = 0.1, P(¬φ) = 1 - 0.81 = 0.19 and P(Y_i ≠ y_i, ¬φ) = 0.1, of which 0.09
    brings φ back: PS = 0.9, and the joint probability is 0.09 / 0.19.
    """
    coefficients = np.zeros((2, 1, 1, 2))
    coefficients[1] = 1.0
    learner = LinearLearner(np.zeros(2, dtype=np.intp), np.array([[-1.0]]), coefficients)
    prior = noise(learner.given, 2, 0.1)
    assert mean(paper.sufficiency(prior, learner, misclassified(0)), 0) == pytest.approx(0.9)
    assert mean(figures.shared_as_printed(prior, learner, misclassified(0)), 0) == pytest.approx(0.09 / 0.19)


def test_transformations_print_what_they_do() -> None:
    learner = random_learner(np.random.default_rng(1), labels=3, points=1, classes=2)
    prior = noise(learner.given, 2, 0.1)
    program = change.marginalise_label(paper.sufficiency(prior, learner, misclassified(0)))
    text = str(change.tilt_prior(program, prior))
    assert "1:  Γ.Y := sample(q);" in text
    assert "2:  factor(log p_T(Γ.Y) - log q(Γ.Y));" in text
    assert "3:  k := sample(π_i);" in text
    assert "4:  Γ.Y_i := k;" in text
    distributions = [s.distribution for s in program.statements if isinstance(s, Sample)]
    assert [type(each) for each in distributions] == [Labels, Alternative]


def _two_labels() -> tuple[Prior, LinearLearner]:
    learner = random_learner(np.random.default_rng(8), labels=4, points=2, classes=3)
    return noise(learner.given, 3, 0.3), learner


def test_an_observation_is_not_moved_past_what_it_reads() -> None:
    """Y is observed and then overwritten: moving the observation behind would observe another variable."""
    prior, learner = _two_labels()
    program = Program(
        "",
        (
            Sample("Y", Labels(prior)),
            Sample("Z", Labels(prior)),
            Observe(LabelDiffers("Y", prior.given)),
            Let("Y", Variable("Z")),
            Let("c", Learned(learner, "Y")),
            Return(Shows(misclassified(0), "c")),
        ),
    )
    assert mean(change.reuse_samples(program), 1) == pytest.approx(mean(program, 1))


@pytest.mark.parametrize("part", [Negation, lambda e: AnyOf((e, e)), lambda e: Pair((e,))])
def test_an_expression_is_about_the_index_if_a_part_of_it_is(part: Callable[[Expression], Expression]) -> None:
    prior, _ = _two_labels()
    assert part(LabelDiffers("Y", prior.given)).about_index
    assert part(LabelDiffers("Y", prior.given)).reads == {"Y"}
    assert not part(Variable("c")).about_index


def test_marginalising_touches_only_the_observation_of_its_own_sample() -> None:
    prior, learner = _two_labels()
    other = Prior(prior.given[::-1].copy(), prior.moves[::-1].copy())
    end = (Let("c", Learned(learner, "Y")), Return(Shows(misclassified(0), "c")))
    differs = Observe(LabelDiffers("Y", prior.given))
    labels, coin = Sample("Y", Labels(prior)), Sample("coin", Bernoulli(0.5))
    programs: list[tuple[Statement, ...]] = [
        (labels, Sample("Z", Labels(other)), differs, *end),
        (labels, coin, differs, *end),
        (labels, Observe(LabelDiffers("Y", (prior.given + 1) % 3)), *end),
        (Sample("k", Bernoulli(0.5)), labels, differs, *end[:1], Return(Variable("k"))),
    ]
    for statements in programs:
        program = Program("", statements)
        assert mean(change.marginalise_label(program), 2) == pytest.approx(mean(program, 2))


def test_a_conditional_that_returns_is_not_shared() -> None:
    prior, learner = _two_labels()
    program = Program(
        "",
        (
            Sample("Y", Labels(prior)),
            Sample("coin", Bernoulli(0.5)),
            If(Variable("coin"), (Return(Constant(0)),)),
            Observe(LabelDiffers("Y", prior.given)),
            Let("c", Learned(learner, "Y")),
            Return(Shows(misclassified(0), "c")),
        ),
    )
    draws = {"Y": prior.draw(300, np.random.default_rng(0)), "coin": np.random.default_rng(1).random(300) < 0.5}
    shared, whole = finish(program, start(program, draws), index=1), interpret(program, draws, index=1)
    assert np.array_equal(shared.worlds, whole.worlds)
    assert np.array_equal(shared.values, whole.values)


def test_programs_that_make_no_sense_are_refused() -> None:
    prior, _ = _two_labels()
    coin = Sample("c", Bernoulli(0.5))
    with pytest.raises(ValueError, match="twice"):
        mean(Program("", (coin, coin, Return(Variable("c")))))
    with pytest.raises(ValueError, match="no return"):
        mean(Program("", (coin,)))
    with pytest.raises(InvalidPrior, match="probability"):
        Bernoulli(1.5)
    closed = prior.moves.copy()
    closed[0] = np.eye(3)[prior.given[0]]
    with pytest.raises(InvalidPrior, match="rules out"):
        change.tilt_prior(Program("", (Sample("Y", Labels(prior)),)), Prior(prior.given, closed))


def test_a_sample_inside_a_conditional_and_a_program_without_any() -> None:
    inside = (Sample("d", Bernoulli(0.25)), Return(Variable("d")))
    program = Program("", (Sample("c", Bernoulli(0.5)), If(Variable("c"), inside), Return(Constant(0))))
    assert mean(program) == pytest.approx(0.125)
    assert mean(Program("", (Return(Constant(3)),))) == 3.0
