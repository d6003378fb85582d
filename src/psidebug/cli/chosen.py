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
    codes = run.files.codes(run.files.labels, "repaired")
    return {place: run.encoding.classes[codes[place]] for place in (codes != run.given).nonzero()[0].tolist()}


def proposed(run: Run, positions: Any) -> dict[int, Any]:
    """The proposed labels of these rows: position → label."""
    codes = run.files.codes(run.files.labels, "proposed")
    return {int(place): run.encoding.classes[codes[place]] for place in positions}


def in_slice(run: Run, number: int) -> dict[int, Any]:
    """The proposed labels of the suspects in a slice, numbered from 1; of all its rows if none is a suspect."""
    import numpy as np

    if number > len(run.conditions):
        count = len(run.conditions)
        raise click.UsageError(f"there is no slice {number}: the run has {count}; 'psi slices {run.path}' lists them.")
    members = run.members(number - 1)
    likely = members[run.files.labels["p_wrong"].to_numpy()[members] > 0.5]
    return proposed(run, likely if len(likely) else np.intersect1d(members, run.order))


def misclassified_row(run: Run, name: str) -> int:
    """The position of a misclassified test row, by its id; by its position where test rows have no ids."""
    from psidebug.errors import NotMisclassified, UnknownRow

    names = list(map(str, run.test_rows.tolist()))
    if name not in names:
        what = f"ids are {_first(names)}" if run.has_test_ids else f"there are 0 to {len(names) - 1}"
        kind = "the id" if run.has_test_ids else "the position"
        raise UnknownRow(
            f"{name!r} is not {kind} of a test row ({what}). 'psi explain {run.path}' lists the misclassified ones."
        )
    position, labels, predicted = names.index(name), *(run.files.predictions[each] for each in ("label", "predicted"))
    if labels[position] == predicted[position]:
        bugs = [names[bug] for bug in run.bugs.tolist()]
        others = f" The misclassified ones are {_first(bugs, 6)}." if bugs else ""
        raise NotMisclassified(f"test row {name} is classified correctly: there is no error to explain.{others}")
    return position


def _first(names: list[str], most: int = 3) -> str:
    return ", ".join(names[:most]) + (", …" if len(names) > most else "")
