"""Proof by retraining: what a change does to the model, and what as many other labels would have done."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from psidebug import policy
from psidebug.changes import NOTHING, Change, Relabel
from psidebug.errors import LearnerFailed
from psidebug.findings.effects import Controls, ErrorRate, Mask, Verification
from psidebug.margins import best_rival, is_wrong, log_losses, predicted_by
from psidebug.task.labels import Codes
from psidebug.task.task import Task
from psidebug.training.trainer import Trainer


class Prover:
    """Retrains the learner after a change and compares it with a fresh fit on the data as they are.

    A model that came fitted is fitted once more: the gain of a correction must not be that of fitting anew.
    """

    def __init__(self, task: Task, trainer: Trainer | None = None) -> None:
        self.task = task
        self.trainer = Trainer(task) if trainer is None else trainer
        try:
            actual = self.trainer.trained(NOTHING)
        except LearnerFailed as error:
            raise LearnerFailed(
                f"{error} Corrections are proved by fitting the model again with fit(X, y), which fails: give a model "
                f"whose options allow that."
            ) from error
        self._test = _Model(actual.test)
        self._validation = None if actual.validation is None else _Model(actual.validation)
        self.notes: tuple[str, ...] = ()
        differ = float((predicted_by(actual.test, task.test.codes) != task.predicted).mean())
        if task.fitted_by_user and differ > policy.REPRODUCED:
            self.notes = (
                f"a fresh fit on the same labels classifies {differ:.0%} of the test points otherwise than the model "
                f"as it came: it was fitted on other data, with options that fit(X, y) does not have, or by chance; "
                f"corrections are compared with the fresh fit",
            )

    @property
    def fits(self) -> int:
        """How many there were."""
        return self.trainer.fits

    def verify(self, change: Change) -> Verification:
        """Retrain after this change and measure; trained once however often it is asked."""
        trained = self.trainer.trained(change)
        before, after = self._test, _Model(trained.test)
        was, now = self._validation, None if trained.validation is None else _Model(trained.validation)
        # A model that lost a class gives its points an infinite loss: the gain is then -∞, of no known error.
        gains = before.losses - after.losses
        return Verification(
            corrected=change.count(self.task.data),
            test_before=before.errors,
            test_after=after.errors,
            validation_before=None if was is None else was.errors,
            validation_after=None if now is None else now.errors,
            bugs_fixed=int((~after.wrong[self.task.bugs]).sum()),
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

    def controls(self, change: Relabel) -> Controls:
        """The effect of these labels beside that of as many moved at random, and of those of highest training loss."""
        task, effect = self.task, self.verify(change)
        given, codes = task.train.codes, change.labels(task.data)
        rng = np.random.default_rng(task.seed)
        margins = task.margins(task.learner, task.train)
        return Controls(
            correction=effect,
            at_random=self._verified_if_trained(moved_at_random(given, codes, rng)),
            highest_loss=self._verified_if_trained(highest_losses_moved(given, margins, effect.corrected)),
        )

    def _verified_if_trained(self, codes: npt.NDArray[np.intp]) -> Verification | None:
        try:
            return self.verify(Relabel.of(self.task.data, codes))
        except LearnerFailed:
            return None


@dataclass(frozen=True, eq=False)
class _Model:
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

    def broken_since(self, before: _Model) -> int:
        return int((self.wrong & ~before.wrong).sum())


def moved_at_random(given: Codes, codes: Codes, rng: np.random.Generator) -> Codes:
    """The corrected labels, permuted at random among the rows of each given class.

    As many rows move from class a to class b as in the correction: what it gains by the balance of the classes alone
    this control gains too. What is left between them is the choice of the rows.
    """
    control = codes.copy()
    for each in np.unique(given):
        members = np.flatnonzero(given == each)
        control[members] = rng.permutation(codes[members])
    return control


def highest_losses_moved(given: Codes, margins: npt.NDArray[np.float64], count: int) -> Codes:
    """The ``count`` labels of highest loss, by margins (N, K-1) on training rows, moved to the best other class."""
    control = given.copy()
    chosen = np.argsort(-log_losses(margins), kind="stable")[:count]
    control[chosen] = best_rival(margins[chosen], given[chosen])
    return control
