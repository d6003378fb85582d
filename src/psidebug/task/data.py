"""The rows of a task and all that came with them, without a learner: checked tables, labels, ids, weights, metadata."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt

from psidebug.task.labels import Codes, Encoding
from psidebug.task.tables import Table


@dataclass(frozen=True, eq=False)
class LabelledSet:
    """Rows with their labels: Γ, Δ or the validation set."""

    features: Table
    codes: Codes

    def __len__(self) -> int:
        return len(self.codes)


@dataclass(frozen=True, eq=False)
class Data:
    """Training set, test set, validation set, and what is known about their rows."""

    encoding: Encoding
    train: LabelledSet
    test: LabelledSet
    validation: LabelledSet | None
    rows: npt.NDArray[Any]
    """Ids of the training rows; their positions when none were given."""
    metadata: Table | None
    """Columns about the training rows that the learner never saw."""
    given_labels: Any
    """The training labels as the user gave them."""
    sample_weight: npt.NDArray[np.float64] | None = None
    """Weights of the training rows, given to every fit; None when all are 1."""
    known: npt.NDArray[np.bool_] | None = None
    """Training rows (N,) whose labels are facts: they cannot be wrong. None when there are none such."""
    came: Codes | None = None
    """Labels (N,) that these rows came with, before a person settled them."""
    test_metadata: Table | None = None
    """The columns of ``metadata`` for the test rows, to be shown; None if that was not said."""

    def home(self, name: str) -> Any:
        """What conditions of this home are about: features, metadata or ids of the training rows."""
        return {"features": self.train.features, "metadata": self.metadata, "rows": self.rows}[name]

    def labels_like_given(self, codes: Codes) -> Any:
        """Training labels of these codes (N,) in the form in which the user gave them.

        A series stays a series and a numpy array keeps its type; anything else becomes a numpy array.
        """
        labels, given = self.encoding.decode(codes), self.given_labels
        if isinstance(given, np.ndarray) and given.dtype.kind != "U":  # a longer text may not fit into U5
            return labels.astype(given.dtype).reshape(given.shape)
        if not nw.dependencies.is_into_series(given):
            return labels
        if nw.dependencies.is_pandas_series(given):
            came = self.train.codes if self.came is None else self.came
            changed, repaired = np.flatnonzero(codes != came), given.copy()
            repaired.iloc[changed] = labels[changed]
            return repaired
        series = nw.from_native(given, series_only=True)
        backend: Any = nw.get_native_namespace(series)
        return nw.new_series(series.name, labels.tolist(), dtype=series.dtype, backend=backend).to_native()
