"""A saved run: what a diagnosis shows, from its files; and, with the learner that is among them, what it can do."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike
from typing import Any

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from psidebug.changes import Relabel
from psidebug.diagnosis.causes import BUGS_EXPLAINED, Causes
from psidebug.diagnosis.controls import Controls
from psidebug.diagnosis.curve import Curve
from psidebug.diagnosis.diagnosis import Diagnosis
from psidebug.diagnosis.explanation import Explanation, check_row, explain
from psidebug.diagnosis.proof import Prover
from psidebug.diagnosis.verification import Verification
from psidebug.errors import NotMisclassified, UnknownRow
from psidebug.graybox.fidelity import Fidelity
from psidebug.graybox.protocol import GrayBox
from psidebug.priors import Prior
from psidebug.slices.conditions import Condition
from psidebug.store.again import (
    check_learner,
    diagnosed_again,
    graybox_again,
    labeller_in,
    prior_in,
    task_of,
)
from psidebug.store.effects import SavedCorrection, causes_in, controls_in, correction_in, curve_in, fidelity_in
from psidebug.store.format import frame_of, read_record
from psidebug.store.inputs import RunInputs
from psidebug.store.stored import restored_series
from psidebug.store.values import from_json
from psidebug.task import learner as learners
from psidebug.task.labels import Codes, Encoding
from psidebug.task.task import Task

Rows = npt.NDArray[np.intp]
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, eq=False)
class Run(RunInputs):
    """What :func:`load_run` returns. Names are those of :class:`~psidebug.diagnosis.diagnosis.Diagnosis`."""

    learner: Any = None
    """The learner, where it was given by :meth:`with_learner`; None where the one that was saved is used."""

    def report(self, path: str | PathLike[str]) -> None:
        """Write the run as one HTML page that needs no network. The file appears whole or not at all."""
        from psidebug.report import write_report  # reports know runs; a run only opens the door

        write_report(self, path)

    def _repr_html_(self) -> str:
        from psidebug.report import in_a_notebook

        return in_a_notebook(self)

    # ── what was found ──

    @property
    def verdict(self) -> str:
        """The result in two sentences."""
        return str(self.record["verdict"])

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the answers should know."""
        return tuple(self.record["notes"])

    @property
    def settings(self) -> Mapping[str, str]:
        """How it was decided."""
        return dict(self.record["settings"])

    @cached_property
    def order(self) -> Rows:
        """Positions of the suspects, best first."""
        rank = self.files.labels["rank"].to_numpy().astype(np.float64)
        suspects = np.flatnonzero(np.isfinite(rank))
        return np.asarray(suspects[np.argsort(rank[suspects])])

    @cached_property
    def suspects(self) -> Any:
        """Data frame of every suspect, best first, in the library of the diagnosis if it is installed."""
        numbers = {name: self.files.labels[name].to_numpy()[self.order] for name in ("ps", "ps_low", "ps_high")}
        proposed = self.files.codes(self.files.labels, "proposed")[self.order]
        return self._causes_frame(self.order, proposed, numbers)

    @cached_property
    def slices(self) -> Any:
        """Data frame of what the suspects have in common."""
        return self.files.frame("slices")

    @cached_property
    def explanations(self) -> Any:
        """Data frame of the explanations that competed."""
        return self.files.frame("explanations")

    @cached_property
    def conditions(self) -> tuple[tuple[Condition, ...], ...]:
        """The conditions of each slice, in the order of :attr:`slices`; they can be evaluated on any table."""
        each_slice = [record["conditions"] for record in self.record["conditions"]]
        return tuple(tuple(read_record(Condition, one) for one in conditions) for conditions in each_slice)

    def members(self, number: int) -> Rows:
        """Positions of the training rows of a slice: those that meet its conditions and carry its label."""
        held = [condition.holds(getattr(self, condition.home)) for condition in self.conditions[number]]
        given = self.encoding.classes.index(from_json(self.record["conditions"][number]["given"]))
        return np.flatnonzero(np.logical_and.reduce([*held, self.given == given]))

    @cached_property
    def correction(self) -> SavedCorrection | None:
        """The verified correction; None if nothing that was tried improves the model."""
        return correction_in(self.files)

    @property
    def corrected(self) -> int:
        """Number of labels that the verified correction changes."""
        return 0 if self.correction is None else self.correction.verified.corrected

    @cached_property
    def controls(self) -> Controls | None:
        """The verified correction beside the two controls."""
        return controls_in(self.files, self.correction)

    @cached_property
    def curve(self) -> Curve | None:
        """Error against number of corrected suspects."""
        return curve_in(self.files)

    @cached_property
    def threshold_curve(self) -> Any:
        """Data frame of :attr:`curve`; None when there was nothing to debug."""
        found = self.record["curve"]
        return None if found is None else frame_of(found["frame"], self.record["frames"])

    @cached_property
    def fidelity(self) -> Fidelity | None:
        """How well the gray box followed retraining; None if that was not measured."""
        return fidelity_in(self.files)

    @property
    def repaired_labels(self) -> Any:
        """The training labels with the verified corrections applied: a series or array like the one given."""
        form = self.files.form("labels")
        if self.files.has("repaired"):
            return restored_series(self.files.table("repaired"), form)
        labels = self.encoding.decode(self.files.codes(self.files.labels, "repaired"))
        return labels.astype(form["dtype"]).reshape(form["shape"])

    # ── the test set ──

    @cached_property
    def test(self) -> Any:
        """Data frame of the test rows: label, predicted, whether it is a bug, and the prediction after correction."""
        table = self.files.predictions
        data = {name: self.encoding.decode(self.files.codes(table, name)) for name in ("label", "predicted")}
        data["bug"] = table["bug"].to_numpy()
        if self.correction is not None:
            data["after"] = self.encoding.decode(self.files.codes(table, "after"))
        return self.files.frame_with(data)

    @cached_property
    def bugs(self) -> Rows:
        """Positions of the test rows to explain."""
        return np.flatnonzero(self.files.predictions["bug"].to_numpy())

    @property
    def nothing_to_debug(self) -> bool:
        """Whether there were no bugs."""
        return len(self.bugs) == 0

    def explained(self, most: int = BUGS_EXPLAINED) -> tuple[Causes, ...]:
        """The bugs whose causes are kept, those most confidently wrong first, each with its first causes."""
        return self._explained[:most]

    @cached_property
    def _explained(self) -> tuple[Causes, ...]:
        return causes_in(self.files)

    def causes(self, test_row: int) -> Any:
        """Data frame of the first causes of one bug, best first; kept for the most confidently wrong bugs."""
        if test_row not in self.record["explained"]:
            if test_row not in self.bugs:
                raise NotMisclassified(f"test row {test_row!r} is no bug of this run; its bugs are in bugs.")
            raise UnknownRow(f"the causes of test row {test_row!r} were not saved: ask the diagnosis, by explain.")
        found = next(each for each in self._explained if each.test_row == test_row)
        numbers = {"ps": found.ps, "ps_low": found.low, "ps_high": found.high}
        return self._causes_frame(found.positions, found.proposed, numbers)

    # ── what needs the learner ──

    def with_learner(self, model: Any) -> Run:
        """The run with its learner, where that could not be saved; the class must be the one that was diagnosed."""
        check_learner(self.files, model)
        return Run(self.files, learners.fresh(model))

    def encoding_for(self, model: Any) -> Encoding:
        """The classes as this learner knows them."""
        only_codes = learners.takes_only_codes(model) and not self.encoding.learned
        return replace(self.encoding, as_codes=self.encoding.as_codes or only_codes)

    @cached_property
    def task(self) -> Task:
        """The task that was diagnosed, with its learner fitted again."""
        return task_of(self)

    @cached_property
    def prior(self) -> Prior:
        """p_T under which PS was taken."""
        return prior_in(self.files, self.given, self.encoding.size)

    @cached_property
    def _prover(self) -> Prover:
        return Prover(self.task)

    @cached_property
    def _graybox(self) -> GrayBox:
        return graybox_again(self.task, self.settings)

    def verify(self, rows: Iterable[Any] | Mapping[Any, Any]) -> Controls:
        """What correcting these training rows (ids) would do, by retraining, beside the two controls.

        They get the proposed labels, or those that a mapping gives them.
        """
        proposed = self.files.codes(self.files.labels, "proposed")
        return self._prover.controls(Relabel.of_rows(self.task.data, rows, proposed))

    def retrain(self, labels: Mapping[int, Any]) -> Verification:
        """The learner trained with these labels, by position, in the place of the given ones: bugs fixed, errors."""
        return self._prover.verify(Relabel.of_positions(self.task.data, labels))

    def explain(self, test_row: int, *, budget: int = 12) -> Explanation:
        """The causes of one misclassified test point, and the smallest correction found; as of the diagnosis."""
        check_row(self.task, test_row)
        if self.nothing_to_debug:
            raise NotMisclassified("this run was made without bugs; run debug again without bugs=[].")
        labeller = labeller_in(self.files, self.encoding.size)
        weighed = bool(self.record["explanations"][0]["values"])
        with threadpool_limits(limits=1, user_api="blas"):
            return explain(
                self._prover,
                self._graybox,
                self.prior,
                int(test_row),
                p_wrong=self.files.labels["p_wrong"].to_numpy() if weighed else None,
                test_probability=None if labeller is None else labeller[int(test_row)],
                budget=budget,
            )

    def diagnose_again(self, known: Mapping[Any, Any], *, progress: Progress | None = None) -> Diagnosis:
        """A new diagnosis of the same rows after a person has settled some labels, by row id.

        These labels are facts: the learner is trained on them, and they are neither suspects nor changed.
        """
        return diagnosed_again(self, known, progress)

    def __repr__(self) -> str:
        return f"<Run {str(self.path)!r}: {self.verdict}>"

    def _causes_frame(self, positions: Rows, proposed: Codes, numbers: Mapping[str, Any]) -> Any:
        """Training rows with their labels and these numbers."""
        data = {
            "row": self.rows[positions],
            "given": self.encoding.decode(self.given[positions]),
            "proposed": self.encoding.decode(proposed),
            **numbers,
            "p_wrong": self.files.labels["p_wrong"].to_numpy()[positions],
        }
        return self.files.frame_with(data)
