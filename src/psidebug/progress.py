"""Progress where somebody looks: a bar in a terminal, a live one in a notebook, nothing elsewhere."""

from __future__ import annotations

import html
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

import narwhals as nw

from psidebug.timings import Tick

if TYPE_CHECKING:
    from rich.console import Console

SUSPECTS = 10
"""First suspects that a notebook shows while the rest is worked out."""
PAUSE = 0.1
"""Seconds between two pictures of the same stage: a notebook keeps every message."""


@contextmanager
def watched(progress: Tick | bool | None) -> Iterator[Tick]:
    """The user's own callback; else a bar, if somebody looks and ``progress`` is not False."""
    if callable(progress):
        yield progress
    elif progress is False:
        yield silent
    elif _in_a_notebook():
        bar = NotebookBar()
        try:
            yield bar
        finally:
            bar.close()
    elif sys.stderr.isatty():
        from rich.console import Console

        with terminal_bar(Console(stderr=True, highlight=False, emoji=False)) as tick:
            yield tick
    else:
        yield silent


def silent(stage: str, done: int, total: int) -> None:
    """Nobody looks."""


def share_done(done: int, total: int) -> str:
    """How many fits of how many; nothing of a stage that does not count them."""
    return f"{done} of {total} fits" if total > 1 else ""


@contextmanager
def terminal_bar(console: Console) -> Iterator[Tick]:
    """Stage, fits done of how many, time left; silent where the console is no terminal, or shows a bar already."""
    if not console.is_terminal:  # some versions of rich end a bar that is off with an empty line
        yield silent
        return
    from rich.errors import LiveError
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars

    texts = [TextColumn(f"{{task.fields[{name}]}}") for name in ("count", "left")]
    columns = (TextColumn("  {task.description}"), BarColumn(bar_width=20), texts[0], TimeElapsedColumn(), texts[1])
    bars = Bars(*columns, console=console, transient=True)
    bar = bars.add_task("starting", total=None, count="", left="")

    def tick(stage: str, done: int, total: int) -> None:
        if not total:  # a single fit
            return
        remaining = bars.tasks[0].time_remaining if total > 1 and done else None
        bars.update(
            bar,
            description=stage,
            completed=done,
            total=total if total > 1 else None,
            count=share_done(done, total),
            left="" if remaining is None else f"{remaining:.0f} s left",
        )

    try:
        bars.start()
    except LiveError:  # the user's own display goes on
        yield silent
        return
    try:
        yield tick
    finally:
        bars.stop()


class NotebookBar:
    """A bar in the output of a cell, with the first suspects below it; it goes away when the work is done."""

    def __init__(self) -> None:
        notebook: Any = import_module("IPython.display")
        self._began = time.monotonic()
        self._shown, self._stage, self._below = float("-inf"), "", ""
        self._now = ("starting", 0, 1)
        self._handle: Any = notebook.display(self, display_id=True)

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Show a stage; a single fit has no total, and is none."""
        if not total:
            return
        self._now = (stage, done, total)
        if stage != self._stage or time.monotonic() - self._shown > PAUSE:
            self._stage, self._shown = stage, time.monotonic()
            self._handle.update(self)

    def first_suspects(self, frame: Any) -> None:
        """Show the first labels by PS alone, before anything is decided."""
        first = nw.from_native(frame, eager_only=True).head(SUSPECTS).rows(named=True)
        names = ("row", "given", "proposed", "ps")
        lines = "".join(
            "<tr>" + "".join(f"<td>{html.escape(_told(line[name]))}</td>" for name in names) + "</tr>" for line in first
        )
        heads = "".join(f"<th>{name}</th>" for name in names)
        told = "First suspects by PS alone; what is decided follows"
        self._below = f"<table><caption>{told}</caption><thead><tr>{heads}</tr></thead><tbody>{lines}</tbody></table>"
        self._handle.update(self)

    def close(self) -> None:
        """The bar goes away; the answer takes its place."""
        self._now, self._below = ("", 0, 0), ""
        self._handle.update(self)

    def __repr__(self) -> str:
        return self._now[0]

    def _repr_html_(self) -> str:
        stage, done, total = self._now
        if not total:
            return ""
        value = f' value="{done}" max="{total}"' if total > 1 else ""
        seconds = f"{time.monotonic() - self._began:.0f} s"
        words = " · ".join(each for each in (html.escape(stage), share_done(done, total), seconds) if each)
        return f'<div class="psidebug"><progress{value}></progress> {words}{self._below}</div>'


def _told(value: Any) -> str:
    return f"{value:.2f}" if isinstance(value, float) else str(value)


def _in_a_notebook() -> bool:
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return hasattr(shell, "kernel")
