"""Progress on stderr: stage, fits done of how many, time left; silent when stderr is not a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress_bar() -> Iterator[Callable[[str, int, int], None]]:
    """A callback for ``debug(progress=…)`` that shows where the work is; fits that are counted fill the bar."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    from psidebug.cli.output import console_for

    console = console_for(stderr=True)
    columns = (
        TextColumn("  {task.description}"),
        BarColumn(bar_width=20),
        TextColumn("{task.fields[count]}"),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}"),
    )
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bars:
        bar = bars.add_task("starting", total=None, count="", left="")

        def tick(stage: str, done: int, total: int) -> None:
            counted = total > 1
            remaining = bars.tasks[0].time_remaining if counted and done else None
            bars.update(
                bar,
                description=stage,
                completed=done,
                total=total if counted else None,
                count=f"{done} of {total} fits" if counted else "",
                left="" if remaining is None else f"{remaining:.0f} s left",
            )

        yield tick


def progress_lines(write: Callable[[str], None]) -> Callable[[str, int, int], None]:
    """A callback that writes one line when a stage begins."""
    seen: list[str] = []

    def tick(stage: str, done: int, total: int) -> None:
        if not seen or seen[-1] != stage:
            seen.append(stage)
            write(f"psi: {stage}" + (f", {total:,} fits" if total > 1 else ""))

    return tick
