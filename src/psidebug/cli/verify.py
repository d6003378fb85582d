"""``psi verify``: what correcting some labels does, by retraining."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from psidebug.cli.options import command, run_argument
from psidebug.cli.output import Output

if TYPE_CHECKING:
    from psidebug.findings import Controls, Verification


@command(example="psi verify psi-run --top 20")
@run_argument
@click.option("--top", type=click.IntRange(min=1), help="Correct the first N suspects.")
@click.option("--slice", "slice_", type=click.IntRange(min=1), help="Correct a slice, by its number in 'psi slices'.")
@click.option(
    "--rows",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Correct the rows in a file: an id a line, id,label, or a table with a column of ids.",
)
@click.option(
    "--fail-above",
    type=click.FloatRange(min=0),
    metavar="X",
    help="Exit with 1 if more than X labels are corrected and retraining proves it; below 1, a share of the rows.",
)
def verify(
    output: Output, *, run: Path, top: int | None, slice_: int | None, rows: Path | None, fail_above: float | None
) -> int:
    """Retrain with some labels corrected, and say what that does.

    Beside as many labels moved at random, and as many of highest loss. Without a choice it is the correction of the run
    that is retrained.
    """
    from psidebug.cli.chosen import corrections, in_slice, one_of, proposed
    from psidebug.cli.debug import allowed
    from psidebug.cli.named import in_file
    from psidebug.cli.tables import counted
    from psidebug.cli.threads import few_threads
    from psidebug.diagnosis.diagnosis import Diagnosis
    from psidebug.store import load_run

    one_of(top=top, slice=slice_, rows=rows)
    found, accused = load_run(run), False
    if top is not None:
        labels = proposed(found, found.order[:top])
    elif slice_ is not None:
        labels = in_slice(found, slice_)
        accused = found.findings.slices[slice_ - 1].accused
    elif rows is not None:
        labels = in_file(found, rows)
    else:
        labels = corrections(found)
        accused = found.correction is not None and found.correction.slice is not None
    if not labels:
        if output.as_json:
            nothing = dict.fromkeys(("correction", "at_random", "highest_loss"))
            output.result({**nothing, "proved": False, "failed": False})
        else:
            output.console.print(found.verdict, markup=False)
        return 0
    output.remark(f"retraining with {counted(len(labels), 'label')} corrected, and twice as a control")
    ids = found.findings.labels.rows.tolist()
    with few_threads(len(ids)):
        effect = Diagnosis.saved(found).verify({ids[place]: label for place, label in labels.items()})
    correction = effect.correction
    proved = correction.proved(accused=accused)
    failed = fail_above is not None and proved and correction.corrected > allowed(fail_above, len(ids))
    if output.as_json:
        controls = {"at_random": effect.at_random, "highest_loss": effect.highest_loss}
        data = {"correction": correction, **controls}
        output.result({**{name: _as_data(each) for name, each in data.items()}, "proved": proved, "failed": failed})
    else:
        _show(output, effect)
    if failed:
        output.remark(
            f"psi: {counted(correction.corrected, 'label')} proved wrong, more than the {fail_above:g} allowed."
        )
    return int(failed)


def _as_data(effect: Verification | None) -> dict[str, Any] | None:
    """Its figures, without what is said about single rows."""
    import dataclasses

    import numpy as np

    if effect is None:
        return None
    found = {each.name: getattr(effect, each.name) for each in dataclasses.fields(effect)}
    return {
        name: dataclasses.asdict(value) if dataclasses.is_dataclass(value) and not isinstance(value, type) else value
        for name, value in found.items()
        if not isinstance(value, np.ndarray)
    }


def _show(output: Output, effect: Controls) -> None:
    """The correction beside its controls."""
    from psidebug.cli.tables import show_table

    names = ("", "correction", "random flips", "highest losses")
    controls = [each and each.figures for each in (effect.at_random, effect.highest_loss)]
    columns = [effect.correction.figures, *(each or {"labels corrected": "cannot be trained"} for each in controls)]
    rows = [(line, *(each.get(line, "") for each in columns)) for line in columns[0]]
    against = [each and f"{effect.against(each).p_value:.2g}" for each in (effect.at_random, effect.highest_loss)]
    rows.append(("correction against it, p", "", *(each or "" for each in against)))
    show_table(output, rows, names, wide=names)
