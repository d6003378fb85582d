"""A diagnosis as plain data: what every page, and every other program, is made from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np

from psidebug.diagnosis.diagnosis import Diagnosis
from psidebug.runs.run import Run

SCHEMA = 1
"""Version of the summary's form; it rises when a field changes its meaning."""


@dataclass(frozen=True)
class Summary:
    """What a person needs to see of a diagnosis. Only strings, numbers, lists and dictionaries inside."""

    schema: int
    verdict: str
    errors: list[dict[str, Any]]
    """Error before and after on each set, with intervals."""
    slices: list[dict[str, Any]]
    suspects: list[dict[str, Any]]
    suspects_in_all: int
    settings: dict[str, str]
    notes: list[str]


def summarise(diagnosis: Diagnosis | Run, *, suspects: int = 200) -> Summary:
    """A diagnosis, made just now or saved, as plain data, with the first ``suspects`` of its suspects."""
    return Summary(
        schema=SCHEMA,
        verdict=diagnosis.verdict,
        errors=_errors(diagnosis),
        slices=_records(diagnosis.slices),
        suspects=_records(nw.from_native(diagnosis.suspects, eager_only=True).head(suspects).to_native()),
        suspects_in_all=len(diagnosis.suspects),
        settings=dict(diagnosis.settings),
        notes=list(diagnosis.notes),
    )


def _errors(diagnosis: Diagnosis | Run) -> list[dict[str, Any]]:
    if diagnosis.correction is None:
        return []
    effect = diagnosis.correction.verified
    pairs = [("test", effect.test_before, effect.test_after)]
    if effect.validation_before is not None and effect.validation_after is not None:
        pairs.append(("validation", effect.validation_before, effect.validation_after))
    return [
        {
            "set": name,
            "before": before.rate,
            "after": after.rate,
            "low": after.interval[0],
            "high": after.interval[1],
        }
        for name, before, after in pairs
    ]


def _records(frame: Any) -> list[dict[str, Any]]:
    rows = nw.from_native(frame, eager_only=True).rows(named=True)
    return [{key: _plain(value) for key, value in row.items()} for row in rows]


def _plain(value: Any) -> Any:
    """Strings, numbers and booleans as they are; labels and ids of any other kind as text."""
    value = value.item() if isinstance(value, np.generic) else value
    return value if isinstance(value, str | int | float) else str(value)
