"""Proof by retraining: what a set of corrections does to the model."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from psidebug import learner as learners
from psidebug.errors import LearnerFailed
from psidebug.inference.estimates import wilson_interval
from psidebug.labels import Codes
from psidebug.symptoms import log_losses
from psidebug.task import LabelledSet, Task

REPRODUCED = 0.02
"""Share of test points that a fresh fit may classify otherwise before it counts as another model."""


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


@dataclass(frozen=True, eq=False)
class Verification:
    """The effect of correcting some labels, seen by retraining the user's own learner."""

    corrected: int
    test_before: ErrorRate
    test_after: ErrorRate
    validation_before: ErrorRate | None
    validation_after: ErrorRate | None
    bugs_fixed: int
    points_broken: int
    gain: float
    """Rise of the test set's log likelihood, in nats."""
    gain_error: float
    """Standard error of that gain if there were none: √Σ_t g_t² over the test points' gains.

    Unlike their standard deviation it is no smaller for equal gains, so that one or two points never prove anything.
    """
    margins: npt.NDArray[np.float64] = field(default_factory=lambda: np.empty((0, 0)), repr=False)
    """Margins of the retrained model on the test set, (points, K-1)."""


class Judge:
    """Retrains the learner on corrected labels and compares it with a fresh fit on the labels as they are.

    A model that came fitted is fitted once more: it may have been made with options, rows or luck that a plain fit does
    not have, and the gain of a correction must not be that of fitting anew.
    """

    def __init__(self, task: Task) -> None:
        self._task = task
        self.fits = 0
        self.notes: tuple[str, ...] = ()
        before = self._fresh() if task.fitted_by_user else task.learner
        self._losses = log_losses(task.margins(before, task.test))
        self._wrong = task.predict(before, task.test) != task.test.codes
        self._validation = None if task.validation is None else _errors(task, before, task.validation)

    def _fresh(self) -> learners.Classifier:
        """The learner fitted anew on the given labels; a note if that is another model than the one that came."""
        task = self._task
        try:
            model = self.fit(task.train.codes)
        except LearnerFailed as error:
            raise LearnerFailed(
                f"{error} Corrections are proved by fitting the model again with fit(X, y), which fails: give a model "
                f"whose options allow that."
            ) from error
        differ = float((task.predict(model, task.test) != task.predicted).mean())
        if differ > REPRODUCED:
            self.notes = (
                f"a fresh fit on the same labels classifies {differ:.0%} of the test points otherwise than the model "
                f"as it came: it was fitted on other data, with options that fit(X, y) does not have, or by chance; "
                f"corrections are compared with the fresh fit",
            )
        return model

    def fit(self, codes: Codes, *, rows: npt.NDArray[np.intp] | None = None) -> learners.Classifier:
        """The learner trained on these labels (N,), on some rows only if they are named."""
        self.fits += 1
        return self._task.refit(codes, rows=rows)

    def verify(self, codes: Codes) -> Verification:
        """Retrain on these labels and measure."""
        task = self._task
        model = self.fit(codes)
        # A model that lost a class gives its points an infinite loss: the gain is then -∞, of no known error.
        margins = task.margins(model, task.test)
        gains = self._losses - log_losses(margins)
        wrong = task.predict(model, task.test) != task.test.codes
        validation = task.validation
        return Verification(
            corrected=int((codes != task.train.codes).sum()),
            test_before=ErrorRate(int(self._wrong.sum()), len(wrong)),
            test_after=ErrorRate(int(wrong.sum()), len(wrong)),
            validation_before=self._validation,
            validation_after=None if validation is None else _errors(task, model, validation),
            bugs_fixed=int((~wrong[task.bugs]).sum()),
            points_broken=int((wrong & ~self._wrong).sum()),
            gain=float(gains.sum()),
            gain_error=float(np.sqrt(np.vdot(gains, gains))) if np.isfinite(gains).all() else float("inf"),
            margins=margins,
        )


def _errors(task: Task, model: learners.Classifier, on: LabelledSet) -> ErrorRate:
    wrong: npt.NDArray[np.bool_] = task.predict(model, on) != on.codes
    return ErrorRate(int(wrong.sum()), len(on))
