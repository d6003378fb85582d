"""The answer: what was found, joined with who can find more."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from os import PathLike
from typing import Any

import numpy as np
import numpy.typing as npt

from psidebug.changes import Change, Relabel
from psidebug.diagnosis import explanation
from psidebug.diagnosis.after_review import AFTER_REVIEW, after_review
from psidebug.diagnosis.as_findings import origin_of
from psidebug.diagnosis.either_set import CONTRADICT
from psidebug.diagnosis.find import find
from psidebug.diagnosis.named_options import check_spec, stated_prior
from psidebug.diagnosis.repair import Correction
from psidebug.diagnosis.repairs import Believed, changes_of, repairs_of, told
from psidebug.diagnosis.session import Session, reopened, settled
from psidebug.diagnosis.when_asked import WhenAsked
from psidebug.errors import NotMisclassified, UnknownOption
from psidebug.evidence.hypotheses import Hypothesis
from psidebug.exports.repaired import repaired_table
from psidebug.findings.answers import Answers
from psidebug.findings.effects import Controls, Verification
from psidebug.findings.findings import Causes, Curve, Findings, FoundRepair
from psidebug.findings.frames import curve_frame, in_library, labels_frame, repairs_frame, timings_frame
from psidebug.graybox.fidelity import Fidelity
from psidebug.graybox.protocol import GrayBox
from psidebug.inference.estimates import Estimates
from psidebug.progress import silent, watched
from psidebug.report.notebook import FIRST, ShownRows, in_a_notebook
from psidebug.spec import Spec
from psidebug.store import Run, check_run_place, load_run, save_run
from psidebug.symptoms import Symptom
from psidebug.task.data import Data
from psidebug.task.labels import array_of, in_labels_of
from psidebug.task.tables import Table
from psidebug.task.task import Task
from psidebug.threads import one_blas_thread
from psidebug.timings import Stopwatch, Tick, staged, stopwatch


@dataclass(frozen=True, eq=False)
class Diagnosis(Answers):
    """What :func:`psidebug.debug` returns, and :meth:`load` from files: the same findings, the same questions.

    A loaded one fits its learner again when it is first asked something that takes a fit.

    Examples
    --------
    Every second flower is a training row, and those with long sepals are marked 0, by mistake.

    >>> import psidebug
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = load_iris(return_X_y=True)
    >>> y_train = y[::2].copy()
    >>> y_train[X[::2, 0] > 6.5] = 0
    >>> model = LogisticRegression(max_iter=1000)
    >>> diagnosis = psidebug.debug(model, X[::2], y_train, X[1::2], y[1::2], progress=False)
    >>> print(diagnosis.cause)
    training_labels
    >>> list(diagnosis.suspects.columns)
    ['row', 'given', 'proposed', 'ps', 'ps_low', 'ps_high', 'p_wrong']
    >>> model.fit(X[::2], diagnosis.repaired_labels).score(X[1::2], y[1::2]) > 0.9
    True
    """

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
    later: tuple[Diagnosis, ...] = ()
    """The rounds after this one, each a diagnosis of the model trained on what was corrected before."""
    _asked: WhenAsked | None = field(default=None, repr=False)
    """The rest of the proof, shared by all that are made from one decision; None of a loaded one."""

    @classmethod
    def of(
        cls, rounds: Sequence[tuple[Findings, Session]], spec: Spec, watch: Stopwatch, tick: Tick = silent
    ) -> Diagnosis:
        """The first round, with the later ones; with the whole proof if that is asked for."""
        made = []
        for found, session in rounds:
            asked = WhenAsked(found, session, bool(spec.check_fidelity), watch)
            if spec.effort == "prove":
                asked.everything(tick)
            made.append(cls(found, spec, session, _asked=asked))
        first, *later = (each.with_proof if spec.effort == "prove" else each for each in made)
        return replace(first, later=tuple(later))

    # ── what was found ──

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
    def with_proof(self) -> Diagnosis:
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

    @cached_property
    def with_repairs(self) -> Diagnosis:
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

    @cached_property
    def data(self) -> Data:
        """The rows that it is about; of a loaded one they are read now."""
        data = self.session.came or self.session.task.data if self.run is None else self.run.data
        return data if self.test_metadata is None else replace(data, test_metadata=self.test_metadata)

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

    def explained(self, most: int = explanation.BUGS_EXPLAINED) -> tuple[Causes, ...]:
        """The bugs that are most confidently wrong, each with its first causes; :meth:`explain` says more of one."""
        return self.findings.bug_causes[:most]

    # ── who can find more ──

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

    def explain(self, test_row: Any, *, budget: int = 12) -> explanation.Explanation:
        """The causes of one misclassified test point: PS of every training label for that error alone.

        ``test_row`` is its id where test rows have ids, as by the index of a pandas table, else its position. With the
        smallest set of corrections found that repairs it, verified by at most ``budget`` fits, beside as many random
        labels that are moved, three fits more; and a warning where the evidence says that it is the label of the test
        row that is wrong.
        """
        row = explanation.position_of(self.found.predictions, test_row)
        if self.nothing_to_debug or self.graybox is None:
            raise NotMisclassified("this diagnosis was made without bugs; run debug again without bugs=[].")
        said = self.found.test_probabilities
        with one_blas_thread():
            found = explanation.explain(
                self.session.prover,
                self.graybox,
                self.prior,
                row,
                p_wrong=self._weighed,
                test_probability=None if said is None else said[row],
                budget=budget,
            )
        return replace(found, test_row=test_row, rows=self._shown)

    def look_at(self, rows: int | Iterable[Any] = FIRST) -> ShownRows:
        """Suspects with the values of their rows: the first so many, or the training rows with these ids."""
        if isinstance(rows, int):
            return replace(self._shown(self.suspects), most=rows)
        labels = self.found.labels
        chosen = replace(labels, order=self.data.positions(rows))
        frame = labels_frame(chosen, self.found.encoding, self.found.frames)
        return replace(self._shown(frame), most=len(chosen.order))

    def _shown(self, frame: Any) -> ShownRows:
        return ShownRows(frame, self.found, self.data)

    def verify(self, rows: Iterable[Any] | Mapping[Any, Any]) -> Controls:
        """What correcting these training rows (ids) would do, by retraining, beside the two controls.

        They get the proposed labels, or those that a mapping gives them.
        """
        with one_blas_thread():
            return self.session.prover.controls(Relabel.of_rows(self.data, rows, self.proposed))

    def retrain(self, labels: Mapping[int, Any]) -> Verification:
        """The learner trained with these labels, by position, in the place of the given ones: bugs fixed, errors."""
        with one_blas_thread():
            return self.session.prover.verify(Relabel.of_positions(self.data, labels))

    def diagnose_again(self, known: Mapping[Any, Any], *, progress: Tick | bool | None = None) -> Diagnosis:
        """A new diagnosis of the same rows, with the same options, after a person has settled some labels, by row id.

        These labels are facts: the learner is trained on them, and they are neither suspects nor changed.
        """
        self.spec.check_kept()
        task = self.task if self.session.came is None else replace(self.task, data=self.session.came)
        watch = stopwatch()
        with watched(progress) as told, watch.watching("the model's fit"):
            begun, tick = watch.fits, staged(told)
            again = settled(task, known)
            origin = origin_of(again, self.found.origin.seed)
            found = Diagnosis.of(find(again, self.spec, origin, tick, begun=begun), self.spec, watch, tick)
        return found.described(
            source=self.found.origin.source, test_ids=self.found.predictions.ids, test_metadata=self.data.test_metadata
        )

    def reviewed(self, *, confirmed: Iterable[Any] | Mapping[Any, Any] = (), rejected: Iterable[Any] = ()) -> Diagnosis:
        """The diagnosis after a person has looked at some suspects; nothing is trained, the rest is ranked anew.

        ``confirmed`` rows (ids) have the proposed label, or the one that a mapping gives them; ``rejected`` rows are
        right as they are. What is known of them teaches the noise rates of their slice and class.
        """
        if self.live is None or not self.hypotheses:
            why = "the test set is too small" if self.run is None else "it was loaded; diagnose_again takes such labels"
            why = 'labels were only ranked; use effort="decide"' if self.spec.effort == "rank" else why
            raise UnknownOption(f"this diagnosis has no evidence that could be ranked anew: {why}.")
        found, live = after_review(self.found, self.live, confirmed, rejected)
        return replace(self, found=found, live=live)

    # ── with more about it ──

    def with_learner(self, model: Any) -> Diagnosis:
        """A loaded diagnosis with its learner, where that could not be saved; of the class that was diagnosed."""
        if self.run is None:
            raise UnknownOption("this diagnosis has its learner: only a loaded one may need it.")
        return replace(self, run=self.run.with_learner(model))

    def with_options(self, **options: Any) -> Diagnosis:
        """With these options of :func:`psidebug.debug` for :meth:`diagnose_again`, as those that no file could hold.

        That is ``symptom``, ``prior``, ``graybox``, ``engine``, ``rounds``, ``check_fidelity`` and ``effort``.
        """
        spec = replace(self.spec, **options)
        check_spec(spec, len(self.found.predictions.labels))
        return replace(self, spec=spec)

    def described(
        self,
        *,
        source: Mapping[str, Any] | None = None,
        test_ids: Iterable[Any] | None = None,
        test_metadata: Table | None = None,
    ) -> Diagnosis:
        """With what is known about its rows beside features and labels: it is shown, and nothing else is made of it.

        ``source`` says where the rows came from, for the corrected data to look like them: ``label`` (the name of that
        column), ``id`` (or None), ``columns`` (all names, in order), ``train``, ``test`` and ``validation`` (names of
        the files). ``test_ids`` name the test rows; ``test_metadata`` has the columns of the metadata for them.
        """
        found = self.found
        ids = found.predictions.ids if test_ids is None else array_of(list(test_ids))
        return replace(
            self,
            found=replace(
                found,
                origin=replace(found.origin, source=dict(source or found.origin.source)),
                predictions=replace(found.predictions, ids=ids),
            ),
            test_metadata=self.test_metadata if test_metadata is None else test_metadata,
        )

    # ── pages and files ──

    def report(self, path: str | PathLike[str]) -> None:
        """Write the diagnosis as one HTML page that needs no network. The file appears whole or not at all."""
        from psidebug.report import write_report  # page templates are not needed before

        write_report(self._proved(self.with_repairs.found), self.data, path)

    def save(self, path: str | PathLike[str]) -> None:
        """Write a run directory of plain files (Parquet and JSON); it appears whole or not at all.

        A run of the same inputs that is already there is replaced in one step; anything else there is refused by an
        :class:`~psidebug.errors.OutputError`. The learner is saved unfitted, as skops, if every part of it is of a type
        that is safe to open again (:mod:`psidebug.models`); else ``run.json`` says why not.
        """
        check_run_place(path, self.found.origin.fingerprint)  # before the causes are worked out
        found = self.with_repairs.found if "_repairs" in vars(self) else self.findings  # if they were asked for
        findings = self._proof.added_to(found)
        run = self.run
        learner = self.task.learner if run is None else run.learner if run.has_learner else None
        save_run(path, findings, self.data, self.spec, learner)

    @staticmethod
    def load(path: str | PathLike[str]) -> Diagnosis:
        """A saved diagnosis; it can be asked, and retrained, as long as its learner could be saved too."""
        return Diagnosis.saved(load_run(path))

    @classmethod
    def saved(cls, run: Run) -> Diagnosis:
        """That of a run which is loaded already."""
        return cls(run.findings, run.spec, run=run)

    def __repr__(self) -> str:
        return f"<Diagnosis: {self.verdict}>"

    def __str__(self) -> str:
        odd = [f"  {each.sentence}" for each in self.found.checks]
        said = [f"  {each.said[:1].upper()}{each.said[1:]}." for each in self.found.slices if each.said]
        decided = bool(self.found.explanations) and not self.found.corrected  # then no label is accused
        parts = [("Before the diagnosis", odd), ("", [self.verdict]), ("What they have in common", said)]
        parts.append(("First suspects", [] if decided or not len(self.suspects) else [repr(self.look_at(5))]))
        return "\n\n".join("\n".join([*([name] if name else []), *lines]) for name, lines in parts if lines)

    def _repr_html_(self) -> str:
        return in_a_notebook(self.found, self.data)
