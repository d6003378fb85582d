"""The answer: what was found, joined with who can find more."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any

from psidebug.changes import Relabel
from psidebug.diagnosis import explanation
from psidebug.diagnosis.after_review import after_review
from psidebug.diagnosis.as_findings import origin_of
from psidebug.diagnosis.decision import Decision
from psidebug.diagnosis.find import find
from psidebug.diagnosis.named_options import check_spec
from psidebug.diagnosis.session import Session, settled
from psidebug.diagnosis.when_asked import WhenAsked
from psidebug.errors import NotMisclassified, UnknownOption
from psidebug.findings.effects import Controls, Verification
from psidebug.findings.findings import Causes, Findings
from psidebug.findings.frames import labels_frame
from psidebug.progress import silent, watched
from psidebug.report.notebook import FIRST, ShownRows, in_a_notebook, shown_tests
from psidebug.spec import Spec
from psidebug.store import Run, check_run_place, load_run, save_run
from psidebug.task.labels import array_of
from psidebug.task.tables import Table
from psidebug.threads import one_blas_thread
from psidebug.timings import Stopwatch, Tick, staged, stopwatch


@dataclass(frozen=True, eq=False)
class Diagnosis(Decision):
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

    later: tuple[Diagnosis, ...] = ()
    """The rounds after this one, each a diagnosis of the model trained on what was corrected before."""

    @classmethod
    def of(
        cls, rounds: Sequence[tuple[Findings, Session]], spec: Spec, watch: Stopwatch, tick: Tick = silent
    ) -> Diagnosis:
        """The first round, with the later ones; with the whole proof if that is asked for."""
        made = []
        for found, session in ((found, session.sketched) for found, session in rounds):
            asked = WhenAsked(found, session, bool(spec.check_fidelity), watch)
            if spec.effort == "prove":
                asked.everything(tick)
            made.append(cls(found, spec, session, _asked=asked))
        first, *later = (each.with_proof if spec.effort == "prove" else each for each in made)
        return replace(first, later=tuple(later))

    # ── ask more ──

    def explained(self, most: int = explanation.BUGS_EXPLAINED) -> tuple[Causes, ...]:
        """The bugs that are most confidently wrong, each with its first causes; :meth:`explain` says more of one."""
        return self.findings.bug_causes[:most]

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

    def look_at(self, rows: int | Iterable[Any] = FIRST, *, test: bool = False) -> ShownRows:
        """Suspects with the values of their rows: the first so many, or the training rows with these ids.

        With ``test``: the test labels that are probably wrong, or the test rows with these ids.
        """
        shown = shown_tests(self.found, self.data) if test else self._shown(self.suspects)
        if isinstance(rows, int):
            return replace(shown, most=rows)
        labels = shown.findings.labels
        chosen = replace(labels, order=shown.data.positions(rows, "test" if test else "training"))
        frame = labels_frame(chosen, self.found.encoding, self.found.frames)
        return replace(shown, frame=frame, most=len(chosen.order))

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
        tests = len(self.suspect_tests)
        parts.append(("Test labels that are probably wrong", [repr(self.look_at(5, test=True))] if tests else []))
        return "\n\n".join("\n".join([*([name] if name else []), *lines]) for name, lines in parts if lines)

    def _repr_html_(self) -> str:
        return in_a_notebook(self.found, self.data)
