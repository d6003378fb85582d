"""The answer: suspects, what they have in common, the verified corrections, and how it was decided."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from psidebug.diagnosis.repair import Correction, best_of
from psidebug.diagnosis.slices import Slice
from psidebug.diagnosis.verification import Verification
from psidebug.errors import NotMisclassified, UnknownRow
from psidebug.graybox.fidelity import Fidelity
from psidebug.graybox.protocol import GrayBox
from psidebug.inference.estimates import Estimates
from psidebug.priors import Prior
from psidebug.sufficiency import sufficiency
from psidebug.symptoms import misclassified
from psidebug.tables import frame_like
from psidebug.task import Task


@dataclass(frozen=True, eq=False)
class Explanation:
    """The causes of one misclassified test point."""

    test_row: int
    given: Any
    """Its label in the test set."""
    predicted: Any
    """What the classifier says instead."""
    causes: Any
    """Data frame of training rows, most sufficient first: row, given, proposed, ps, ps_low, ps_high, p_wrong."""
    engine: str

    def __str__(self) -> str:
        return (
            f"Test row {self.test_row} is labelled {self.given!r} and classified {self.predicted!r}; "
            f"{len(self.causes)} training labels can be a cause."
        )


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """What :func:`psidebug.debug` returns."""

    task: Task
    estimates: Estimates | None
    """None when there is nothing to debug."""
    tried: tuple[Correction, ...]
    """Every correction that was verified, best gain first."""
    graybox: GrayBox | None
    prior: Prior
    settings: Mapping[str, str]
    """How it was decided: symptom, gray box, engine and why, noise rate, fidelity, number of fits."""
    fidelity: Fidelity | None = None
    """How well the gray box follows retraining here; None if that was not measured."""
    notes: tuple[str, ...] = ()
    """What a reader of the answers should know: an unfinished fit, a stand-in for the learner, a doubtful estimate."""

    @property
    def nothing_to_debug(self) -> bool:
        """Whether the classifier gets every test point right (or no bugs were named)."""
        return len(self.task.bugs) == 0

    @cached_property
    def order(self) -> npt.NDArray[np.intp]:
        """Positions of the training rows that can be a cause, most sufficient first."""
        return np.empty(0, dtype=np.intp) if self.estimates is None else ranked(self.estimates)

    @cached_property
    def suspects(self) -> Any:
        """Data frame of every training row that can be a cause, best first, in the user's own data-frame library.

        Columns: ``row`` (id, or position), ``given``, ``proposed``, ``ps`` (``ps_low``, ``ps_high``), ``p_wrong``.
        """
        return _causes(self.task, self.estimates)

    @cached_property
    def slices(self) -> Any:
        """Data frame of what the suspects have in common, largest verified gain first.

        ``rows`` carry the label ``given`` and meet the ``condition``; ``suspects`` is their share among the first
        suspects (as many as are corrected); ``z`` says how far their PS stands out; the rest is the verified effect of
        the better of two corrections, all rows or only those where a model trained without them disagrees.
        """
        found = _best_of_each_slice(self.tried)
        suspected = np.zeros(len(self.task.train), dtype=bool)
        suspected[self.order[: self.corrected or len(self.order)]] = True
        return frame_like(
            {
                "condition": np.array([each.condition for each, _ in found], dtype=object),
                "given": self.task.encoding.decode(np.array([each.given for each, _ in found], dtype=np.intp)),
                "rows": np.array([len(each.members) for each, _ in found], dtype=np.intp),
                "suspects": np.array([suspected[each.members].mean() for each, _ in found]),
                "z": np.array([each.z for each, _ in found]),
                "corrected": np.array([effect.corrected for _, effect in found], dtype=np.intp),
                "gain": np.array([effect.gain for _, effect in found]),
                "test_error": np.array([effect.test_after.rate for _, effect in found]),
            },
            self.task.train.features,
        )

    @cached_property
    def correction(self) -> Correction | None:
        """The correction to apply; None if retraining says that nothing tried improves the model."""
        return best_of(self.tried)

    @property
    def corrected(self) -> int:
        """Number of labels that the verified correction changes."""
        return 0 if self.correction is None else self.correction.verified.corrected

    @property
    def repaired_labels(self) -> Any:
        """The training labels with the verified corrections applied, in training order.

        A series stays a series and a numpy array keeps its type; anything else becomes a numpy array.
        """
        codes = self.task.train.codes if self.correction is None else self.correction.codes
        labels = self.task.encoding.decode(codes)
        given = self.task.given_labels
        if isinstance(given, np.ndarray) and given.dtype.kind != "U":  # a longer text may not fit into U5
            return labels.astype(given.dtype).reshape(given.shape)
        if not nw.dependencies.is_into_series(given):
            return labels
        if nw.dependencies.is_pandas_series(given):
            repaired = given.copy()
            changed = np.flatnonzero(codes != self.task.train.codes)
            repaired.iloc[changed] = labels[changed]
            return repaired
        series = nw.from_native(given, series_only=True)
        backend: Any = nw.get_native_namespace(series)
        return nw.new_series(series.name, labels.tolist(), dtype=series.dtype, backend=backend).to_native()

    @property
    def verdict(self) -> str:
        """The result in two sentences; a third one when the order of the suspects is a guess."""
        if np.any(self.task.predicted != self.task.test.codes) and self.nothing_to_debug:
            return "Nothing to debug: none of the misclassified test points was named as a bug."
        if self.nothing_to_debug:
            return "Nothing to debug. The classifier gets every one of these test points right."
        bugs = self._bugs_told
        best = self.correction
        if best is None:
            return (
                f"{bugs}, and no correction of training labels that was tried repairs the model. The labels are "
                f"probably not to blame.{self._doubt}"
            )
        after = best.verified
        told = f"{bugs}, and the best explanation is: {best.explanation}."
        repaired = (
            f"Correcting {after.corrected} labels takes the test error from {after.test_before.rate:.3f} to "
            f"{after.test_after.rate:.3f}"
        )
        if after.validation_before is not None and after.validation_after is not None:
            repaired += (
                f" and the error on validation rows, which had no say in it, from {after.validation_before.rate:.3f} "
                f"to {after.validation_after.rate:.3f}"
            )
        return f"{told} {repaired}.{self._doubt}"

    @property
    def _bugs_told(self) -> str:
        """How many test points are wrong, and how many of them were asked about if not all."""
        wrong, bugs = int((self.task.predicted != self.task.test.codes).sum()), len(self.task.bugs)
        told = "1 test point is misclassified" if wrong == 1 else f"{wrong} test points are misclassified"
        return told if bugs == wrong else f"{told}, of which {bugs} {'was' if bugs == 1 else 'were'} asked about"

    @property
    def _doubt(self) -> str:
        """What the verdict adds when the gray box is not to be trusted."""
        if self.fidelity is None or self.fidelity.trustworthy:
            return ""
        return (
            f" The order of the suspects is a guess: on this task the gray box {self.fidelity.graybox!r} does not "
            f"follow retraining closely enough."
        )

    def explain(self, test_row: int) -> Explanation:
        """The causes of one misclassified test point: PS of every training label for that error alone."""
        task = self.task
        if (
            isinstance(test_row, bool)
            or not isinstance(test_row, int | np.integer)
            or not 0 <= test_row < len(task.test)
        ):
            raise UnknownRow(f"explain takes the position of a test row, 0 to {len(task.test) - 1}, not {test_row!r}.")
        row = int(test_row)
        if task.predicted[row] == task.test.codes[row]:
            raise NotMisclassified(f"test row {row} is classified correctly: there is no error to explain.")
        if self.graybox is None:
            raise NotMisclassified("this diagnosis was made without bugs; run debug again without bugs=[].")
        with threadpool_limits(limits=1, user_api="blas"):  # the same answer whatever the number of threads
            chance = np.random.default_rng(task.seed)
            estimates = sufficiency(self.graybox, self.prior, misclassified(row), rng=chance)
        classes = task.encoding.classes
        return Explanation(
            test_row=row,
            given=classes[task.test.codes[row]],
            predicted=classes[task.predicted[row]],
            causes=_causes(task, estimates),
            engine=estimates.engine,
        )

    def report(self, path: str | PathLike[str]) -> None:
        """Write the diagnosis as one HTML page that needs no network. The file appears whole or not at all."""
        from psidebug.report import write_report  # reports know diagnoses; a diagnosis only opens the door

        write_report(self, path)

    def __repr__(self) -> str:
        return f"<Diagnosis: {self.verdict}>"


def ranked(estimates: Estimates) -> npt.NDArray[np.intp]:
    """Rows that can be a cause, by PS, then by the probability of being wrong, then by position."""
    can_cause = np.flatnonzero(estimates.high > 0)
    keys = (can_cause, -estimates.p_wrong[can_cause], -estimates.ps[can_cause])
    return np.asarray(can_cause[np.lexsort(keys)])


def _causes(task: Task, estimates: Estimates | None) -> Any:
    order = np.empty(0, dtype=np.intp) if estimates is None else ranked(estimates)
    nothing = np.empty(0)
    return frame_like(
        {
            "row": task.rows[order],
            "given": task.encoding.decode(task.train.codes[order]),
            "proposed": task.encoding.decode(order if estimates is None else estimates.proposed[order]),
            "ps": nothing if estimates is None else estimates.ps[order],
            "ps_low": nothing if estimates is None else estimates.low[order],
            "ps_high": nothing if estimates is None else estimates.high[order],
            "p_wrong": nothing if estimates is None else estimates.p_wrong[order],
        },
        task.train.features,
    )


def _best_of_each_slice(tried: tuple[Correction, ...]) -> list[tuple[Slice, Verification]]:
    best: dict[str, tuple[Slice, Verification]] = {}
    for each in tried:  # best gain first
        if each.slice is not None:
            best.setdefault(each.slice.column, (each.slice, each.verified))
    return list(best.values())
