"""The training rows with repairs of what is wrong with them, and nothing else changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from psidebug.causes import duplicates, spelling
from psidebug.changes import Change, InTurn
from psidebug.errors import UnknownOption
from psidebug.exports.columns import free_name
from psidebug.exports.corrected import corrected_table
from psidebug.findings.findings import Findings
from psidebug.task.data import Data

LABELS = ("training_labels", "test_labels")


def repaired_training_rows(
    findings: Findings, data: Data, causes: Sequence[str], *, trace: bool = False
) -> tuple[Any, int, int]:
    """A table, the number of cells that differ, and of rows that are left out.

    ``trace`` adds a column ``was_…`` for every column that differs, with the values as they came.
    """
    named = {each.cause for each in findings.causes}
    for cause in causes:
        if cause not in named or cause in LABELS:
            found = ", ".join(sorted(named - set(LABELS))) or "nothing of that kind"
            raise UnknownOption(f"the run did not find {cause!r} in the rows: it found {found}.")
    changes = [each for each in findings.changes if _cause_of(each, findings) in causes]
    decisions = {}
    if "label_spelling" in causes:
        for claim in spelling.claims(data):
            change: Any = claim.changes[0]
            classes = data.encoding.classes
            decisions = {int(row): classes[code] for row, code in zip(change.rows, change.codes, strict=True)}
    before = corrected_table(findings, data, {})
    after = corrected_table(findings, InTurn(tuple(changes)).applied(data), decisions)
    differ = {name: _differ(before[name], after[name]) for name in after.column_names}
    if trace:
        for name in [each for each, cells in differ.items() if cells.any()]:
            after = after.append_column(free_name(f"was_{name}", after.column_names), before[name])
    kept = np.arange(after.num_rows)
    if "duplicates" in causes:
        for claim in duplicates.claims(data):
            kept = kept if claim.rows is None else np.setdiff1d(kept, claim.rows)
    cells = sum(int(each[kept].sum()) for each in differ.values())
    dropped = after.num_rows - len(kept)
    if not cells and not dropped:
        raise UnknownOption(
            f"no training row is changed by the repair of {', '.join(causes)}: it is the test set that needs it, or "
            f"there is no repair but yours. The advice of 'psi debug' says what to do."
        )
    return after.take(pa.array(kept)), cells, dropped


def _cause_of(change: Change, findings: Findings) -> str | None:
    """The cause that a carried change repairs, by its column."""
    columns = {getattr(change, name, None) for name in ("column", "one", "other")}
    return next((each.cause for each in findings.causes if each.column in columns - {None}), None)


def _differ(before: Any, after: Any) -> Any:
    pairs = zip(before.to_pylist(), after.to_pylist(), strict=True)
    return np.array([one != other and not (one != one and other != other) for one, other in pairs], dtype=bool)
