"""Changes that findings carry come back from JSON as they were."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from psidebug.changes import Blank, Change, Drop, Mask, Relabel, Rescale, Swap
from psidebug.findings.findings import FoundCause
from psidebug.store.stored_changes import cause_of, cause_record, change_of, change_record

CHANGES = [
    Blank("a"),
    Drop(np.array([3, 5])),
    Mask("a", code=-999.0),
    Mask("a", test=True, code=-999.0, fill=2.5),
    Mask("a", code="unknown"),
    Mask("a", rows=np.array([1, 2])),
    Relabel(np.array([0, 4]), np.array([1, 0])),
    Rescale("a", factor=1 / 12),
    Rescale("a", test=True, factor=60.0, rows=np.array([0, 7])),
    Swap("a", "b"),
]


@pytest.mark.parametrize("change", CHANGES, ids=repr)
def test_a_change_comes_back(change: Change) -> None:
    back = change_of(json.loads(json.dumps(change_record(change))))
    assert type(back) is type(change)
    assert back.key == change.key


def test_a_cause_comes_back_with_its_repair_and_without_one() -> None:
    cause = FoundCause("unit", "column a", "…", "…", 3.0, 0.5, True, "a", -np.inf, CHANGES[-2])
    back = cause_of(json.loads(json.dumps(cause_record(cause))))
    assert back == cause
    assert back.change is not None
    assert back.change.key == CHANGES[-2].key
    bare = cause_record(replace(cause, change=None))
    assert cause_of(bare).change is None
    del bare["change"]
    assert cause_of(bare).change is None, "of a run from before causes had one"
