"""``psi import``: verdicts that people made elsewhere, in Label Studio or in another review, come into a run."""

from __future__ import annotations

import getpass
import uuid
from pathlib import Path

import click

from psidebug.cli.options import command, run_argument
from psidebug.cli.output import Output
from psidebug.errors import InputError


@command(example="psi import psi-run labelled.json")
@run_argument
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--reviewer", metavar="NAME", help="Name saved with verdicts that have none; by default your user name.")
def import_(output: Output, *, run: Path, file: Path, reviewer: str | None) -> None:
    """Take verdicts in that people made elsewhere.

    FILE is Label Studio's JSON export of tasks that 'psi export' wrote, or the log of another review (JSON lines). All
    of it is taken or nothing; a row that has a verdict as new or newer keeps it. 'psi apply --reviewed' then writes the
    corrected data, and 'psi review' shows the verdicts.
    """
    from psidebug.diagnosis.diagnosis import Diagnosis
    from psidebug.review.desk import Desk
    from psidebug.review.exchange import read_verdicts
    from psidebug.review.security import Visitor

    desk = Desk(run, Diagnosis.load)
    try:
        found = read_verdicts(_text(file), desk.findings)
        who = Visitor(reviewer or getpass.getuser(), browser="psi import")
        stored = desk.take_in(found.verdicts, visitor=who, key=uuid.uuid4().hex)
    finally:
        desk.close()
    if output.as_json:
        counts = {"kept": len(found.verdicts) - stored, "disputed": found.disputed, "unanswered": found.unanswered}
        output.result({"imported": stored, **counts})
    else:
        output.text(found.told(stored))


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise InputError(f"there is no file {file}. Check the name.") from None
    except UnicodeDecodeError:
        raise InputError(f"{file} is not UTF-8 text: export it again as JSON.") from None
