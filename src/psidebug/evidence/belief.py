"""What is believed of a label, as a rule: from what predictors say of its row to the posterior of its true class.

Hypotheses are weighed on some of the rows, if there are many. The rule that comes out of it is then applied to all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from psidebug.evidence.calibration import Calibrated
from psidebug.evidence.held_out import Floats, Mask, Rows
from psidebug.evidence.noise_rates import posterior_of
from psidebug.margins import sums_of_rows
from psidebug.task.labels import Codes


@dataclass(frozen=True, eq=False)
class Labels:
    """Given labels (n,) of some rows, the group of each, and what is known about the true ones."""

    codes: Codes
    groups: Rows
    known: Codes | None = None
    possible: Mask | None = None
    stated: Floats | None = None


@dataclass(frozen=True, eq=False)
class Belief:
    """W_ik ∝ P(k | x_i) R_g(i)(y_i | k), R with a share ρ that follows the look of its row (decision 23)."""

    calibrated: Calibrated
    """P."""
    rates: tuple[Floats, ...]
    """R of each group."""
    follow: float | None = None
    """ρ of group 0."""
    look: Calibrated | None = None
    """q, where labels may follow the look of their row."""
    shares: Floats | None = None
    """Of the classes, where the user has stated P(true label | given label)."""

    def posterior(self, logs: Floats, look: Floats | None, labels: Labels) -> Floats:
        """W (n, K), for log P (n, K) and log q (n, K)."""
        probability = np.exp(logs) * (1.0 if labels.possible is None else labels.possible)
        made = np.empty_like(probability)
        for group, rates in enumerate(self.rates):
            own = labels.groups == group
            codes, known = labels.codes[own], None if labels.known is None else labels.known[own]
            if group == 0 and self.shares is not None and labels.stated is not None:
                joint = probability[own] * labels.stated[own] / np.maximum(self.shares, 1e-6)
                made[own] = joint / np.maximum(sums_of_rows(joint), 1e-300)[:, None]
                continue
            follow = self.follow if group == 0 else None
            seen = None if follow is None or look is None else np.exp(look[own, :][np.arange(len(codes)), codes])
            made[own] = posterior_of(probability[own], rates, codes, known, follow, seen)[0]
        return made


def mean_posterior(beliefs: Sequence[Belief], logs: Sequence[Floats], look: Floats | None, labels: Labels) -> Floats:
    """The mean of W by several beliefs, each with its own log P; labels that nobody doubts have W = 1."""
    size = logs[0].shape[1]
    made = np.mean([each.posterior(own, look, labels) for each, own in zip(beliefs, logs, strict=True)], axis=0)
    if labels.possible is not None:
        sure = labels.possible.sum(axis=1) <= 1
        made[sure] = np.eye(size)[labels.codes[sure]]
    if labels.known is not None:
        settled = labels.known >= 0
        made[settled] = np.eye(size)[labels.known[settled]]
    return np.asarray(made)
