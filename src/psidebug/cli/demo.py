"""``psi demo``: a planted labelling error, found, explained, corrected and proved, in a few seconds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from psidebug.cli.options import command, file_option, seed_option
from psidebug.cli.output import Output
from psidebug.cli.tables import counted

if TYPE_CHECKING:
    from rich.console import Console

    from psidebug.datasets.digits import MislabelledDigits
    from psidebug.diagnosis.diagnosis import Diagnosis
    from psidebug.graybox.fidelity import Fidelity

SHADES = " ░▒▓█"
INDENT = 3
NEXT = (
    "psi debug train.csv test.csv --label LABEL   # what is wrong with these files",
    "psi review psi-run                           # the suspects, in a browser",
    "psi report psi-run -o report.html            # one page for your colleagues",
)


@command(example="psi demo --report demo.html")
@seed_option
@file_option("--report", help="Also write the diagnosis as an HTML page.")
def demo(output: Output, *, seed: int, report: Path | None) -> None:
    """Find a planted labelling error in a few seconds.

    A script marked every handwritten 4 as odd. Psi gets no hints; it finds the error, explains it, and proves it by
    retraining.
    """
    from psidebug.files import check_place

    if report is not None:
        check_place(report)
    from psidebug.cli.findings import as_data
    from psidebug.datasets.digits import mislabelled_digits

    data = mislabelled_digits(seed)
    if output.as_json:
        found = _diagnosed(output, data, seed)
        output.result(as_data(found) | {"report": report and str(report)})
    else:
        found = _shown(output, data, seed)
        _next(output.console)
    if report is not None:
        found.report(report)
        if not output.as_json:
            _say(output.console, f"The whole diagnosis is in {report}.")


def _diagnosed(output: Output, data: MislabelledDigits, seed: int) -> Diagnosis:
    import psidebug

    with output.progress() as progress:
        return psidebug.debug(**data.arguments(), effort="prove", rng=seed, progress=progress)


def _shown(output: Output, data: MislabelledDigits, seed: int) -> Diagnosis:
    from psidebug.cli.findings import heading

    console = output.console
    heading(console, "1. The data")
    _say(
        console,
        f"{len(data.y_train)} handwritten digits, even against odd. A labelling script marked every 4 as odd, and "
        f"nobody noticed. A logistic regression is trained on them and tested on {len(data.y_test)} others.",
    )
    diagnosis = _diagnosed(output, data, seed)
    heading(console, "2. What is wrong")
    _show_bugs(console, diagnosis, data)
    heading(console, "3. The suspects")
    _show_suspects(console, diagnosis, data)
    heading(console, "4. What they have in common")
    best = diagnosis.correction
    if best is None or best.slice is None:
        _say(console, "Nothing that explains them better than a list of rows.")
    else:
        _say(console, f"{best.slice.said[:1].upper()}{best.slice.said[1:]}.")
    heading(console, "5. The proof")
    _show_proof(console, diagnosis, data)
    return diagnosis


def _next(console: Console) -> None:
    """What to try with data of one's own."""
    from psidebug.cli.findings import heading

    heading(console, "Now with your own data")
    for line in NEXT:
        console.print(" " * INDENT + line, markup=False, soft_wrap=True)


def _say(console: Console, text: str) -> None:
    from psidebug.cli.findings import say

    say(console, text, indent=INDENT)


def _show_bugs(console: Console, diagnosis: Diagnosis, data: MislabelledDigits) -> None:
    task = diagnosis.task
    _say(console, f"It misclassifies {len(task.bugs)} of {len(task.test)} test digits; the first of them:\n")
    shown = task.bugs[:6]
    captions = [f"said {task.encoding.classes[task.predicted[row]]}" for row in shown]
    console.print(_pictures(data.X_test[shown].reshape(-1, 8, 8), captions, colour=console.color_system is not None))


def _pictures(pictures: Any, captions: Sequence[str], *, colour: bool) -> Any:
    """Pictures with values 0 … 1 in a row, each over its caption.

    Every character is an upper and a lower pixel; without colour, a shade for the mean of both.
    """
    from rich.text import Text

    width = max(pictures.shape[2], *map(len, captions)) + 2
    text = Text()
    for line in range(0, pictures.shape[1], 2):
        text.append(" " * INDENT)
        for picture in pictures:
            for upper, lower in picture[line : line + 2].T:
                if colour:
                    above, below = ("#" + 3 * f"{round(255 * value):02x}" for value in (upper, lower))
                    text.append("▀", style=f"{above} on {below}")
                else:
                    text.append(SHADES[round((upper + lower) / 2 * (len(SHADES) - 1))])
            text.append(" " * (width - picture.shape[1]))
        text.append("\n")
    return text.append(" " * INDENT + "".join(caption.ljust(width) for caption in captions), style="dim")


def _show_suspects(console: Console, diagnosis: Diagnosis, data: MislabelledDigits) -> None:
    from psidebug.cli.findings import table_of

    _say(
        console,
        "The probability that each label is wrong, and its PS, the probability of sufficiency as a cause: among the "
        "worlds in which this label is different and the errors are gone, the share in which putting it back brings "
        "them back.",
    )
    estimates = diagnosis.estimates
    if estimates is None:
        return
    task, classes = diagnosis.task, diagnosis.task.encoding.classes
    rows = [
        (
            str(task.rows[row]),
            str(classes[task.train.codes[row]]),
            str(classes[diagnosis.proposed[row]]),
            f"{diagnosis.p_wrong[row]:.2f}",
            f"{estimates.ps[row]:.2f}",
            f"a {data.digit_train[row]}",
        )
        for row in diagnosis.order[:8]
    ]
    console.print(table_of(rows, ("training row", "given", "proposed", "wrong", "PS", "in truth"), indent=INDENT))
    planted = data.y_train != data.y_clean
    found = planted[diagnosis.order[: planted.sum()]].sum()
    _say(
        console,
        f"{found} of the {planted.sum()} planted errors are among the first {planted.sum()} of {len(planted)} rows.",
    )
    if diagnosis.fidelity is not None:
        _say(console, _trust(diagnosis.fidelity))
    for note in diagnosis.notes:
        _say(console, f"Note: {note}.")


def _trust(found: Fidelity) -> str:
    """How far PS can be trusted, in words for somebody who sees it for the first time."""
    if not found.trustworthy:
        return f"How far to trust PS: {found}."
    return (
        f"PS was compared with {counted(found.fits, 'real fit')}: what it predicts for groups of labels correlates "
        f"{found.gains:.2f} with what retraining does, and {found.groups.sign_agreement:.0%} of the test digits move "
        f"to the side that it predicts."
    )


def _show_proof(console: Console, diagnosis: Diagnosis, data: MislabelledDigits) -> None:
    if diagnosis.correction is None:
        _say(console, diagnosis.verdict)
        return
    effect = diagnosis.correction.verified
    right = int((diagnosis.repaired_labels == data.y_clean).sum())
    _say(
        console,
        f"{counted(effect.corrected, 'label')} corrected and the model retrained: "
        f"{counted(effect.bugs_fixed, 'error')} fixed, {effect.points_broken} new; {right} of {len(data.y_clean)} "
        f"training labels are now right.",
    )
    _say(console, f"error on the test digits       {effect.test_before.rate:.3f} → {effect.test_after.rate:.3f}")
    if effect.validation_before is not None and effect.validation_after is not None:
        before, after = effect.validation_before.rate, effect.validation_after.rate
        low, high = effect.validation_after.interval
        _say(
            console,
            f"on held-out validation digits  {before:.3f} → {after:.3f} (95% interval {low:.3f} to {high:.3f})\n",
        )
