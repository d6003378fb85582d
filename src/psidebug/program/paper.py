"""The paper's question as a program."""

from __future__ import annotations

from psidebug.priors import Prior
from psidebug.program.distributions import Labels
from psidebug.program.expressions import GivenLabel, LabelDiffers, Learned, Learner, Negation, Shows
from psidebug.program.statements import Intervene, Let, Observe, Program, Return, Sample
from psidebug.symptoms import Symptom

LABELS = "Γ.Y"


def sufficiency(prior: Prior, learner: Learner, symptom: Symptom) -> Program:
    """Figure "psi": PS(i) = P( φ(𝒜(w[Y_i ← y_i])) | ¬φ(𝒜(w)), Y_i ≠ y_i ), w ~ p_T."""
    return Program(
        "PS_i(𝒜, Γ, φ)",
        (
            Sample(LABELS, Labels(prior)),
            Observe(LabelDiffers(LABELS, prior.given)),
            Let("c", Learned(learner, LABELS)),
            Observe(Negation(Shows(symptom, "c"))),
            Intervene(LABELS, GivenLabel(prior.given)),
            Let("c′", Learned(learner, LABELS)),
            Return(Shows(symptom, "c′")),
        ),
    )
