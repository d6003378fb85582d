"""Two runs side by side as one HTML page: what each found, what it corrects, and what that does to the error."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from typing import Any

from psidebug.files import write_whole
from psidebug.report.page import page_of
from psidebug.store import Run, compare

LISTED = 100
"""Rows of each kind that the page lists."""


@dataclass(frozen=True)
class CorrectedRow:
    """A row that one of two runs corrects, or both."""

    row: Any
    """Its id."""
    given: tuple[str, str]
    labels: tuple[str, str]
    """After the correction of each run; a run that does not correct it leaves the given label."""
    p_wrong: tuple[float, float]


@dataclass(frozen=True)
class Corrections:
    """The rows that two runs have in common, by which of them corrects the label."""

    both: tuple[CorrectedRow, ...]
    """Corrected to the same label."""
    otherwise: tuple[CorrectedRow, ...]
    """Corrected to different labels."""
    first: tuple[CorrectedRow, ...]
    second: tuple[CorrectedRow, ...]
    """Corrected in one run only."""
    elsewhere: tuple[int, int]
    """How many corrected rows of each run the other one does not have."""


def corrections(run: Run, other: Run) -> Corrections:
    """The corrections of two runs, row by row; rows are the same if their ids are."""
    one, two = (each.findings.labels for each in (run, other))
    places = {row: place for place, row in enumerate(two.rows.tolist())}
    pairs = [(place, places[row]) for place, row in enumerate(one.rows.tolist()) if row in places]
    kinds: dict[str, list[CorrectedRow]] = {"both": [], "otherwise": [], "first": [], "second": []}
    shared = [0, 0]
    for mine, theirs in pairs:
        changed = bool(one.repaired[mine] != one.given[mine]), bool(two.repaired[theirs] != two.given[theirs])
        if not any(changed):
            continue
        shared = [count + each for count, each in zip(shared, changed, strict=True)]
        found = CorrectedRow(
            row=one.rows[mine],
            given=(_class(run, one.given[mine]), _class(other, two.given[theirs])),
            labels=(_class(run, one.repaired[mine]), _class(other, two.repaired[theirs])),
            p_wrong=(float(one.p_wrong[mine]), float(two.p_wrong[theirs])),
        )
        kind = "first" if not changed[1] else "second" if not changed[0] else "both"
        kinds["otherwise" if kind == "both" and found.labels[0] != found.labels[1] else kind].append(found)
    ordered = {kind: tuple(sorted(rows, key=lambda each: -max(each.p_wrong))) for kind, rows in kinds.items()}
    return Corrections(**ordered, elsewhere=(len(one.corrected) - shared[0], len(two.corrected) - shared[1]))


def comparison_page(run: Run, other: Run, *, names: tuple[str, str], top: int | None = None) -> str:
    """The page as text; ``names`` are what the runs are called."""
    return page_of(
        "comparison.html",
        names=names,
        found=compare(run, other, top=top),
        corrections=corrections(run, other),
        slices=tuple(tuple(_slice(each, found) for found in each.findings.slices) for each in (run, other)),
        listed=LISTED,
    )


def write_comparison(run: Run, other: Run, path: str | PathLike[str], *, top: int | None = None) -> None:
    """Write the page; a failure leaves no half-written file."""
    names = str(run.path), str(other.path)
    write_whole(path, comparison_page(run, other, names=names, top=top))


def _slice(run: Run, found: Any) -> str:
    plain = (
        f"{found.suspects:.0%} of the rows with {found.condition}, labelled {_class(run, found.given)}, are suspects"
    )
    return found.said or plain


def _class(run: Run, code: Any) -> str:
    return str(run.findings.encoding.classes[code])
