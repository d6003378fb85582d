"""``psi apply --tests``: the test data with labels that people decided, or with the first proposed ones."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from psidebug.cli.output import Output
from psidebug.cli.tables import counted, wrote

if TYPE_CHECKING:
    from psidebug.store import Run


def apply_tests(
    output: Output,
    run: Run,
    target: Path,
    kind: str,
    *,
    reviewed: bool,
    top: int | None,
    trace: bool,
    refused: Mapping[str, Any],
) -> None:
    """Write them. No retraining proves a test label wrong, so it must be said which to correct.

    ``refused`` are options that are about training data, by name.
    """
    from psidebug.exports.of_tests import corrected_test_file, proposed_tests
    from psidebug.exports.table_files import write_content

    for name, value in refused.items():
        if value:
            raise click.UsageError(f"--tests and --{name} do not go together: --{name} is about the training data.")
    piped, findings = str(target) == "-", run.findings
    suspects = 0 if findings.suspect_tests is None else len(findings.suspect_tests.rows)
    if not reviewed and top is None:
        all_of_them = f" (--top {suspects} takes all)" if suspects else ""
        raise click.UsageError(
            f"which test labels? Give --reviewed for those that people corrected in 'psi review', or --top N for the "
            f"first N proposed ones{all_of_them}."
        )
    if top is not None and not suspects:
        raise click.UsageError("the run found no test labels that are probably wrong: there is nothing to correct.")
    made = _decided(run) if reviewed else proposed_tests(findings, top or 0)
    content, remark = corrected_test_file(findings, run.data, made, kind, trace=trace)
    if remark is not None:
        output.remark(remark)
    if piped:
        click.echo(content if kind in ("parquet", "arrow") else content.decode("utf-8"), nl=False)
        return
    write_content(content, target)
    rows, given = len(findings.predictions.labels), findings.encoding.decode(findings.predictions.labels).tolist()
    corrected = sum(getattr(each, "label", each) != given[place] for place, each in made.items())
    said = f"{corrected} of {counted(rows, 'test label')} corrected; written to {target}"
    wrote(output, target, said, rows=rows, corrected=corrected)


def _decided(run: Run) -> dict[int, Any]:
    """What people decided about test labels, by position."""
    from psidebug.findings.about_tests import about_tests
    from psidebug.review.corrected import decisions
    from psidebug.review.verdict_store import STORE_FILE, open_store
    from psidebug.review.verdicts import DECIDED

    standing = {}
    if (run.path / STORE_FILE).exists():  # to open it would make one
        with open_store(run.path) as store:
            standing = store.current("test")
    if not any(each.action in DECIDED for each in standing.values()):
        raise click.UsageError(f"nobody has decided on a test label yet: 'psi review {run.path}' opens the review.")
    return dict(decisions(about_tests(run.findings), standing))
