"""Commands that correct labels: verify retrains with them, apply writes them."""

from __future__ import annotations

import dataclasses
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from psidebug.cli.of_tests import apply_tests
from psidebug.cli.options import allowed, command, file_option, run_argument, tests_option, top_option
from psidebug.cli.output import Output
from psidebug.cli.settings import FlagOnly
from psidebug.cli.tables import counted, show_table, wrote
from psidebug.errors import UnknownOption
from psidebug.threads import few_threads

if TYPE_CHECKING:
    from psidebug.findings.effects import Controls, Verification
    from psidebug.store import Run


@command(example="psi verify psi-run --top 20")
@run_argument
@top_option("Correct the first N suspects.")
@click.option("--slice", "slice_", type=click.IntRange(min=1), help="Correct a slice, by its number in 'psi slices'.")
@click.option(
    "--rows",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Correct the rows named in a file: one id per line, id,label, or a table with an id column.",
)
@click.option(
    "--fail-above",
    type=click.FloatRange(min=0),
    metavar="X",
    help="Exit with 1 if more than X labels are corrected and the gain is proved; below 1, X is a share of the rows.",
)
def verify(
    output: Output, *, run: Path, top: int | None, slice_: int | None, rows: Path | None, fail_above: float | None
) -> int:
    """Retrain with corrected labels, and show the effect.

    Compared with moving as many random labels, and as many labels of highest loss. By default, the correction of the
    run is retrained.
    """
    from psidebug.cli.rows_from_file import in_file
    from psidebug.diagnosis.diagnosis import Diagnosis
    from psidebug.store import load_run

    _check_one(top=top, slice=slice_, rows=rows)
    found, accused = load_run(run), False
    if top is not None:
        labels = proposed(found, found.order[:top])
    elif slice_ is not None:
        labels = _in_slice(found, slice_)
        accused = found.findings.slices[slice_ - 1].accused
    elif rows is not None:
        labels = in_file(found, rows)
    else:
        labels = _corrections(found)
        accused = found.correction is not None and found.correction.slice is not None
    if not labels:
        if output.as_json:
            nothing = dict.fromkeys(("correction", "at_random", "highest_loss"))
            output.result({**nothing, "proved": False, "failed": False})
        else:
            output.text(found.verdict)
        return 0
    output.remark(f"retraining with {counted(len(labels), 'label')} corrected, and two controls")
    ids = found.findings.labels.rows.tolist()
    with few_threads(len(ids)):
        effect = Diagnosis.saved(found).verify({ids[place]: label for place, label in labels.items()})
    proved = effect.correction.proved(accused=accused)
    corrected = effect.correction.corrected
    failed = fail_above is not None and proved and corrected > allowed(fail_above, len(ids))
    if output.as_json:
        effects = {name: _as_data(getattr(effect, name)) for name in ("correction", "at_random", "highest_loss")}
        output.result({**effects, "proved": proved, "failed": failed})
    else:
        _show(output, effect)
    if failed:
        output.remark(f"psi: {counted(corrected, 'label')} proved wrong, more than the {fail_above:g} allowed.")
    return int(failed)


def _as_data(effect: Verification | None) -> dict[str, Any] | None:
    """Its figures, without the arrays about single rows."""
    if effect is None:
        return None
    return {name: value for name, value in dataclasses.asdict(effect).items() if not hasattr(value, "dtype")}


def _show(output: Output, effect: Controls) -> None:
    """The correction beside its controls."""
    names = ("", "correction", "random flips", "highest losses")
    controls = (effect.at_random, effect.highest_loss)
    figures = [each.figures if each else {"labels corrected": "cannot be trained"} for each in controls]
    rows = [
        (line, shown, *(each.get(line, "") for each in figures)) for line, shown in effect.correction.figures.items()
    ]
    against = (f"{effect.against(each).p_value:.2g}" if each else "" for each in controls)
    show_table(output, [*rows, ("correction against it, p", "", *against)], names, wide=names)


@command(example="psi apply psi-run -o fixed.csv")
@run_argument
@file_option(
    "-o",
    "--output",
    "target",
    required=True,
    help="The file to write: .csv, .jsonl, .parquet or .arrow; or a new folder.",
)
@click.option("--verified", is_flag=True, help="Correct the labels that retraining proved wrong; the default.")
@click.option("--reviewed", is_flag=True, help="Correct the labels that people corrected in 'psi review'.")
@top_option("Correct the first N suspects, proved or not.")
@click.option(
    "--cause",
    "causes",
    metavar="NAME",
    multiple=True,
    help="Repair this in the rows, as 'psi debug' named it (unit, missing_code, duplicates, …), not labels.",
)
@tests_option
@click.option("--overwrite", cls=FlagOnly, is_flag=True, help="Allow the output to replace the training or test file.")
@click.option(
    "--trace", is_flag=True, help="Add columns: given, corrected, verdict, reviewer, time; or was_…, by cause."
)
@click.option("--weights", is_flag=True, help="Add a column weight: how likely each label is right, to train with.")
def apply(
    output: Output,
    *,
    run: Path,
    target: Path,
    verified: bool,
    reviewed: bool,
    top: int | None,
    causes: tuple[str, ...],
    tests: bool,
    overwrite: bool,
    trace: bool,
    weights: bool,
) -> None:
    """Write the training data with corrected labels.

    With --cause something else is repaired, in the training rows or the test rows.

    If the file is unchanged and the output has its format, only labels differ, or the cells that the cause concerns.
    Otherwise the columns and their order stay, but types and spellings of values may differ. With --tests: the test
    data, with labels of --reviewed or --top corrected, or with causes repaired.

    Of a run of rows in blocks: copies of its Parquet files, in the folder of this name. Labels differ, nothing else.
    """
    from psidebug.exports.corrected import corrected_file
    from psidebug.exports.table_files import kind_of, write_content
    from psidebug.files import check_place
    from psidebug.store import load_run

    _check_one(verified=verified, reviewed=reviewed, top=top)
    found = load_run(run)
    if found.all_labels is not None and not tests:
        _check_none("rows in blocks", weights=weights, trace=trace, cause=causes)
        _apply_to_files(output, found, found.all_labels, target, reviewed=reviewed, top=top, overwrite=overwrite)
        return
    piped = str(target) == "-"
    kind = "csv" if piped else kind_of(target)[0]
    if not piped:
        check_place(target)
    if not (piped or overwrite) and (which := _own_file(target, found)) is not None:
        raise click.UsageError(
            f"{target} is the {which} file itself: choose another name, or --overwrite to lose what was given."
        )
    if tests and not causes:
        apply_tests(
            output, found, target, kind, reviewed=reviewed, top=top, trace=trace,
            refused={"verified": verified, "weights": weights},
        )  # fmt: skip
        return
    if causes:
        _check_one(verified=verified, reviewed=reviewed, top=top, weights=weights, cause=causes)
        _apply_causes(output, found, causes, target, kind, test=tests, trace=trace)
        return
    if reviewed:
        decisions = _verdicts(found)
    else:
        decisions = _corrections(found) if top is None else proposed(found, found.order[:top])
    content, remark = corrected_file(found.findings, found.data, decisions, kind, trace=trace, weights=weights)
    if remark is not None:
        output.remark(remark)
    if piped:
        _echo(content)
        return
    write_content(content, target)
    findings = found.findings
    rows, given = len(findings.labels.given), findings.encoding.decode(findings.labels.given).tolist()
    corrected = sum(getattr(each, "label", each) != given[place] for place, each in decisions.items())
    said = f"{corrected} of {counted(rows, 'label')} corrected; written to {target}"
    wrote(output, target, said, rows=rows, corrected=corrected)


def _apply_to_files(
    output: Output, found: Run, labels: Path, target: Path, *, reviewed: bool, top: int | None, overwrite: bool
) -> None:
    """Write copies of the files that the rows in blocks came from."""
    from psidebug.exports.corrected_files import numbers_of, write_corrected
    from psidebug.store.manifest import ALL_LABELS

    source, told = found.findings.origin.source, found.path / ALL_LABELS
    files = [Path(each) for each in source.get("files", ())]
    if not files:
        raise UnknownOption(
            f"the rows of this run came from no files: the repaired label of every row is in {told}, columns row and "
            f"repaired."
        )
    if lost := next((each for each in files if not each.is_file()), None):
        raise UnknownOption(f"{lost} is not there any more: the repaired label of every row is in {told}.")
    if not overwrite and any(target.exists() and target.samefile(each) for each in files):
        raise click.UsageError(
            f"{target} is the training file itself: choose another name, or --overwrite to lose what was given."
        )
    decided = None
    if reviewed or top is not None:
        chosen = _verdicts(found) if reviewed else proposed(found, found.order[:top])
        numbers = numbers_of(found.findings.labels.rows[list(chosen)], labels, named=source.get("id") is not None)
        decided = dict(zip(numbers, (getattr(each, "label", each) for each in chosen.values()), strict=True))
    rows, corrected = write_corrected(files, source["label"], labels, target, decided)
    said = f"{corrected:,} of {rows:,} labels corrected; written to {target}"
    wrote(output, target, said, rows=rows, corrected=corrected)


def _apply_causes(
    output: Output, run: Run, causes: tuple[str, ...], target: Path, kind: str, *, test: bool, trace: bool
) -> None:
    """Write the training or test rows with these repairs, and nothing else changed."""
    from psidebug.exports.repaired import repair_of, repaired_file
    from psidebug.exports.table_files import write_content

    repair = repair_of(run.findings, run.data, causes, test=test)
    content, remark = repaired_file(run.findings, run.data, repair, kind, trace=trace)
    if remark is not None:
        output.remark(remark)
    if str(target) == "-":
        _echo(content)
        return
    write_content(content, target)
    cells, dropped = repair.count, len(repair.dropped)
    said = f"{counted(cells, 'cell')} changed, {counted(dropped, 'row')} dropped; written to {target}"
    wrote(output, target, said, rows=len(repair.given) - dropped, cells=cells, dropped=dropped)


def _echo(content: bytes) -> None:
    """As text, where it is."""
    try:
        click.echo(content.decode("utf-8"), nl=False)
    except UnicodeDecodeError:
        click.echo(content, nl=False)


def _own_file(target: Path, run: Run) -> str | None:
    """Whether the run was made from this very file, under whatever name, and which it is."""
    for which, name in (("training", "path"), ("test", "test_path")):
        path = run.findings.origin.source.get(name)
        with suppress(OSError):  # one of them is not there
            if path is not None and target.samefile(path):
                return which
    return None


def _check_one(**options: Any) -> None:
    """Refuse more than one of these options."""
    given = [f"--{name}" for name, value in options.items() if value not in (None, False)]
    if len(given) > 1:
        raise click.UsageError(f"{' and '.join(given)} do not go together: give one of them.")


def _check_none(what: str, **options: Any) -> None:
    """Refuse options that a run of this sort has not."""
    given = next((name for name, value in options.items() if value), None)
    if given is not None:
        raise click.UsageError(f"--{given} is not for a run of {what}: leave it out.")


# ── which labels: position → label ──


def proposed(run: Run, positions: Any) -> dict[int, Any]:
    """The proposed labels of these rows."""
    return {int(place): run.findings.encoding.classes[run.proposed[place]] for place in positions}


def _corrections(run: Run) -> dict[int, Any]:
    """The verified corrections."""
    labels, classes = run.findings.labels, run.findings.encoding.classes
    return {place: classes[labels.repaired[place]] for place in labels.corrected.tolist()}


def _in_slice(run: Run, number: int) -> dict[int, Any]:
    """The proposed labels in a slice, numbered from 1: where the label is likely wrong, else of all its suspects."""
    import numpy as np

    slices = run.findings.slices
    if number > len(slices):
        raise click.UsageError(
            f"there is no slice {number}: the run has {len(slices)}; 'psi slices {run.path}' lists them."
        )
    members = slices[number - 1].members(run.data)
    likely = members[run.p_wrong[members] > 0.5]
    return proposed(run, likely if len(likely) else np.intersect1d(members, run.order))


def _verdicts(run: Run) -> dict[int, Any]:
    """What people decided: corrected labels, and those that are kept."""
    from psidebug.review.corrected import decisions
    from psidebug.review.verdict_store import STORE_FILE, open_store
    from psidebug.review.verdicts import DECIDED

    standing = {}
    if (run.path / STORE_FILE).exists():  # to open it would make one
        with open_store(run.path) as store:
            standing = store.current()
    if not any(each.action in DECIDED for each in standing.values()):
        raise click.UsageError(f"nobody has decided anything yet: 'psi review {run.path}' opens the review.")
    return dict(decisions(run.findings, standing))
