"""A saved run: what a diagnosis shows, from its files, without the learner and without computing anything anew."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from psidebug.diagnosis.conditions import Condition
from psidebug.diagnosis.controls import Controls
from psidebug.diagnosis.curve import Curve
from psidebug.errors import NotMisclassified, UnknownRow
from psidebug.graybox.fidelity import Fidelity
from psidebug.labels import Codes, Encoding, array_of
from psidebug.runs.effects import SavedCorrection, controls_in, correction_in, curve_in, fidelity_in
from psidebug.runs.files import RunFiles
from psidebug.runs.format import frame_of, read_record
from psidebug.runs.stored import restored_series
from psidebug.runs.values import Json, from_json, values_of
from psidebug.tables import Table

Rows = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Run:
    """What :func:`load_run` returns. Names are those of :class:`~psidebug.diagnosis.diagnosis.Diagnosis`."""

    files: RunFiles

    @property
    def path(self) -> Path:
        """Where it is."""
        return self.files.directory

    @property
    def record(self) -> Json:
        """``run.json`` as it was read, with fields that this version does not know."""
        return self.files.record

    # ── what it was made from ──

    @property
    def fingerprint(self) -> Mapping[str, str]:
        """Digests of training set, test set and row ids, and the learner as text."""
        return dict(self.record["fingerprint"])

    @property
    def created(self) -> str:
        """When it was saved, UTC, in ISO form."""
        return str(self.record["created"])

    @property
    def seed(self) -> int:
        """The seed of the task."""
        return int(self.record["seed"])

    @property
    def encoding(self) -> Encoding:
        """The classes, in the learner's order."""
        return self.files.encoding

    @cached_property
    def features(self) -> Table:
        """The training rows as they were given."""
        return self.files.features("train")

    @cached_property
    def test_features(self) -> Table:
        """The test rows as they were given."""
        return self.files.features("test")

    @cached_property
    def metadata(self) -> Table | None:
        """The columns about the training rows that the learner never saw; None if there were none."""
        return self.files.features("metadata") if self.files.has("metadata") else None

    @cached_property
    def rows(self) -> npt.NDArray[Any]:
        """Ids of the training rows."""
        return array_of(values_of(self.files.labels, "row"))

    @cached_property
    def sample_weight(self) -> npt.NDArray[np.float64] | None:
        """Weights of the training rows; None when all are 1."""
        return self.files.labels["weight"].to_numpy() if "weight" in self.files.labels.column_names else None

    @cached_property
    def given(self) -> Codes:
        """Codes (N,) of the training labels as given."""
        return self.files.codes(self.files.labels, "given")

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

    def causes(self, test_row: int) -> Any:
        """Data frame of the first causes of one bug, best first; kept for the most confidently wrong bugs."""
        if test_row not in self.record["explained"]:
            if test_row not in self.bugs:
                raise NotMisclassified(f"test row {test_row!r} is no bug of this run; its bugs are in bugs.")
            raise UnknownRow(f"the causes of test row {test_row!r} were not saved: ask the diagnosis, by explain.")
        table = self.files.table("causes")
        table = table.filter(np.asarray(table["test_row"].to_numpy() == test_row))
        numbers = {name: table[name].to_numpy() for name in ("ps", "ps_low", "ps_high")}
        positions = table["position"].to_numpy().astype(np.intp)
        return self._causes_frame(positions, self.files.codes(table, "proposed"), numbers)

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
