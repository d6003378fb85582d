"""The answer: suspects, what they have in common, the verified corrections, and how it was decided."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
import numpy.typing as npt

from psidebug import policy
from psidebug.changes import Relabel
from psidebug.diagnosis import explanation
from psidebug.diagnosis.causes import BUGS_EXPLAINED, Causes, causes_of_bugs
from psidebug.diagnosis.controls import Controls
from psidebug.diagnosis.curve import Curve
from psidebug.diagnosis.frames import best_of_each_slice, curve_frame, explanations_frame, slices_frame, suspects_frame
from psidebug.diagnosis.proof import Prover
from psidebug.diagnosis.repair import Correction, best_of
from psidebug.diagnosis.verdict import verdict
from psidebug.diagnosis.verification import Verification
from psidebug.display import Display
from psidebug.errors import LearnerFailed, NotMisclassified, UnknownOption
from psidebug.evidence.hypotheses import Hypothesis
from psidebug.graybox.fidelity import Fidelity
from psidebug.graybox.protocol import GrayBox
from psidebug.inference.estimates import Estimates
from psidebug.priors import Prior
from psidebug.slices.slices import Slice
from psidebug.sufficiency import group_sufficiency
from psidebug.symptoms import Symptom
from psidebug.task.labels import Codes
from psidebug.task.task import Task

if TYPE_CHECKING:
    from psidebug.store import Run


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """What :func:`psidebug.debug` returns."""

    task: Task
    estimates: Estimates | None
    """None when there is nothing to debug."""
    tried: tuple[Correction, ...]
    """Every correction that was verified, that of the best explanation first."""
    graybox: GrayBox | None
    prior: Prior
    """p_T under which PS is taken: as stated, or learned."""
    settings: Mapping[str, str]
    """How it was decided: symptom, gray box, engine and why, noise rate, fidelity, number of fits."""
    fidelity: Fidelity | None = None
    """How well the gray box follows retraining here; None if that was not measured."""
    symptom: Symptom | None = None
    """φ, what was asked about."""
    prover: Prover | None = field(default=None, repr=False)
    """Who retrains."""
    hypotheses: tuple[Hypothesis, ...] = ()
    """The explanations that competed, most evidence first; none if the test set is too small."""
    curve: Curve | None = None
    """Error against number of corrected suspects, and the threshold that it suggests."""
    controls: Controls | None = None
    """The verified correction beside as many random flips, and as many flips of the labels with the highest loss."""
    later: tuple[Diagnosis, ...] = ()
    """The rounds after this one, each a diagnosis of the model trained on what was corrected before."""
    _unreviewed: tuple[Hypothesis, ...] = field(default=(), repr=False)
    known: Codes | None = field(default=None, repr=False)
    """True labels (N,) that a person has stated, -1 elsewhere; None before any review."""
    display: Display = field(default_factory=Display)
    """How rows are to be shown."""
    notes: tuple[str, ...] = ()
    """What a reader of the answers should know: an unfinished fit, a stand-in for the learner, a doubtful estimate."""

    @property
    def nothing_to_debug(self) -> bool:
        """Whether the classifier gets every test point right (or no bugs were named)."""
        return len(self.task.bugs) == 0

    @cached_property
    def order(self) -> npt.NDArray[np.intp]:
        """Positions of the suspects, first those most likely wrong.

        They are the labels that are causes, and those that may well be wrong: with ``policy.WORTH_A_LOOK`` if a
        hypothesis is likely. Among equally likely ones the more sufficient cause is first. Without evidence on what is
        wrong the order is by PS; where some bugs were picked out it is by ps × p_wrong, since a label that is wrong
        need not concern them.
        """
        if self.estimates is None:
            return np.empty(0, dtype=np.intp)
        if not self.hypotheses:
            return explanation.ranked(self.estimates)
        picked = len(self.task.bugs) < int((self.task.predicted != self.task.test.codes).sum())
        causes = (self.estimates.high > 0) & (self.p_wrong > 0)
        least = policy.WORTH_A_LOOK if self.hypotheses[0].likely else 0.5
        suspects = np.flatnonzero(causes if picked else causes | (self.p_wrong > least))
        first = self.estimates.ps * self.p_wrong if picked else self.p_wrong
        keys = (suspects, -self.estimates.ps[suspects], -first[suspects])
        return np.asarray(suspects[np.lexsort(keys)])

    @cached_property
    def p_wrong(self) -> npt.NDArray[np.float64]:
        """How likely each label (N,) is wrong, by the explanation with the most evidence; else P(Y_i ≠ y_i | ¬φ)."""
        if self.hypotheses:
            return self.hypotheses[0].p_wrong(self.task.train.codes)
        return np.zeros(len(self.task.train)) if self.estimates is None else self.estimates.p_wrong

    @cached_property
    def proposed(self) -> Codes:
        """The likeliest other class of each label (N,)."""
        if not self.hypotheses:
            return self.task.train.codes if self.estimates is None else self.estimates.proposed
        others = self.hypotheses[0].posterior.copy()
        others[np.arange(len(others)), self.task.train.codes] = -1.0
        return np.asarray(others.argmax(axis=1))

    @cached_property
    def suspects(self) -> Any:
        """Data frame of every training row that is suspected, best first, in the user's own data-frame library.

        Columns: ``row`` (id, or position), ``given``, ``proposed``, ``ps`` (``ps_low``, ``ps_high``): how sufficient
        the label is as a cause of the symptom, and ``p_wrong``: how likely it is wrong. See :attr:`order`.
        """
        return suspects_frame(self.task, self.estimates, self.order, self.proposed, self.p_wrong)

    @cached_property
    def slices(self) -> Any:
        """Data frame of what the suspects have in common, that of the best explanation first.

        ``rows`` carry the label ``given`` and meet the ``condition``; ``suspects`` is the share of them among the first
        suspects (as many as are corrected); ``ps`` is that of the group, all its labels together as one cause; ``z``
        and ``p_value`` (corrected for all that was looked at) say how far they stand out; the rest is the verified
        effect of what its explanation corrects in it.
        """
        found = [(each, self._effect_in(each, of)) for each, of in best_of_each_slice(self.tried)]
        sufficient = [float("nan")] * len(found)
        if self.graybox is not None and self.symptom is not None:
            groups = [each.members for each, _ in found]
            sufficient = group_sufficiency(self.graybox, self.prior, self.symptom, groups, self.proposed)
        return slices_frame(self.task, found, sufficient, self.order[: self.corrected or len(self.order)])

    def _effect_in(self, suspect: Slice, correction: Correction) -> Verification:
        """What the part of a correction in one of its slices does; the whole of it if there is no other."""
        if len(correction.hypothesis.accused) < 2 or self.prover is None:
            return correction.verified
        own = np.isin(correction.change.rows, suspect.members)
        try:
            return self.prover.verify(Relabel(correction.change.rows[own], correction.change.codes[own]))
        except LearnerFailed:
            return correction.verified

    @cached_property
    def explanations(self) -> Any:
        """Data frame of how it was decided: every explanation that competed, most evidence first.

        ``evidence`` in nats must exceed its ``charge``, and the ``gain`` of the model retrained on ``corrected`` labels
        its ``gain_error`` (twice that for scattered errors), for the explanation to be ``proved``.
        """
        return explanations_frame(self.task, self._unreviewed or self.hypotheses, self.tried)

    def explained(self, most: int = BUGS_EXPLAINED) -> tuple[Causes, ...]:
        """The bugs that are most confidently wrong, each with its first causes; :meth:`explain` says more of one."""
        p_wrong = self.p_wrong if self.hypotheses else None
        return causes_of_bugs(self.task, self.graybox, self.prior, p_wrong, most=most)

    @cached_property
    def threshold_curve(self) -> Any:
        """Data frame of :attr:`curve`; None when there is nothing to debug."""
        return None if self.curve is None else curve_frame(self.task, self.curve)

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
        """The training labels with the verified corrections of every round applied, in training order.

        What a person has said about a row in :meth:`reviewed` is what it gets.

        A series stays a series and a numpy array keeps its type; anything else becomes a numpy array.
        """
        codes = self.task.train.codes
        for each in (self, *self.later):
            codes = codes if each.correction is None else each.correction.codes
        if self.known is not None:
            codes = np.where(self.known >= 0, self.known, codes)
        return _as_given(self.task, codes)

    @property
    def verdict(self) -> str:
        """The result in two sentences; a third one when PS is a guess."""
        return verdict(self.task, self.correction, self.hypotheses, self.fidelity)

    def explain(self, test_row: int, *, budget: int = 12) -> explanation.Explanation:
        """The causes of one misclassified test point: PS of every training label for that error alone.

        With the smallest set of corrections found that repairs it, verified by at most ``budget`` fits, and a warning
        where the evidence says that it is the label of the test row that is wrong.
        """
        explanation.check_row(self.task, test_row)
        if self.graybox is None or self.prover is None:
            raise NotMisclassified("this diagnosis was made without bugs; run debug again without bugs=[].")
        best = self.hypotheses[0] if self.hypotheses else None
        return explanation.explain(
            self.prover,
            self.graybox,
            self.prior,
            int(test_row),
            p_wrong=None if best is None else self.p_wrong,
            test_probability=None if best is None else np.exp(best.calibrated.test[int(test_row)]),
            budget=budget,
        )

    def verify(self, rows: Iterable[Any] | Mapping[Any, Any]) -> Controls:
        """What correcting these training rows (ids) would do, by retraining, beside the two controls.

        They get the proposed labels, or those that a mapping gives them.
        """
        if self.prover is None:
            raise NotMisclassified("there is nothing to debug, so there is nothing to verify.")
        return self.prover.controls(Relabel.of_rows(self.task.data, rows, self.proposed))

    def reviewed(self, *, confirmed: Iterable[Any] | Mapping[Any, Any] = (), rejected: Iterable[Any] = ()) -> Diagnosis:
        """The diagnosis after a person has looked at some suspects; nothing is trained, the rest is ranked anew.

        ``confirmed`` rows (ids) have the proposed label, or the one that a mapping gives them; ``rejected`` rows are
        right as they are. What is known of them teaches the noise rates of their slice and class.
        """
        if not self.hypotheses:
            raise UnknownOption("this diagnosis has no evidence that could be ranked anew: the test set is too small.")
        known = np.full(len(self.task.train), -1, dtype=np.intp) if self.known is None else self.known.copy()
        right = self.task.data.positions(rejected)
        known[right] = self.task.train.codes[right]
        told = self.task.data.positions(confirmed)
        known[told] = self.proposed[told]
        if isinstance(confirmed, Mapping):
            known[told] = self.task.encoding.encode(list(confirmed.values()), where="confirmed")
        if len(np.intersect1d(told, right)):
            raise UnknownOption("a row is both confirmed and rejected: name it once.")
        unreviewed = self._unreviewed or self.hypotheses
        told_so = "the verdict, slices and figures are those from before the review; repaired_labels follows the review"
        return replace(
            self,
            hypotheses=tuple(each.after_review(self.task.train.codes, known) for each in unreviewed),
            known=known,
            notes=self.notes if told_so in self.notes else (*self.notes, told_so),
            _unreviewed=unreviewed,
        )

    def report(self, path: str | PathLike[str]) -> None:
        """Write the diagnosis as one HTML page that needs no network. The file appears whole or not at all."""
        from psidebug.report import write_report  # reports know diagnoses; a diagnosis only opens the door

        write_report(self, path)

    def save(self, path: str | PathLike[str]) -> None:
        """Write a run directory of plain files (Parquet and JSON); it appears whole or not at all."""
        from psidebug.store import save_run  # saved runs know diagnoses, not the other way round

        save_run(self, path)

    @staticmethod
    def load(path: str | PathLike[str]) -> Run:
        """What a saved run shows; it can be asked, and retrained, as long as its learner could be saved too."""
        from psidebug.store import load_run

        return load_run(path)

    def __repr__(self) -> str:
        return f"<Diagnosis: {self.verdict}>"

    def _repr_html_(self) -> str:
        from psidebug.report import in_a_notebook

        return in_a_notebook(self)


def _as_given(task: Task, codes: Codes) -> Any:
    """Labels in the form in which the user gave them."""
    labels, given = task.encoding.decode(codes), task.data.given_labels
    if isinstance(given, np.ndarray) and given.dtype.kind != "U":  # a longer text may not fit into U5
        return labels.astype(given.dtype).reshape(given.shape)
    if not nw.dependencies.is_into_series(given):
        return labels
    if nw.dependencies.is_pandas_series(given):
        repaired = given.copy()
        changed = np.flatnonzero(codes != task.data.codes_as_they_came)
        repaired.iloc[changed] = labels[changed]
        return repaired
    series = nw.from_native(given, series_only=True)
    backend: Any = nw.get_native_namespace(series)
    return nw.new_series(series.name, labels.tolist(), dtype=series.dtype, backend=backend).to_native()
