"""Where a command's words go: results to stdout, as text or JSON; progress and remarks to stderr."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import click

from psidebug.cli.terminal import harmless
from psidebug.timings import Tick

if TYPE_CHECKING:
    from rich.console import Console

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
        return _console(stderr=False)

    @property
    def shows_early(self) -> bool:
        """Whether somebody watches, who may be shown what is not yet the result."""
        return not self.as_json and not self.quiet and sys.stdout.isatty() and sys.stderr.isatty()

    @property
    def beside(self) -> Console:
        """Where words that are no result are printed, above the moving bar."""
        return _console(stderr=True)

    def result(self, data: Any) -> None:
        """Print a result as JSON."""
        from psidebug.exports.table_files import plain

        click.echo(json.dumps(plain(data), indent=2, ensure_ascii=False, allow_nan=False))

    def text(self, text: str) -> None:
        """Print a result in words, as it is."""
        self.console.print(text, markup=False)

    def remark(self, text: str) -> None:
        """Say something on stderr that is no result; not with ``-q``."""
        if not self.quiet:
            click.echo(harmless(text), err=True)

    @contextmanager
    def progress(self) -> Iterator[Tick]:
        """A callback (stage, done, total): a moving bar on a terminal; elsewhere, with ``-v``, a line per stage."""
        if self.quiet:
            yield lambda stage, done, total: None
        elif self.verbose and not sys.stderr.isatty():
            yield _stage_lines()
        else:
            from psidebug.progress import terminal_bar

            with terminal_bar(_console(stderr=True)) as tick:
                yield tick


def _console(*, stderr: bool) -> Console:
    """A console that is as wide as the terminal, and reports a closed pipe."""
    from rich.console import Console

    class Plain(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError(32, "Broken pipe")

    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() or os.environ.get("COLUMNS") else PIPED_WIDTH
    return Plain(stderr=stderr, highlight=False, width=width, emoji=False)


def _stage_lines() -> Tick:
    """A callback that writes one line when a stage begins."""
    seen: list[str] = []

    def tick(stage: str, done: int, total: int) -> None:
        if total and seen[-1:] != [stage]:  # single fits have no total
            seen.append(stage)
            click.echo(f"psi: {stage}" + (f", {total:,} fits" if total > 1 else ""), err=True)

    return tick
