"""Proof by retraining: what a change does to the model, and what as many other labels would have done."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from psidebug import policy
from psidebug.changes import NOTHING, Change, Relabel
from psidebug.errors import LearnerFailed
from psidebug.findings.effects import Controls, ErrorRate, Mask, Verification
from psidebug.margins import best_rival, is_wrong, log_losses, predicted_by
from psidebug.task.labels import Codes
from psidebug.task.learner import final_step
from psidebug.task.nets import Head
from psidebug.task.probabilities import is_head
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
        self._spent = self._net_failed = False
        differ = float((predicted_by(actual.test, task.test.codes) != task.predicted).mean())
        if task.fitted_by_user and differ > policy.REPRODUCED:
            why = "it was fitted on other data, with options that fit(X, y) does not have, or by chance"
            if isinstance(final_step(task.learner), Head):
                why = "its last layer was not trained to the end, or with other weights"
            self.notes = (
                f"a fresh fit on the same labels classifies {differ:.0%} of the test points otherwise than the model "
                f"as it came: {why}; corrections are compared with the fresh fit",
            )

    @property
    def fits(self) -> int:
        """How many there were."""
        return self.trainer.fits

    @property
    def trains(self) -> str:
        """What is trained: the learner, a stand-in for one that was not given, or of a net the head."""
        if is_head(self.task.learner):
            return "stand-in"
        if isinstance(final_step(self.task.learner), Head):
            return "untrained" if self._net_failed else "head"
        return "learner"

    @cached_property
    def of_whole_net(self) -> Prover | None:
        """Who retrains all layers of a net, as often as its budget allows; None where that is not possible."""
        if (net := self.task.whole) is None:
            return None

        def within_budget(fits: int) -> None:
            if fits >= net.most_fits:
                self._spent = True
                raise LearnerFailed(f"the net was trained {fits} times, which is what fits allows.")

        task = replace(self.task, learner=net, whole=None)
        try:
            return Prover(task, Trainer(task, before_fit=within_budget))
        except LearnerFailed as error:
            self.net_failed(error)
            return None

    def net_failed(self, error: LearnerFailed) -> None:
        """Say why not all layers are retrained; that the budget is spent is no failure."""
        self._net_failed = not self._spent
        self.notes += (f"the net was not retrained, only its head: {error}",)

    def verify(self, change: Change) -> Verification:
        """Retrain after this change and measure; trained once however often it is asked."""
        trained = self.trainer.trained(change)
        return compared(
            (self._test.margins, None if self._validation is None else self._validation.margins),
            (trained.test, trained.validation),
            self.task.bugs,
            corrected=change.count(self.task.data),
        )

    def controls(self, change: Relabel) -> Controls:
        """The effect of these labels beside that of as many moved at random, and of those of highest training loss."""
        task, effect = self.task, self.verify(change)
        given, codes = task.train.codes, change.labels(task.data)
        rng = np.random.default_rng(task.seed)
        margins = task.margins(task.learner, task.train)
        others = moved_at_random(given, codes, rng), highest_losses_moved(given, margins, effect.corrected)
        changes = [Relabel.of(task.data, each) for each in others]
        return Controls(effect, *map(self._verified_if_trained, self.trainer.in_turn(changes)))

    def _verified_if_trained(self, change: Change) -> Verification | None:
        try:
            return self.verify(change)
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


Margins = npt.NDArray[np.float64]


def compared(
    old: tuple[Margins, Margins | None],
    new: tuple[Margins, Margins | None],
    bugs: npt.NDArray[np.intp],
    *,
    corrected: int,
) -> Verification:
    """A model beside the one before, by their margins on the test and the validation set, if there is one."""
    before, after = _Model(old[0]), _Model(new[0])
    was, now = (None if each is None else _Model(each) for each in (old[1], new[1]))
    # A model that lost a class gives its points an infinite loss: the gain is then -∞, of no known error.
    gains = before.losses - after.losses
    return Verification(
        corrected=corrected,
        test_before=before.errors,
        test_after=after.errors,
        validation_before=None if was is None else was.errors,
        validation_after=None if now is None else now.errors,
        bugs_fixed=int((~after.wrong[bugs]).sum()),
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
