"""What all commands share: how one is declared, and the options that several have.

A command is a function that gets an :class:`Output` first and its options by name; it returns an exit code or None::

    @command(example="psi slices psi-run")
    @run_argument
    @top_option("How many to show.", default=20)
    def slices(output: Output, *, run: Path, top: int) -> None:
        '''Show what the suspects have in common.

        More sentences, shown by --help.
        '''
        from psidebug.store import load_run  # heavy libraries are imported here, not above

        found = load_run(run)
        if output.as_json:
            output.result({...})
        else:
            output.text(...)

The decorator adds ``--json``, ``-v`` and ``-q``, and shows the example at the end of the help. Every option can be set
in ``psi.toml`` and the environment (:mod:`psidebug.cli.settings`); an exception becomes one sentence. Examples work as
typed in a folder with train.csv, test.csv and validation.csv (columns ``id``, ``label``, features) and their run
``psi-run``.
"""

from __future__ import annotations

import functools
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from psidebug.cli import settings
from psidebug.cli.output import Output
from psidebug.cli.settings import PlaceToWrite

Function = Callable[..., int | None]

STRANGE = "psidebug.strange"
"""Where a context keeps warnings about the environment."""


class Command(click.Command):
    """A command whose options can also be set in files and the environment."""

    example: str = ""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """The context, with settings as defaults; help is shown whatever the settings say."""
        if {"-h", "--help"} & set(args) or extra.get("resilient_parsing"):
            return super().make_context(info_name, args, parent, **extra)
        found = settings.settings_of(self)
        try:
            context = super().make_context(info_name, args, parent, default_map=found.values, **extra)
            context.meta[STRANGE] = found.strange
            return context
        except click.BadParameter as error:
            origin = found.origin(error)
            if origin is None:
                raise
            where = f"{error.message.removesuffix('.')} (set in {origin})."
            raise click.BadParameter(where, ctx=error.ctx, param=error.param) from None


def command(*, example: str) -> Callable[[Function], Command]:
    """Make a function a command of ``psi``; ``example`` is shown by its help, and works as typed."""

    def declared(function: Function) -> Command:
        @functools.wraps(function)
        def run(*, as_json: bool, verbose: bool, quiet: bool, **options: Any) -> int | None:
            output = Output(as_json=as_json, verbose=verbose, quiet=quiet)
            for sentence in click.get_current_context().meta.get(STRANGE, ()):
                output.remark(f"psi: {sentence}")
            try:
                return function(output, **options)
            except Exception as error:
                if verbose and not isinstance(error, BrokenPipeError):
                    click.echo(traceback.format_exc(), err=True, nl=False)
                raise

        made: Command = click.command(name=function.__name__.rstrip("_"), cls=Command, epilog=f"Example: {example}")(
            run
        )
        made.params += [
            click.Option(["--json", "as_json"], is_flag=True, help="Print the result as JSON."),
            click.Option(["-v", "--verbose"], is_flag=True, help="Print details to stderr, with tracebacks."),
            click.Option(["-q", "--quiet"], is_flag=True, help="Print only errors to stderr."),
        ]
        made.example = example
        return made

    return declared


run_argument = click.argument("run", type=click.Path(file_okay=False, path_type=Path))
"""The directory of a saved run, as ``run: Path``; give it to ``load_run``, which says what is wrong with it."""


def file_option(*names: str, required: bool = False, help: str) -> Callable[[Function], Function]:  # noqa: A002
    """An option that takes the name of a file to write, as a ``Path``; check it with ``files.check_place`` first."""
    return click.option(
        *names,
        cls=PlaceToWrite,
        metavar="FILE",
        type=click.Path(dir_okay=False, allow_dash=True, path_type=Path),
        required=required,
        help=help,
    )


def top_option(help: str, *, default: int | None = None) -> Callable[[Function], Function]:  # noqa: A002
    """``--top``, as ``top: int``, or None where there is no default."""
    return click.option(
        "--top", type=click.IntRange(min=1), default=default, show_default=default is not None, help=help
    )


tests_option = click.option(
    "--tests", is_flag=True, help="Test labels that are probably wrong, in place of training labels."
)
"""``tests: bool``."""


seed_option = click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="The same seed gives the same answer."
)
"""``seed: int``."""


def allowed(fail_above: float, rows: int) -> float:
    """The number of wrong labels that ``--fail-above`` lets pass: below 1 it is a share of the rows."""
    return fail_above * rows if fail_above < 1 else fail_above
