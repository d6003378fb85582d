"""All methods in the order of the tables, Psi first."""

from __future__ import annotations

from benchmarks.real import calibrated, rivals
from benchmarks.real.rivals import Rival

PSI = "Psi"
CALIBRATED = "calibrated labeller"
JUDGE = "judge"
CONFIDENT = "confident learning"
RIVALS = (
    Rival(PSI, rivals.psi, "one call with all defaults"),
    Rival(
        CALIBRATED,
        calibrated.find,
        "four opinions weighted by the trusted labels, noise rates in five groups of confidence",
    ),
    Rival(JUDGE, rivals.judge, "the learner trained on the trusted rows alone"),
    Rival(CONFIDENT, rivals.confident_learning, "five folds of the learner; leaves out what cleanlab calls issues"),
    Rival("nearest neighbours", rivals.knn_vote, f"how many of the {rivals.NEIGHBOURS} nearest rows say another label"),
    Rival("training loss", rivals.training_loss, "loss of the given label in the fitted learner"),
)
