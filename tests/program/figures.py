"""Programs that the paper prints and Psi does not run: an example, with the expressions that it alone needs, and a
rewrite that is not what it is said to be."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from psidebug.errors import InvalidPrior
from psidebug.priors import Floats, Prior
from psidebug.program.distributions import Labels
from psidebug.program.expressions import (
    Array,
    Expression,
    GivenLabel,
    LabelDiffers,
    Learned,
    Learner,
    Negation,
    Shows,
    State,
    Variable,
)
from psidebug.program.paper import LABELS
from psidebug.program.statements import If, Intervene, Let, Observe, Program, Return, Sample
from psidebug.symptoms import Symptom


@dataclass(frozen=True)
class Bernoulli:
    """1 with probability ``mean``, else 0."""

    mean: float
    about_index = False

    def __post_init__(self) -> None:
        if not 0.0 <= self.mean <= 1.0:
            raise InvalidPrior(f"Bernoulli({self.mean}) is no distribution: the mean is a probability.")

    def support_size(self, index: int | None) -> int:
        """Two, or one for a coin that always falls the same way."""
        return sum(p > 0 for p in (1.0 - self.mean, self.mean))

    def support(self, index: int | None) -> Iterator[tuple[Array, Floats]]:
        """False and True."""
        values, probabilities = np.array([False, True]), np.array([1.0 - self.mean, self.mean])
        yield values[probabilities > 0], probabilities[probabilities > 0]

    def __str__(self) -> str:
        return f"Bernoulli({self.mean:g})"


@dataclass(frozen=True)
class Constant(Expression):
    """The same number in every world."""

    value: float
    shown = "{value:g}"

    def evaluate(self, state: State) -> Array:
        """The number, once per world."""
        return np.full(len(state.worlds), self.value)


@dataclass(frozen=True)
class AnyOf(Expression):
    """e₁ ∨ e₂ ∨ …."""

    parts: tuple[Expression, ...]

    def evaluate(self, state: State) -> Array:
        """Disjunction."""
        return np.asarray(np.logical_or.reduce([part.evaluate(state).astype(bool) for part in self.parts]))

    def __str__(self) -> str:
        return " ∨ ".join(map(str, self.parts))


@dataclass(frozen=True)
class Pair(Expression):
    """(e₁, e₂, …): several values returned together, along a second axis."""

    parts: tuple[Expression, ...]

    def evaluate(self, state: State) -> Array:
        """The values side by side."""
        return np.column_stack([part.evaluate(state) for part in self.parts])

    def __str__(self) -> str:
        return ", ".join(map(str, self.parts))


def two_coins() -> Program:
    """Figure "simplepp": two fair coins, of which at least one shows heads."""
    first, second = Variable("c₁"), Variable("c₂")
    return Program(
        "TwoCoins()",
        (
            Sample("c₁", Bernoulli(0.5)),
            Sample("c₂", Bernoulli(0.5)),
            Observe(AnyOf((first, second))),
            Return(Pair((first, second))),
        ),
    )


def shared_as_printed(prior: Prior, learner: Learner, symptom: Symptom) -> Program:
    """Figure "parallel-psi" as printed: it returns 0 where the label is unchanged, and so computes the joint
    probability P(Y_i ≠ y_i, φ(𝒜(w[Y_i ← y_i])) | ¬φ(𝒜(w))) = PS(i) · P(Y_i ≠ y_i | ¬φ), not PS(i).

    Corrected, it is ``transformations.reuse_samples(sufficiency(…))``: the run is discarded for that i.
    """
    return Program(
        "PS_i(𝒜, Γ, φ)",
        (
            Sample(LABELS, Labels(prior)),
            Let("c", Learned(learner, LABELS)),
            Observe(Negation(Shows(symptom, "c"))),
            If(
                LabelDiffers(LABELS, prior.given),
                (
                    Intervene(LABELS, GivenLabel(prior.given)),
                    Let("c′", Learned(learner, LABELS)),
                    Return(Shows(symptom, "c′")),
                ),
            ),
            Return(Constant(0)),
        ),
    )
