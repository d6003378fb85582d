"""Proof by retraining: what a set of corrections does to the model, and what as many others would have done."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from psidebug.diagnosis.controls import Change, table
from psidebug.inference.estimates import wilson_interval

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class ErrorRate:
    """A share of misclassified rows with its 95% Wilson interval."""

    wrong: int
    of: int

    @property
    def rate(self) -> float:
        """The share."""
        return self.wrong / self.of

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's interval at z = 1.96."""
        low, high = wilson_interval(self.wrong, self.of)
        return float(low), float(high)

    def __str__(self) -> str:
        low, high = self.interval
        return f"{self.rate:.3f} ({low:.3f}, {high:.3f})"


@dataclass(frozen=True, eq=False)
class Verification:
    """The effect of correcting some labels, seen by retraining the user's own learner."""

    corrected: int
    test_before: ErrorRate
    test_after: ErrorRate
    validation_before: ErrorRate | None
    validation_after: ErrorRate | None
    bugs_fixed: int
    """Of the bugs asked about."""
    points_broken: int
    """Of the whole test set."""
    gain: float
    """Rise of the test set's log likelihood, in nats."""
    gain_error: float
    """Standard error of that gain if there were none: √Σ_t g_t² over the test points' gains.

    Unlike their standard deviation it is no smaller for equal gains, so that one or two points never prove anything.
    """
    margins: npt.NDArray[np.float64] = field(default_factory=lambda: np.empty((0, 0)), repr=False)
    """Margins of the retrained model on the test set, (points, K-1)."""
    wrong_after: Mask = field(default_factory=lambda: np.empty(0, dtype=bool), repr=False)
    """Which test points the retrained model gets wrong."""
    log_loss_before: float = float("nan")
    log_loss_after: float = float("nan")
    """Mean log loss of the test set in nats; their difference times the number of points is the gain."""
    validation_broken: int | None = None
    validation_gain: float | None = None
    """Like the test set's; None without validation rows."""

    @property
    def test_change(self) -> Change:
        """Errors on the test set, paired."""
        return _change(self.test_before, self.test_after, self.points_broken)

    @property
    def validation_change(self) -> Change | None:
        """Errors on the validation set, paired; None if there is none."""
        if self.validation_before is None or self.validation_after is None or self.validation_broken is None:
            return None
        return _change(self.validation_before, self.validation_after, self.validation_broken)

    @property
    def p_value(self) -> float:
        """McNemar's, on the test set. Of a correction that the test set has chosen it says too much: see validation."""
        return self.test_change.p_value

    @property
    def figures(self) -> dict[str, str]:
        """What the table shows, by the name of the line."""
        shown = {
            "labels corrected": str(self.corrected),
            "bugs fixed": str(self.bugs_fixed),
            "points broken": str(self.points_broken),
            **_lines("test error", self.test_before, self.test_after, self.test_change),
            "gain in nats": f"{self.gain:+.1f} ± {self.gain_error:.1f}",
        }
        if self.validation_before and self.validation_after and self.validation_change:
            shown |= _lines(
                "validation error", self.validation_before, self.validation_after, self.validation_change
            ) | {"validation gain in nats": f"{self.validation_gain:+.1f}"}
        return shown

    def __str__(self) -> str:
        return table({"": self.figures})


def _change(before: ErrorRate, after: ErrorRate, broken: int) -> Change:
    return Change(fixed=before.wrong + broken - after.wrong, broken=broken, of=after.of)


def _lines(name: str, before: ErrorRate, after: ErrorRate, change: Change) -> dict[str, str]:
    return {
        f"{name} before": str(before),
        f"{name} after": str(after),
        f"{name} change": str(change),
        f"{name} change, p": f"{change.p_value:.2g}",
    }
