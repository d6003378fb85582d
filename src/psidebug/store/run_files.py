"""The files of a saved run: each is checked, and read as findings or as rows."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from psidebug.display import display_of
from psidebug.errors import UnreadableRun
from psidebug.file_kinds import typed_table
from psidebug.findings.annotators import AnnotatorFindings
from psidebug.findings.effects import Controls, Verification
from psidebug.findings.findings import (
    Causes,
    Curve,
    Findings,
    FoundCause,
    LabelFindings,
    Point,
    Predictions,
    VerifiedCorrection,
)
from psidebug.priors import Prior
from psidebug.store.manifest import EVERY_LABEL, RUN_FILE, own_file
from psidebug.store.sound import (
    check_all_labels,
    flags_in,
    numbers_in,
    places_below,
    places_in,
    shares_in,
)
from psidebug.store.stored import restored, restored_series
from psidebug.store.stored_annotators import TABLES, annotators_in
from psidebug.store.stored_changes import cause_of, change_of, suspect_tests_of
from psidebug.store.stored_spec import matrix_in
from psidebug.store.values import Json, from_json, read_record, values_of
from psidebug.task.data import Data, LabelledSet
from psidebug.task.labels import Codes, Encoding, array_of
from psidebug.task.probabilities import OutOfFold

NOT_ASKED = (FoundCause("cannot_say", "", "only training labels were asked about", "Diagnose again.", 0.0, 0.0, False),)
"""The causes of a run from before there were any but labels."""


@dataclass(frozen=True, eq=False)
class RunFiles:
    """The record in ``run.json``, and the tables that it names."""

    path: Path
    record: Json

    def has(self, name: str) -> bool:
        """Whether there is such a file."""
        return name in self.record["files"]

    def place(self, name: str) -> Path:
        """The path of a file, checked."""
        if not self.has(name):
            raise UnreadableRun(f"{self.path / RUN_FILE} is damaged: it names no file for {name}. Save the run again.")
        return own_file(self.path, self.record["files"][name]["path"])

    def check(self, name: str) -> None:
        """Raise :class:`UnreadableRun` if a file is missing or was changed."""
        path, entry = self.place(name), self.record["files"][name]
        try:
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
        except FileNotFoundError:
            raise UnreadableRun(
                f"{self.path} lacks its file {entry['path']}. Copy the whole directory, or save the run again."
            ) from None
        except OSError as error:
            raise UnreadableRun(f"cannot read {path}: {error.strerror or error}.") from None
        if digest != entry["sha256"]:
            raise UnreadableRun(f"{path} was changed or damaged. Save the run again.")

    def table(self, name: str) -> Any:
        """A table, as Arrow; every value is checked, as it is in tables from elsewhere."""
        return self._read(name, lambda path: typed_table(path.read_bytes(), "parquet"))

    def all_labels(self, encoding: Encoding) -> Path | None:
        """The path of the table of every label, checked; None if there is none."""
        if not self.has(EVERY_LABEL):
            return None
        self._read(EVERY_LABEL, lambda path: check_all_labels(path, encoding.classes))
        return self.place(EVERY_LABEL)

    def content(self, name: str) -> bytes:
        """The bytes of a file."""
        found: bytes = self._read(name, Path.read_bytes)
        return found

    def _read(self, name: str, read: Callable[[Path], Any]) -> Any:
        path = self.place(name)
        try:
            return read(path)
        except FileNotFoundError:
            raise UnreadableRun(f"{path} is gone: the run was saved again or moved. Load it again.") from None
        except (OSError, pa.ArrowException) as error:
            told = str(error).partition("\n")[0]
            raise UnreadableRun(f"cannot read {path}: {told:.200}. Save the run again.") from None

    # ── findings ──

    @cached_property
    def encoding(self) -> Encoding:
        """The classes."""
        about = self.record["data"]
        return Encoding(tuple(map(from_json, about["classes"])), learned=about["learned"], as_codes=about["as_codes"])

    @property
    def findings(self) -> Findings:
        """What was found."""
        told, table, tests = self.record["findings"], self.table("labels"), self.table("predictions")
        labels = self._labels(table)
        calibrated = next((name for name in ("test_probabilities", "labeller") if self.has(name)), None)  # its old name
        correction = controls = curve = None
        bugs = "bug_causes" if "bug_causes" in told else "causes"  # as it was called when labels were the only cause
        if told["correction"] is not None:
            effect, codes = (
                _effect(told["correction"]["verified"], tests, "correction"),
                self._codes(table, "correction"),
            )
            correction = read_record(VerifiedCorrection, told["correction"], codes=codes, verified=effect)
            if told["controls"] is not None:
                others = {name: told["controls"][name] for name in ("at_random", "highest_loss")}
                controls = Controls(effect, **{name: _effect(each, tests, name) for name, each in others.items()})
        if told["curve"] is not None:
            points = tuple(
                read_record(Point, each, verified=_effect(each["verified"], tests, f"curve{place}"))
                for place, each in enumerate(told["curve"]["points"])
            )
            curve = read_record(Curve, told["curve"], points=points)
        found: Findings = read_record(
            Findings,
            told,
            encoding=self.encoding,
            labels=labels,
            predictions=self._predictions(tests),
            correction=correction,
            controls=controls,
            curve=curve,
            display=display_of(told["display"]),
            bug_causes=self._causes([each["test_row"] for each in told[bugs]], len(labels.given), tests.num_rows),
            causes=tuple(map(cause_of, told["causes"])) if bugs == "bug_causes" else NOT_ASKED,
            changes=tuple(map(change_of, told.get("changes", []))),
            suspect_tests=suspect_tests_of(told.get("suspect_tests")),
            prior=Prior(labels.given, matrix_in(self.table("prior"))),
            annotators=self._annotators(told, table),
            test_probabilities=None if calibrated is None else matrix_in(self.table(calibrated)),
        )
        return found

    def _labels(self, table: Any) -> LabelFindings:
        rank = numbers_in(table, "rank")
        suspects = np.flatnonzero(np.isfinite(rank))
        given, proposed, repaired = (self._codes(table, name) for name in ("given", "proposed", "repaired"))
        numbers = {name: shares_in(table, name) for name in ("ps", "ps_low", "ps_high", "p_wrong")}
        order = np.asarray(suspects[np.argsort(rank[suspects])])
        rows = array_of(values_of(table, "row"))
        likeliest, confidence = repaired, np.ones(len(given))  # of a run of 0.1, which has neither
        if "confidence" in table.column_names:
            likeliest, confidence = self._codes(table, "likeliest"), shares_in(table, "confidence")
        return LabelFindings(
            rows, given, proposed, repaired, order=order, likeliest=likeliest, confidence=confidence, **numbers
        )

    def _predictions(self, table: Any) -> Predictions:
        label, before = (self._codes(table, name) for name in ("label", "predicted"))
        after = self._codes(table, "after") if "after" in table.column_names else None
        ids = array_of(values_of(table, "row")) if "row" in table.column_names else None
        return Predictions(label, before, after, np.flatnonzero(flags_in(table, "bug")), ids)

    def _causes(self, bugs: list[int], rows: int, tests: int) -> tuple[Causes, ...]:
        table = self.table("causes")
        of, positions = places_in(table, "test_row", tests), places_in(table, "position", rows)
        places_below(bugs, tests, "explained bugs")
        proposed = self._codes(table, "proposed")
        ps, low, high = (shares_in(table, name) for name in ("ps", "ps_low", "ps_high"))
        own = [np.flatnonzero(of == bug) for bug in bugs]
        return tuple(
            Causes(bug, positions[rows], proposed[rows], ps[rows], low[rows], high[rows])
            for bug, rows in zip(bugs, own, strict=True)
        )

    def _annotators(self, told: Json, labels: Any) -> AnnotatorFindings | None:
        if not self.has("annotators"):
            return None
        return annotators_in({name: self.table(name) for name in TABLES} | {"labels": labels}, told, self.encoding)

    def _codes(self, table: Any, name: str) -> Codes:
        """A column of labels as codes."""
        return self.encoding.encode(values_of(table, name), where=name)

    # ── rows ──

    def data(self, found: Findings) -> Data:
        """The rows."""
        labels, validation = self.table("labels"), None
        if self.has("validation"):
            codes = self._codes(self.table("validation_labels"), "label")
            validation = LabelledSet(self._features("validation", len(codes)), codes)
        known = "known" in labels.column_names
        rows, tests = len(found.labels.given), len(found.predictions.labels)
        parts = {"metadata": rows, "test_metadata": tests, "opinion": rows, "test_opinion": tests}
        given: dict[str, Any] = {
            name: self._features(name, count) if self.has(name) else None for name, count in parts.items()
        }
        return Data(
            encoding=self.encoding,
            train=LabelledSet(self._features("train", rows), found.labels.given),
            test=LabelledSet(self._features("test", tests), found.predictions.labels),
            validation=validation,
            rows=found.labels.rows,
            metadata=given["metadata"],
            given_labels=self._given_labels(self._codes(labels, "came") if known else found.labels.given),
            sample_weight=numbers_in(labels, "weight") if "weight" in labels.column_names else None,
            known=flags_in(labels, "known") if known else None,
            came=self._codes(labels, "came") if known else None,
            annotations=None if found.annotators is None else found.annotators.answers,
            opinion=OutOfFold(given["opinion"], given["test_opinion"]) if self.has("opinion") else None,
            test_metadata=given["test_metadata"],
        )

    def _features(self, name: str, count: int) -> Any:
        form = self.record["data"]["forms"][name]
        if form["kind"] == "sparse" and form["shape"][0] != count:  # before memory is taken for so many rows
            raise ValueError(f"{name} has other rows")
        return restored(self.table(name), form)

    def _given_labels(self, came: Codes) -> Any:
        """The labels as they were given."""
        form, labels = self.record["data"]["forms"].get("labels"), self.encoding.decode(came)
        if self.has("given_labels"):
            return restored_series(self.table("given_labels"), form)
        return labels if form is None else labels.astype(form["dtype"]).reshape(form["shape"])


def _effect(record: Json, tests: Any, name: str) -> Any:
    """A verification, or None, with the test rows that its model gets wrong; its margins are not saved."""
    if record is None:
        return None
    return read_record(Verification, record, wrong_after=flags_in(tests, f"wrong_{name}"))
