"""``psi demo``: a planted labelling bug, found, explained, corrected and proved, in a few seconds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from psidebug.cli.options import command, file_option, seed_option
from psidebug.cli.output import Output

if TYPE_CHECKING:
    from rich.console import Console

    from psidebug.datasets.digits import MislabelledDigits
    from psidebug.diagnosis.diagnosis import Diagnosis


@command(example="psi demo --report demo.html")
@seed_option
@file_option("--report", help="Also write the diagnosis as an HTML page.")
def demo(output: Output, *, seed: int, report: Path | None) -> None:
    """Find a planted labelling bug, in a few seconds.

    A script marked every handwritten 4 as odd. Nobody knows; Psi finds it, says so, and proves it by retraining.
    """
    from psidebug.files import check_place

    if report is not None:
        check_place(report)
    from psidebug.datasets.digits import mislabelled_digits

    data = mislabelled_digits(seed)
    if output.as_json:
        from psidebug.cli.findings import as_data

        found = _diagnosed(output, data, seed)
        output.result(as_data(found) | {"report": None if report is None else str(report)})
    else:
        found = _shown(output, data, seed)
    if report is not None:
        found.report(report)
        if not output.as_json:
            _say(output.console, f"The whole diagnosis is in {report}.")


def _diagnosed(output: Output, data: MislabelledDigits, seed: int) -> Diagnosis:
    import psidebug

    with output.progress() as progress:
        return psidebug.debug(**data.arguments(), rng=seed, progress=progress)


def _shown(output: Output, data: MislabelledDigits, seed: int) -> Diagnosis:
    console = output.console
    _heading(console, "1. The data")
    _say(
        console,
        f"{len(data.y_train)} handwritten digits, even against odd. Unknown to everybody, a labelling script marked "
        f"every 4 as odd. A logistic regression is trained on them and tested on {len(data.y_test)} others.",
    )
    diagnosis = _diagnosed(output, data, seed)
    _show_bugs(console, diagnosis, data)
    _show_suspects(console, diagnosis, data)
    _show_slices(console, diagnosis)
    _show_proof(console, diagnosis, data)
    return diagnosis


def _heading(console: Console, text: str) -> None:
    console.print(f"\n[bold]{text}[/]")


def _say(console: Console, text: str) -> None:
    from psidebug.cli.findings import say

    say(console, text, indent=3)


def _show_bugs(console: Console, diagnosis: Diagnosis, data: MislabelledDigits) -> None:
    from psidebug.cli.pictures import side_by_side

    task = diagnosis.task
    _heading(console, "2. What is wrong")
    _say(console, f"It misclassifies {len(task.bugs)} of {len(task.test)} test digits; the first of them:\n")
    shown = task.bugs[:6]
    captions = [f"said {task.encoding.classes[task.predicted[row]]}" for row in shown]
    pictures = [data.X_test[row].reshape(8, 8) for row in shown]
    console.print(side_by_side(pictures, captions, colour=console.color_system is not None))


def _show_suspects(console: Console, diagnosis: Diagnosis, data: MislabelledDigits) -> None:
    from rich.table import Table

    _heading(console, "3. The suspects")
    _say(
        console,
        "How likely each label is wrong, and its PS, the probability of sufficiency as a cause: in how many of the "
        "worlds where this label were different and the errors gone, would putting it back bring them back.",
    )
    estimates = diagnosis.estimates
    if estimates is None:
        return
    table = Table(box=None, padding=(0, 3))
    for name in ("training row", "given", "proposed"):
        table.add_column(name)
    table.add_column("wrong", justify="right")
    table.add_column("PS", justify="right")
    table.add_column("in truth")
    task, classes = diagnosis.task, diagnosis.task.encoding.classes
    for row in diagnosis.order[:8]:
        table.add_row(
            str(task.rows[row]),
            str(classes[task.train.codes[row]]),
            str(classes[diagnosis.proposed[row]]),
            f"{diagnosis.p_wrong[row]:.2f}",
            f"{estimates.ps[row]:.2f}",
            f"a {data.digit_train[row]}",
        )
    console.print(table)
    planted = data.y_train != data.y_clean
    found = planted[diagnosis.order[: planted.sum()]].sum()
    _say(
        console,
        f"{found} of the {planted.sum()} planted errors are among the first {planted.sum()} of {len(planted)} rows.",
    )
    if diagnosis.fidelity is not None:
        _say(console, f"How far to trust PS: {diagnosis.fidelity}.")
    for note in diagnosis.notes:
        _say(console, f"Note: {note}.")


def _show_slices(console: Console, diagnosis: Diagnosis) -> None:
    _heading(console, "4. What they have in common")
    best = diagnosis.correction
    if best is None or best.slice is None:
        _say(console, "Nothing that explains them better than a list of rows.")
        return
    label = diagnosis.task.encoding.classes[best.slice.given]
    _say(
        console,
        f"{best.slice.condition}, labelled {label}: {best.slice.rows} training "
        f"rows that stand out by {best.slice.z:.0f} standard errors.",
    )


def _show_proof(console: Console, diagnosis: Diagnosis, data: MislabelledDigits) -> None:
    _heading(console, "5. The proof")
    best = diagnosis.correction
    if best is None:
        _say(console, diagnosis.verdict)
        return
    from psidebug.cli.tables import counted

    effect = best.verified
    right = int((diagnosis.repaired_labels == data.y_clean).sum())
    _say(
        console,
        f"{counted(effect.corrected, 'label')} corrected and the model retrained: "
        f"{counted(effect.bugs_fixed, 'error')} fixed, {effect.points_broken} new; {right} of {len(data.y_clean)} "
        f"training labels are now right.",
    )
    _say(console, f"error on the test digits           {effect.test_before.rate:.3f} → {effect.test_after.rate:.3f}")
    if effect.validation_before is not None and effect.validation_after is not None:
        low, high = effect.validation_after.interval
        _say(
            console,
            f"on validation digits, kept apart   {effect.validation_before.rate:.3f} → "
            f"{effect.validation_after.rate:.3f} (95% interval {low:.3f} to {high:.3f})\n",
        )
