"""Symptoms φ: what is wrong with a classifier, as predicates on its margins.

Margins have shape (worlds, points, K-1): the advantage of a test point's right class over each rival, in each world. A
point is misclassified when its smallest margin is negative. Symptoms know test points by their position and combine
with ``&``, ``|`` and ``~``.
"""

from __future__ import annotations

from psidebug.symptoms.log_loss import LogLossAbove, log_loss_above_boundary
from psidebug.symptoms.misclassified import Misclassified, at_least, misclassified
from psidebug.symptoms.symptom import And, Changes, Linearisation, Margins, Not, Or, Symptom

__all__ = [
    "And",
    "Changes",
    "Linearisation",
    "LogLossAbove",
    "Margins",
    "Misclassified",
    "Not",
    "Or",
    "Symptom",
    "at_least",
    "log_loss_above_boundary",
    "misclassified",
]
