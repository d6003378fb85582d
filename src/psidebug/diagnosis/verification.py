"""Proof by retraining: what a set of corrections does to the model, and what as many others would have done."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from psidebug.diagnosis.controls import highest_losses_moved, moved_at_random
from psidebug.errors import LearnerFailed
from psidebug.findings.effects import Controls, ErrorRate, Mask, Verification
from psidebug.symptoms import log_losses
from psidebug.task import learner as learners
from psidebug.task.labels import Codes
from psidebug.task.task import LabelledSet, Task

REPRODUCED = 0.02
"""Share of test points that a fresh fit may classify otherwise before it counts as another model."""


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
        return np.asarray(self.margins.min(axis=1) < 0)

    @property
    def errors(self) -> ErrorRate:
        return ErrorRate(int(self.wrong.sum()), len(self.wrong))

    def broken_since(self, before: _Seen) -> int:
        return int((self.wrong & ~before.wrong).sum())


def _key(codes: Codes) -> bytes:
    """The bytes of the labels, digested: a million of them are not kept for every world."""
    return hashlib.blake2b(np.ascontiguousarray(codes, dtype=np.int32).tobytes(), digest_size=16).digest()


def predicted_by(margins: npt.NDArray[np.float64], codes: Codes) -> Codes:
    """The classes that a model of these margins gives to points of these codes: the rival that is ahead, if one is."""
    rival = margins.argmin(axis=1)
    return np.where(margins.min(axis=1) < 0, rival + (rival >= codes), codes)
