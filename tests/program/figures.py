"""Programs that the paper prints and Psi does not run: an example, and a rewrite that is not what it is said to be."""

from __future__ import annotations

from psidebug.priors import Prior
from psidebug.program.distributions import Bernoulli, Labels
from psidebug.program.expressions import (
    AnyOf,
    Constant,
    GivenLabel,
    LabelDiffers,
    Learned,
    Learner,
    Negation,
    Pair,
    Shows,
    Variable,
)
from psidebug.program.paper import LABELS
from psidebug.program.statements import If, Intervene, Let, Observe, Program, Return, Sample
from psidebug.symptoms import Symptom


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
