"""Where a command's words go: results to stdout, as text or JSON; progress and remarks to stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.console import Console

Progress = Callable[[str, int, int], None]
PIPED_WIDTH = 100
"""Columns of the text when stdout is no terminal, unless COLUMNS says otherwise."""


@dataclass(frozen=True)
class Output:
    """What ``--json``, ``-v`` and ``-q`` ask for; every command gets one."""

    as_json: bool = False
    verbose: bool = False
    quiet: bool = False

    @cached_property
    def console(self) -> Console:
        """Where results in words are printed."""
        return console_for(stderr=False)

    def result(self, data: Any) -> None:
        """Print a result as JSON: numbers of numpy, dates and NaN included (as numbers, ISO text and null)."""
        click.echo(json.dumps(plain(data), indent=2, ensure_ascii=False, allow_nan=False))

    def remark(self, text: str) -> None:
        """Say something on stderr that is no result; not with ``-q``."""
        if not self.quiet:
            click.echo(text, err=True)

    def detail(self, text: str) -> None:
        """Say something on stderr that only ``-v`` asks for."""
        if self.verbose:
            click.echo(text, err=True)

    @contextmanager
    def progress(self) -> Iterator[Progress]:
        """A callback (stage, done, total) that shows where the work is.

        A line that moves on a terminal; with ``-v`` one line per stage anywhere; else silent.
        """
        from psidebug.cli.progress import progress_bar, progress_lines

        if self.quiet:
            yield lambda stage, done, total: None
        elif self.verbose and not sys.stderr.isatty():
            yield progress_lines(lambda line: click.echo(line, err=True))
        else:
            with progress_bar() as tick:
                yield tick


def console_for(*, stderr: bool) -> Console:
    """A console that is as wide as the terminal, and lets a closed pipe be known."""
    import os

    from rich.console import Console

    class Plain(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError(32, "Broken pipe")

    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() or os.environ.get("COLUMNS") else PIPED_WIDTH
    return Plain(stderr=stderr, highlight=False, width=width, emoji=False)


def plain(value: Any) -> Any:
    """The value as JSON has it: dicts, lists, texts, numbers, true, false, null."""
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(each) for each in value]
    if hasattr(value, "tolist"):  # numpy
        return plain(value.tolist())
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return None
    if value is None or isinstance(value, str | bool | int | float):
        return value
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
