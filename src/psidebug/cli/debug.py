"""``psi debug``: from files to a verdict, a run and what to do next."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from psidebug.cli.guarded import PlaceToWrite
from psidebug.cli.options import command, file_option, seed_option, trust_pickle_option
from psidebug.cli.output import Output

if TYPE_CHECKING:
    from psidebug.diagnosis.diagnosis import Diagnosis
    from psidebug.intake import Inputs

LEARNERS = ["logistic", "boosting", "lightgbm", "xgboost", "forest"]
MANY_CLASSES = 40
"""So many classes are told before the work: it takes long, and may be a mistake."""
table_type = click.Path(allow_dash=True, path_type=Path)


@command(example="psi debug train.csv test.csv --label label --id id")
@click.argument("train", type=table_type)
@click.argument("test", type=table_type)
@click.option("--label", metavar="COLUMN", required=True, help="The column with the classes.")
@click.option("--id", "id_", metavar="COLUMN", help="The column that names rows, in every result.")
@click.option("--validation", metavar="FILE", type=table_type, help="Rows kept apart, to report the effect on.")
@click.option("--text", metavar="COLUMN", multiple=True, help="A column of texts; long ones are found by themselves.")
@click.option("--image", metavar="COLUMN", help="A column with paths of pictures, or pictures; shown, not learned.")
@click.option("--ignore", metavar="COLUMN", multiple=True, help="Keep a column from the model; slices still see it.")
@click.option(
    "--learner",
    type=click.Choice(LEARNERS),
    default="logistic",
    show_default=True,
    help="What to build when no model is given.",
)
@click.option(
    "--model",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Your own model, fitted or not: skops, LightGBM's or XGBoost's file.",
)
@trust_pickle_option
@click.option(
    "--rounds",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="How often at most to correct, retrain and diagnose again.",
)
@seed_option
@click.option(
    "--fail-above",
    metavar="X",
    type=click.FloatRange(min=0),
    help="Exit with 1 if more than X labels are verified as wrong; below 1, a share of the rows.",
)
@file_option("--report", help="Also write the diagnosis as an HTML page.")
@click.option(
    "-o",
    "--output",
    "run",
    cls=PlaceToWrite,
    metavar="RUN",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("psi-run"),
    show_default=True,
    help="The directory to save the run in.",
)
def debug(
    output: Output,
    *,
    train: Path,
    test: Path,
    label: str,
    id_: str | None,
    validation: Path | None,
    text: tuple[str, ...],
    image: str | None,
    ignore: tuple[str, ...],
    learner: str,
    model: Path | None,
    trust_pickle: bool,
    rounds: int,
    seed: int,
    fail_above: float | None,
    report: Path | None,
    run: Path,
) -> int:
    """Find the training labels that cause a classifier's errors, and prove it.

    TRAIN and TEST are tables: CSV, Parquet, JSON lines or Arrow, packed by gzip or not, or - for stdin. The labels of
    TEST should be right. Numbers, categories, dates, texts and missing values need no preparation.

    A run of the same data in RUN is made anew; any other is left alone, and nothing is done.
    """
    from psidebug.cli.threads import few_threads
    from psidebug.cli.words import in_words_of_files
    from psidebug.files import check_place
    from psidebug.intake import Roles, inputs_from
    from psidebug.models import load_model

    if report is not None:
        check_place(report)
    if model is not None and click.get_current_context().get_parameter_source("learner") == ParameterSource.COMMANDLINE:
        raise click.UsageError("--model and --learner do not go together: give one of them.")
    given = None
    if model is not None:
        with warnings.catch_warnings(record=True) as caught:
            given = load_model(model, trust_pickle=trust_pickle)
        for each in caught:
            output.remark(f"psi: {each.message}")
    roles = Roles(label, id_, text, image, ignore)
    with output.progress() as tick:
        tick("reading", 0, 1)
        inputs = inputs_from(train, test, validation, roles, learner=learner, model=given, seed=seed)
        for line in inputs.built:
            output.detail(f"psi: {line}")
        arguments, about_test = inputs.arguments(), inputs.about_test()
        _warn_of_classes(output, inputs)
        with in_words_of_files(inputs.source), few_threads(len(inputs.train.labels)):
            _check_run(run, arguments, seed)
            found = _diagnosed(inputs, arguments, rounds, seed, tick)
        if inputs.shared_rows is not None:
            output.remark(f"psi: {inputs.shared_rows}.")
        found = found.described(
            source=inputs.source, notes=[] if inputs.shared_rows is None else [inputs.shared_rows], **about_test
        )
        tick("saving", 0, 1)
        found.save(run)
        if report is not None:
            found.report(report)
    labels = found.findings.labels
    failed = fail_above is not None and len(labels.corrected) > allowed(fail_above, len(labels.given))
    _show(output, found, inputs, run, report, failed)
    return int(failed)


def _check_run(run: Path, arguments: dict[str, Any], seed: int) -> None:
    """Refuse a place that cannot take the run before the work; whether a run there is of the same data takes a fit."""
    from psidebug.store import check_run_place, fingerprint_of
    from psidebug.task.task import Task

    if not (run / "run.json").exists():
        check_run_place(run, {})
        return
    task = Task.of(**arguments, seed=seed)
    check_run_place(run, fingerprint_of(task))


def _warn_of_classes(output: Output, inputs: Inputs) -> None:
    """Say before the work that it takes long, and why: it may be the wrong column."""
    classes = len(set(inputs.train.labels))
    if classes >= MANY_CLASSES:
        output.remark(
            f"psi: the label column {inputs.roles.label!r} has {classes} classes, and every fit is of all of them: "
            f"this may take minutes. If another column has the classes, stop here and name it by --label."
        )


def _diagnosed(inputs: Inputs, arguments: dict[str, Any], rounds: int, seed: int, tick: Any) -> Diagnosis:
    import psidebug
    from psidebug.cli.tables import counted

    rows = counted(len(inputs.train.labels), "row")
    return psidebug.debug(
        **arguments,
        rounds=rounds,
        rng=seed,
        images=inputs.roles.image,
        text=inputs.source["text"],
        progress=lambda stage, done, total: tick(f"{stage} ({rows})", done, total),
    )


def allowed(fail_above: float, rows: int) -> float:
    """The number of wrong labels that ``--fail-above`` lets pass: below 1 it is a share of the rows."""
    return fail_above * rows if fail_above < 1 else fail_above


def _show(output: Output, found: Diagnosis, inputs: Inputs, run: Path, report: Path | None, failed: bool) -> None:
    from psidebug.cli import findings

    if output.as_json:
        page = None if report is None else str(report)
        output.result(
            findings.as_data(found) | {"built": list(inputs.built), "run": str(run), "report": page, "failed": failed}
        )
        return
    findings.show(output.console, found, built=inputs.built)
    findings.show_next(output.console, found, run=run, report=report, fixed=fixed_like(inputs.train.name))


def fixed_like(name: str) -> str:
    """A name for the corrected file, of the format of the training file; CSV where its name says none."""
    from psidebug.errors import OutputError
    from psidebug.exports import kind_of

    lower = name.lower()
    try:
        kind_of(lower)
    except OutputError:
        return "fixed.csv"
    packed = ".gz" if lower.endswith(".gz") else ""
    return f"fixed{Path(lower.removesuffix(packed)).suffix}{packed}"
