"""The log loss on test points, which the correctly classified ones have a say in too."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from psidebug.errors import InvalidSymptom
from psidebug.margins import is_wrong, log_losses, loss_weights, rival_probabilities
from psidebug.symptoms.symptom import Floats, Linearisation, Margins, OfPoints, Truths


@dataclass(frozen=True)
class LogLossAbove(OfPoints):
    """The mean log loss on these test points (None: on all) is above ``threshold``, in nats per point."""

    threshold: float
    of: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        if not np.isfinite(self.threshold) or self.threshold < 0:
            raise InvalidSymptom(f"a log loss is never below {self.threshold}: give a threshold of 0 or more.")
        self.check_points()
        if self.of == ():
            raise InvalidSymptom("the log loss of no test points says nothing: name at least one.")

    def holds(self, margins: Margins) -> Truths:
        """Mean of log(1 + Σ_r exp(-m_tr)) over the points, compared with the threshold."""
        return np.asarray(self.severity(margins) > 0)

    def severity(self, margins: Margins) -> Floats:
        """The mean loss above the threshold."""
        return np.asarray(log_losses(self.watched(margins)).mean(axis=1) - self.threshold)

    def pull(self, margins: Margins) -> Margins:
        """Minus the gradient of the loss: p_tr, the probability given to each rival."""
        chosen, pull = self.positions(margins.shape[1]), np.zeros(margins.shape[1:])
        pull[chosen] = rival_probabilities(margins[:, chosen]).mean(axis=0)
        return np.asarray(pull / pull.sum())

    def linearised(self, margins: Margins) -> Linearisation:
        """Its tangent: ∂loss/∂m_tr = -p_tr, the probability the classifier gives to rival r."""
        chosen = self.positions(len(margins))
        weights = np.zeros_like(margins)
        weights[chosen] = loss_weights(margins[chosen])
        loss = float(log_losses(margins[chosen]).mean())
        return Linearisation(weights, threshold=loss - self.threshold, exact=False)

    def __str__(self) -> str:
        where = "the test set" if self.of is None else f"{len(self.of)} test points"
        return f"the log loss on {where} is above {self.threshold:.4g}"


def log_loss_above_boundary(margins: Margins, bugs: npt.NDArray[np.intp], share: float = 1.0) -> LogLossAbove:
    """The default symptom: the log loss is above what it would be with every bug moved to the decision boundary.

    With losses ℓ_t, the threshold on the n watched points is (Σ_t ℓ_t - Σ_bugs (ℓ_b - log 2)) / n. Watched are the bugs
    and the points that are classified correctly, so that an explanation which breaks good points does not pass; other
    misclassified points are left out when only some bugs were asked about. A ``share`` below 1 asks for that part of
    the way only.
    """
    losses = log_losses(margins)
    wrong = is_wrong(margins)
    wrong[bugs] = False
    watched = np.flatnonzero(~wrong)
    excess = np.maximum(losses[bugs] - np.log(2.0), 0.0).sum()
    of = None if len(watched) == len(margins) else tuple(watched.tolist())
    return LogLossAbove(threshold=float((losses[watched].sum() - share * excess) / len(watched)), of=of)
