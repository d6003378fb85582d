"""``psi debug --json | python -m psidebug.cli.job_summary``: the answer as Markdown, for the summary of a CI job."""

from __future__ import annotations

import html
import json
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

FIRST = 10
"""Suspects and slices that are shown."""
SPECIAL = re.compile(r"([\\`*_\[\]|~#$@])")


def summary(answer: Mapping[str, Any]) -> str:
    """The verdict, what the suspects have in common, and the first of them.

    Names and values come from the data: nothing in them is Markdown or HTML.
    """
    state = "❌ Labels are proved wrong" if answer["failed"] else "✅ No more labels are proved wrong than allowed"
    parts = [f"### Psi: {state}", _text(answer["verdict"])]
    parts += [
        _table(
            ("test rows", "misclassified", "labels proved wrong", "cause"),
            [(answer["test_rows"], answer["bugs"], answer["corrected"], answer["cause"])],
        )
    ]
    if answer["failed"]:
        slices, suspects = answer["slices"][:FIRST], answer["suspects"][:FIRST]
        if slices:
            parts.append(_table(("in common", "labelled", "rows", "corrected"), _cells(slices, _IN_SLICES)))
        parts.append(_table(("row", "given", "proposed", "wrong"), _cells(suspects, _IN_SUSPECTS)))
        parts.append(f"{len(suspects)} of {answer['suspects_in_all']} suspects; the run is in {_text(answer['run'])}.")
    return "\n\n".join(parts) + "\n"


_IN_SLICES = ("condition", "given", "rows", "corrected")
_IN_SUSPECTS = ("row", "given", "proposed", "p_wrong")


def _cells(records: Iterable[Mapping[str, Any]], names: Sequence[str]) -> list[list[Any]]:
    return [[each[name] for name in names] for each in records]


def _table(heads: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    lines = [heads, ["---"] * len(heads), *([_text(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _text(value: Any) -> str:
    """A value as it reads, on one line, whatever signs are in it."""
    said = f"{value:.2f}" if isinstance(value, float) else str(value)
    return SPECIAL.sub(r"\\\1", html.escape(" ".join(said.split()), quote=False))


if __name__ == "__main__":
    sys.stdout.write(summary(json.load(sys.stdin)))
