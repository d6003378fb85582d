"""What was decided, with what is made of it when somebody asks: the proof, the repairs, and who decided."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from psidebug.changes import Change, Relabel
from psidebug.diagnosis import explanation
from psidebug.diagnosis.after_review import AFTER_REVIEW
from psidebug.diagnosis.either_set import CONTRADICT
from psidebug.diagnosis.named_options import stated_prior
from psidebug.diagnosis.repair import Correction
from psidebug.diagnosis.repairs import Believed, changes_of, repairs_of, told
from psidebug.diagnosis.session import Session, reopened
from psidebug.diagnosis.when_asked import WhenAsked
from psidebug.evidence.hypotheses import Hypothesis
from psidebug.exports.repaired import repaired_table
from psidebug.findings.answers import Answers
from psidebug.findings.effects import Controls
from psidebug.findings.findings import Curve, Findings, FoundRepair
from psidebug.findings.frames import curve_frame, in_library, repairs_frame, timings_frame
from psidebug.graybox.fidelity import Fidelity
from psidebug.graybox.protocol import GrayBox
from psidebug.inference.estimates import Estimates
from psidebug.progress import silent
from psidebug.spec import Spec
from psidebug.store import Run
from psidebug.symptoms import Symptom
from psidebug.task.data import Data
from psidebug.task.labels import in_labels_of
from psidebug.task.tables import Table
from psidebug.task.task import Task
from psidebug.threads import one_blas_thread
from psidebug.timings import Stopwatch


@dataclass(frozen=True, eq=False)
class Decision(Answers):
    """Findings and options, with the fits and the proof that they stand on; each part is made when first asked for."""

    found: Findings = field(repr=False)
    """All that was found but the causes of single bugs, which :attr:`findings` adds."""
    spec: Spec
    """Every option; it makes the same diagnosis again."""
    live: Session | None = field(default=None, repr=False)
    """Who found it; None of a loaded one."""
    run: Run | None = field(default=None, repr=False)
    """The files that it was loaded from; None of one just made."""
    test_metadata: Table | None = field(default=None, repr=False)
    """What :meth:`described` adds to :attr:`data`."""
    _asked: WhenAsked | None = field(default=None, repr=False)
    """The rest of the proof, shared by all that are made from one decision; None of a loaded one."""

    # ── the proof ──

    @cached_property
    def findings(self) -> Findings:
        """All that was found. The causes of single bugs take about a third of a diagnosis: not before."""
        if self.live is None or self.nothing_to_debug or self.found.bug_causes:
            return self.found
        with self._proof.watch.watching("causes of single bugs"), one_blas_thread():
            causes = explanation.causes_of_bugs(self.task, self.graybox, self.prior, self._weighed)
        why = None if causes else explanation.unexplained(self.graybox)
        return replace(self.found, bug_causes=causes, unexplained=why)

    @cached_property
    def with_proof(self) -> Self:
        """The same with the whole proof among the findings: to be saved, or shown.

        That is the :attr:`curve`, the :attr:`controls`, the :attr:`fidelity`, in the verdict if PS is a guess, and what
        retraining says of every explanation and slice. Where labels are only ranked there is nothing to prove.
        """
        found = self._proved(self.with_repairs.found if "_repairs" in vars(self) else self.found)
        live = self.live and replace(self.live, tried=vars(self._proof).get("tried") or self.live.tried)
        return replace(self, found=found, live=live)

    def _proved(self, found: Findings) -> Findings:
        if self.spec.effort != "rank":
            self._proof.everything(silent)
        return self._proof.added_to(found)

    @property
    def curve(self) -> Curve | None:
        """Error against number of corrected suspects, with PS at each point: some seven fits, when first asked for.

        None when there is nothing to debug. Of a loaded diagnosis without its learner: None if it was not measured.
        """
        return self._proof.curve

    @property
    def controls(self) -> Controls | None:
        """The correction beside as many random flips, and as many flips of the labels of highest loss: two fits.

        None without a correction. Of a loaded diagnosis without its learner: None if they were not measured.
        """
        return self._proof.controls

    @property
    def fidelity(self) -> Fidelity | None:
        """How well the gray box follows retraining here: six fits and those of the curve, when first asked for.

        None when there is nothing to debug, or if ``check_fidelity`` says no.
        """
        return self._proof.fidelity

    @cached_property
    def threshold_curve(self) -> Any:
        """Data frame of :attr:`curve`; None where that is."""
        return curve_frame(replace(self.found, curve=self.curve))

    @cached_property
    def _proof(self) -> WhenAsked:
        if self._asked is not None:
            return self._asked
        again = partial(getattr, self, "session")
        return WhenAsked(self.found, None, bool(self.spec.check_fidelity), Stopwatch(), again)

    @property
    def timings(self) -> Any:
        """Data frame of what the work took so far, by ``stage``, with the total in the last line.

        ``seconds``, ``processor_seconds`` (of this process), ``fits`` of your learner, and ``peak_memory_mb``: the most
        memory that the process had by the end of the stage, since it began, NaN where that is not known. What is made
        later, when somebody asks for it, is added. Runs do not keep it.
        """
        return timings_frame(self._proof.watch.timings, self.found.frames)

    # ── what to train on ──

    @cached_property
    def with_repairs(self) -> Self:
        """The same with its :attr:`repairs` among the findings, and in the verdict: to be saved, or shown."""
        verdict = self.found.verdict if self.found.repairs else f"{self.found.verdict} {self._repairs_told}".rstrip()
        return replace(self, found=replace(self.findings, repairs=self._repairs, verdict=verdict))

    @property
    def _repairs_told(self) -> str:
        said = told(self._repairs)
        return f"With the rows repaired: {said[0].lower()}{said[1:]}" if said and self.found.changes else said

    @cached_property
    def _repairs(self) -> tuple[FoundRepair, ...]:
        reviewed = AFTER_REVIEW in self.found.notes
        lying = self.found.suspect_tests is not None or CONTRADICT.where in {each.where for each in self.found.causes}
        # test rows whose labels may be wrong judge no repair
        if self.nothing_to_debug or not self.found.explanations or self.found.repairs or reviewed or lying:
            return self.found.repairs
        if self._proof.session is None:  # of a loaded diagnosis without its learner: they were not measured
            return ()
        stated = stated_prior(self.spec.prior, self.task)
        moves = None if stated is None else stated.moves
        with self._proof.watch.watching("repairs"), one_blas_thread():
            return repairs_of(self.session.prover.trainer, Believed.found(self.found.labels), moves, silent)

    @property
    def repaired_labels(self) -> Any:
        """The training labels with the verified corrections of every round applied, in training order.

        What a person has said about a row in :meth:`reviewed` is what it gets. A series stays a series and a numpy
        array keeps its type; anything else becomes a numpy array.
        """
        return self.data.labels_like_given(self.found.labels.repaired)

    def repaired_table(self, *causes: str, test: bool = False, trace: bool = False) -> Any:
        """The training rows, or the ``test`` rows, with these of the :attr:`causes` repaired and nothing else changed.

        A data frame with the columns as they came: ids, features, metadata, the label. ``trace`` adds a column
        ``was_…`` for each that differs, and ``was_row``, the position, if rows are left out.
        """
        table = repaired_table(self.found, self.data, causes, test=test, trace=trace)
        return in_library(table, self.found.frames)

    @property
    def repaired_weights(self) -> npt.NDArray[np.float64]:
        """A weight for each of the :attr:`repaired_labels`: how likely it is right, times its ``sample_weight``."""
        labels, own = self.found.labels, self.data.sample_weight
        weights = labels.right(labels.repaired)
        return weights if own is None else weights * own

    @cached_property
    def repairs(self) -> Any:
        """Data frame of what to train on instead of the labels as given, and which of it to take (``chosen``).

        *Relabelled*: the likeliest label of each row; *weighted*: the same, each with the confidence in it as its
        weight; *left out*: without the rows whose label is probably wrong; *with your test rows*: weighted, and the
        test rows beside them, each with the weight of a mean training row; *your test rows alone*. ``error`` (with its
        95% interval) and ``log_loss`` are cross-fitted: each test row is judged by a model that it had no say in. The
        smallest log loss is chosen, unless another has clearly fewer errors, or validation rows say that it does harm.
        It takes some twenty fits, when it is first asked for. There are none after a review.
        """
        return repairs_frame(replace(self.found, repairs=self._repairs))

    @cached_property
    def repaired_model(self) -> Any:
        """The learner, fitted on the best of the :attr:`repairs`; on :attr:`repaired_labels`, if there are none.

        If that is one "with your test rows", these cannot test it any more: its error is the cross-fitted one. Where
        the learner takes no labels but 0 … K-1, its predictions are turned into yours.
        """
        task, labels = self.task, self.found.labels
        chosen = next((each.repair for each in self._repairs if each.chosen), None)
        if chosen is None:
            change: Change = Relabel.of(task.data, labels.repaired)
        else:
            change = changes_of(task, Believed.found(labels), np.arange(len(task.test)))[chosen]
        return in_labels_of(task.encoding, self.session.prover.trainer.model(change))

    # ── who decided, and about what ──

    @cached_property
    def data(self) -> Data:
        """The rows that it is about; of a loaded one they are read now."""
        data = self.session.came or self.session.task.data if self.run is None else self.run.data
        return data if self.test_metadata is None else replace(data, test_metadata=self.test_metadata)

    @cached_property
    def session(self) -> Session:
        """Task, gray box and prover; of a loaded diagnosis the learner is fitted now."""
        if self.live is not None:
            return self.live
        assert self.run is not None, "a diagnosis was made, or loaded"
        return reopened(self.run, self.spec)

    @property
    def task(self) -> Task:
        """What was diagnosed: rows, labels, and the fitted learner."""
        return self.session.task

    @property
    def graybox(self) -> GrayBox | None:
        """What predicts the learner without training; None when there is nothing to debug."""
        return self.session.graybox

    @property
    def estimates(self) -> Estimates | None:
        """PS of every label; None when there is nothing to debug, and of a loaded diagnosis."""
        return None if self.live is None else self.live.estimates

    @property
    def symptom(self) -> Symptom | None:
        """φ, what was asked about; None when there is nothing to debug, and of a loaded diagnosis."""
        return None if self.live is None else self.live.symptom

    @property
    def hypotheses(self) -> tuple[Hypothesis, ...]:
        """The explanations that competed, most evidence first; none of a small test set or a loaded diagnosis."""
        return () if self.live is None else self.live.hypotheses

    @property
    def tried(self) -> tuple[Correction, ...]:
        """The corrections that were verified, most evidence first; none of a loaded diagnosis.

        The last one is that which is proved; :attr:`with_proof` has verified those after it, too.
        """
        return () if self.live is None else self.live.tried

    @property
    def _weighed(self) -> npt.NDArray[np.float64] | None:
        """p_wrong, if it is by evidence beyond the symptom."""
        return self.p_wrong if self.found.explanations else None
