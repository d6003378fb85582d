"""What a saved run was made from: the rows, labels, ids and settings that its files hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from psidebug.display import Display, display_of
from psidebug.store.files import RunFiles
from psidebug.store.values import Json, values_of
from psidebug.task.labels import Codes, Encoding, array_of
from psidebug.task.tables import Table


@dataclass(frozen=True, eq=False)
class RunInputs:
    """The inputs of a diagnosis, read from the files of its run when they are asked for."""

    files: RunFiles

    @property
    def path(self) -> Path:
        """Where it is."""
        return self.files.directory

    @property
    def record(self) -> Json:
        """``run.json`` as it was read, with fields that this version does not know."""
        return self.files.record

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

    @property
    def has_test_ids(self) -> bool:
        """Whether the test rows have ids that are more than their positions."""
        return "row" in self.files.predictions.column_names

    @cached_property
    def test_rows(self) -> npt.NDArray[Any]:
        """Ids of the test rows; their positions when none were given."""
        table = self.files.predictions
        return array_of(values_of(table, "row")) if self.has_test_ids else np.arange(table.num_rows)

    @cached_property
    def test_metadata(self) -> Table | None:
        """The columns of :attr:`metadata` for the test rows; None if that was not said."""
        return self.files.features("test_metadata") if self.files.has("test_metadata") else None

    @cached_property
    def sample_weight(self) -> npt.NDArray[np.float64] | None:
        """Weights of the training rows; None when all are 1."""
        return self.files.labels["weight"].to_numpy() if "weight" in self.files.labels.column_names else None

    @cached_property
    def given(self) -> Codes:
        """Codes (N,) of the training labels as given."""
        return self.files.codes(self.files.labels, "given")

    @property
    def display(self) -> Display:
        """How rows are to be shown."""
        return display_of(self.record.get("display"))

    @property
    def source(self) -> Mapping[str, Any] | None:
        """Where the rows came from: the file, its columns, which of them is the label; None if that was not said."""
        found: Mapping[str, Any] | None = self.record.get("source")
        return found
