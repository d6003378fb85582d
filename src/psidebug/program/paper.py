"""The paper's programs, by name."""

from __future__ import annotations

from psidebug.priors import Prior
from psidebug.program.expressions import AnyOf, LabelDiffers, Learned, Learner, Not, Pair, Shows, Variable
from psidebug.program.statements import Bernoulli, Intervene, Let, Observe, Program, Return, Sample
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


def sufficiency(prior: Prior, learner: Learner, symptom: Symptom) -> Program:
    """Figure "psi": PS(i) = P( φ(𝒜(w[Y_i ← y_i])) | ¬φ(𝒜(w)), Y_i ≠ y_i ), w ~ p_T."""
    return Program(
        "PS_i(𝒜, Γ, φ)",
        (
            Sample("Γ.Y", prior, name="p_T"),
            Observe(LabelDiffers("Γ.Y", prior.given)),
            Let("c", Learned(learner, "Γ.Y")),
            Observe(Not(Shows(symptom, "c"))),
            Intervene("Γ.Y", prior.given),
            Let("c′", Learned(learner, "Γ.Y")),
            Return(Shows(symptom, "c′")),
        ),
    )
