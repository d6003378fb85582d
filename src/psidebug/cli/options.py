"""What all commands share: how one is declared, and the options that several have.

A command is a function that gets an :class:`Output` first and its options by name; it returns an exit code or None::

    @command(example="psi slices psi-run")
    @run_argument
    @click.option("--top", type=click.IntRange(min=1), default=20, show_default=True, help="How many to show.")
    def slices(output: Output, *, run: Path, top: int) -> None:
        '''Say what the suspects have in common.

        More sentences, shown by --help.
        '''
        from psidebug.store import load_run  # heavy libraries are imported here, not above

        found = load_run(run)
        if output.as_json:
            output.result({...})
            return
        output.console.print(...)

``--json``, ``-v`` and ``-q`` are added, the example is shown at the end of the help, every option can be set in
``psi.toml`` and the environment (see :mod:`psidebug.cli.settings`), and what is raised becomes one sentence.
Examples work as typed in a folder with train.csv, test.csv and validation.csv (columns ``id``, ``label``, features) and
their run ``psi-run``.
"""

from __future__ import annotations

import functools
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from psidebug.cli import settings
from psidebug.cli.guarded import FlagOnly, PlaceToWrite
from psidebug.cli.output import Output

Function = Callable[..., int | None]

STRANGE = "psidebug.strange"
"""Where a context keeps what is strange about the environment."""


class Command(click.Command):
    """A command whose options can also be set in files and the environment."""

    example: str = ""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """The context, with settings as defaults; help is shown whatever the settings say."""
        asks_for_help = {"-h", "--help"} & set(args)
        if asks_for_help or extra.get("resilient_parsing"):
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

        made: Command = click.command(name=function.__name__, cls=Command, epilog=f"Example: {example}")(run)
        made.params += [
            click.Option(["--json", "as_json"], is_flag=True, help="Print the result as JSON."),
            click.Option(["-v", "--verbose"], is_flag=True, help="Say more on stderr; show where an error comes from."),
            click.Option(["-q", "--quiet"], is_flag=True, help="Say nothing on stderr but errors."),
        ]
        made.example = example
        return made

    return declared


run_argument = click.argument("run", type=click.Path(file_okay=False, path_type=Path))
"""The directory of a saved run, as ``run: Path``; give it to ``load_run``, which says what is wrong with it."""

trust_pickle_option = click.option(
    "--trust-pickle",
    cls=FlagOnly,
    is_flag=True,
    help="Open a model saved by pickle or joblib, which runs code from the file.",
)
"""``trust_pickle: bool``, for ``load_model``."""


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


def seed_option(function: Function) -> Function:
    """``--seed``, as ``seed: int``."""
    option = click.option(
        "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="The same seed gives the same answer."
    )
    return option(function)
