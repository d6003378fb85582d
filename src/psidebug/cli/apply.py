"""``psi apply``: the training data with corrected labels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from psidebug.cli.guarded import FlagOnly
from psidebug.cli.options import command, file_option, run_argument
from psidebug.cli.output import Output

if TYPE_CHECKING:
    from psidebug.store import Run


@command(example="psi apply psi-run -o fixed.csv")
@run_argument
@file_option("-o", "--output", "target", required=True, help="The file to write: .csv, .jsonl, .parquet or .arrow.")
@click.option("--verified", is_flag=True, help="Labels that the run proved wrong by retraining; the default.")
@click.option("--reviewed", is_flag=True, help="Labels that people corrected in 'psi review'.")
@click.option("--top", type=click.IntRange(min=1), help="The first N suspects, proved or not.")
@click.option(
    "--overwrite", cls=FlagOnly, is_flag=True, help="Let the output take the place of the training file itself."
)
@click.option("--trace", is_flag=True, help="Add columns: given, corrected, verdict, reviewer, time.")
def apply(
    output: Output,
    *,
    run: Path,
    target: Path,
    verified: bool,
    reviewed: bool,
    top: int | None,
    overwrite: bool,
    trace: bool,
) -> None:
    """Write the training data with corrected labels.

    Only labels differ from the training file, if it is still as it was and the output is of its format. Else the
    columns are those of the file in their order, but types and spellings of values may differ.
    """
    from psidebug.cli.chosen import corrections, one_of, proposed
    from psidebug.cli.tables import counted
    from psidebug.cli.written import wrote
    from psidebug.exports import corrected_file, kind_of, write_content
    from psidebug.files import check_place
    from psidebug.store import load_run

    one_of(verified=verified, reviewed=reviewed, top=top)
    piped = str(target) == "-"
    kind = "csv" if piped else kind_of(target)[0]
    if not piped:
        check_place(target)
    found = load_run(run)
    if not (piped or overwrite) and _is_training_file(target, found):
        raise click.UsageError(
            f"{target} is the training file itself: give another name, or --overwrite to lose the labels as given."
        )
    if reviewed:
        decisions = _verdicts(found)
    else:
        decisions = corrections(found) if top is None else proposed(found, found.order[:top])
    content, remark = corrected_file(found.findings, found.data, decisions, kind, trace=trace)
    if remark is not None:
        output.remark(remark)
    if piped:
        _print(content)
        return
    write_content(content, target)
    findings = found.findings
    rows, given = len(findings.labels.given), findings.encoding.decode(findings.labels.given).tolist()
    corrected = sum(getattr(each, "label", each) != given[place] for place, each in decisions.items())
    if output.as_json:
        wrote(output, target, rows, corrected=corrected)
        return
    output.remark(f"{corrected} of {counted(rows, 'label')} corrected; written to {target}")


def _is_training_file(target: Path, run: Run) -> bool:
    """Whether the run was made from this very file, under whatever name."""
    path = run.findings.origin.source.get("path")
    try:
        return path is not None and target.samefile(path)
    except OSError:  # one of them is not there
        return False


def _print(content: bytes) -> None:
    """The file on stdout, byte by byte where it is not UTF-8."""
    try:
        click.echo(content.decode("utf-8"), nl=False)
    except UnicodeDecodeError:
        click.echo(content, nl=False)


def _verdicts(run: Run) -> dict[int, Any]:
    """What people decided: corrected labels, and those that are kept."""
    from psidebug.review.corrected import decisions
    from psidebug.review.store import STORE_FILE, open_store
    from psidebug.review.verdicts import DECIDED

    standing = {}
    if (run.path / STORE_FILE).exists():  # to open it would make one
        with open_store(run.path) as store:
            standing = store.current()
    if not any(each.action in DECIDED for each in standing.values()):
        raise click.UsageError(f"nobody has decided anything yet: 'psi review {run.path}' opens the review.")
    return dict(decisions(run, standing))
