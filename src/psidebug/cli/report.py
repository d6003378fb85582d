"""``psi report``: a run as one HTML page."""

from __future__ import annotations

from pathlib import Path

from psidebug.cli.options import command, file_option, run_argument
from psidebug.cli.output import Output


@command(example="psi report psi-run -o report.html")
@run_argument
@file_option("-o", "--output", "target", required=True, help="The page to write.")
def report(output: Output, *, run: Path, target: Path) -> None:
    """Write a run as one HTML page.

    It needs no network and no other file.
    """
    from psidebug.files import check_place
    from psidebug.report import write_report
    from psidebug.store import load_run

    check_place(target)
    found = load_run(run)
    write_report(found.findings, found.data, target)
    if output.as_json:
        output.result({"written": str(target), "bytes": target.stat().st_size})
    else:
        output.remark(f"wrote {target}")
