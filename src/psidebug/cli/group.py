"""The commands as one group, each imported when it is used; every exception becomes one sentence and an exit code."""

from __future__ import annotations

import importlib
import io
import keyword
import os
import sys
from collections.abc import Sequence
from typing import Any

import click

from psidebug import __version__
from psidebug.cli import INTERRUPTED
from psidebug.cli.terminal import Harmless, harmless
from psidebug.errors import PsiError

COMMANDS = {
    "new": "Write a commented psi.toml for your files.",
    "debug": "Find the training labels that cause a classifier's errors, and prove it.",
    "suspects": "List the training labels that are probably wrong.",
    "slices": "Show what the suspects have in common.",
    "explain": "Show the causes of one misclassified test row.",
    "verify": "Retrain with corrected labels, and show the effect.",
    "apply": "Write the training data with corrected labels.",
    "report": "Write a run as one HTML page.",
    "review": "Review the suspects in a browser.",
    "export": "Write the suspects for a labelling tool or a notebook.",
    "import": "Take verdicts in that people made elsewhere.",
    "compare": "Compare two runs.",
    "bench": "Measure Psi on data with known label errors.",
    "demo": "Find a planted labelling error in a few seconds.",
    "datasets": "List the data sets with known label errors.",
    "completion": "Print a completion script for your shell.",
}
"""Every command with its line in ``psi --help``."""
MODULES = {
    **dict.fromkeys(("suspects", "slices", "explain", "report", "export", "compare"), "results"),
    **dict.fromkeys(("verify", "apply"), "corrections"),
    "datasets": "bench",
    "import": "import_",
}
"""Where a command lives, as a function of its name (``import_`` for import); the others in the module of their name."""


class ReaderGone(Exception):
    """The reader of the output is gone; raised in place of a BrokenPipeError, which click would make exit code 1."""


class LazyGroup(click.Group):
    """Commands that are imported when they are used."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """The context; help and version are printed here."""
        try:
            return super().make_context(info_name, args, parent, **extra)
        except BrokenPipeError as error:
            raise ReaderGone from error

    def invoke(self, context: click.Context) -> Any:
        """Run the command."""
        try:
            return super().invoke(context)
        except BrokenPipeError as error:
            raise ReaderGone from error

    def list_commands(self, context: click.Context) -> list[str]:
        """Their names, in the order of the work."""
        return list(COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        """The command of this name."""
        if name not in COMMANDS:
            return None
        home = importlib.import_module(f"psidebug.cli.{MODULES.get(name, name)}")
        found = getattr(home, f"{name}_" if keyword.iskeyword(name) else name)
        assert isinstance(found, click.Command)
        return found

    def resolve_command(
        self, context: click.Context, arguments: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command and its arguments; a wrong name is answered with the near ones."""
        from difflib import get_close_matches

        name = arguments[0]
        if name not in COMMANDS and not name.startswith("-"):
            near = get_close_matches(name, COMMANDS, n=2)
            meant = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
            context.fail(f"No such command {name!r}.{meant}")
        return super().resolve_command(context, arguments)

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """The list in ``psi --help``."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    invoke_without_command=True,
    epilog="Example: psi demo",
)
@click.version_option(__version__, prog_name="psi")
@click.pass_context
def psi(context: click.Context) -> None:
    """Psi, a debugger for training data: find the labels that cause your classifier's errors.

    Start with 'psi demo', or with your own data: 'psi debug train.csv test.csv --label COLUMN'. You can also set
    options in psi.toml, in [tool.psi] of pyproject.toml, and as PSI_… in the environment.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


def run_command(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; every error is one sentence and an exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without "→" shows "?", not a traceback
    given = sys.stdout
    if given.isatty():
        sys.stdout = Harmless(given)
    try:
        code = _run(arguments)
    finally:
        sys.stdout = given
    try:
        sys.stdout.flush()
    except OSError as error:
        code = _unwritten(error)
    return code


def _run(arguments: Sequence[str] | None) -> int:
    """Run, and turn every exception into a sentence and an exit code."""
    try:
        return psi.main(arguments, prog_name="psi", standalone_mode=False) or 0
    except click.ClickException as error:
        context = error.ctx if isinstance(error, click.UsageError) else None
        command = context.command_path if context is not None else "psi"
        return _told(f"{' '.join(error.format_message().split())} See '{command} --help'.")
    except PsiError as error:
        return _told(str(error))
    except (KeyboardInterrupt, click.exceptions.Abort):
        _told(INTERRUPTED)
        return 130
    except SystemExit as leaving:  # after completion
        return leaving.code if isinstance(leaving.code, int) else 0
    except ReaderGone:
        return _unwritten(BrokenPipeError())
    except OSError as error:
        return _unwritten(error)
    except MemoryError:
        return _told("the data do not fit into memory. Use fewer rows or columns.")
    except Exception as error:
        first = (str(error).strip().splitlines() or [""])[0]
        return _told(
            f"internal error: {type(error).__name__}: {first}. Please report it, with the traceback that -v prints."
        )


def _told(sentence: str) -> int:
    click.echo(harmless(f"psi: {sentence}"), err=True)
    return 2


def _unwritten(error: OSError) -> int:
    """Say that something could not be read or written; silent if the reader of the output is gone."""
    broken = isinstance(error, BrokenPipeError)
    if not broken:
        where = "the output" if error.filename is None else str(error.filename)
        _told(f"{where} could not be read or written: {error.strerror or error}. Free space, or choose another place.")
    if error.filename is None:  # drop what still waits for stdout: it cannot be written
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return 141 if broken else 2
