"""``psi new``: a commented psi.toml for the user's own files."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from psidebug.cli.options import command
from psidebug.cli.output import Output
from psidebug.cli.settings import FlagOnly
from psidebug.errors import OutputError

if TYPE_CHECKING:
    from psidebug.intake import Roles

FILE = Path("psi.toml")
PAGE = """\
# Settings of Psi for this folder, which every 'psi' command here reads; flags on the command line win.
# Look for wrong labels with:
#
#     {command}

[debug]
label = {label}{why}
{id}
{text}
# ignore = ["source"]          # columns that the model must not see; slices still see them
# category = ["postcode"]      # categories that are written as numbers
# validation = "valid.csv"     # rows kept apart: they report the effect of a correction, and veto harm
# learner = "logistic"         # or boosting, lightgbm, xgboost, forest; model = "model.skops" for your own
# causes = "all"               # or "labels": ask about training labels only
# fail_above = 10              # in CI: exit with 1 if more labels are proved wrong; below 1, a share of the rows
# output = "psi-run"           # the directory to save the run in
"""


@command(example="psi new train.csv test.csv")
@click.argument("train", type=click.Path(dir_okay=False, path_type=Path))
@click.argument("test", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--label", metavar="COLUMN", help="The column with the classes; guessed if left out.")
@click.option("--encoding", metavar="NAME", help="Of CSV and JSON files that are not UTF-8, such as cp1252.")
@click.option("--overwrite", cls=FlagOnly, is_flag=True, help="Replace a psi.toml that is already there.")
def new(output: Output, *, train: Path, test: Path, label: str | None, encoding: str | None, overwrite: bool) -> None:
    """Write a commented psi.toml for your files.

    The columns of labels, ids and texts are guessed from their names and values; look at the file before you use it.
    Then 'psi debug TRAIN TEST' needs no flags.
    """
    from psidebug.files import check_place, write_whole
    from psidebug.intake import read_table
    from psidebug.intake.guess import guessed_roles

    if FILE.exists() and not overwrite:
        raise OutputError("there is a psi.toml in this folder already: change it, or give --overwrite.")
    check_place(FILE)
    roles = guessed_roles(*(read_table(each, encoding=encoding) for each in (train, test)), label=label)
    then = shlex.join(["psi", "debug", str(train), str(test)])
    page = page_of(roles, then, guessed=label is None)
    if encoding is not None:
        page += f"encoding = {_quoted(encoding)}\n"
    write_whole(FILE, page, through_links=False)
    if output.as_json:
        output.result({"written": str(FILE), "label": roles.label, "id": roles.id, "text": list(roles.texts)})
        return
    output.text(f"wrote {FILE}: the label is {roles.label}; the id {roles.id or 'is the number of the row'}.")
    output.text(f"Look at it, then: {then}")


def page_of(roles: Roles, then: str, *, guessed: bool = True) -> str:
    """The text of psi.toml: what is known as settings, what could be said as comments."""
    identity = '# id = "id"                    # a column that names the rows, if there is one'
    texts = '# text = ["text"]              # long texts are found without being named'
    return PAGE.format(
        command=" ".join(then.split()),
        label=_quoted(roles.label),
        why="  # guessed: the column with the classes" if guessed else "",
        id=identity if roles.id is None else f"id = {_quoted(roles.id)}",
        text=f"text = {_list(roles.texts)}" if roles.texts else texts,
    )


def _list(names: Sequence[str]) -> str:
    return f"[{', '.join(map(_quoted, names))}]"


def _quoted(value: Any) -> str:
    """A string of TOML: that of JSON, where DEL is escaped too."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")
