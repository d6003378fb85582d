"""What a notebook or a terminal shows of rows: labels, how likely each is wrong, and the values that matter."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import narwhals as nw

from psidebug.findings.about_tests import about_tests, tests_as_rows
from psidebug.findings.effects import table
from psidebug.findings.findings import Findings
from psidebug.findings.frames import suspects_frame
from psidebug.report.page import notebook_part
from psidebug.report.rows import RowView, views
from psidebug.report.summary import summarise
from psidebug.task.data import Data

FIRST = 10
"""Rows that are shown unless more are asked for."""
CELLS, LETTERS = 5, 160
"""Of each row."""
UNKNOWN = "–"


@dataclass(frozen=True)
class ShownRow:
    """A row as a line of a table."""

    view: RowView
    given: str
    proposed: str
    p_wrong: str
    ps: str

    @property
    def values(self) -> str:
        """Its text, or its cells, in a line."""
        text = " ".join("".join(each.text for each in self.view.text).split())
        cells = ", ".join(f"{each.name} {each.value}" for each in self.view.cells)
        return " · ".join(each for each in (text, cells) if each)


@dataclass(frozen=True, eq=False)
class ShownRows:
    """Rows with their values: a table in a notebook, lines of text elsewhere."""

    frame: Any
    """Data frame with row, given, proposed, ps, ps_low, ps_high and p_wrong."""
    findings: Findings
    data: Data
    most: int = FIRST

    @cached_property
    def lines(self) -> tuple[ShownRow, ...]:
        """The first rows of the frame."""
        records = list(nw.from_native(self.frame, eager_only=True).head(self.most).iter_rows(named=True))
        positions = self.data.positions([each["row"] for each in records])
        seen = views(self.findings, self.data, "train", positions, cells=CELLS, letters=LETTERS)
        return tuple(
            ShownRow(view, str(one["given"]), str(one["proposed"]), _told(one["p_wrong"]), _with_bounds(one))
            for view, one in zip(seen, records, strict=True)
        )

    @property
    def in_all(self) -> int:
        """How many rows the frame has."""
        return len(self.frame)

    @property
    def with_ps(self) -> bool:
        """Whether PS is known of any of them: of test labels it is not."""
        return any(each.ps != UNKNOWN for each in self.lines)

    def __repr__(self) -> str:
        if not self.lines:
            return "no rows"
        columns = {
            name: {each.view.id: getattr(each, field) for each in self.lines}
            for name, field in (
                ("given", "given"),
                ("proposed", "proposed"),
                ("wrong", "p_wrong"),
                ("PS", "ps"),
                ("the row itself", "values"),
            )
            if field != "ps" or self.with_ps
        }
        more = self.in_all - len(self.lines)
        return table(columns) + (f"\n… and {more:,} more" if more > 0 else "")

    def _repr_html_(self) -> str:
        return notebook_part("rows_in_a_notebook.html", shown=self)


def in_a_notebook(findings: Findings, data: Data) -> str:
    """The verdict, the slices and the first suspects of both sets, for a notebook."""
    shown = ShownRows(suspects_frame(findings), findings, data)
    summary = summarise(findings, data, suspects=0, rows=False)
    return notebook_part("notebook.html", summary=summary, shown=shown, tests=shown_tests(findings, data))


def shown_tests(findings: Findings, data: Data) -> ShownRows:
    """Test labels that are probably wrong, with the values of their rows."""
    found = about_tests(findings)
    return ShownRows(suspects_frame(found), found, tests_as_rows(findings, data))


def explanation_in_a_notebook(sentence: str, bug: int, causes: ShownRows) -> str:
    """One error and its causes, each with the values of its row."""
    (row,) = views(causes.findings, causes.data, "test", [bug], cells=2 * CELLS, letters=2 * LETTERS)
    return notebook_part("explanation_in_a_notebook.html", sentence=sentence, bug=row, causes=causes)


def _told(value: float | None) -> str:
    return UNKNOWN if value is None or value != value else f"{value:.2f}"


def _with_bounds(record: dict[str, Any]) -> str:
    """PS, with the engine's bounds only where these differ from it; the gray box's own error is in neither."""
    ps, low, high = (_told(record[name]) for name in ("ps", "ps_low", "ps_high"))
    return ps if ps == low == high else f"{ps} ({low}, {high})"
