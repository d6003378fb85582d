"""The command ``psi``: one file per command, wiring only.

Exit codes: 0 done, 2 wrong usage or input, 130 interrupted. Heavy libraries are imported when a command runs.
"""

from __future__ import annotations

import io
import sys

import click

from psidebug import __version__
from psidebug.cli.datasets import datasets
from psidebug.cli.demo import demo
from psidebug.errors import PsiError


@click.group(context_settings={"help_option_names": ["-h", "--help"]}, invoke_without_command=True)
@click.version_option(__version__, prog_name="psi")
@click.pass_context
def psi(context: click.Context) -> None:
    """Psi, a debugger for training data: which labels cause your classifier's errors.

    Example: psi demo
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


psi.add_command(demo)
psi.add_command(datasets)


def main() -> None:
    """Run the command line; every error is one sentence and an exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without "→" shows "?", not a traceback
    try:
        sys.exit(psi.main(prog_name="psi", standalone_mode=False) or 0)
    except click.ClickException as error:
        context = error.ctx if isinstance(error, click.UsageError) else None
        command = context.command_path if context is not None else "psi"
        click.echo(f"psi: {error.format_message()} '{command} --help' shows what there is.", err=True)
        sys.exit(2)
    except PsiError as error:
        click.echo(f"psi: {error}", err=True)
        sys.exit(2)
    except (KeyboardInterrupt, click.exceptions.Abort):
        click.echo("psi: interrupted; nothing was left half-written", err=True)
        sys.exit(130)
