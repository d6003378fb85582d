"""The command ``psi``: one file per command, wiring only.

Exit codes: 0 done, 2 wrong usage or input, 130 interrupted. Heavy libraries are imported when a command runs.
"""

from __future__ import annotations

import sys

import click

from psidebug import __version__
from psidebug.cli.demo import demo
from psidebug.errors import PsiError


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="psi")
def psi() -> None:
    """Psi, a debugger for training data: which labels cause your classifier's errors.

    Example: psi demo
    """


psi.add_command(demo)


def main() -> None:
    """Run the command line; every error is one sentence and an exit code."""
    try:
        sys.exit(psi.main(standalone_mode=False) or 0)
    except click.ClickException as error:
        error.show()
        sys.exit(2)
    except PsiError as error:
        click.echo(f"psi: {error}", err=True)
        sys.exit(2)
    except (KeyboardInterrupt, click.exceptions.Abort):
        click.echo("psi: interrupted; nothing was left half-written", err=True)
        sys.exit(130)
