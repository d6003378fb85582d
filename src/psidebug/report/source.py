"""What the report reads of a diagnosis, made just now or saved, under one set of names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

import psidebug
from psidebug.diagnosis.diagnosis import Diagnosis
from psidebug.diagnosis.frames import best_of_each_slice
from psidebug.margins import predicted_by
from psidebug.slices.conditions import Condition
from psidebug.store.contents import unexplained
from psidebug.store.fingerprint import fingerprint_of, versions
from psidebug.store.run import Run
from psidebug.task.labels import Codes, Encoding
from psidebug.task.tables import Table

Source = Diagnosis | Run
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Data:
    """The rows, and what is known about how to show them."""

    train: Table
    test: Table
    metadata: Table | None
    test_metadata: Table | None
    """The same columns as ``metadata``, of the test rows."""
    rows: npt.NDArray[Any]
    """Ids of the training rows."""
    test_rows: npt.NDArray[Any]
    """Ids of the test rows; their positions where they have none."""
    given: Codes
    encoding: Encoding
    conditions: tuple[Condition, ...]
    """Those of the slices, the best slice first."""
    images: tuple[int, ...] | str | None
    """The shape of the picture that a row of features is, or the column that holds pictures or paths to them."""
    text: str | None
    """The column of texts."""
    id: str | None = None
    """The column of ids, which are the names of the rows."""


@dataclass(frozen=True, eq=False)
class Predictions:
    """The test set as codes: labels, what the model said, and what it says after the correction."""

    encoding: Encoding
    labels: Codes
    before: Codes
    after: Codes | None
    bugs: npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Labels:
    """PS of every training label (NaN where there is none), and which of them the correction changes."""

    ps: Floats
    corrected: npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Origin:
    """What a diagnosis was made from and by."""

    psidebug: str
    seed: str
    versions: Mapping[str, str]
    fingerprint: Mapping[str, str]
    created: str | None = None
    """When the run was saved, UTC, in ISO form."""
    files: Mapping[str, str] = field(default_factory=dict)
    """Names of the training, test and validation file, where the rows came from files."""


def data_of(source: Source) -> Data:
    """The tables of a diagnosis; of a saved one they are read now."""
    display = getattr(source, "display", None)
    images, text = getattr(display, "images", None), getattr(display, "text", None)
    if isinstance(source, Run):
        conditions = tuple(one for conditions in source.conditions for one in conditions)
        return Data(
            source.features,
            source.test_features,
            source.metadata,
            source.test_metadata,
            source.rows,
            source.test_rows,
            source.given,
            source.encoding,
            conditions,
            images,
            text,
            (source.source or {}).get("id"),
        )
    task = source.task
    conditions = tuple(one for each, _ in best_of_each_slice(source.tried) for one in each.conditions)
    return Data(
        task.train.features,
        task.test.features,
        task.metadata,
        None,
        task.rows,
        np.arange(len(task.test)),
        task.train.codes,
        task.encoding,
        conditions,
        images,
        text,
    )


def predictions_of(source: Source) -> Predictions:
    """What was said about the test rows."""
    if isinstance(source, Run):
        labels, before = (source.files.codes(source.files.predictions, name) for name in ("label", "predicted"))
        after = None if source.correction is None else source.files.codes(source.files.predictions, "after")
        return Predictions(source.encoding, labels, before, after, source.bugs)
    task, best = source.task, source.correction
    after = None if best is None else predicted_by(best.verified.margins, task.test.codes)
    return Predictions(task.encoding, task.test.codes, task.predicted, after, task.bugs)


def unexplained_of(source: Source) -> str:
    """Why there are no causes of single bugs, as a part of a sentence; for a source that has none."""
    why = source.record.get("unexplained") if isinstance(source, Run) else unexplained(source)
    return why or "they were not kept"


def labels_of(source: Source) -> Labels:
    """What was found about the training labels."""
    if isinstance(source, Run):
        ps = source.files.labels["ps"].to_numpy().astype(np.float64)
        return Labels(ps, source.files.codes(source.files.labels, "repaired") != source.given)
    codes = source.task.train.codes
    ps = np.full(len(codes), np.nan) if source.estimates is None else source.estimates.ps
    repaired = codes if source.correction is None else source.correction.codes
    return Labels(ps, repaired != codes)


def origin_of(source: Source) -> Origin:
    """Versions, seed, fingerprint, and of a saved run when it was made and from which files."""
    if isinstance(source, Run):
        named = source.source or {}
        return Origin(
            source.record["psidebug"],
            source.settings["seed"],
            dict(source.record["versions"]),
            source.fingerprint,
            source.created,
            {name: str(named[name]) for name in ("train", "test", "validation") if named.get(name)},
        )
    return Origin(psidebug.__version__, source.settings["seed"], versions(), fingerprint_of(source.task))
