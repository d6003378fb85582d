"""The trainer: whoever wants something fitted, once a task is through the door, asks it.

Every fit has the seed of the task and one thread for linear algebra (decision 9), is counted, and can be stopped before
it begins. What the learner says after a change of its data is kept, by what was changed: asked twice, it trains once.
Fits that do not depend on each other are spread over processes when that pays, and where it changes no digit.

Fits start cold, even where the loss is strictly convex. Measured on logistic regression (lbfgs, newton-cg,
newton-cholesky; 900 × 64, 4,000 × 107, 50,000 × 50): started from the actual coefficients at the learner's own
tolerance, a single flip is up to 7 times faster and wrong by up to as much as it moves the margins, since the solver
finds itself near enough already; at a tolerance that gives the same margins, 5% of the labels take 0.7 to 1.8 times
as long as cold.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from psidebug import timings
from psidebug.changes import NOTHING, Change, Relabel
from psidebug.errors import LearnerFailed
from psidebug.task import learner as learners
from psidebug.task.labels import Codes
from psidebug.task.nets import WholeNet
from psidebug.task.tables import Table, take
from psidebug.task.task import Task
from psidebug.threads import WORTH_THREADS, thread_options
from psidebug.training.backends import Backend, Here, Several, WhenItPays
from psidebug.training.fits import Fit, Fitting, Trained, Training, said

Floats = npt.NDArray[np.float64]
KEPT_BYTES = 2**28
DEVICE_OPTIONS = ("device", "device_type", "task_type")
"""Options that name an accelerator."""


class Trainer:
    """Trains the learner of one task, and whatever is asked beside it.

    ``backend`` runs fits that do not depend on each other, by default where :func:`backend_for` says; ``before_fit`` is
    called with the number of fits so far and may raise, which stops the work. With ``one_thread`` the learner's own
    threads are one, too: then the answer is the same on any back end, to the last digit.
    """

    def __init__(
        self,
        task: Task,
        *,
        backend: Backend | None = None,
        one_thread: bool = False,
        before_fit: Callable[[int], None] | None = None,
        kept_bytes: int = KEPT_BYTES,
    ) -> None:
        self.task = _one_threaded(task) if one_thread else task
        self._given_backend = backend
        self._backend = backend_for(task) if backend is None else backend
        self._one_thread = one_thread
        self._before_fit = before_fit
        self._kept: OrderedDict[bytes, Trained | LearnerFailed] = OrderedDict()
        self._room = max(1, kept_bytes // (8 * len(task.test) * (task.encoding.size - 1)))
        self.fits = 0
        """Of the user's learner; those that are asked beside it are not counted."""

    def __getstate__(self) -> dict[str, Any]:
        """Without who is told of fits: that is somebody of this process."""
        return {**vars(self), "_before_fit": None}

    def fit(
        self,
        estimator: Any,
        features: Table,
        labels: npt.NDArray[Any],
        weights: Floats | None = None,
        *,
        counted: bool = False,
    ) -> Any:
        """A copy of any estimator, fitted on these rows; ``counted`` if it is the user's own."""
        return next(self.fit_each(estimator, [Fit(features, labels, weights)], counted=counted))

    def fit_each(self, estimator: Any, fits: Several[Fit], *, counted: bool = False) -> Iterator[Any]:
        """Several copies, each fitted on rows of its own, in their order."""
        answers = self._backend.map(Fitting(estimator, self.task.seed, self._one_thread), fits)
        for _ in range(len(fits)):
            if counted:
                self._count()
            answer = next(answers)
            if isinstance(answer, LearnerFailed):
                raise answer
            yield answer

    def beside(self, task: Task) -> Trainer:
        """One for another task, whose fits are told to the same listener."""
        told = self._before_fit
        before = None if told is None else lambda fits: told(self.fits + fits)
        return Trainer(task, backend=self._given_backend, one_thread=self._one_thread, before_fit=before)

    def refit(self, codes: Codes, rows: npt.NDArray[np.intp]) -> learners.Classifier:
        """The learner on some training rows, by position, with their labels among these (N,) and their weights."""
        data = self.task.data
        weights = None if data.sample_weight is None else data.sample_weight[rows]
        labels = data.encoding.native[codes[rows]]
        return self.fit(self.task.learner, take(data.train.features, rows), labels, weights, counted=True)

    def model(self, change: Change) -> learners.Classifier:
        """The learner itself after a change; it is not kept."""
        self._count()
        return Training(self.task, self._one_thread).model(change)

    def after(self, change: Change) -> Task:
        """The task after a change: the learner trained on it as a whole, and its errors on the test rows."""
        data = change.applied(self.task.data)
        labels = data.encoding.native[data.train.codes]
        model = self.fit(self.task.learner, data.train.features, labels, data.sample_weight, counted=True)
        predicted = self.task.predict(model, data.test)
        return Task(model, data, predicted, np.flatnonzero(predicted != data.test.codes), self.task.seed)

    def knows(self, change: Change) -> bool:
        """Whether the answer to :meth:`trained` needs no further fit."""
        return change.key in self._kept or self._is_actual(change)

    def trained(self, change: Change = NOTHING) -> Trained:
        """What the learner says after a change; raises :class:`LearnerFailed` if it cannot be trained on that."""
        return next(self.trained_each([change]))

    def trained_each(self, changes: Sequence[Change]) -> Iterator[Trained]:
        """The same of several changes, in their order."""
        return map(self._known, self.in_turn(changes))

    def in_turn(self, changes: Sequence[Change]) -> Iterator[Change]:
        """The changes, each when the learner was trained after it; those that are not known run on the back end.

        What fails says so when it is asked for.
        """
        new = {each.key: each for each in changes if not self.knows(each)}
        if len(new) > 1:
            _ = self.task.seen_in_every_world  # once, and not in every process
        answers = self._backend.map(Training(self.task, self._one_thread), list(new.values()))
        for change in changes:
            if new.pop(change.key, None) is not None:
                self._count()
                self._keep(change, next(answers))
            yield change

    def _known(self, change: Change) -> Trained:
        if change.key not in self._kept:
            if self._is_actual(change):
                self._keep(change, said(self.task, self.task.learner, self.task.data))
            else:  # others have taken its room meanwhile
                next(self.in_turn([change]))
        answer = self._kept[change.key]
        self._kept.move_to_end(change.key)
        if isinstance(answer, LearnerFailed):
            raise LearnerFailed(str(answer))
        return answer

    def _is_actual(self, change: Change) -> bool:
        """Whether this is the learner as it is: nothing changed, and it was fitted here, as any other fit is."""
        as_any_fit = not self.task.fitted_by_user and not self._one_thread
        return as_any_fit and isinstance(change, Relabel) and change.count(self.task.data) == 0

    def _count(self) -> None:
        if self._before_fit is not None:
            self._before_fit(self.fits)
        self.fits += 1
        timings.count_fit()

    def _keep(self, change: Change, answer: Trained | LearnerFailed) -> None:
        self._kept[change.key] = answer
        if len(self._kept) > self._room:
            self._kept.popitem(last=False)


def backend_for(task: Task) -> Backend:
    """Other processes when it pays, if a fit is the same there to the last digit; here otherwise.

    It is where a fit has one thread wherever it is made: of few rows in both sets together, with no other number of
    threads asked for, on no accelerator. Nets are trained by what their users give, which may not travel.
    """
    options = task.learner.get_params() if hasattr(task.learner, "get_params") else {}
    threads = [options[key] for key in thread_options(task.learner)] if options else []
    devices = [str(value).lower() for key, value in options.items() if key.split("__")[-1] in DEVICE_OPTIONS]
    plain = all(each is None for each in threads) and not set(devices) - {"none", "cpu"}
    at_home = task.whole is not None or isinstance(learners.final_step(task.learner), WholeNet)
    few = len(task.train) + len(task.test) < WORTH_THREADS  # some learn from the rows of both sets
    return WhenItPays() if plain and not at_home and few else Here()


def _one_threaded(task: Task) -> Task:
    """The task with a learner that uses one thread, whatever its options say."""
    threaded = thread_options(task.learner)
    return task.with_options(**dict.fromkeys(threaded, 1)) if threaded else task
