"""``psi debug``: from files to a verdict, a run and what to do next."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from psidebug.cli.diagnosing import check_run, diagnosed, in_words_of_files, loaded
from psidebug.cli.no_model import columns_are_learned, pair_option
from psidebug.cli.options import allowed, command, file_option, seed_option
from psidebug.cli.output import Output
from psidebug.cli.settings import FlagOnly, PlaceToWrite
from psidebug.errors import OutputError
from psidebug.threads import few_threads

if TYPE_CHECKING:
    from psidebug.diagnosis.diagnosis import Diagnosis
    from psidebug.intake import Inputs

LEARNERS = ["logistic", "boosting", "lightgbm", "xgboost", "forest"]
MANY_CLASSES = 40
"""From so many classes on there is a warning before the work: it takes long, and may be a mistake."""
table_type = click.Path(allow_dash=True, path_type=Path)


@command(example="psi debug train.csv test.csv --label label --id id")
@click.argument("train", type=table_type)
@click.argument("test", type=table_type)
@click.option("--label", metavar="COLUMN", required=True, help="The column with the classes.")
@click.option("--id", "id_", metavar="COLUMN", help="The column with row ids, used in every result.")
@click.option(
    "--validation", metavar="FILE", type=table_type, help="Held-out rows that report the effect, and veto harm."
)
@click.option(
    "--annotations",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Answers of several annotators: an id column and a column for each, or id, annotator and label.",
)
@pair_option("--embeddings", "No model at all: a line of numbers for each row, npy or Parquet, learned from alone.")
@pair_option("--probabilities", "What your own model says, out of fold: npy, or Parquet with a column for each class.")
@click.option("--text", metavar="COLUMN", multiple=True, help="A text column; long text columns are detected.")
@click.option("--image", metavar="COLUMN", help="A column with pictures or their paths; shown, not learned from.")
@click.option("--category", metavar="COLUMN", multiple=True, help="A column of categories, though written as numbers.")
@click.option("--ignore", metavar="COLUMN", multiple=True, help="Hide a column from the model; slices still see it.")
@click.option("--encoding", metavar="NAME", help="Of CSV and JSON files that are not UTF-8, such as cp1252.")
@click.option("--drop-unlabelled", is_flag=True, help="Leave out rows without a label; the others keep their numbers.")
@click.option(
    "--prior",
    metavar="RATE",
    multiple=True,
    help="How often labels are wrong, as 0.05, or by value, as annotator=bob:0.2; learned if left out.",
)
@click.option(
    "--learner",
    type=click.Choice(LEARNERS),
    default="logistic",
    show_default=True,
    help="The learner to build when no model is given.",
)
@click.option(
    "--model",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Your own model, fitted or not: a file of skops, LightGBM or XGBoost.",
)
@click.option("--trust-pickle", cls=FlagOnly, is_flag=True, help="Open a pickle or joblib model, which can run code.")
@click.option(
    "--rounds",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Correct, retrain and diagnose again, at most this often.",
)
@click.option(
    "--causes",
    type=click.Choice(["all", "labels"]),
    default="all",
    show_default=True,
    help="What may be wrong: rows, columns, test labels and the learner too, or training labels only.",
)
@click.option(
    "--effort",
    type=click.Choice(["rank", "decide", "prove"]),
    default="decide",
    show_default=True,
    help="How far to go: rank labels by PS only, decide, or decide and measure the whole proof.",
)
@click.option("--full", is_flag=True, help="The same as --effort prove.")
@seed_option
@click.option(
    "--fail-above",
    metavar="X",
    type=click.FloatRange(min=0),
    help="Exit with 1 if more than X labels are proved wrong; below 1, X is a share of the rows.",
)
@click.option(
    "--cluster",
    cls=FlagOnly,
    metavar="ADDRESS",
    help="Of a Dask scheduler whose workers see the files and RUN: they read rows in blocks.",
)
@click.option(
    "--workers",
    metavar="N",
    type=click.IntRange(min=1),
    help="Start so many Dask workers on this machine to read rows in blocks.",
)
@file_option("--report", help="Also write the diagnosis as an HTML page, with the whole proof.")
@click.option("--timings", is_flag=True, help="Also print what every stage took: time, fits, memory.")
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
    annotations: Path | None,
    embeddings: tuple[Path, Path] | None,
    probabilities: tuple[Path, Path] | None,
    text: tuple[str, ...],
    image: str | None,
    category: tuple[str, ...],
    ignore: tuple[str, ...],
    encoding: str | None,
    drop_unlabelled: bool,
    prior: tuple[str, ...],
    learner: str,
    model: Path | None,
    trust_pickle: bool,
    rounds: int,
    causes: str,
    effort: str,
    full: bool,
    seed: int,
    fail_above: float | None,
    cluster: str | None,
    workers: int | None,
    report: Path | None,
    timings: bool,
    run: Path,
) -> int:
    """Find the training labels that cause a classifier's errors, and prove it.

    TRAIN and TEST are tables: CSV, Parquet, JSON or Arrow, also compressed by gzip, or - for stdin. The labels of TEST
    should be right. Numbers, categories, dates, texts and missing values need no preparation.

    TRAIN may be a folder of Parquet files, or a quoted pattern such as 'train/*.parquet': they are read in blocks, may
    be larger than memory, and every label is written to RUN/labels_of_all.parquet. By --cluster or --workers, Dask
    reads them.

    Without a model at hand give --embeddings, --probabilities or both: the learner is a logistic head on them, and the
    columns of TRAIN and TEST are for slices and to be shown. Beside --model or --learner, --probabilities are one more
    opinion.

    A run of the same data in RUN is replaced; if RUN holds anything else, psi stops.
    """
    from psidebug.cli.large import check_options, diagnosed_over_blocks, is_large
    from psidebug.cli.prior import prior_from
    from psidebug.cli.tables import counted
    from psidebug.files import check_place
    from psidebug.intake import Roles, inputs_from
    from psidebug.timings import Stopwatch

    if report is not None:
        check_place(report)
    if model is not None and _typed("learner"):
        raise click.UsageError("--model and --learner do not go together: give one of them.")
    if model is not None and category:
        raise click.UsageError("--category is for the learner that Psi builds: your --model takes columns as they are.")
    learned = columns_are_learned(
        embeddings, probabilities, model=model is not None, learner=_typed("learner"), validation=validation,
        category=category,
    )  # fmt: skip
    if full and effort != "prove" and _typed("effort"):
        raise click.UsageError(f"--full and --effort {effort} do not go together: give one of them.")
    if fail_above is not None and effort == "rank" and not full:
        raise click.UsageError("--fail-above counts labels that are proved wrong, and --effort rank proves none.")
    if cluster is not None and workers is not None:
        raise click.UsageError("--cluster and --workers do not go together: give one of them.")
    if (cluster is not None or workers is not None) and not is_large(train):
        raise click.UsageError(
            "--cluster and --workers are for rows that are read in blocks: give a folder of Parquet files, or a quoted "
            "pattern."
        )
    given = None if model is None else loaded(output, model, trust_pickle)
    roles = Roles(label, id_, text, image, ignore, category, learned)
    if is_large(train):
        check_options(
            annotations=annotations, embeddings=embeddings, probabilities=probabilities, text=text,
            image=image, encoding=encoding, full=full or effort == "prove", rounds=rounds > 1,
            report=report, timings=timings, **{"drop-unlabelled": drop_unlabelled},
        )  # fmt: skip
        with output.progress() as tick:
            found, inputs = diagnosed_over_blocks(
                train, test, validation, roles, run, tick, model=given, learner=learner, seed=seed, causes=causes,
                effort=effort, prior=_one_rate(prior), cluster=cluster, workers=workers,
            )  # fmt: skip
        failed = fail_above is not None and found.corrected > allowed(fail_above, _count(found.settings["rows"]))
        _show(output, found, inputs, run, None, failed, timings=False)
        return int(failed)
    options: dict[str, Any] = {"rounds": rounds, "causes": causes, "effort": "prove" if full else effort}
    with output.progress() as tick, Stopwatch().watching("reading") as watch:
        tick("reading", 0, 1)
        inputs = inputs_from(
            train,
            test,
            validation,
            roles,
            learner=learner,
            model=given,
            annotations=annotations,
            seed=seed,
            encoding=encoding,
            drop_unlabelled=drop_unlabelled,
            embeddings=embeddings,
            probabilities=probabilities,
        )
        options["prior"] = prior_from(prior, inputs.train.table)
        for part in (inputs.train, inputs.test, inputs.validation):
            if part is not None and part.left_out:
                output.remark(f"psi: {counted(part.left_out, 'row')} of {part.name} without a label left out.")
        if output.verbose:
            for line in inputs.built:
                click.echo(f"psi: {line}", err=True)
        arguments, about_test = inputs.arguments(), inputs.about_test()
        classes = len(set(inputs.train.labels))
        if classes >= MANY_CLASSES:
            output.remark(
                f"psi: the label column {label!r} has {classes} classes, so every fit is slow: this may take minutes. "
                f"If another column has the classes, stop and name it by --label."
            )
        with in_words_of_files(inputs.source), few_threads(len(inputs.train.labels)):
            check_run(run, arguments, seed)
            found = diagnosed(output, inputs, arguments, options, seed, tick)
        found = found.described(source=inputs.source, **about_test)
        if full or effort == "prove" or report is not None:
            tick("repairs", 0, 1)
            with few_threads(len(inputs.train.labels)):
                found = found.with_repairs.with_proof  # the run keeps it, too
        tick("saving", 0, 1)
        watch.begin("saving")
        found.save(run)
        if report is not None:
            found.report(report)
    labels = found.findings.labels
    proved = 0 if found.findings.correction is None else len(labels.corrected)  # a respelled class is no wrong label
    failed = fail_above is not None and proved > allowed(fail_above, len(labels.given))
    _show(output, found, inputs, run, report, failed, timings=timings)
    return int(failed)


def _one_rate(prior: tuple[str, ...]) -> float | None:
    """How often labels are wrong, where rows are read in blocks: one number, or learned."""
    try:
        return float(prior[0]) if prior else None
    except ValueError:
        raise click.UsageError("--prior is one rate, such as 0.05, for rows that are read in blocks.") from None


def _count(told: str) -> int:
    return int(told.replace(",", ""))


def _typed(option: str) -> bool:
    """Whether the option was given on the command line."""
    return click.get_current_context().get_parameter_source(option) == ParameterSource.COMMANDLINE


def _show(
    output: Output, found: Diagnosis, inputs: Inputs, run: Path, report: Path | None, failed: bool, *, timings: bool
) -> None:
    from psidebug.cli import findings
    from psidebug.cli.tables import records

    if output.as_json:
        more = {"built": inputs.built, "run": str(run), "report": report and str(report), "failed": failed}
        output.result(findings.as_data(found) | more | ({"timings": records(found.timings)} if timings else {}))
        return
    findings.show(output.console, found, built=inputs.built)
    if timings:
        findings.show_timings(output.console, found.timings)
    fixed = {"fixed": fixed_like(inputs.train.name), "fixed_test": fixed_like(inputs.test.name, "fixed_test")}
    findings.show_next(output.console, found, run=run, report=report, **fixed)


def fixed_like(name: str, called: str = "fixed") -> str:
    """A name for a corrected file, in the format of the given one; CSV where its name says none."""
    from psidebug.exports.table_files import kind_of

    lower = name.lower()
    try:
        kind_of(lower)
    except OutputError:
        return f"{called}.csv"
    packed = ".gz" if lower.endswith(".gz") else ""
    return f"{called}{Path(lower.removesuffix(packed)).suffix}{packed}"
