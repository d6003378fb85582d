"""Proof by retraining: what a set of corrections does to the model, and what as many others would have done."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from psidebug.diagnosis.controls import Change, Controls, highest_losses_moved, moved_at_random, table
from psidebug.errors import LearnerFailed
from psidebug.inference.estimates import wilson_interval
from psidebug.margins import is_wrong, log_losses
from psidebug.task import learner as learners
from psidebug.task.labels import Codes
from psidebug.task.task import LabelledSet, Task

Mask = npt.NDArray[np.bool_]

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


class Judge:
    """Retrains the learner on corrected labels and compares it with a fresh fit on the labels as they are.

    A model that came fitted is fitted once more: it may have been made with options, rows or luck that a plain fit does
    not have, and the gain of a correction must not be that of fitting anew.
    """

    def __init__(self, task: Task) -> None:
        self._task = task
        self.fits = 0
        self.notes: tuple[str, ...] = ()
        self._known: dict[bytes, Verification | str] = {}
        self._model = self._fresh() if task.fitted_by_user else task.learner
        self._test = _Seen(task.margins(self._model, task.test))
        self._validation = self._on_validation(self._model)

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

    def knows(self, codes: Codes) -> bool:
        """Whether these labels can be verified without another fit."""
        return _key(codes) in self._known or np.array_equal(codes, self._task.train.codes)

    def verify(self, codes: Codes) -> Verification:
        """Retrain on these labels and measure, once however often it is asked."""
        key = _key(codes)
        if key not in self._known:
            try:
                self._known[key] = self._measured(codes)
            except LearnerFailed as error:
                self._known[key] = str(error)
        answer = self._known[key]
        if isinstance(answer, str):
            raise LearnerFailed(answer)
        return answer

    def controls(self, codes: Codes, rng: np.random.Generator) -> Controls:
        """The effect of these labels beside that of as many moved at random, and of those of highest training loss."""
        task, effect = self._task, self.verify(codes)
        margins = task.margins(self._model, task.train)
        return Controls(
            correction=effect,
            at_random=self._verified_if_trained(moved_at_random(task.train.codes, codes, rng)),
            highest_loss=self._verified_if_trained(highest_losses_moved(task.train.codes, margins, effect.corrected)),
        )

    def _verified_if_trained(self, codes: Codes) -> Verification | None:
        try:
            return self.verify(codes)
        except LearnerFailed:
            return None

    def _measured(self, codes: Codes) -> Verification:
        task, given = self._task, self._task.train.codes
        model = self._model if np.array_equal(codes, given) else self.fit(codes)
        before, after = self._test, _Seen(task.margins(model, task.test))
        was, now = self._validation, self._on_validation(model)
        # A model that lost a class gives its points an infinite loss: the gain is then -∞, of no known error.
        gains = before.losses - after.losses
        return Verification(
            corrected=int((codes != given).sum()),
            test_before=before.errors,
            test_after=after.errors,
            validation_before=None if was is None else was.errors,
            validation_after=None if now is None else now.errors,
            bugs_fixed=int((~after.wrong[task.bugs]).sum()),
            points_broken=after.broken_since(before),
            gain=float(gains.sum()),
            gain_error=float(np.sqrt(np.vdot(gains, gains))) if np.isfinite(gains).all() else float("inf"),
            margins=after.margins,
            wrong_after=after.wrong,
            log_loss_before=float(before.losses.mean()),
            log_loss_after=float(after.losses.mean()),
            validation_broken=None if was is None or now is None else now.broken_since(was),
            validation_gain=None if was is None or now is None else float((was.losses - now.losses).sum()),
        )

    def _on_validation(self, model: learners.Classifier) -> _Seen | None:
        rows: LabelledSet | None = self._task.validation
        return None if rows is None else _Seen(self._task.margins(model, rows))


@dataclass(frozen=True, eq=False)
class _Seen:
    """A model on a labelled set: its margins there, and what follows from them."""

    margins: npt.NDArray[np.float64]

    @cached_property
    def losses(self) -> npt.NDArray[np.float64]:
        return log_losses(self.margins)

    @cached_property
    def wrong(self) -> Mask:
        return is_wrong(self.margins)

    @property
    def errors(self) -> ErrorRate:
        return ErrorRate(int(self.wrong.sum()), len(self.wrong))

    def broken_since(self, before: _Seen) -> int:
        return int((self.wrong & ~before.wrong).sum())


def _change(before: ErrorRate, after: ErrorRate, broken: int) -> Change:
    return Change(fixed=before.wrong + broken - after.wrong, broken=broken, of=after.of)


def _lines(name: str, before: ErrorRate, after: ErrorRate, change: Change) -> dict[str, str]:
    return {
        f"{name} before": str(before),
        f"{name} after": str(after),
        f"{name} change": str(change),
        f"{name} change, p": f"{change.p_value:.2g}",
    }


def _key(codes: Codes) -> bytes:
    """The bytes of the labels, digested: a million of them are not kept for every world."""
    return hashlib.blake2b(np.ascontiguousarray(codes, dtype=np.int32).tobytes(), digest_size=16).digest()
