"""Which rows of a run a command is about."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from psidebug.store import Run


def one_of(**options: Any) -> None:
    """Refuse more than one of these options."""
    given = [f"--{name}" for name, value in options.items() if value not in (None, False)]
    if len(given) > 1:
        raise click.UsageError(f"{' and '.join(given)} do not go together: give one of them.")


def corrections(run: Run) -> dict[int, Any]:
    """The verified corrections: position → label."""
    labels, classes = run.findings.labels, run.findings.encoding.classes
    return {place: classes[labels.repaired[place]] for place in labels.corrected.tolist()}


def proposed(run: Run, positions: Any) -> dict[int, Any]:
    """The proposed labels of these rows: position → label."""
    return {int(place): run.findings.encoding.classes[run.proposed[place]] for place in positions}


def in_slice(run: Run, number: int) -> dict[int, Any]:
    """The proposed labels of the suspects in a slice, numbered from 1; of all its rows if none is a suspect."""
    import numpy as np

    slices = run.findings.slices
    if number > len(slices):
        raise click.UsageError(
            f"there is no slice {number}: the run has {len(slices)}; 'psi slices {run.path}' lists them."
        )
    members = slices[number - 1].members(run.data)
    likely = members[run.p_wrong[members] > 0.5]
    return proposed(run, likely if len(likely) else np.intersect1d(members, run.order))


def misclassified_row(run: Run, name: str) -> int:
    """The position of a misclassified test row, by its id; by its position where test rows have no ids."""
    from psidebug.errors import NotMisclassified, UnknownRow

    tests = run.findings.predictions
    names = list(map(str, tests.rows.tolist()))
    if name not in names:
        what = f"there are 0 to {len(names) - 1}" if tests.ids is None else f"ids are {_first(names)}"
        kind = "the position" if tests.ids is None else "the id"
        raise UnknownRow(
            f"{name!r} is not {kind} of a test row ({what}). 'psi explain {run.path}' lists the misclassified ones."
        )
    position = names.index(name)
    if not tests.wrong[position]:
        bugs = [names[bug] for bug in tests.bugs.tolist()]
        others = f" The misclassified ones are {_first(bugs, 6)}." if bugs else ""
        raise NotMisclassified(f"test row {name} is classified correctly: there is no error to explain.{others}")
    return position


def _first(names: list[str], most: int = 3) -> str:
    return ", ".join(names[:most]) + (", …" if len(names) > most else "")
